"""The plan of a job folder, and its rows, checked before anything heavy is loaded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from .errors import TrainerError, shown
from .files import check_manifest, read_json, sha256_of
from .rows import Row, read_rows
from .settings import Settings, parse_settings
from .tokens import check_label_text

TASKS = ("labels", "stoprag", "simrag")


@dataclass(frozen=True)
class Plan:
    base: str
    task: str
    """`labels`: the label's own tokens are learned; `stoprag`, `simrag`: a two-way head."""
    settings: Settings
    labels: tuple[str, ...]
    label_ids: dict[str, tuple[int, ...]]
    pad_id: int
    eos_id: int
    vocab_size: int
    template_sha256: str
    prompt_sha256: str
    tokenizer_sha256: str

    @property
    def head(self) -> bool:
        return self.task != "labels"


@dataclass(frozen=True)
class Job:
    folder: Path
    plan: Plan
    train: list[Row]
    dev: list[Row]
    golden: list[Row]
    identity: str
    """Of the plan and the training rows: a checkpoint, an adapter or an export of another job is not gone on with."""


def read_job(folder: Path) -> Job:
    """Reads and checks a whole job: its files, the plan, every row. Needs no PyTorch."""
    check_manifest(folder)
    plan = parse_plan(read_json(folder / "plan.json"))
    tokenizer = folder / "tokenizer" / "tokenizer.json"
    if not tokenizer.is_file():
        raise TrainerError("missing-file", "no such file", file="tokenizer/tokenizer.json")
    if sha256_of(tokenizer) != plan.tokenizer_sha256:
        raise TrainerError(
            "tokenizer",
            f"got sha256 {sha256_of(tokenizer)}, expected {plan.tokenizer_sha256} as in plan.json: the tokenizer of another plan",
            file="tokenizer/tokenizer.json",
        )
    if not plan.head:
        check_label_text(tokenizer, plan.label_ids)
    rows = {name: read_rows(folder / f"{name}.jsonl", plan) for name in ("train", "dev", "golden")}
    if not rows["train"]:
        raise TrainerError("no-rows", "no row to train on", file="train.jsonl")
    marks = [sha256_of(folder / name) for name in ("plan.json", "train.jsonl")]
    return Job(folder=folder, plan=plan, **rows, identity=hashlib.sha256("\n".join(marks).encode()).hexdigest())


def parse_plan(value: object) -> Plan:
    if not isinstance(value, dict):
        raise TrainerError("plan", f"got {shown(value)}, expected an object", file="plan.json")
    if value.get("format") != 1:
        _wrong("format", value.get("format"), "1")
    task = value.get("task")
    if task not in TASKS:
        _wrong("task", task, f"one of {', '.join(TASKS)}")
    settings = parse_settings(value.get("settings"))
    base = value.get("base")
    if base != settings.base:
        _wrong("base", base, f"{shown(settings.base)} as in the settings")
    numbers = {name: _id(name, value.get(name)) for name in ("pad_id", "eos_id", "vocab_size")}
    for name in ("pad_id", "eos_id"):
        if numbers[name] >= numbers["vocab_size"]:
            _wrong(name, numbers[name], f"an id below the {numbers['vocab_size']} of the vocabulary", "outside-vocabulary")
    if numbers["pad_id"] == numbers["eos_id"]:
        # A padding id that also ends the turn would teach the model never to end (known-faults P46).
        _wrong("pad_id", numbers["pad_id"], "another id than eos_id", "pad-is-eos")
    labels = value.get("labels")
    if not isinstance(labels, list) or len(labels) < 2 or len(set(map(str, labels))) != len(labels):
        _wrong("labels", labels, "at least two different labels")
    if task != "labels" and len(labels) != 2:
        _wrong("labels", labels, f"two labels for the task {task}")
    ids = _label_ids(value.get("label_ids"), labels, numbers) if task == "labels" else {}
    shas = {name: _sha(name, value.get(name)) for name in ("template_sha256", "prompt_sha256", "tokenizer_sha256")}
    return Plan(
        base=settings.base,
        task=str(task),
        settings=settings,
        labels=tuple(labels),
        label_ids=ids,
        pad_id=numbers["pad_id"],
        eos_id=numbers["eos_id"],
        vocab_size=numbers["vocab_size"],
        template_sha256=shas["template_sha256"],
        prompt_sha256=shas["prompt_sha256"],
        tokenizer_sha256=shas["tokenizer_sha256"],
    )


def _label_ids(value: object, labels: list[str], numbers: dict[str, int]) -> dict[str, tuple[int, ...]]:
    if not isinstance(value, dict) or set(value) != set(labels):
        _wrong("label_ids", value, f"token ids for each of {', '.join(labels)}")
    seen: dict[tuple[int, ...], str] = {}
    for label in labels:
        field = f"label_ids.{label}"
        ids = value[label]
        if not isinstance(ids, list) or not ids or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
            _wrong(field, ids, "at least one token id")
        for one in ids:
            if not 0 <= one < numbers["vocab_size"]:
                _wrong(field, one, f"an id below the {numbers['vocab_size']} of the vocabulary", "outside-vocabulary")
            if one == numbers["pad_id"]:
                _wrong(field, one, "no padding id", "padding-in-loss")
            if one == numbers["eos_id"]:
                _wrong(field, one, "no end-of-turn id: it stays out of the loss", "end-in-loss")
        other = seen.setdefault(tuple(ids), label)
        if other != label:
            _wrong(field, ids, f"other ids than those of {shown(other)}", "equal-labels")
    return {label: tuple(value[label]) for label in labels}


def _id(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        _wrong(name, value, "a whole number, at least 0")
    return value


def _sha(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= set("0123456789abcdef"):
        _wrong(name, value, "64 hex digits")
    return value


def _wrong(field: str, got: object, expected: str, kind: str = "plan") -> NoReturn:
    raise TrainerError(kind, f"got {shown(got)}, expected {expected}", file="plan.json", field=field)
