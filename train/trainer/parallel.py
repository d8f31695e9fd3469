"""Several processes on one run (torchrun): each takes its share of a step's passes, and their gradients are summed."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
from torch import distributed


@dataclass(frozen=True)
class World:
    rank: int
    size: int
    local_rank: int

    @property
    def first(self) -> bool:
        return self.rank == 0


def open_world() -> World:
    """The processes that torchrun started, connected (NCCL on GPUs, else gloo); this one alone without torchrun."""
    world = World(*(int(os.environ.get(name, default)) for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"))))
    if world.size > 1:
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return world


def close_world(world: World) -> None:
    if world.size > 1 and distributed.is_initialized():
        distributed.destroy_process_group()


def sum_over(world: World, tensors: list[torch.Tensor]) -> None:
    """Replaces each tensor by its sum over all processes, in one message."""
    if world.size == 1:
        return
    flat = torch.cat([one.reshape(-1).float() for one in tensors])
    distributed.all_reduce(flat)
    at = 0
    for one in tensors:
        one.copy_(flat[at : at + one.numel()].view_as(one))
        at += one.numel()


def wait_for_all(world: World) -> None:
    if world.size > 1:
        distributed.barrier()
