"""
A verifier's learning curve: macro-F1 of a run's checkpoints on a fixed sample of its job's dev rows, a line of JSON each.

    PYTHONPATH=train python bench/verifier-curve.py JOB CHECKPOINTS [ROWS]

CHECKPOINTS holds folders `step-NNNNNN`, copied from `EXPORT.work` while the run went on (the trainer keeps the last one alone). ROWS: how many dev
rows, drawn by the job's seed (default 150).
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path


def main(job_folder: str, checkpoints: str, count: str = "150") -> None:
    import torch
    from safetensors.torch import load_file
    from trainer.checkpoint import trained
    from trainer.evaluate import measures
    from trainer.job import read_job
    from trainer.model import find_base, find_device, load_base, with_adapter
    from trainer.score import scores
    from trainer.settings import resolved

    job = read_job(Path(job_folder))
    device = find_device()
    settings = resolved(job.plan.settings, cuda=device.cuda, bf16=device.bf16)
    model = with_adapter(load_base(find_base(job, settings), settings, device, full=False), settings, head=False).eval()
    rows = random.Random(settings.seed).sample(job.dev, min(int(count), len(job.dev)))
    labels = [job.plan.label_ids[label] for label in job.plan.labels]
    for folder in [None, *sorted(Path(checkpoints).glob("step-*"))]:
        if folder is not None:
            weights = load_file(folder / "trained.safetensors")
            with torch.no_grad():
                for name, one in trained(model):
                    one.copy_(weights[name])
        said = scores(model.get_base_model(), [row.prompt for row in rows], labels, job.plan.pad_id, settings.eval_batch)
        found = measures(job.plan.labels, [row.label for row in rows], said)
        step = 0 if folder is None else int(folder.name.removeprefix("step-"))
        print(json.dumps({"step": step, **{name: found[name] for name in ("rows", "macro_f1", "accuracy", "confusion")}}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
