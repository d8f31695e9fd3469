"""Tensors of an ONNX file: inside it while it is small, else one after the other in a file beside it, so that none is held twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper

ALIGNMENT = 4096
"""External tensors begin at a multiple of it, so that they can be mapped into memory."""


class TensorStore:
    """Takes tensors by name, in order; owns the file beside the graph until it is closed."""

    def __init__(self, graph: Path, *, external: bool) -> None:
        self.protos: list[TensorProto] = []
        self._names: set[str] = set()
        self._beside = f"{graph.name}.data"
        self.path = graph.with_name(self._beside) if external else None
        self._stream: BinaryIO | None = open(self.path, "wb") if self.path else None

    def add(self, name: str, value: np.ndarray) -> str:
        """Adds a tensor, once; returns its name."""
        if name in self._names:
            return name
        self._names.add(name)
        value = np.ascontiguousarray(value)
        proto = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(value.dtype), dims=value.shape)
        # Small tensors (shapes, norms) stay in the graph, where shape inference reads them.
        if self._stream is None or value.nbytes < 1024:
            proto.raw_data = value.tobytes()
        else:
            self._stream.write(b"\0" * (-self._stream.tell() % ALIGNMENT))
            offset = self._stream.tell()
            self._stream.write(value.data.cast("B"))
            proto.data_location = TensorProto.EXTERNAL
            for key, text in (("location", self._beside), ("offset", str(offset)), ("length", str(value.nbytes))):
                proto.external_data.add(key=key, value=text)
        self.protos.append(proto)
        return name

    def close(self) -> None:
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._stream = None


def write_model(model: onnx.ModelProto, path: Path) -> None:
    """Writes the graph; its bytes depend on its content alone."""
    with open(path, "wb") as stream:
        stream.write(model.SerializeToString(deterministic=True))
        stream.flush()
        os.fsync(stream.fileno())
