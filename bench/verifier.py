"""What the verifier bench compares with. `graph BASE FILE` writes the base model's scoring graph and prints its sizes as JSON; `passes BASE
BATCH THREADS` reads {"prompts": [[id]], "labels": [[id]], "pad": id} on stdin and scores each prompt with Hugging Face transformers by three
passes, one a label, padded on the left, logits of the label's positions alone. Prints {"seconds", "cpu_seconds", "scores"}."""

import json
import sys
import time
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM


def load(base):
    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, local_files_only=True).eval()


def graph(base, file):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "train"))
    from trainer.graph import write_graph
    from trainer.model import architecture

    model = load(base)
    write_graph(model, Path(file), "fp32", external=False)
    print(json.dumps(architecture(model)))


@torch.inference_mode()
def passes(base, batch, threads):
    torch.set_num_threads(threads)
    asked = json.load(sys.stdin)
    model = load(base)
    warm = torch.tensor([asked["prompts"][0]])
    model(warm)
    scores = [[0.0] * len(asked["labels"]) for _ in asked["prompts"]]
    started, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(asked["prompts"]), batch):
        part = asked["prompts"][start : start + batch]
        for which, label in enumerate(asked["labels"]):
            rows = [prompt + label for prompt in part]
            length = max(map(len, rows))
            ids = torch.tensor([[asked["pad"]] * (length - len(row)) + row for row in rows])
            mask = torch.tensor([[0] * (length - len(row)) + [1] * len(row) for row in rows])
            positions = (mask.cumsum(-1) - 1).clamp(min=0)
            out = model(ids, attention_mask=mask, position_ids=positions, use_cache=False, logits_to_keep=len(label) + 1)
            logprobs = torch.log_softmax(out.logits[:, :-1].float(), -1)
            found = logprobs.gather(-1, torch.tensor(label).expand(len(part), -1).unsqueeze(-1)).squeeze(-1).mean(-1)
            for at, value in enumerate(found.tolist()):
                scores[start + at][which] = value
    print(json.dumps({"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu, "scores": scores}))


if __name__ == "__main__":
    command, base, *rest = sys.argv[1:]
    if command == "graph":
        graph(base, *rest)
    else:
        passes(base, *map(int, rest))
