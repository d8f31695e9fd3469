"""The model card: what the verifier was made from, how, and how well it does; measured numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .job import Plan
from .settings import Settings

TITLES = {
    "labels": "Verifier: what one sentence does for one claim",
    "stoprag": "V-StopRAG: would more loops help",
    "simrag": "V-SIMRAG: does the evidence suffice",
}


def model_card(
    *,
    plan: Plan,
    settings: Settings,
    train_rows: int,
    dev: Mapping[str, Any],
    forms: Mapping[str, Mapping[str, Any]],
    versions: Mapping[str, str],
    golden: int,
    merge_difference: float,
    graph_differences: Mapping[str, float],
    failed_variants: Mapping[str, str],
    quantised_difference: float | None,
) -> str:
    """Markdown; equal runs give equal bytes."""
    quantised = (
        [f"| the quantised base with the adapter, as trained | {quantised_difference:.2e} |"] if quantised_difference is not None else []
    )
    return "\n".join(
        [
            f"# {TITLES[plan.task]}",
            "",
            f"LoRA on `{plan.base}`{f' at `{settings.revision}`' if settings.revision else ''}, merged in 32-bit floats. Labels: "
            + ", ".join(f"`{label}`" for label in plan.labels)
            + ". The text of a prompt and the model's chat template are identified by the sha256 in `export.json`.",
            "",
            f"## On the {dev['rows']} dev rows",
            "",
            f"Accuracy {_shown(dev['accuracy'])}, macro-F1 {_shown(dev['macro_f1'])} (mean over the classes that have a row; a tie goes to the later label).",
            "",
            _row("gold \\ said", *plan.labels, "F1"),
            _row(*["---"] * (len(plan.labels) + 2)),
            *(_row(label, *dev["confusion"][at], _shown(dev["per_class"][label])) for at, label in enumerate(plan.labels)),
            "",
            _row("claim form", "rows", "accuracy", "macro-F1"),
            _row(*["---"] * 4),
            *(_row(form or "(none)", one["rows"], _shown(one["accuracy"]), _shown(one["macro_f1"])) for form, one in forms.items()),
            "",
            f"## Training, on {train_rows} rows",
            "",
            _row("setting", "value"),
            _row("---", "---"),
            *(_row(f"`{name}`", f"`{value}`") for name, value in settings.as_json().items()),
            "",
            "Loss on the label's tokens alone; the end of the turn and padding are not learned. Gradients are scaled down to norm 1; no weight decay.",
            "",
            f"## Largest difference of a log-probability from the merged model, on {golden} golden rows",
            "",
            _row("stage", "difference"),
            _row("---", "---"),
            *quantised,
            f"| the full-precision base with the adapter | {merge_difference:.2e} |",
            *(f"| ONNX, {name} | {value:.2e} |" for name, value in graph_differences.items()),
            "",
            *(f"Left out, ONNX, {name}: {why}\n" for name, why in failed_variants.items()),
            "## Limits",
            "",
            "It knows claims and sentences like those of its training rows; on other data, and on claims in another form, measure before use.",
            "A threshold or a calibration profile chosen with one number format holds for that format alone.",
            "",
            f"Made with {', '.join(f'{name} {version}' for name, version in versions.items())}.",
            "",
        ]
    )


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4f}"
