"""What an adapter was trained on, kept beside it: no later stage may take it up with another job's rows or another base."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import TrainerError, shown
from .files import read_json, write_json

NAME = "trained.json"


@dataclass(frozen=True)
class Origin:
    training_sha256: str
    """Of the plan and the training rows (`Job.identity`)."""
    base_sha256: str
    """Of the base's weights (`Base.sha256`)."""


def write_origin(out: Path, origin: Origin) -> None:
    write_json(out / NAME, asdict(origin))


def check_origin(out: Path, origin: Origin) -> None:
    """Refuses to go on in a folder whose training began with other rows, another plan or another base."""
    said = read_json(out / NAME)
    if not isinstance(said, dict):
        raise TrainerError("origin", f"got {shown(said)}, expected an object", file=NAME)
    if said.get("training_sha256") != origin.training_sha256:
        raise TrainerError("other-job", "trained on another job: its plan or its training rows differ", file=NAME, field="training_sha256")
    if said.get("base_sha256") != origin.base_sha256:
        raise TrainerError(
            "other-base",
            f"trained on a base whose weights have the sha256 {shown(said.get('base_sha256'))}; those found now have {origin.base_sha256}",
            file=NAME,
            field="base_sha256",
        )
