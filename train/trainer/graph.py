"""
The ONNX graph of a verifier, built tensor by tensor from the merged model. Its outputs are what scoring needs: log-probabilities of a few
candidate tokens at a few positions, and the keys and values (known-faults P58: full logits of a prompt take a gigabyte).

Built by hand rather than traced: the bytes depend on the weights alone, names are those of the parameters, no tensor is held twice, and
tied embeddings stay one tensor. Every parameter of the model has to find its place here, or the export ends with its name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from transformers import PreTrainedModel

from .errors import TrainerError, shown
from .heads import HEAD
from .model import architecture
from .tensors import TensorStore, write_model
from .variants import product, table

OPSET = 17
IR_VERSION = 8
LOWEST_BIAS = -30000.0
"""Biases are raised to it: as good as −∞ in a softmax, and finite in 16-bit floats."""
MODEL_TYPES = ("llama", "mistral", "qwen2", "qwen3")


def write_graph(model: PreTrainedModel, path: Path, variant: str, *, external: bool) -> list[Path]:
    """Writes one variant of the graph and returns its files, the graph first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    store = TensorStore(path, external=external)
    try:
        built = _Graph(model, store, variant).build()
    finally:
        store.close()
    write_model(built, path)
    onnx.checker.check_model(str(path))
    return [path, *([store.path] if store.path else [])]


def graph_inputs(model: PreTrainedModel) -> list[str]:
    names = ["input_ids", "position_ids", "attention_bias", "score_positions"]
    if not hasattr(model, HEAD):
        names.append("candidate_ids")
    return [*names, *_cache_names(model, "past_key_values")]


def graph_outputs(model: PreTrainedModel) -> list[str]:
    return ["logprobs", *_cache_names(model, "present")]


def _cache_names(model: PreTrainedModel, prefix: str) -> list[str]:
    return [f"{prefix}.{layer}.{part}" for layer in range(model.config.num_hidden_layers) for part in ("key", "value")]


