"""Stands for the trainer in tests of the launchers: a process of its own that prints the trainer's events, keeps a checkpoint, goes on from
it, and writes an export of the right form. `python fake_trainer.py --job JOB --out OUT [--resume]`."""

import argparse
import hashlib
import json
import os
import sys
import time


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--resume", action="store_true")
    arguments = parser.parse_args()
    with open(os.path.join(arguments.job, "fake.json"), encoding="utf8") as file:
        plan = json.load(file)
    if "refuse" in plan:
        say(event="error", kind="input", message=plan["refuse"])
        return 2
    say(event="stage", name="train")
    checkpoint = os.path.join(f"{arguments.out}.work", "checkpoint.json")
    os.makedirs(f"{arguments.out}.work", exist_ok=True)
    first = 0
    if arguments.resume and os.path.exists(checkpoint):
        with open(checkpoint, encoding="utf8") as file:
            first = json.load(file)["step"]
        say(event="resume", step=first)
    for step in range(first + 1, plan["steps"] + 1):
        # As a progress bar does: no end of the line, and an event behind it.
        print("half a line ", end="", file=sys.stderr, flush=True)
        say(event="step", step=step, of=plan["steps"], loss=1 / step, lr=1e-4)
        if step == plan.get("crash_at"):
            print("RuntimeError: out of memory", file=sys.stderr)
            return 1
        if step % 2 == 0:
            with open(f"{checkpoint}.tmp", "w", encoding="utf8") as file:
                json.dump({"step": step}, file)
            os.replace(f"{checkpoint}.tmp", checkpoint)
            say(event="checkpoint", step=step)
        while step == plan.get("gate", {}).get("step") and not os.path.exists(plan["gate"]["file"]):
            time.sleep(0.02)
    export(arguments.out, plan, first)
    say(event="dev", macro_f1=0.5)
    say(event="done", out=arguments.out)
    return 0


def export(out: str, plan: dict, first: int) -> None:
    contents = {
        "onnx/fp32/model.onnx": bytes(i * i % 251 for i in range(plan["bytes"])),
        "model-card.md": f"Gone on from step {first}.\n".encode(),
        "golden.jsonl": b"",
    }
    for path, content in contents.items():
        os.makedirs(os.path.dirname(os.path.join(out, path)), exist_ok=True)
        with open(os.path.join(out, path), "wb") as file:
            file.write(content)
    sha = "0" * 64
    made = {
        "kind": "verifier-export",
        "format": 1,
        "base": "fake",
        "base_sha256": sha,
        "training_sha256": sha,
        "settings": {},
        "labels": ["match", "partial", "null"],
        "label_ids": {"match": [1], "partial": [2], "null": [3]},
        "pad_id": 4,
        "eos_id": 5,
        "vocab_size": 6,
        "template_sha256": sha,
        "prompt_sha256": sha,
        "tokenizer_sha256": sha,
        "merge_dtype": "float32",
        "merged_into_quantised": False,
        "tied_embeddings": True,
        "architecture": {"layers": 1, "kv_heads": 1, "head_dim": 1, "hidden": 1},
        "variants": {"fp32": {"path": "onnx/fp32/model.onnx", "external": []}},
        "failed_variants": {},
        "metrics": {
            "dev": {"rows": 3, "accuracy": 2 / 3, "macro_f1": 0.5, "confusion": [[1, 0, 0], [0, 1, 0], [1, 0, 0]], "per_class": {}},
            "steps": plan["steps"],
            "train_rows": 8,
        },
        "files": [
            {"path": path, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for path, content in sorted(contents.items())
        ],
        "versions": {},
    }
    with open(os.path.join(out, "export.json.tmp"), "w", encoding="utf8") as file:
        json.dump(made, file)
    os.replace(os.path.join(out, "export.json.tmp"), os.path.join(out, "export.json"))


if __name__ == "__main__":
    sys.exit(main())
