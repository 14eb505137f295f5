"""Exported models as functions to measure: the C header, compiled, and ONNX in onnxruntime."""

import ctypes
import importlib.util
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..export import to_c, to_onnx
from ..nn import SequenceModel

_COMMAND = ("-std=c99", "-O3", "-march=native", "-shared", "-fPIC", "net.c", "-o", "net.so", "-lm")
_PROGRAM = """
#include "net.h"
int run(const INPUT *x, size_t length, float *y)
{
    static net_state s;
    net_init(&s);
    return net_extend(&net_trained, &s, x, NULL, length, y);
}
int outputs(void) { return net_OUTPUTS; }
int state_bytes(void) { return sizeof(net_state); }
int weight_bytes(void) { return sizeof(net_weights); }
"""

Stream = Callable[[np.ndarray], np.ndarray]
"""The outputs of a new stream after each of its samples or tokens."""


class CompiledModel(NamedTuple):
    """A model in C, and the bytes of its state and weights."""

    run: Stream
    state_bytes: int
    weight_bytes: int


def compiled_model(model: SequenceModel, folder: pathlib.Path) -> CompiledModel | None:
    """A causal model as compiled C in float32; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    (header,) = to_c(model, folder, prefix="net", dtype="float32")
    tokens = "const uint32_t *tokens" in header.read_text(encoding="utf-8")
    program = _PROGRAM.replace("INPUT", "uint32_t" if tokens else "float")
    (folder / "net.c").write_text(program, encoding="utf-8")
    subprocess.run([compiler, *_COMMAND], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "net.so"))

    def run(samples: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(samples, np.uint32 if tokens else np.float32)
        y = np.empty((len(x), library.outputs()), np.float32)
        failed = library.run(_pointer(x), ctypes.c_size_t(len(x)), _pointer(y))
        assert failed == 0
        return y

    return CompiledModel(run, library.state_bytes(), library.weight_bytes())


def onnx_stream(model: SequenceModel, folder: pathlib.Path) -> Stream | None:
    """A causal model by steps of onnxruntime, on one thread; None where it is not installed."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        return None
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    (path,) = to_onnx(model, folder, prefix="net")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {one.name: one for one in session.get_inputs()}
    names = [one.name for one in session.get_outputs()][1:]
    sample = next(iter(inputs))

    def run(samples: np.ndarray) -> np.ndarray:
        feeds = {name: _zeros(one) for name, one in inputs.items()}
        feeds["dt"] = np.ones(1, np.float32)
        outputs = []
        for x in samples[:, None].astype(feeds[sample].dtype):
            feeds[sample] = x
            found: Any = session.run(None, feeds)
            for name, value in zip(names, found[1:], strict=True):
                feeds[name.removeprefix("next_")] = value
            outputs.append(found[0][0])
        return np.stack(outputs)

    return run


def _zeros(tensor: Any) -> np.ndarray:
    shape = [1 if size == "batch" else size for size in tensor.shape]
    return np.zeros(shape, np.int64 if tensor.type == "tensor(int64)" else np.float32)


def _pointer(x: np.ndarray) -> ctypes.c_void_p:
    return x.ctypes.data_as(ctypes.c_void_p)
