"""Two-way heads (V-StopRAG, V-SIMRAG): a linear layer on the state of a row's last token, trained by the same loop as the labels."""

from __future__ import annotations

import torch
from torch import nn
from transformers import PreTrainedModel

HEAD = "score"


def attach_head(model: PreTrainedModel) -> None:
    """Adds the head to the model, in 32-bit floats, with small random weights of the seed set before."""
    hidden = model.config.hidden_size
    head = nn.Linear(hidden, 2, bias=False, dtype=torch.float32)
    nn.init.normal_(head.weight, std=0.02)
    setattr(model, HEAD, head.to(model.get_input_embeddings().weight.device))


def head_of(model: nn.Module) -> nn.Module | None:
    """The head of a model that has one: the module that is trained where an adapter keeps a copy of it."""
    return getattr(model, HEAD, None)
