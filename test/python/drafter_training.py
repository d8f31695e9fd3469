"""Trains drafters in PyTorch in double precision from given weights on given batches. stdin: a JSON array of tasks, each with the paths
`weights` and `examples` (safetensors), `batches` (row numbers), `slots`, `residual`, `matching`, `learning_rate`, `weight_decay`,
`count_weight`, and the paths `first_gradients` and `trained` to write (safetensors). stdout: for each task an array of its losses."""

import json
import sys

import torch
from safetensors.torch import load_file, save_file

from torch_drafter import Drafter, batch_of, optimiser_of, step


def train(task):
    weights = {name: one.double() for name, one in load_file(task["weights"]).items()}
    examples = load_file(task["examples"])
    drafter = Drafter(weights, task["slots"], task["residual"])
    optimiser = optimiser_of(drafter, task["learning_rate"], task["weight_decay"])
    losses = []
    for rows in task["batches"]:
        losses.append(step(drafter, optimiser, batch_of(examples, rows, torch.double), task["count_weight"], task["matching"]).item())
        if len(losses) == 1:
            save(drafter.named_tensors(lambda parameter: parameter.grad), task["first_gradients"])
    save(drafter.named_tensors(lambda parameter: parameter), task["trained"])
    return losses


def save(tensors, path):
    save_file({name: one.detach().float().contiguous() for name, one in tensors}, path)


print(json.dumps([train(task) for task in json.load(sys.stdin)]))
