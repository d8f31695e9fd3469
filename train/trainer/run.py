"""The stages of a run: train, then merge and export; each goes on where a killed one stopped."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import torch

from .checkpoint import last_checkpoint
from .errors import TrainerError
from .events import emit
from .export import Export, export
from .files import move_into_place, read_json, work_folder, write_json
from .fit import Fit, fit
from .job import Job, read_job
from .merge import golden_scores
from .model import find_base, find_device, load_base, save_adapter, with_adapter
from .origin import NAME as ORIGIN
from .origin import Origin, check_origin, write_origin
from .parallel import close_world, open_world, wait_for_all
from .settings import Settings, resolved


@dataclass(frozen=True)
class Options:
    job: Path
    out: Path
    resume: bool
    train: bool
    export: bool
    external_above: int


def run(options: Options) -> None:
    """Trains and exports a job. Everything that is only needed on the way stands in `OUT.work` until the export is whole."""
    job = read_job(options.job)
    out, work = options.out, work_folder(options.out)
    world = open_world()
    try:
        device = find_device(world.local_rank)
        settings = resolved(job.plan.settings, cuda=device.cuda, bf16=device.bf16)
        if _finished(options, job, settings):
            return
        torch.use_deterministic_algorithms(True, warn_only=True)
        emit("stage", name="load")
        base = find_base(job, settings)
        origin = Origin(job.identity, base.sha256)
        if options.train:
            if options.resume and ((out / ORIGIN).exists() or last_checkpoint(work) is not None):
                check_origin(out, origin)
            model = with_adapter(load_base(base, settings, device, full=False), settings, head=job.plan.head)
            if world.first:
                write_json(out / "effective.json", settings.as_json())
                write_origin(out, origin)
            emit("stage", name="train")
            fit(model, job, Fit(settings, device, world, work), resume=options.resume)
            if world.first:
                save_adapter(model, work / "adapter.tmp", settings)
                move_into_place(work / "adapter.tmp", out / "adapter")
                if settings.quantisation != "none":
                    write_json(work / "quantised-golden.json", golden_scores(model.get_base_model(), job.plan, settings, job.golden))
            del model
            if device.cuda:
                torch.cuda.empty_cache()
        wait_for_all(world)
    finally:
        close_world(world)
    if world.first and options.export:
        if not (out / "adapter" / "adapter_model.safetensors").is_file():
            raise TrainerError("missing-file", "no adapter to export: train first", file="adapter/adapter_model.safetensors")
        trained = read_json(out / "effective.json")
        if trained != settings.as_json():
            raise TrainerError("settings", "the adapter was trained with other settings than this job's", file="effective.json")
        check_origin(out, origin)
        export(Export(job, settings, base, device, out, work, options.external_above))
        shutil.rmtree(work, ignore_errors=True)
    emit("done", out=str(out))


def _finished(options: Options, job: Job, settings: Settings) -> bool:
    """Whether an earlier run of this job with the same settings has done everything; refuses to write over another's export."""
    if not (options.out / "export.json").exists():
        return False
    export_json = read_json(options.out / "export.json")
    made = export_json if isinstance(export_json, dict) else {}
    if options.resume and made.get("training_sha256") != job.identity:
        raise TrainerError(
            "other-job",
            "the finished export of another job (its plan or its training rows differ); name a new folder",
            file="export.json",
            field="training_sha256",
        )
    if options.resume and made.get("settings") == settings.as_json():
        emit("done", out=str(options.out))
        return True
    raise TrainerError("out-exists", "holds a finished export, expected a new folder", file=str(options.out))
