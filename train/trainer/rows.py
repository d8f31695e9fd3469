"""Rows of a job: tokens that are already rendered, and which of them are learned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from .errors import TrainerError, shown

if TYPE_CHECKING:
    from .job import Plan


@dataclass(frozen=True)
class Row:
    row: str
    label: int
    """Position in the plan's labels."""
    form: str
    ids: tuple[int, ...]
    start: int
    end: int
    """Half-open span of the label's tokens in `ids`; empty, at the end, for a two-way head."""
    fields: dict[str, str] | None
    """Of a golden row: what its prompt was rendered from."""

    @property
    def prompt(self) -> tuple[int, ...]:
        return self.ids[: self.start]


def read_rows(path: Path, plan: Plan) -> list[Row]:
    """Reads a file of rows and checks each: a row that would teach nothing, or the wrong thing, ends the run with its name."""
    if not path.is_file():
        raise TrainerError("missing-file", "no such file", file=path.name)
    rows: list[Row] = []
    seen: set[str] = set()
    with open(path, encoding="utf-8") as stream:
        for line, text in enumerate(stream, 1):
            if text.strip() == "":
                continue
            rows.append(_parse(text, plan, path.name, line, seen))
    return rows


def _parse(text: str, plan: Plan, file: str, line: int, seen: set[str]) -> Row:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise TrainerError("row", f"got {shown(text.strip(), 60)}, expected one JSON object", file=file, line=line)
    name = value.get("row")
    if not isinstance(name, str) or name == "":
        raise TrainerError("row", f"got {shown(name)}, expected the row's id", file=file, line=line, field="row")

    def wrong(kind: str, field: str, got: object, expected: str) -> NoReturn:
        raise TrainerError(kind, f"got {shown(got)}, expected {expected}", file=file, line=line, row=name, field=field)

    if name in seen:
        wrong("repeated-row", "row", name, "an id that no other row has")
    seen.add(name)
    ids = value.get("ids")
    if not isinstance(ids, list) or not ids or not all(isinstance(one, int) and not isinstance(one, bool) for one in ids):
        wrong("row", "ids", ids, "at least one token id")
    for at, one in enumerate(ids):
        if not 0 <= one < plan.vocab_size:
            wrong("outside-vocabulary", f"ids[{at}]", one, f"an id below the {plan.vocab_size} of the vocabulary")
    if len(ids) > plan.settings.max_length:
        wrong("too-long", "ids", len(ids), f"at most the {plan.settings.max_length} tokens of settings.max_length")
    form = value.get("form", "")
    if not isinstance(form, str):
        wrong("row", "form", form, "a claim form's name")
    if plan.head:
        label = value.get("label")
        if isinstance(label, bool) or label not in (0, 1):
            wrong("row", "label", label, "0 or 1")
        return Row(name, label, form, tuple(ids), len(ids), len(ids), None)

    label = value.get("label")
    if label not in plan.labels:
        wrong("row", "label", label, f"one of {', '.join(plan.labels)}")
    span = value.get("loss")
    if not isinstance(span, list) or len(span) != 2 or not all(isinstance(one, int) and not isinstance(one, bool) for one in span):
        wrong("row", "loss", span, "[start, end)")
    start, end = span
    if start >= end:
        wrong("empty-loss", "loss", span, "a span of at least one token: this row would teach nothing")
    if start < 1 or end > len(ids):
        wrong("row", "loss", span, f"a span inside the {len(ids)} tokens, behind at least one of the prompt")
    learned = ids[start:end]
    # The label's ids are checked to hold neither padding nor the end of a turn; a span that reaches one is named by it.
    if plan.pad_id in learned:
        wrong("padding-in-loss", "loss", learned, f"no padding id {plan.pad_id}")
    if plan.eos_id in learned:
        wrong("end-in-loss", "loss", learned, f"no end-of-turn id {plan.eos_id}")
    expected = list(plan.label_ids[label])
    if learned != expected:
        wrong("label-mismatch", "loss", learned, f"{expected}, the ids of {shown(label)}: the label is cut or another's")
    fields = value.get("fields")
    if fields is not None and (not isinstance(fields, dict) or not all(isinstance(one, str) for one in fields.values())):
        wrong("row", "fields", fields, "the prompt's fields, each a text")
    return Row(name, plan.labels.index(label), form, tuple(ids), start, end, fields)
