"""The drafter's training in PyTorch and its graph in onnxruntime, for `drafter.ts`. The first argument is the task as JSON with `what`,
`threads` and `seconds`; prints one JSON object: version, rounds a second, milliseconds of processor time a round, and for a first
training its `losses`."""

import json
import sys
import time
from pathlib import Path

WARM_UP = 3


def measured(version, work, seconds):
    for _ in range(WARM_UP):
        work()
    started, cpu, rounds = time.perf_counter(), time.process_time(), 0
    while rounds < WARM_UP or time.perf_counter() - started < seconds:
        work()
        rounds += 1
    rate = rounds / (time.perf_counter() - started)
    return {"version": version, "rate": rate, "cpu": (time.process_time() - cpu) * 1000 / rounds}


def train(task):
    sys.path.insert(0, str(Path(__file__).parent.parent / "test" / "python"))
    import torch
    from safetensors.torch import load_file
    from torch_drafter import Drafter, batch_of, optimiser_of, step

    torch.set_num_threads(task["threads"])
    torch.manual_seed(13)
    examples, weights = load_file(task["examples"]), load_file(task["weights"])
    rows = torch.arange(len(examples["questions"]))

    def stepper(dropout):
        drafter = Drafter(weights, task["slots"], dropout=dropout)
        optimiser = optimiser_of(drafter, task["learning_rate"], 0.0)
        return lambda: step(drafter, optimiser, batch_of(examples, rows), task["count_weight"]).item()

    first = stepper(0.0)
    losses = [first() for _ in range(task["first"])]
    return measured(torch.__version__, stepper(task["dropout"]), task["seconds"]) | {"losses": losses}


def infer(task):
    import onnxruntime
    from safetensors.numpy import load_file, save_file

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = task["threads"]
    session = onnxruntime.InferenceSession(task["onnx"], options, providers=["CPUExecutionProvider"])
    questions = load_file(task["examples"])["questions"][: task["batch"]]
    slots, counts = session.run(["slots", "count_logits"], {"question": questions})
    save_file({"slots": slots, "count_logits": counts}, task["outputs"])
    return measured(onnxruntime.__version__, lambda: session.run(None, {"question": questions}), task["seconds"])


task = json.loads(sys.argv[1])
print(json.dumps({"train": train, "infer": infer}[task["what"]](task)))
