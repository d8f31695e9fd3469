"""Checks of the trainer that need its parts in one process; prints what they measured, for the test to judge."""

import contextlib
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "train"))
torch.set_num_threads(1)

from trainer.errors import TrainerError  # noqa: E402
from trainer.files import sha256_of  # noqa: E402
from trainer.fit import _loss, learning_rate, rows_of_step  # noqa: E402
from trainer.graph import graph_inputs, graph_outputs, write_graph  # noqa: E402
from trainer.job import read_job  # noqa: E402
from trainer.model import Device, find_base, load_base, with_adapter  # noqa: E402
from trainer.onnx_run import open_graph  # noqa: E402
from trainer.run import Options, run  # noqa: E402
from trainer.score import naive_scores, scores  # noqa: E402
from trainer.settings import resolved  # noqa: E402
from trainer.tokens import check_same_tokenizer  # noqa: E402

asked = json.load(sys.stdin)
work = Path(asked["work"])
job = read_job(Path(asked["job"]))
plan = job.plan
settings = resolved(plan.settings, cuda=False, bf16=False)
cpu = Device("cpu", False, False)
found: dict[str, object] = {}


def base_model(name):
    return load_base(find_base(job, replace(settings, base=asked["bases"][name])), settings, cpu, full=True)


def feeds(session, ids, past, positions, candidates, bias=None):
    batch, tokens = ids.shape
    length = past[0].shape[2]
    if bias is None:
        bias = np.triu(np.full((tokens, length + tokens), -1e9, np.float32), 1 + length)[None, None].repeat(batch, 0)
    names = [one.name for one in session.get_inputs() if one.name.startswith("past_key_values.")]
    return {
        "input_ids": ids, "position_ids": np.arange(length, length + tokens)[None].repeat(batch, 0), "attention_bias": bias,
        "score_positions": np.array(positions), "candidate_ids": np.array(candidates), **dict(zip(names, past, strict=True)),
    }  # fmt: skip


# Every architecture, tied and untied: one pass in the graph against transformers, then the same tokens in two passes with keys and values.
found["graphs"] = {}
for name in asked["graphs"]:
    model = base_model(name)
    files = write_graph(model, work / name / "model.onnx", "fp32", external=name == asked["external"])
    session = open_graph(files[0], graph_inputs(model), graph_outputs(model))
    ids = np.random.default_rng(3).integers(0, 200, (3, 11))
    with torch.no_grad():
        logits = model(input_ids=torch.tensor(ids)).logits
    expected = torch.log_softmax(logits, -1).reshape(-1, logits.shape[-1])
    positions, candidates = [10, 14, 32], list(range(0, 256, 3))
    empty = [np.zeros((3, 2, 0, 16), np.float32)] * 4
    whole = session.run(None, feeds(session, ids, empty, positions, candidates))
    first = session.run(None, feeds(session, ids[:, :7], empty, [0], [0]))
    second = session.run(None, feeds(session, ids[:, 7:], first[1:], [3, 7, 11], candidates))
    last = expected[[10, 21, 32]][:, candidates].numpy()
    found["graphs"][name] = {
        "files": [one.name for one in files],
        "one_pass": float(np.abs(whole[0] - expected[positions][:, candidates].numpy()).max()),
        "two_passes": float(np.abs(second[0] - last).max()),
        "cache": float(max(np.abs(a - b).max() for a, b in zip(whole[1:], second[1:], strict=True))),
        "outputs": {one.name: [size if isinstance(size, int) else str(size) for size in one.shape] for one in session.get_outputs()},
    }

# The same weights give the same bytes.
model = base_model("qwen2")
twice = [sha256_of(write_graph(model, work / f"twice{at}" / "model.onnx", "int4", external=False)[0]) for at in range(2)]
found["same_bytes"] = twice[0] == twice[1]

