"""Forward passes without a vocabulary of logits: hidden states, and log-probabilities at the positions that are asked for alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from .heads import head_of


def hidden_states(model: nn.Module, sequences: Sequence[Sequence[int]], pad_id: int) -> torch.Tensor:
    """Last hidden states [sequences, longest, hidden]; padded on the right, so that positions are those of the lone sequence."""
    longest = max(map(len, sequences))
    device = model.get_input_embeddings().weight.device
    ids = torch.tensor([[*one, *[pad_id] * (longest - len(one))] for one in sequences], device=device)
    mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in sequences], device=device)
    return model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state


def log_probabilities(model: nn.Module, states: torch.Tensor) -> torch.Tensor:
    """log-softmax over the whole vocabulary, or over the two sides of a head, in 32-bit floats, for chosen states [n, hidden]."""
    head = head_of(model)
    logits = model.lm_head(states) if head is None else head(states.float())
    return torch.log_softmax(logits.float(), dim=-1)


@torch.no_grad()
def naive_scores(
    model: nn.Module, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]], pad_id: int, batch: int
) -> list[list[float]]:
    """
    The score as the method defines it (method.md §4): each label is appended to each prompt in a pass of its own, and its score is the mean
    log-probability of its tokens. What every faster way has to equal.
    """
    scores: list[list[float]] = [[] for _ in prompts]
    for label in labels:
        for at in range(0, len(prompts), batch):
            some = prompts[at : at + batch]
            states = hidden_states(model, [[*prompt, *label] for prompt in some], pad_id)
            for row, prompt in enumerate(some):
                # The state at a token gives the probabilities of the next one.
                before = states[row, len(prompt) - 1 : len(prompt) - 1 + len(label)]
                each = log_probabilities(model, before)[torch.arange(len(label)), torch.tensor(label)]
                scores[at + row].append(float(each.mean()))
    return scores


@torch.no_grad()
def scores(
    model: nn.Module, prompts: Sequence[Sequence[int]], labels: Sequence[Sequence[int]], pad_id: int, batch: int
) -> list[list[float]]:
    """The same scores with one pass a row where every label is one token: what comes behind a position does not change it."""
    if any(len(label) != 1 for label in labels):
        return naive_scores(model, prompts, labels, pad_id, batch)
    candidates = torch.tensor([label[0] for label in labels])
    return _at_last(model, prompts, pad_id, batch, candidates)


@torch.no_grad()
def head_scores(model: nn.Module, prompts: Sequence[Sequence[int]], pad_id: int, batch: int) -> list[list[float]]:
    """Log-probabilities of the two sides of a head."""
    return _at_last(model, prompts, pad_id, batch, torch.arange(2))


def _at_last(model: nn.Module, prompts: Sequence[Sequence[int]], pad_id: int, batch: int, candidates: torch.Tensor) -> list[list[float]]:
    # Rows of like length together, so that little padding is read; the result keeps the order given.
    order = sorted(range(len(prompts)), key=lambda at: (len(prompts[at]), at))
    result: list[list[float]] = [[] for _ in prompts]
    for at in range(0, len(order), batch):
        some = order[at : at + batch]
        states = hidden_states(model, [prompts[one] for one in some], pad_id)
        last = states[torch.arange(len(some)), torch.tensor([len(prompts[one]) - 1 for one in some])]
        chosen = log_probabilities(model, last)[:, candidates.to(last.device)]
        for one, row in zip(some, chosen.tolist(), strict=True):
            result[one] = row
    return result
