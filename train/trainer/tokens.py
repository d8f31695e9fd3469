"""What the job's tokenizer says of ids. Needs the `tokenizers` package, not PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

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
    """The base's own tokenizer, where it has one, gives every token the same id: its embeddings were trained under those ids."""
    if not of_base.is_file():
        return
    ours, theirs = _vocabulary(planned), _vocabulary(of_base)
    different = sorted(token for token in ours.keys() | theirs.keys() if ours.get(token) != theirs.get(token))
    if different:
        token = different[0]
        raise TrainerError(
            "tokenizer",
            f"the token {shown(token)} has the id {shown(ours.get(token))} in the job and {shown(theirs.get(token))} in the base"
            f" ({len(different)} differ): the job was planned with another model's tokenizer",
            file="tokenizer/tokenizer.json",
        )


def _vocabulary(path: Path) -> dict[str, int]:
    value = json.loads(path.read_text("utf-8"))
    vocabulary = value["model"].get("vocab", {})
    if isinstance(vocabulary, list):
        vocabulary = {token: at for at, (token, _score) in enumerate(vocabulary)}
    return {**vocabulary, **{one["content"]: one["id"] for one in value.get("added_tokens", [])}}
