"""The base model: where its files are, how it is loaded, and the adapter or the head that is trained on it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from .errors import TrainerError, shown
from .files import sha256_of
from .heads import HEAD, attach_head
from .job import Job
from .settings import Settings
from .tokens import check_same_tokenizer

transformers_logging.disable_progress_bar()


@dataclass(frozen=True)
class Base:
    folder: Path
    sha256: str
    """Of `sha256  name` lines of the weight files, by name: of the file itself where there is one alone."""


@dataclass(frozen=True)
class Device:
    name: str
    cuda: bool
    bf16: bool


def find_device(local_rank: int = 0) -> Device:
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return Device(f"cuda:{local_rank}", True, torch.cuda.is_bf16_supported())
    return Device("cpu", False, False)


def find_base(job: Job, settings: Settings) -> Base:
    """The folder of the base, fetched from the hub when its name is not a folder's; its tokenizer and size are those of the plan."""
    named = Path(settings.base)
    folder = next((one for one in (named, job.folder / named) if one.is_dir()), None) or _fetched(settings)
    check_same_tokenizer(job.folder / "tokenizer" / "tokenizer.json", folder / "tokenizer.json")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise TrainerError("base", "no *.safetensors in the base's folder (a GGUF file goes through `prepare` first)", file=str(folder))
    shas = [(sha256_of(one), one.name) for one in weights]
    whole = shas[0][0] if len(shas) == 1 else hashlib.sha256("".join(f"{sha}  {name}\n" for sha, name in shas).encode()).hexdigest()
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    if config.vocab_size < job.plan.vocab_size:
        raise TrainerError(
            "base",
            f"the base has {config.vocab_size} embeddings, the plan's tokenizer {job.plan.vocab_size} ids: the tokenizer of another model",
            file=str(folder),
        )
    if getattr(config, "max_position_embeddings", settings.max_length) < settings.max_length:
        raise TrainerError(
            "base",
            f"the base reads {config.max_position_embeddings} tokens at most, settings.max_length asks for {settings.max_length}",
            file=str(folder),
        )
    return Base(folder, whole)


def _fetched(settings: Settings) -> Path:
    if settings.base.startswith((".", "/", "~")) or settings.base.endswith(".gguf"):
        raise TrainerError(
            "base",
            f"got {shown(settings.base)}, expected a folder with config.json and *.safetensors",
            file="plan.json",
            field="settings.base",
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(settings.base, revision=settings.revision, allow_patterns=["*.json", "*.safetensors", "*.txt"]))
    except Exception as error:
        raise TrainerError(
            "base",
            f"{shown(settings.base)} is no folder here and cannot be fetched ({type(error).__name__}: {str(error).splitlines()[0]})",
            file="plan.json",
            field="settings.base",
        ) from None


def load_base(base: Base, settings: Settings, device: Device, *, full: bool) -> PreTrainedModel:
    """
    Loads the base. `full`: in 32-bit floats and never quantised, for the merge and everything behind it; else as the settings say.
    """
    arguments: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": "sdpa", "local_files_only": True}
    if not full:
        arguments["dtype"] = torch.bfloat16 if settings.compute_dtype == "bf16" else torch.float32
        if settings.quantisation == "nf4":
            arguments |= {"quantization_config": _nf4(settings), "device_map": {"": device.name}}
    model = AutoModelForCausalLM.from_pretrained(base.folder, **arguments)
    if full or settings.quantisation != "nf4":
        model.to(device.name)
    model.config.use_cache = False
    check_tied(model)
    return model.eval()


def _nf4(settings: Settings) -> object:
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=settings.double_quant,
        bnb_4bit_compute_dtype=torch.bfloat16 if settings.compute_dtype == "bf16" else torch.float32,
    )


def with_adapter(model: PreTrainedModel, settings: Settings, *, head: bool) -> nn.Module:
    """Puts a new LoRA adapter (and, for a two-way decider, a head) on the base. Its first weights depend on the seed alone."""
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

    checkpointing = {"use_reentrant": False}
    if settings.quantisation == "nf4":
        model = prepare_model_for_kbit_training(model, settings.gradient_checkpointing, checkpointing)
    elif settings.gradient_checkpointing:
        model.activation_checkpointing_enable(checkpointing)
    torch.manual_seed(settings.seed)
    if head:
        attach_head(model)
    present = {name.rsplit(".", 1)[-1] for name, module in model.model.named_modules() if isinstance(module, nn.Linear)}
    for target in settings.lora_targets:
        if target not in present:
            raise TrainerError(
                "settings",
                f"got {shown(target)}, the base has {', '.join(sorted(present))}",
                file="plan.json",
                field="settings.lora_targets",
            )
    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules=list(settings.lora_targets),
        modules_to_save=[HEAD] if head else None,
        bias="none",
        task_type="CAUSAL_LM",
        base_model_name_or_path=settings.base,
        revision=settings.revision,
    )
    return get_peft_model(model, config)


def save_adapter(model: nn.Module, folder: Path, settings: Settings) -> None:
    """Writes the adapter in PEFT's layout, as safetensors; the same weights give the same bytes."""
    model.save_pretrained(str(folder), safe_serialization=True)
    (folder / "README.md").unlink(missing_ok=True)
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text("utf-8"))
    # A set in PEFT, and the base's folder as it was found here.
    config |= {"target_modules": sorted(settings.lora_targets), "base_model_name_or_path": settings.base, "revision": settings.revision}
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")


def check_tied(model: PreTrainedModel) -> bool:
    """Whether reading and writing of tokens share one table; refuses a model that says so and does not do it."""
    tied = model.get_input_embeddings().weight.data_ptr() == model.get_output_embeddings().weight.data_ptr()
    declared = bool(model.config.tie_word_embeddings)
    if tied != declared:
        raise TrainerError(
            "tied-embeddings", f"config.json says tie_word_embeddings {shown(declared)}, the loaded weights say {shown(tied)}"
        )
    return tied


def architecture(model: PreTrainedModel) -> dict[str, int]:
    config = model.config
    heads = config.num_attention_heads
    return {
        "layers": config.num_hidden_layers,
        "kv_heads": getattr(config, "num_key_value_heads", None) or heads,
        "head_dim": getattr(config, "head_dim", None) or config.hidden_size // heads,
        "hidden": config.hidden_size,
    }
