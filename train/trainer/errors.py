"""The one kind of error that a user can mend."""

from __future__ import annotations

import json


class TrainerError(Exception):
    """Bad input or a setting that this machine cannot follow: exit code 2. `kind` is stable, the rest says where and what."""

    def __init__(
        self, kind: str, message: str, *, file: str | None = None, line: int | None = None, row: str | None = None, field: str | None = None
    ) -> None:
        self.kind = kind
        self.place = {"file": file, "line": line, "row": row, "field": field}
        said = [
            *([file] if file is not None else []),
            *([f"line {line}"] if line is not None else []),
            *([f"row {shown(row)}"] if row is not None else []),
            *([f"field {field}"] if field is not None else []),
        ]
        super().__init__(f"{', '.join(said)}: {message}" if said else message)


def shown(value: object, limit: int = 80) -> str:
    """A value as a message shows it: JSON, at most `limit` characters."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else f"{text[:limit]}…"
