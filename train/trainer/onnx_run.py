"""Runs an exported graph in Python, the plain way: one sequence a pass, no past."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from .errors import TrainerError, shown
from .job import Plan
from .rows import Row


class NotFinite(TrainerError):
    """A number format cannot hold what the graph computes, as 16-bit floats above 65504."""


def open_graph(path: Path, inputs: list[str], outputs: list[str]) -> onnxruntime.InferenceSession:
    """Opens a graph and checks the names of its inputs and outputs, and that no output has a vocabulary in its shape."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    for what, got, expected in (("inputs", session.get_inputs(), inputs), ("outputs", session.get_outputs(), outputs)):
        names = [one.name for one in got]
        if names != expected:
            raise TrainerError("export", f"got the {what} {', '.join(names)}, expected {', '.join(expected)}", file=path.name)
    if len(session.get_outputs()[0].shape) != 2:
        raise TrainerError("export", f"got {session.get_outputs()[0].shape}, expected [rows, candidates]", file=path.name, field="logprobs")
    return session


def graph_scores(session: onnxruntime.InferenceSession, plan: Plan, rows: Sequence[Row]) -> list[list[float]]:
    """The naive score through the graph: a pass a label, or a head's two sides. Numbers that are not finite raise `NotFinite`."""
    scores: list[list[float]] = []
    for row in rows:
        if plan.head:
            scores.append(_run(session, row.prompt, [len(row.prompt) - 1], None)[0].tolist())
        else:
            scores.append([_label_score(session, row.prompt, plan.label_ids[label]) for label in plan.labels])
        if not all(math.isfinite(one) for one in scores[-1]):
            raise NotFinite("export", f"the graph gives {shown(scores[-1])}: leave this format out of settings.variants", row=row.row)
    return scores


def _label_score(session: onnxruntime.InferenceSession, prompt: Sequence[int], label: Sequence[int]) -> float:
    positions = [len(prompt) - 1 + at for at in range(len(label))]
    each = _run(session, [*prompt, *label], positions, label)
    return float(np.mean([each[at, at] for at in range(len(label))]))


def _run(session: onnxruntime.InferenceSession, ids: Sequence[int], positions: list[int], candidates: Sequence[int] | None) -> np.ndarray:
    tokens = len(ids)
    causal = np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)
    feeds = {
        "input_ids": np.array([ids], np.int64),
        "position_ids": np.arange(tokens, dtype=np.int64)[None],
        "attention_bias": causal[None, None],
        "score_positions": np.array(positions, np.int64),
    }
    if candidates is not None:
        feeds["candidate_ids"] = np.array(candidates, np.int64)
    for one in session.get_inputs():
        if one.name.startswith("past_key_values."):
            feeds[one.name] = np.zeros((1, one.shape[1], 0, one.shape[3]), np.float32)
    return session.run(["logprobs"], feeds)[0]
