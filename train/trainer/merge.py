"""Merging the adapter into the base, always in 32-bit floats and into a base that was loaded anew (known-faults P52, P53, P55)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel
from transformers import PreTrainedModel

from .errors import TrainerError
from .heads import attach_head, head_of
from .job import Plan
from .model import Base, Device, check_tied, load_base
from .rows import Row
from .score import head_scores, naive_scores
from .settings import Settings


@dataclass(frozen=True)
class Merged:
    model: PreTrainedModel
    tied: bool
    adapter: list[list[float]]
    """Scores of the golden rows by the base with its adapter beside it."""
    merged: list[list[float]]


def merge(base: Base, adapter: Path, plan: Plan, settings: Settings, device: Device, golden: list[Row]) -> Merged:
    """Loads the full-precision base, scores the golden rows with the adapter, merges, scores them again."""
    model = load_base(base, settings, device, full=True)
    tied = check_tied(model)
    before = {name: one.detach().clone() for name, one in model.named_parameters() if one.dim() < 2}
    if plan.head:
        attach_head(model)
    with_adapter = PeftModel.from_pretrained(model, str(adapter), is_trainable=False).eval()
    from_adapter = golden_scores(with_adapter.get_base_model(), plan, settings, golden)
    merged = with_adapter.merge_and_unload(safe_merge=True).eval()
    wrong = [name for name, one in merged.named_parameters() if one.dtype != torch.float32]
    if wrong:
        raise TrainerError("merge", f"{wrong[0]} is not in 32-bit floats after the merge")
    if check_tied(merged) != tied:
        raise TrainerError("tied-embeddings", f"tied before the merge: {tied}, after it: {not tied}")
    now = dict(merged.named_parameters())
    for name, one in before.items():
        if name not in now or not torch.equal(one, now[name]):
            raise TrainerError("merge", f"{name} changed with the merge, though no adapter lies on it")
    if plan.head and head_of(merged) is None:
        raise TrainerError("merge", "the head was lost with the merge")
    return Merged(merged, tied, from_adapter, golden_scores(merged, plan, settings, golden))


def golden_scores(model: torch.nn.Module, plan: Plan, settings: Settings, rows: list[Row]) -> list[list[float]]:
    """Log-probabilities in the labels' order: three passes a row, or a head's two sides."""
    prompts = [row.prompt for row in rows]
    if plan.head:
        return head_scores(model, prompts, plan.pad_id, settings.eval_batch)
    return naive_scores(model, prompts, [plan.label_ids[label] for label in plan.labels], plan.pad_id, settings.eval_batch)


def largest_difference(left: list[list[float]], right: list[list[float]]) -> float:
    return max((abs(one - other) for a, b in zip(left, right, strict=True) for one, other in zip(a, b, strict=True)), default=0.0)
