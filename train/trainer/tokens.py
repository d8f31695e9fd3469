"""What the job's tokenizer says of ids. Needs the `tokenizers` package, not PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .errors import TrainerError, shown


def check_label_text(tokenizer: Path, label_ids: dict[str, tuple[int, ...]]) -> None:
    """Each label's ids decode to exactly the label."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    for label, ids in label_ids.items():
        text = loaded.decode(list(ids), skip_special_tokens=False)
        if text != label:
            raise TrainerError(
                "label-text",
                f"the ids {list(ids)} decode to {shown(text)}, expected {shown(label)}",
                file="plan.json",
                field=f"label_ids.{label}",
            )


def check_same_tokenizer(planned: Path, of_base: Path) -> None:
    """
    The base's own tokenizer, where it has one, cuts and names text alike: every token has the same id (the embeddings were trained under those
    ids), and merges, added tokens, normaliser and pre-tokeniser are the same. Decoder, post-processor, padding and truncation are not compared:
    a job's rows are ids, and the special tokens of the prompt stand in them already.
    """
    if not of_base.is_file():
        return
    job, base = (json.loads(one.read_text("utf-8")) for one in (planned, of_base))
    ours, theirs = _vocabulary(job), _vocabulary(base)
    different = sorted(token for token in ours.keys() | theirs.keys() if ours.get(token) != theirs.get(token))
    if different:
        token = different[0]
        raise TrainerError(
            "tokenizer",
            f"the token {shown(token)} has the id {shown(ours.get(token))} in the job and {shown(theirs.get(token))} in the base"
            f" ({len(different)} differ): the job was planned with another model's tokenizer",
            file="tokenizer/tokenizer.json",
        )
    theirs_by_part = _parts(base)
    for part, value in _parts(job).items():
        if value != theirs_by_part[part]:
            raise TrainerError(
                "tokenizer",
                "differs from the base's: the same text would become other tokens than the base was trained on; plan with the base's tokenizer",
                file="tokenizer/tokenizer.json",
                field=part,
            )


def _parts(value: dict[str, Any]) -> dict[str, object]:
    """What decides, beside the vocabulary, how a text is cut; in one form, however the file was written."""
    model = value["model"]
    merges = [tuple(one.split(" ")) if isinstance(one, str) else tuple(one) for one in model.get("merges") or []]
    added = {
        one["content"]: [bool(one.get(flag, False)) for flag in ("single_word", "lstrip", "rstrip", "normalized")]
        for one in value.get("added_tokens", [])
    }
    return {
        "model.type": model.get("type"),
        "model.merges": merges,
        "added_tokens": added,
        "normalizer": value.get("normalizer"),
        "pre_tokenizer": value.get("pre_tokenizer"),
    }


def _vocabulary(value: dict[str, Any]) -> dict[str, int]:
    vocabulary = value["model"].get("vocab", {})
    if isinstance(vocabulary, list):
        vocabulary = {token: at for at, (token, _score) in enumerate(vocabulary)}
    return {**vocabulary, **{one["content"]: one["id"] for one in value.get("added_tokens", [])}}
