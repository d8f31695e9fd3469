"""Checkpoints: the trained weights and the optimiser's state, as safetensors, whole or not at all."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from .errors import TrainerError
from .files import move_into_place


@dataclass(frozen=True)
class Checkpoint:
    folder: Path
    step: int
    """Steps done. The schedule, the order of the rows and the random states of dropout are functions of it and of the seed."""


def save_checkpoint(work: Path, step: int, identity: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Writes `step-N`, then removes older ones. A kill at any moment leaves the last whole one."""
    temporary = work / "checkpoint.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    save_file({name: one.detach().cpu().contiguous() for name, one in trained(model)}, temporary / "trained.safetensors")
    tensors: dict[str, torch.Tensor] = {}
    numbers: dict[str, object] = {}
    _flatten("", optimizer.state_dict()["state"], tensors, numbers)
    save_file(tensors, temporary / "optimizer.safetensors")
    (temporary / "state.json").write_text(json.dumps({"step": step, "identity": identity, "numbers": numbers}), "utf-8")
    move_into_place(temporary, work / _name(step))
    for older in _all(work):
        if older.step < step:
            shutil.rmtree(older.folder)


def last_checkpoint(work: Path) -> Checkpoint | None:
    return max(_all(work), key=lambda one: one.step, default=None)


def load_checkpoint(checkpoint: Checkpoint, identity: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Puts model and optimiser back to where the checkpoint was written, and returns the steps done."""
    state = json.loads((checkpoint.folder / "state.json").read_text("utf-8"))
    if state["identity"] != identity:
        raise TrainerError("checkpoint", "of another job: its plan or its training rows differ", file=checkpoint.folder.name)
    weights = load_file(checkpoint.folder / "trained.safetensors")
    with torch.no_grad():
        for name, one in trained(model):
            one.copy_(weights[name])
    tensors: dict[str, Any] = load_file(checkpoint.folder / "optimizer.safetensors")
    whole = optimizer.state_dict()
    optimizer.load_state_dict({**whole, "state": _nested({**tensors, **state["numbers"]})})
    return int(state["step"])


def trained(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [(name, one) for name, one in model.named_parameters() if one.requires_grad]


def _name(step: int) -> str:
    return f"step-{step:06d}"


def _all(work: Path) -> list[Checkpoint]:
    return [Checkpoint(one, int(one.name.removeprefix("step-"))) for one in sorted(work.glob("step-*"))] if work.is_dir() else []


def _flatten(prefix: str, value: object, tensors: dict[str, torch.Tensor], numbers: dict[str, object]) -> None:
    if isinstance(value, torch.Tensor):
        tensors[prefix] = value.detach().cpu().contiguous()
    elif isinstance(value, dict):
        for key, one in value.items():
            _flatten(f"{prefix}/{key}" if prefix else str(key), one, tensors, numbers)
    else:
        numbers[prefix] = value


def _nested(flat: dict[str, Any]) -> dict[Any, Any]:
    root: dict[Any, Any] = {}
    for path, value in flat.items():
        at = root
        # The first part is a parameter's number, as an optimiser's state has it.
        parts: list[Any] = path.split("/")
        parts[0] = int(parts[0])
        for part in parts[:-1]:
            at = at.setdefault(part, {})
        at[parts[-1]] = value
    return root
