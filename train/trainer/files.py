"""Reading and writing of files: whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from .errors import TrainerError, shown


def sha256_of(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_text(path: Path, text: str) -> None:
    """Writes a file under a temporary name, flushes it to disk and renames it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def write_json(path: Path, value: object) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def write_rows(path: Path, rows: Iterable[object]) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows))


def read_json(path: Path) -> object:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise TrainerError("missing-file", "no such file", file=path.name) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TrainerError("not-json", f"not JSON ({error})", file=path.name) from None


def sync_folder(folder: Path) -> None:
    """Makes a rename inside the folder last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with open(path, "rb+") as stream:
                os.fsync(stream.fileno())
    sync_folder(folder)


def move_into_place(temporary: Path, final: Path) -> None:
    """Renames a finished folder to its name, with its content on disk first; replaces an older one of that name."""
    sync_tree(temporary)
    if final.exists():
        shutil.rmtree(final)
    os.replace(temporary, final)
    sync_folder(final.parent)


def work_folder(out: Path) -> Path:
    """Where a run keeps what is only needed on its way; beside its export, which so holds nothing but results."""
    return out.with_name(f"{out.name}.work")


def check_unused(out: Path) -> None:
    if (out.is_dir() and any(out.iterdir())) or work_folder(out).exists():
        raise TrainerError("out-exists", "holds an earlier run; go on with --resume, or name a new folder", file=str(out))


def check_manifest(job: Path) -> None:
    """Every file that the job's manifest lists has the size and sha256 given there."""
    if not (job / "manifest.json").exists():
        raise TrainerError("unfinished-job", "no manifest.json: not a finished job folder", file=str(job))
    manifest = read_json(job / "manifest.json")
    entries = manifest.get("outputs") if isinstance(manifest, dict) else None
    if not isinstance(entries, list):
        raise TrainerError("unfinished-job", f"got {shown(entries)}, expected a list of files", file="manifest.json", field="outputs")
    for entry in entries:
        path = job / entry["name"]
        if not path.is_file():
            raise TrainerError("job-changed", "listed in the manifest, but missing", file=entry["name"])
        got, expected = sha256_of(path), entry["sha256"]
        if got != expected:
            raise TrainerError(
                "job-changed",
                f"got sha256 {got}, expected {expected} as in the manifest: the file was changed or damaged",
                file=entry["name"],
            )
