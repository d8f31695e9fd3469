"""Measures of labels said against labels given: the same rules as the product's own (a tie goes to the worse label)."""

from __future__ import annotations

from collections.abc import Sequence


def label_said(scores: Sequence[float]) -> int:
    """Position of the best score; of equal ones the last, so that a tie is never the first label (method.md §4)."""
    return max(range(len(scores)), key=lambda at: (scores[at], at))


def measures(labels: Sequence[str], gold: Sequence[int], scores: Sequence[Sequence[float]]) -> dict[str, object]:
    """
    Accuracy, macro-F1 (over the classes that have a row), F1 by class (None where it has neither a row nor a prediction) and
    `confusion[gold][said]`, in the labels' order.
    """
    confusion = [[0] * len(labels) for _ in labels]
    for truth, row in zip(gold, scores, strict=True):
        confusion[truth][label_said(row)] += 1
    per_class = {label: _f1(confusion, at) for at, label in enumerate(labels)}
    present = [per_class[label] or 0.0 for at, label in enumerate(labels) if sum(confusion[at]) > 0]
    rows = len(gold)
    return {
        "rows": rows,
        "accuracy": sum(confusion[at][at] for at in range(len(labels))) / rows if rows else None,
        "macro_f1": sum(present) / len(present) if present else None,
        "confusion": confusion,
        "per_class": per_class,
    }


def _f1(confusion: list[list[int]], at: int) -> float | None:
    given, said = sum(confusion[at]), sum(row[at] for row in confusion)
    return 2 * confusion[at][at] / (given + said) if given + said > 0 else None
