"""The training loop. Every step is a function of the weights before it, of the seed and of its number: nothing else is carried over."""

from __future__ import annotations

import math
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import torch
from torch import nn
from torch.nn import functional

from .checkpoint import last_checkpoint, load_checkpoint, save_checkpoint, trained
from .errors import TrainerError
from .events import emit
from .job import Job
from .model import Device
from .parallel import World, sum_over, wait_for_all
from .rows import Row
from .score import hidden_states, log_probabilities
from .settings import Settings

GRADIENT_NORM = 1.0
"""Gradients are scaled down to this norm, as trainers do by default; the papers do not say."""
WEIGHT_DECAY = 0.0


@dataclass(frozen=True)
class Fit:
    settings: Settings
    device: Device
    world: World
    work: Path
    """Where checkpoints are kept."""


class Interrupted(Exception):
    """The process was asked to end (SIGTERM, SIGINT); a checkpoint is written."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


def fit(model: nn.Module, job: Job, run: Fit, *, resume: bool) -> None:
    """Trains the adapter in place for `max_steps` steps, from the last checkpoint when `resume` finds one."""
    settings, world = run.settings, run.world
    parameters = [one for _name, one in trained(model)]
    optimizer = _optimizer(parameters, settings)
    checkpoint = last_checkpoint(run.work) if resume else None
    done = load_checkpoint(checkpoint, job.identity, model, optimizer) if checkpoint else 0
    if done:
        emit("resume", step=done)
    causal = model.get_base_model()
    model.train()
    asked: list[int] = []
    previous = {one: signal.signal(one, _noting(asked)) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        for step in range(done, settings.max_steps):
            loss, stop = _gradients(causal, parameters, job, run, step, asked)
            norm = nn.utils.clip_grad_norm_(parameters, GRADIENT_NORM)
            if not math.isfinite(loss) or not math.isfinite(float(norm)):
                raise TrainerError("diverged", f"loss {loss}, gradient norm {float(norm)} at step {step + 1}: lower settings.learning_rate")
            rate = learning_rate(settings, step)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            emit("step", step=step + 1, of=settings.max_steps, loss=loss, lr=rate)
            if (step + 1) % settings.checkpoint_every == 0 or step + 1 == settings.max_steps or stop:
                if world.first:
                    save_checkpoint(run.work, step + 1, job.identity, model, optimizer)
                wait_for_all(world)
                emit("checkpoint", step=step + 1)
            if stop:
                raise Interrupted(asked[0] if asked else signal.SIGTERM)
        # Asked while the last step ended, when no further one looks.
        if _any_asked(run, asked):
            raise Interrupted(asked[0] if asked else signal.SIGTERM)
    finally:
        for one, handler in previous.items():
            signal.signal(one, handler)
    model.eval()


def learning_rate(settings: Settings, step: int) -> float:
    """The rate of a step (from 0): rising over the warm-up, then falling in a line to 0 behind the last step, or constant."""
    warmup = math.ceil(settings.warmup_ratio * settings.max_steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.learning_rate
    return settings.learning_rate * (settings.max_steps - step) / (settings.max_steps - warmup)


def rows_of_step(rows: list[Row], settings: Settings, step: int) -> list[Row]:
    """The rows of a step: each epoch reads all rows in an order of its own, drawn from the seed."""
    size = settings.batch_size * settings.accumulation
    return [row for row in _stream(rows, settings.seed, step * size, size)]


def _stream(rows: list[Row], seed: int, start: int, count: int) -> Iterator[Row]:
    order: list[int] = []
    epoch_of_order = -1
    for at in range(start, start + count):
        epoch, place = divmod(at, len(rows))
        if epoch != epoch_of_order:
            order, epoch_of_order = list(range(len(rows))), epoch
            random.Random(f"{seed}:order:{epoch}").shuffle(order)
        yield rows[order[place]]


def _gradients(causal: nn.Module, parameters: list[nn.Parameter], job: Job, run: Fit, step: int, asked: list[int]) -> tuple[float, bool]:
    """
    Sums the gradients of a step's passes over all processes. Returns the mean loss a learned token, and whether any process was asked to end:
    all of them have to stop at the same step.
    """
    settings, world = run.settings, run.world
    rows = rows_of_step(job.train, settings, step)
    learned = sum(max(1, row.end - row.start) for row in rows)
    total = torch.zeros((), device=run.device.name)
    for number in range(settings.accumulation):
        if number % world.size != world.rank:
            continue
        some = rows[number * settings.batch_size : (number + 1) * settings.batch_size]
        # Dropout depends on the pass alone: the same after a resume, and whatever process takes the pass.
        torch.manual_seed(random.Random(f"{settings.seed}:pass:{step}:{number}").getrandbits(63))
        bf16 = settings.compute_dtype == "bf16"
        with torch.autocast(run.device.name.partition(":")[0], torch.bfloat16, enabled=bf16):
            loss = _loss(causal, some, job.plan.pad_id) / learned
        loss.backward()
        total += loss.detach()
    for one in parameters:
        if one.grad is None:
            one.grad = torch.zeros_like(one)
    stop = torch.full((), float(len(asked)), device=run.device.name)
    sum_over(world, [*(one.grad for one in parameters if one.grad is not None), total, stop])
    return float(total), bool(stop > 0)


def _loss(causal: nn.Module, rows: list[Row], pad_id: int) -> torch.Tensor:
    """Sum of −log p over the rows' learned tokens; no other position, and so no padding, ever gets to the loss."""
    states = hidden_states(causal, [row.ids for row in rows], pad_id)
    places = [(at, token) for at, row in enumerate(rows) for token in _learned(row)]
    before = states[torch.tensor([at for at, _ in places]), torch.tensor([token for _, token in places])]
    targets = torch.tensor([target for row in rows for target in _targets(row)], device=states.device)
    return functional.nll_loss(log_probabilities(causal, before), targets, reduction="sum")


def _learned(row: Row) -> range:
    """Positions whose state predicts a learned token; for a head (an empty span at the end) the last token's."""
    return range(row.start - 1, max(row.start, row.end - 1))


def _targets(row: Row) -> tuple[int, ...]:
    return row.ids[row.start : row.end] if row.start < row.end else (row.label,)


def _optimizer(parameters: list[nn.Parameter], settings: Settings) -> torch.optim.Optimizer:
    if settings.optimizer == "paged_adamw_8bit":
        from bitsandbytes.optim import PagedAdamW8bit

        return PagedAdamW8bit(parameters, lr=settings.learning_rate, weight_decay=WEIGHT_DECAY)
    return torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=WEIGHT_DECAY)


def _any_asked(run: Fit, asked: list[int]) -> bool:
    """Whether any process was asked to end: all have to agree."""
    stop = torch.full((), float(len(asked)), device=run.device.name)
    sum_over(run.world, [stop])
    return bool(stop > 0)


def _noting(asked: list[int]):
    def note(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    return note
