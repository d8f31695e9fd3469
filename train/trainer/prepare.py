"""A base that comes as a GGUF file, turned into a folder as the plan and the trainer read it."""

from __future__ import annotations

import shutil
from pathlib import Path

from .errors import TrainerError
from .events import emit
from .files import move_into_place


def prepare(gguf: Path, out: Path) -> None:
    """Writes config.json, *.safetensors (32-bit floats, as the file's blocks stand for them) and tokenizer.json with the chat template."""
    if not gguf.is_file():
        raise TrainerError("missing-file", "no such file", file=str(gguf))
    if out.exists():
        raise TrainerError("out-exists", "is there already, expected a new folder", file=str(out))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    emit("stage", name="load")
    whole = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent), gguf_file=gguf.name, quantization_config=whole, dtype=torch.float32, local_files_only=True
    )
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name, local_files_only=True)
    if tokenizer.chat_template is None:
        emit("warning", message=f"{gguf.name} has no chat template: the plan needs one")
    emit("stage", name="export")
    temporary = out.with_name(f"{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    model.save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    move_into_place(temporary, out)
    emit("done", out=str(out))
