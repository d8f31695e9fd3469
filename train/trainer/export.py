"""The export folder: adapter, graphs, scores and a card, with export.json written last (until then the folder is unfinished)."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .card import model_card
from .errors import TrainerError
from .evaluate import measures
from .events import emit
from .files import read_json, sha256_of, sync_tree, write_json, write_rows, write_text
from .graph import graph_inputs, graph_outputs, write_graph
from .job import Job
from .merge import Merged, largest_difference, merge
from .model import Base, Device, architecture
from .onnx_run import NotFinite, graph_scores, open_graph
from .rows import Row
from .score import head_scores, scores
from .settings import Settings

PACKAGES = ("torch", "transformers", "peft", "onnx", "onnxruntime")


@dataclass(frozen=True)
class Export:
    job: Job
    settings: Settings
    base: Base
    device: Device
    out: Path
    work: Path
    external_above: int
    """Bytes of a graph's tensors above which they stand in a file beside it."""


def export(run: Export) -> None:
    """Merges the adapter in the export folder, writes every variant's graph, scores golden and dev rows, and concludes the folder."""
    emit("stage", name="merge")
    plan, golden = run.job.plan, run.job.golden
    merged = merge(run.base, run.out / "adapter", plan, run.settings, run.device, golden)
    difference = largest_difference(merged.adapter, merged.merged)
    emit("merge", largest_difference=difference, rows=len(golden))

    emit("stage", name="export")
    shutil.copytree(run.job.folder / "tokenizer", run.out / "tokenizer", dirs_exist_ok=True)
    graphs = _graphs(run, merged)
    by_variant = {name: one.golden for name, one in graphs.made.items()}
    write_rows(run.out / "golden.jsonl", (_golden_row(run, merged, by_variant, at, row) for at, row in enumerate(golden)))

    emit("stage", name="dev")
    dev = _dev_scores(run, merged)
    rows = zip(run.job.dev, dev, strict=True)
    write_rows(run.out / "dev-scores.jsonl", (_scored_row(run, row, said) for row, said in rows))
    measured = _measured(run, dev)
    forms = {form: _measured(run, dev, form) for form in sorted({row.form for row in run.job.dev})}
    said = {name: measured[name] for name in ("rows", "macro_f1", "accuracy", "confusion")}
    emit("dev", **said, forms={form: one["macro_f1"] for form, one in forms.items()})

    quantised = run.work / "quantised-golden.json"
    trained = cast(list[list[float]], read_json(quantised)) if quantised.exists() else None
    against_quantised = largest_difference(trained, merged.merged) if trained is not None else None
    versions = _versions(run.settings)
    card = model_card(
        plan=plan,
        settings=run.settings,
        train_rows=len(run.job.train),
        dev=measured,
        forms=forms,
        versions=versions,
        golden=len(golden),
        merge_difference=difference,
        graph_differences={name: one.difference for name, one in graphs.made.items()},
        failed_variants=graphs.failed,
        quantised_difference=against_quantised,
    )
    write_text(run.out / "model-card.md", card)
    sync_tree(run.out)
    write_json(
        run.out / "export.json",
        {
            "kind": "verifier-export",
            "format": 1,
            "base": plan.base,
            "base_sha256": run.base.sha256,
            "training_sha256": run.job.identity,
            "settings": run.settings.as_json(),
            "labels": list(plan.labels),
            "label_ids": {label: list(ids) for label, ids in plan.label_ids.items()},
            "pad_id": plan.pad_id,
            "eos_id": plan.eos_id,
            "vocab_size": plan.vocab_size,
            "template_sha256": plan.template_sha256,
            "prompt_sha256": plan.prompt_sha256,
            "tokenizer_sha256": plan.tokenizer_sha256,
            "merge_dtype": "float32",
            "merged_into_quantised": False,
            "tied_embeddings": merged.tied,
            "architecture": architecture(merged.model),
            "variants": {name: one.files for name, one in graphs.made.items()},
            "failed_variants": graphs.failed,
            "metrics": {"dev": measured, "steps": run.settings.max_steps, "train_rows": len(run.job.train)},
            "files": _listed(run.out),
            "versions": versions,
        },
    )


