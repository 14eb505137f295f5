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
    return net_extend(&net_trained, &s, xDURATIONS, length, y);
}
int outputs(void) { return net_OUTPUTS; }
int state_bytes(void) { return sizeof(net_state); }
int weight_bytes(void) { return sizeof(net_weights); }
"""

Stream = Callable[[np.ndarray], np.ndarray]
"""The outputs of a new stream after each of its samples or tokens."""


class MissingTool(RuntimeError):
    """A program or package that an exported model needs to run is not there; says which."""


class ExportedModel(NamedTuple):
    """An exported model that runs, and the bytes of its parts."""

    run: Stream
    bytes: dict[str, int]


def compiled_model(model: SequenceModel, folder: pathlib.Path) -> ExportedModel:
    """A causal model as compiled C in float32."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise MissingTool("no C compiler: there is no program cc")
    (header,) = to_c(model, folder, prefix="net", dtype="float32")
    text = header.read_text(encoding="utf-8")
    tokens = "const uint32_t *tokens" in text
    program = _PROGRAM.replace("INPUT", "uint32_t" if tokens else "float")
    program = program.replace("DURATIONS", ", NULL" if "const float *dt" in text else "")
    (folder / "net.c").write_text(program, encoding="utf-8")
    subprocess.run([compiler, *_COMMAND], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "net.so"))

    def run(samples: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(samples, np.uint32 if tokens else np.float32)
        y = np.empty((len(x), library.outputs()), np.float32)
        failed = library.run(_pointer(x), ctypes.c_size_t(len(x)), _pointer(y))
        assert failed == 0
        return y

    sizes = {"state": library.state_bytes(), "weights": library.weight_bytes()}
    code = _code_bytes(compiler, folder)
    sizes |= {"file": header.stat().st_size} | ({} if code is None else {"code": code})
    return ExportedModel(run, sizes)


def onnx_model(model: SequenceModel, folder: pathlib.Path) -> ExportedModel:
    """A causal model by steps of onnxruntime, on one thread."""
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise MissingTool(f"{package} is not installed")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    (path,) = to_onnx(model, folder, prefix="net")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = {one.name: one for one in session.get_inputs()}
    names = [one.name for one in session.get_outputs()][1:]
    sample = next(iter(inputs))
    zeros = {name: _zeros(one) for name, one in inputs.items()}
    if "dt" in zeros:
        zeros["dt"] = np.ones(1, np.float32)

    def run(samples: np.ndarray) -> np.ndarray:
        feeds, outputs = dict(zeros), []
        for x in samples[:, None].astype(zeros[sample].dtype):
            feeds[sample] = x
            found: Any = session.run(None, feeds)
            for name, value in zip(names, found[1:], strict=True):
                feeds[name.removeprefix("next_")] = value
            outputs.append(found[0][0])
        return np.stack(outputs)

    state = sum(zeros[name.removeprefix("next_")].nbytes for name in names)
    return ExportedModel(run, {"state": state, "file": path.stat().st_size})


def _code_bytes(compiler: str, folder: pathlib.Path) -> int | None:
    """Bytes of machine code for this processor, optimized for size; None without GNU `size`."""
    size = shutil.which("size")
    if size is None:
        return None
    subprocess.run([compiler, "-std=c99", "-Os", "-c", "net.c"], cwd=folder, check=True)
    done = subprocess.run(
        [size, "-A", "net.o"], cwd=folder, capture_output=True, text=True, check=False
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return next((int(line[1]) for line in lines if line[:1] == [".text"]), None)


def _zeros(tensor: Any) -> np.ndarray:
    shape = [1 if size == "batch" else size for size in tensor.shape]
    return np.zeros(shape, np.int64 if tensor.type == "tensor(int64)" else np.float32)


def _pointer(x: np.ndarray) -> ctypes.c_void_p:
    return x.ctypes.data_as(ctypes.c_void_p)
