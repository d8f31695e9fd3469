"""The settings of a training run (method.md §4), checked when built; echoed to effective.json with every 'auto' resolved."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import NoReturn

from .errors import TrainerError, shown

OPTIMIZERS = ("auto", "paged_adamw_8bit", "adamw")
QUANTISATIONS = ("auto", "nf4", "none")
COMPUTE_DTYPES = ("auto", "bf16", "fp32")
SCHEDULES = ("linear", "constant")
VARIANTS = ("fp32", "fp16", "int8", "int4")


@dataclass(frozen=True)
class Settings:
    """One field a setting of the plan, under the plan's name."""

    base: str
    """Folder, or name on the hub, of the base model."""
    revision: str | None
    """Commit of the base on the hub; None: not pinned."""
    lora_rank: int
    lora_alpha: int | float
    lora_dropout: float
    lora_targets: tuple[str, ...]
    """Names of the projections that get an adapter."""
    max_steps: int
    """Optimiser steps."""
    batch_size: int
    """Rows a forward pass."""
    accumulation: int
    """Forward passes an optimiser step, over all processes together."""
    learning_rate: float
    """At its highest, after the warm-up."""
    schedule: str
    warmup_ratio: float
    """Share of the steps in which the rate rises."""
    max_length: int
    """Tokens of a row, label included, at most."""
    optimizer: str
    quantisation: str
    """Of the base while it is trained; the export is always of the full-precision base."""
    double_quant: bool
    compute_dtype: str
    seed: int
    checkpoint_every: int
    """Steps between two checkpoints."""
    eval_batch: int
    """Rows a pass when labels are scored."""
    variants: tuple[str, ...]
    """Number formats of the exported weights; fp32 is always among them."""
    gradient_checkpointing: bool

    def __post_init__(self) -> None:
        for name in ("lora_rank", "max_steps", "batch_size", "accumulation", "max_length", "checkpoint_every", "eval_batch"):
            self._whole(name, 1)
        self._whole("seed", 0)
        self._number("lora_alpha", above=0)
        self._number("lora_dropout", at_least=0, below=1)
        self._number("learning_rate", above=0)
        self._number("warmup_ratio", at_least=0, below=1)
        self._one_of("schedule", SCHEDULES)
        self._one_of("optimizer", OPTIMIZERS)
        self._one_of("quantisation", QUANTISATIONS)
        self._one_of("compute_dtype", COMPUTE_DTYPES)
        for name in ("double_quant", "gradient_checkpointing"):
            if not isinstance(getattr(self, name), bool):
                self._wrong(name, "true or false")
        if not isinstance(self.base, str) or self.base == "":
            self._wrong("base", "a folder or the name of a model")
        if self.revision is not None and not isinstance(self.revision, str):
            self._wrong("revision", "text or null")
        if not self.lora_targets or not all(isinstance(one, str) and one for one in self.lora_targets):
            self._wrong("lora_targets", "at least one name of a projection")
        for one in self.lora_targets:
            # Merged into a table that reads and writes tokens alike (tied embeddings), an adapter of one of them would change the other.
            if one in ("lm_head", "embed_tokens"):
                self._wrong("lora_targets", f"projections inside the layers, without {one}, which may be tied")
        unknown = [one for one in self.variants if one not in VARIANTS]
        if unknown or len(set(self.variants)) != len(self.variants) or "fp32" not in self.variants:
            self._wrong("variants", f"fp32, and each other at most once, of {', '.join(VARIANTS)}")

    def as_json(self) -> dict[str, object]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def _whole(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self._wrong(name, f"a whole number, at least {least}")

    def _number(self, name: str, *, above: float | None = None, at_least: float | None = None, below: float | None = None) -> None:
        value = getattr(self, name)
        right = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        right = right and (above is None or value > above) and (at_least is None or value >= at_least) and (below is None or value < below)
        if not right:
            limits = [f"above {above}" if above is not None else f"at least {at_least}", *([f"below {below}"] if below is not None else [])]
            self._wrong(name, f"a number {' and '.join(limits)}")

    def _one_of(self, name: str, accepted: tuple[str, ...]) -> None:
        if getattr(self, name) not in accepted:
            self._wrong(name, f"one of {', '.join(accepted)}")

    def _wrong(self, name: str, expected: str) -> NoReturn:
        value = getattr(self, name)
        raise TrainerError("settings", f"got {shown(value)}, expected {expected}", file="plan.json", field=f"settings.{name}")


def parse_settings(value: object) -> Settings:
    """The settings of a plan. A setting that is missing or that nothing here would follow is an error."""
    if not isinstance(value, dict):
        raise TrainerError("settings", f"got {shown(value)}, expected an object", file="plan.json", field="settings")
    known = [field.name for field in fields(Settings)]
    for name in known:
        if name not in value:
            raise TrainerError("settings", "missing", file="plan.json", field=f"settings.{name}")
    for name in value:
        if name not in known:
            raise TrainerError("settings", f"unknown; the settings are {', '.join(known)}", file="plan.json", field=f"settings.{name}")
    lists = {name: _names(name, value[name]) for name in ("lora_targets", "variants")}
    return Settings(**{**value, **lists})


def resolved(settings: Settings, *, cuda: bool, bf16: bool) -> Settings:
    """
    The settings that this machine runs with: 'auto' is the GPU's choice where there is one, else the CPU's. A setting that names what
    only a GPU can do is refused without one: another way in silence would make the run another than the one planned.
    """
    chosen = replace(
        settings,
        optimizer=_auto(settings.optimizer, "paged_adamw_8bit" if cuda else "adamw"),
        quantisation=_auto(settings.quantisation, "nf4" if cuda else "none"),
        compute_dtype=_auto(settings.compute_dtype, "bf16" if cuda and bf16 else "fp32"),
    )
    for name, needs in (("optimizer", "paged_adamw_8bit"), ("quantisation", "nf4")):
        if getattr(chosen, name) == needs and not cuda:
            raise TrainerError(
                "device",
                f'got "{needs}", which needs a CUDA GPU, and there is none here; plan with "auto"',
                file="plan.json",
                field=f"settings.{name}",
            )
    return chosen


def _auto(value: str, choice: str) -> str:
    return choice if value == "auto" else value


def _names(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TrainerError("settings", f"got {shown(value)}, expected a list of names", file="plan.json", field=f"settings.{name}")
    return tuple(value)