@dataclass(frozen=True)
class _Graph:
    files: dict[str, object]
    golden: list[list[float]]
    """Scores of the golden rows."""
    difference: float
    """The largest of a golden row's score from the merged model's."""


@dataclass(frozen=True)
class _Graphs:
    made: dict[str, _Graph]
    failed: dict[str, str]
    """Why a variant was left out."""


def _graphs(run: Export, merged: Merged) -> _Graphs:
    """
    Writes each variant's graph, opens it as a user would, and scores the golden rows with it. A variant whose scores are not finite is left
    out, so that it does not take the others with it; fp32 has to be right.
    """
    graphs = _Graphs({}, {})
    shutil.rmtree(run.out / "onnx", ignore_errors=True)
    for variant in run.settings.variants:
        try:
            graphs.made[variant] = _graph(run, merged, variant)
        except NotFinite as error:
            if variant == "fp32":
                raise
            graphs.failed[variant] = str(error)
            shutil.rmtree(run.out / "onnx" / variant)
            emit("warning", message=f"{variant} is left out of the export: {error}")
    return graphs


def _graph(run: Export, merged: Merged, variant: str) -> _Graph:
    model = merged.model
    size = sum(one.numel() * 4 for one in model.parameters())
    # Of the narrow formats at most this much: their table of tokens may stay whole, and every block brings a scale.
    most = size if variant in ("fp32", "fp16") else size // 2 + model.get_input_embeddings().weight.numel() * 4
    files = write_graph(model, run.out / "onnx" / variant / "model.onnx", variant, external=min(size, most) > run.external_above)
    names = [one.relative_to(run.out).as_posix() for one in files]
    golden = graph_scores(open_graph(files[0], graph_inputs(model), graph_outputs(model)), run.job.plan, run.job.golden)
    difference = largest_difference(golden, merged.merged)
    emit("variant", name=variant, bytes=sum(one.stat().st_size for one in files), largest_difference=difference)
    return _Graph({"path": names[0], "external": names[1:]}, golden, difference)


def _dev_scores(run: Export, merged: Merged) -> list[list[float]]:
    plan, prompts, batch = run.job.plan, [row.prompt for row in run.job.dev], run.settings.eval_batch
    if plan.head:
        return head_scores(merged.model, prompts, plan.pad_id, batch)
    return scores(merged.model, prompts, [plan.label_ids[label] for label in plan.labels], plan.pad_id, batch)


def _measured(run: Export, dev: list[list[float]], form: str | None = None) -> dict[str, Any]:
    """Measures of the dev rows, or of those whose claim has one form."""
    some = [(row.label, said) for row, said in zip(run.job.dev, dev, strict=True) if form is None or row.form == form]
    return measures(run.job.plan.labels, [gold for gold, _ in some], [said for _, said in some])


def _golden_row(run: Export, merged: Merged, by_variant: dict[str, list[list[float]]], at: int, row: Row) -> dict[str, object]:
    return {
        **_named(run, row),
        **({"fields": row.fields} if row.fields is not None else {}),
        "prompt_ids": list(row.prompt),
        "adapter": merged.adapter[at],
        "merged": merged.merged[at],
        "onnx": {variant: found[at] for variant, found in by_variant.items()},
    }


def _scored_row(run: Export, row: Row, said: list[float]) -> dict[str, object]:
    return {**_named(run, row), "prompt_ids": list(row.prompt), "scores": said}


def _named(run: Export, row: Row) -> dict[str, object]:
    return {"row": row.row, "label": run.job.plan.labels[row.label], "form": row.form}


def _listed(out: Path) -> list[dict[str, object]]:
    files = sorted(one for one in out.rglob("*") if one.is_file() and one.name != "export.json")
    links = [one for one in files if one.is_symlink()]
    if links:
        raise TrainerError("export", "a link, expected files of its own alone", file=links[0].name)
    listed = [{"path": one.relative_to(out).as_posix(), "bytes": one.stat().st_size, "sha256": sha256_of(one)} for one in files]
    return sorted(listed, key=lambda one: str(one["path"]))


def _versions(settings: Settings) -> dict[str, str]:
    quantised = "nf4" in settings.quantisation or "8bit" in settings.optimizer
    packages = [*PACKAGES, *(["bitsandbytes"] if quantised else [])]
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in packages}}
