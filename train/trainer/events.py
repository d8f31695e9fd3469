"""Progress on stdout, one JSON object a line; everything else that is printed goes to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TextIO

_out: TextIO | None = None


def open_events() -> None:
    """Keeps stdout for events alone: what a library prints, from Python or from C, goes to stderr instead."""
    global _out
    if _out is not None:
        return
    sys.stdout.flush()
    _out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)


def emit(event: str, **fields: object) -> None:
    """Prints one event. Under torchrun only the first process speaks, but for errors."""
    if os.environ.get("RANK", "0") != "0" and event != "error":
        return
    out = _out or sys.stdout
    out.write(json.dumps({"event": event, **fields}, ensure_ascii=False) + "\n")
    out.flush()
