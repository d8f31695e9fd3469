"""How a graph holds the weights of its matrix products: 32 or 16-bit floats, or 8 or 4-bit blocks with a scale each (weight-only)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .tensors import TensorStore

BLOCK = 32
"""Weights that share a scale, along the inner dimension."""

Add = Callable[..., str]
"""Adds a node: `add(op, inputs, domain=…, **attributes)` returns its output's name."""


def product(add: Add, store: TensorStore, variant: str, x: str, name: str, weight: np.ndarray) -> str:
    """
    x · weightᵀ for a weight [out, in]. It stands in the graph under its parameter's name, [in, out] in the float variants; in the block
    variants as `NAME.blocks` and `NAME.scales`. What goes in and comes out is 32-bit floats in every variant.
    """
    if variant == "fp32":
        return add("MatMul", [x, store.add(name, weight.T)])
    if variant == "fp16":
        half = add("Cast", [x], to=_FLOAT16)
        return add("Cast", [add("MatMul", [half, store.add(name, weight.T.astype(np.float16))])], to=_FLOAT)
    bits = {"int8": 8, "int4": 4}[variant]
    blocks, scales, zeros = _blocks(weight, bits)
    inputs = [x, store.add(f"{name}.blocks", blocks), store.add(f"{name}.scales", scales), store.add(f"{name}.zeros", zeros)]
    return add("MatMulNBits", inputs, domain="com.microsoft", K=weight.shape[1], N=weight.shape[0], bits=bits, block_size=BLOCK)


def table(store: TensorStore, variant: str, name: str, weight: np.ndarray) -> str:
    """The table that turns ids into vectors and, where it is tied, vectors into logits: halved in fp16, whole in the others."""
    return store.add(name, weight.astype(np.float16) if variant == "fp16" else weight)


_FLOAT, _FLOAT16 = 1, 10


def _blocks(weight: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, DefaultWeightOnlyQuantizer

    config = DefaultWeightOnlyQuantConfig(block_size=BLOCK, is_symmetric=False, bits=bits)
    packed, scales, zeros = DefaultWeightOnlyQuantizer(config).qbits_block_quant(np.ascontiguousarray(weight.T))
    return packed, scales.reshape(-1), zeros.reshape(-1)