# Labels of one token and of several, in batches of any size.
prompts = [row.prompt for row in job.dev]
labels = [plan.label_ids[label] for label in plan.labels]
lone = naive_scores(model, prompts, labels, plan.pad_id, 1)
single = [[10], [11], [12]]
found["scores"] = {
    "batches": {size: float(np.abs(np.array(naive_scores(model, prompts, labels, plan.pad_id, size)) - lone).max()) for size in (2, 8, 17)},
    "one_pass": float(
        np.abs(np.array(scores(model, prompts, single, plan.pad_id, 5)) - naive_scores(model, prompts, single, plan.pad_id, 1)).max()
    ),
}
with torch.no_grad():
    row = job.train[1]
    whole = torch.log_softmax(model(input_ids=torch.tensor([row.ids])).logits[0], -1)
    plain = -sum(float(whole[at - 1, row.ids[at]]) for at in range(row.start, row.end))
    longer = next(one for one in job.train if len(one.ids) > len(row.ids))
    other = float(_loss(model, [longer], plan.pad_id))
    found["loss"] = {"plain": plain, "padded": float(_loss(model, [row, longer], plan.pad_id)) - other, "learned": row.end - row.start}

# Gradient checkpointing changes memory, never numbers.
gradients = []
for checkpointing in (False, True):
    chosen = replace(settings, gradient_checkpointing=checkpointing)
    adapted = with_adapter(load_base(find_base(job, settings), chosen, cpu, full=False), chosen, head=False).train()
    torch.manual_seed(1)
    _loss(adapted.get_base_model(), job.train[:4], plan.pad_id).backward()
    gradients.append(torch.cat([one.grad.reshape(-1) for one in adapted.parameters() if one.grad is not None]))
found["checkpointing"] = {"difference": float((gradients[0] - gradients[1]).abs().max()), "largest": float(gradients[0].abs().max())}

found["rates"] = [learning_rate(replace(settings, max_steps=10, warmup_ratio=0.2), step) / settings.learning_rate for step in range(10)]
epoch = [row.row for step in range(6) for row in rows_of_step(job.train, settings, step)]
found["order"] = {"first": epoch, "second": [row.row for step in range(6, 12) for row in rows_of_step(job.train, settings, step)]}

# A two-way head, from training to its graph, by the same run.
events = io.StringIO()
with contextlib.redirect_stdout(events):
    run(Options(Path(asked["head_job"]), work / "head-export", False, True, True, 2_000_000_000))
told = [json.loads(line) for line in events.getvalue().splitlines()]
found["head"] = {
    "losses": [one["loss"] for one in told if one["event"] == "step"],
    "golden": [json.loads(line) for line in (work / "head-export" / "golden.jsonl").read_text().splitlines()],
    "dev": json.loads((work / "head-export" / "export.json").read_text())["metrics"]["dev"],
}


def refusal(action):
    try:
        action()
    except TrainerError as error:
        return {"kind": error.kind, "message": str(error)}
    return None


def changed(config):
    model = base_model("qwen2")
    for name, value in config.items():
        setattr(model.config, name, value)
    return model


def with_tokenizer(part, value):
    own = job.folder / "tokenizer" / "tokenizer.json"
    content = json.loads(own.read_text())
    (content["model"] if part == "merges" else content)[part] = value(content) if callable(value) else value
    other = work / "base-tokenizer.json"
    other.write_text(json.dumps(content))
    check_same_tokenizer(own, other)


parts = {
    "merges": ["w 1"],
    "added_tokens": lambda content: [{**one, "lstrip": True} for one in content["added_tokens"]],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
}
gpu = {"optimizer": "paged_adamw_8bit", "quantisation": "nf4"}
found["refusals"] = {
    **{
        name: refusal(lambda name=name, value=value: resolved(replace(settings, **{name: value}), cuda=False, bf16=False))
        for name, value in gpu.items()
    },
    "target": refusal(lambda: with_adapter(base_model("qwen2"), replace(settings, lora_targets=("c_attn",)), head=False)),
    "model": refusal(lambda: write_graph(changed({"model_type": "gemma2"}), work / "no" / "model.onnx", "fp32", external=False)),
    "window": refusal(
        lambda: write_graph(changed({"layer_types": ["sliding_attention"] * 2}), work / "no" / "model.onnx", "fp32", external=False)
    ),
    "length": refusal(lambda: find_base(job, replace(settings, max_length=513))),
    "tokenizer": refusal(lambda: find_base(job, replace(settings, base=asked["other"]))),
    **{part: refusal(lambda part=part, value=value: with_tokenizer(part, value)) for part, value in parts.items()},
    "same": refusal(lambda: with_tokenizer("version", "1.1")),
    "base": refusal(lambda: find_base(job, replace(settings, base="./nowhere"))),
}
print(json.dumps(found))
