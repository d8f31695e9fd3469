"""`python -m trainer run|train|export|check|prepare`: exit code 0, 2 for input or settings that a user can mend, 1 for anything else."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path

from .errors import TrainerError
from .events import emit, open_events
from .files import check_unused


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    open_events()
    # The job brings everything that is looked up by name, and dropout's order on a GPU is fixed by this.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        return _do(options)
    except TrainerError as error:
        emit("error", kind=error.kind, message=str(error), **{name: value for name, value in error.place.items() if value is not None})
        return 2
    except Exception as error:
        if type(error).__name__ == "Interrupted":
            emit("error", kind="interrupted", message=f"stopped by a {error} after a checkpoint; go on with --resume")
            return 128 + error.number  # type: ignore[attr-defined]
        traceback.print_exc()
        memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
        emit("error", kind="memory" if memory else "internal", message=f"{type(error).__name__}: {error}")
        return 1


def _do(options: argparse.Namespace) -> int:
    if options.command == "check":
        from .job import read_job

        job = read_job(options.job)
        emit("checked", train=len(job.train), dev=len(job.dev), golden=len(job.golden))
    elif options.command == "prepare":
        from .prepare import prepare

        prepare(options.gguf, options.out)
    else:
        parts = {"train": options.command != "export", "export": options.command != "train"}
        out = (options.out or options.job / "export").resolve()
        if parts["train"] and not options.resume:
            # Before any process begins to write.
            check_unused(out)
        from .run import Options, run

        run(Options(options.job.resolve(), out, options.resume, **parts, external_above=options.external_above))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainer", description="Trains and exports a verifier from a job folder; events on stdout, one JSON object a line."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, words in (
        ("run", "train, merge, export, score"),
        ("train", "train alone"),
        ("export", "merge, export and score a trained adapter"),
    ):
        command = commands.add_parser(name, help=words)
        command.add_argument("--job", type=Path, required=True)
        command.add_argument("--out", type=Path, help="default: JOB/export")
        command.add_argument("--resume", action="store_true", help="go on with a run that was killed")
        command.add_argument(
            "--external-above", type=int, default=2_000_000_000, help="bytes of tensors above which they stand beside the graph"
        )
    check = commands.add_parser("check", help="settings and rows alone; needs no PyTorch")
    check.add_argument("--job", type=Path, required=True)
    prepare = commands.add_parser("prepare", help="a GGUF base as a folder with safetensors and tokenizer.json")
    prepare.add_argument("--gguf", type=Path, required=True)
    prepare.add_argument("--out", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