class _Graph:
    """Nodes in the order in which they are added; each takes its name from a counter, so that equal models give equal graphs."""

    def __init__(self, model: PreTrainedModel, store: TensorStore, variant: str) -> None:
        _check_supported(model)
        self.model = model
        self.store = store
        self.variant = variant
        self.shape = architecture(model)
        self.heads = model.config.num_attention_heads
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, torch.Tensor] = dict(model.named_parameters())
        self.used: set[str] = set()

    def build(self) -> onnx.ModelProto:
        embed = table(self.store, self.variant, "model.embed_tokens.weight", self.weight("model.embed_tokens.weight"))
        x = self.floats(self.add("Gather", [embed, "input_ids"]))
        bias = self.add("Max", ["attention_bias", self.constant("lowest_bias", np.float32(LOWEST_BIAS))])
        cos, sin = self.rotation()
        presents: list[str] = []
        for layer in range(self.shape["layers"]):
            at = f"model.layers.{layer}"
            normed = self.norm(x, f"{at}.input_layernorm")
            attended, *present = self.attention(normed, f"{at}.self_attn", layer, bias, cos, sin)
            presents += present
            x = self.add("Add", [x, attended])
            x = self.add("Add", [x, self.feed_forward(self.norm(x, f"{at}.post_attention_layernorm"), f"{at}.mlp")])
        self.log_probabilities(x, embed)
        left = sorted(set(self.weights) - self.used)
        if left:
            raise TrainerError("architecture", f"the parameter {left[0]} has no place in the graph ({len(left)} have none)")
        return self.finish(presents)

    def attention(self, x: str, at: str, layer: int, bias: str, cos: str, sin: str) -> tuple[str, str, str]:
        """Grouped-query attention over the past and the new tokens; also returns the names of the layer's keys and values."""
        query = self.rotate(self.split(self.linear(x, f"{at}.q_proj"), f"{at}.q_norm"), cos, sin)
        key = self.rotate(self.split(self.linear(x, f"{at}.k_proj"), f"{at}.k_norm"), cos, sin)
        value = self.split(self.linear(x, f"{at}.v_proj"), None)
        keys = self.add("Concat", [f"past_key_values.{layer}.key", key], output=f"present.{layer}.key", axis=2)
        values = self.add("Concat", [f"past_key_values.{layer}.value", value], output=f"present.{layer}.value", axis=2)
        # The query heads that share a key head are laid behind each other: one product a key head, and no key is repeated.
        scaled = self.add("Mul", [query, self.constant("score_scale", np.float32(self.shape["head_dim"] ** -0.5))])
        grouped = self.reshape(scaled, "grouped", [0, self.shape["kv_heads"], -1, self.shape["head_dim"]])
        products = self.add("MatMul", [grouped, self.add("Transpose", [keys], perm=[0, 1, 3, 2])])
        by_head = self.add("Add", [self.reshape(products, "by_head", [0, self.heads, -1, 0]), bias])
        weights = self.reshape(self.add("Softmax", [by_head], axis=-1), "by_key_head", [0, self.shape["kv_heads"], -1, 0])
        mixed = self.reshape(self.add("MatMul", [weights, values]), "heads", [0, self.heads, -1, self.shape["head_dim"]])
        joined = self.reshape(self.add("Transpose", [mixed], perm=[0, 2, 1, 3]), "joined", [0, 0, self.heads * self.shape["head_dim"]])
        return self.linear(joined, f"{at}.o_proj"), keys, values

    def split(self, x: str, norm: str | None) -> str:
        """[batch, tokens, heads · size] → [batch, heads, tokens, size], each head normed where the model does so."""
        parts = self.reshape(x, "split", [0, 0, -1, self.shape["head_dim"]])
        if norm is not None and f"{norm}.weight" in self.weights:
            parts = self.norm(parts, norm)
        return self.add("Transpose", [parts], perm=[0, 2, 1, 3])

    def rotation(self) -> tuple[str, str]:
        """Cosines and sines [batch, 1, tokens, head_dim] of the tokens' positions, with the model's own frequencies."""
        rotary = self.model.model.rotary_emb
        frequencies = self.store.add("rotary.frequencies", rotary.inv_freq.float().cpu().numpy())
        position = self.add("Cast", ["position_ids"], to=TensorProto.FLOAT)
        angles = self.add("Mul", [self.add("Unsqueeze", [position, self.constant("axis_2", np.array([2], np.int64))]), frequencies])
        twice = self.add("Unsqueeze", [self.add("Concat", [angles, angles], axis=-1), self.constant("axis_1", np.array([1], np.int64))])
        scaling = float(rotary.attention_scaling)
        both = [self.add(op, [twice]) for op in ("Cos", "Sin")]
        if scaling != 1.0:
            both = [self.add("Mul", [one, self.constant("rotary.scaling", np.float32(scaling))]) for one in both]
        return both[0], both[1]

    def rotate(self, x: str, cos: str, sin: str) -> str:
        half = self.shape["head_dim"] // 2
        left, right = self.add_many("Split", [x, self.constant("halves", np.array([half, half], np.int64))], 2, axis=-1)
        turned = self.add("Concat", [self.add("Neg", [right]), left], axis=-1)
        return self.add("Add", [self.add("Mul", [x, cos]), self.add("Mul", [turned, sin])])

    def norm(self, x: str, at: str) -> str:
        """Root-mean-square norm, in the form that onnxruntime fuses into one kernel."""
        square = self.add("Pow", [x, self.constant("two", np.float32(2))])
        mean = self.add("ReduceMean", [square], axes=[-1], keepdims=1)
        root = self.add("Sqrt", [self.add("Add", [mean, self.constant("epsilon", np.float32(self.model.config.rms_norm_eps))])])
        return self.add("Mul", [self.add("Div", [x, root]), self.store.add(f"{at}.weight", self.weight(f"{at}.weight"))])

    def feed_forward(self, x: str, at: str) -> str:
        gate = self.linear(x, f"{at}.gate_proj")
        opened = self.add("Mul", [gate, self.add("Sigmoid", [gate])])
        return self.linear(self.add("Mul", [opened, self.linear(x, f"{at}.up_proj")]), f"{at}.down_proj")

    def linear(self, x: str, at: str) -> str:
        name = f"{at}.weight"
        y = product(self.add, self.store, self.variant, x, name, self.weight(name))
        bias = f"{at}.bias"
        return self.add("Add", [y, self.store.add(bias, self.weight(bias))]) if bias in self.weights else y

    def log_probabilities(self, x: str, embed: str) -> None:
        """The final norm and the vocabulary at the scored positions alone."""
        flat = self.reshape(x, "flat", [-1, self.shape["hidden"]])
        rows = self.norm(self.add("Gather", [flat, "score_positions"]), "model.norm")
        if hasattr(self.model, HEAD):
            head = self.store.add(f"{HEAD}.weight", self.weight(f"{HEAD}.weight"))
            # The vocabulary is not asked; a model with tables of its own for it has them in vain.
            self.used.add("lm_head.weight")
            self.add("LogSoftmax", [self.add("Gemm", [rows, head], transB=1)], output="logprobs", axis=-1)
            return
        out = embed
        if "lm_head.weight" in self.weights:
            out = table(self.store, self.variant, "lm_head.weight", self.weight("lm_head.weight"))
        logits = self.add("Gemm", [rows, self.floats(out)], transB=1)
        every = self.add("LogSoftmax", [logits], axis=-1)
        self.add("Gather", [every, "candidate_ids"], output="logprobs", axis=1)

    def floats(self, x: str) -> str:
        return self.add("Cast", [x], to=TensorProto.FLOAT) if self.variant == "fp16" else x

    def weight(self, name: str) -> np.ndarray:
        if name not in self.weights:
            raise TrainerError("architecture", f"the model has no parameter {name}, which the graph needs")
        self.used.add(name)
        return self.weights[name].detach().cpu().numpy()

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        return self.store.add(f"constant.{name}", np.asarray(value))

    def reshape(self, x: str, name: str, shape: list[int]) -> str:
        return self.add("Reshape", [x, self.constant(f"shape.{name}", np.array(shape, np.int64))])

    def add(self, op: str, inputs: list[str], *, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        return self.add_many(op, inputs, 1, output=output, domain=domain, **attributes)[0]

    def add_many(
        self, op: str, inputs: list[str], outputs: int, *, output: str | None = None, domain: str = "", **attributes: Any
    ) -> list[str]:
        name = f"{op}_{len(self.nodes)}"
        names = [output] if output is not None else [f"{name}_{at}" if outputs > 1 else name for at in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=name, domain=domain, **attributes))
        return names

    def finish(self, presents: list[str]) -> onnx.ModelProto:
        cache = ("batch", self.shape["kv_heads"], "past", self.shape["head_dim"])
        shapes: dict[str, tuple[int, tuple[str | int, ...]]] = {
            "input_ids": (TensorProto.INT64, ("batch", "tokens")),
            "position_ids": (TensorProto.INT64, ("batch", "tokens")),
            "attention_bias": (TensorProto.FLOAT, ("batch", 1, "tokens", "past+tokens")),
            "score_positions": (TensorProto.INT64, ("rows",)),
            "candidate_ids": (TensorProto.INT64, ("candidates",)),
        }
        inputs = [helper.make_tensor_value_info(name, *shapes.get(name, (TensorProto.FLOAT, cache))) for name in graph_inputs(self.model)]
        sides = 2 if hasattr(self.model, HEAD) else "candidates"
        longer = ("batch", self.shape["kv_heads"], "past+tokens", self.shape["head_dim"])
        outputs = [
            helper.make_tensor_value_info("logprobs", TensorProto.FLOAT, ("rows", sides)),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, longer) for name in presents),
        ]
        graph = helper.make_graph(self.nodes, "verifier", inputs, outputs, initializer=self.store.protos)
        domains = [helper.make_opsetid("", OPSET)]
        if self.variant in ("int8", "int4"):
            domains.append(helper.make_opsetid("com.microsoft", 1))
        return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION, producer_name="hopgate")


def _check_supported(model: PreTrainedModel) -> None:
    config = model.config
    if config.model_type not in MODEL_TYPES:
        raise TrainerError(
            "architecture",
            f"got {shown(config.model_type)}, expected one of {', '.join(MODEL_TYPES)}",
            file="config.json",
            field="model_type",
        )
    if config.hidden_act not in ("silu", "swish"):
        raise TrainerError("architecture", f'got {shown(config.hidden_act)}, expected "silu"', file="config.json", field="hidden_act")
    if "dynamic" in str(getattr(model.model.rotary_emb, "rope_type", "default")) or "longrope" in str(model.model.rotary_emb.rope_type):
        raise TrainerError(
            "architecture", f"rotary frequencies of the kind {shown(model.model.rotary_emb.rope_type)} change with the length"
        )
    windows = set(getattr(config, "layer_types", None) or []) - {"full_attention"}
    if windows or (config.model_type == "mistral" and config.sliding_window):
        raise TrainerError(
            "architecture", "sliding-window attention, which the graph does not have", file="config.json", field="layer_types"
        )
