"""C99: one header per model or memory, without dependencies but libm."""

import os
import pathlib
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from .._checks import check_choice
from .._errors import UserError
from .._memory import OnlineMemory
from ._c_source import render
from ._folder import check_prefix, write_files

CDType = Literal["float32", "float64"]
CWeights = Literal["constants", "file"]


def to_c(
    model: Any,
    folder: str | os.PathLike,
    *,
    prefix: str = "model",
    dtype: str | None = None,
    weights: str = "constants",
) -> list[pathlib.Path]:
    """Write a causal model, or a memory, as one C99 header that needs libm only.

    The header defines `PREFIX_init`, `PREFIX_step` and `PREFIX_extend` for a model, and
    `PREFIX_init`, `PREFIX_push` and `PREFIX_recall` for a memory, which starts from its state.

    **Arguments:**

    - `model`: a causal `SequenceModel` of `FractalSSM` or `S5` layers, or an `OnlineMemory`.
    - `folder`: folder for the files; it is created if it does not exist.
    - `prefix`: start of the names of files and functions.
    - `dtype`: `"float32"` or `"float64"`; by default that of the parameters, float64 for a memory.
    - `weights`: `"constants"` of the header; or `"file"`: PREFIX.weights, which the program reads.

    **Returns:** the paths of the files.
    """
    prefix = check_prefix(prefix)
    if dtype is not None:
        check_choice("dtype", dtype, ("float32", "float64"))
    check_choice("weights", weights, ("constants", "file"))
    if isinstance(model, OnlineMemory):
        if weights != "constants":
            raise UserError("must be constants for a memory, got 'file'", argument="weights")
        files = {f"{prefix}.h": _memory(model, prefix, dtype or "float64")}
    else:
        files = _model(model, prefix, dtype, weights == "file")
    return write_files(folder, files)


def _model(model: Any, prefix: str, dtype: str | None, in_file: bool) -> dict[str, bytes]:
    from ._arguments import check_model, whole_only  # JAX, which a memory does not need
    from ._c_weights import FILE_VERSION, layout_of, weights_file, weights_of
    from ._plan import make_plan
    from ._positions import sinusoid_turns

    check_model(model)
    if why := whole_only(model):
        raise UserError(f"{why}: it has no step for C", argument="model")
    plan = make_plan(model, "c")
    dtype = dtype or plan.dtype
    weights = weights_of(plan)
    members = weights.flat()
    dynamics = plan.dynamics
    header = render(
        "model.h",
        prefix,
        dtype,
        title=f"{prefix}: a sequence model with power-law memory, {len(plan.blocks)} blocks of "
        f"width {plan.width}, {dtype}.",
        weights=weights,
        in_file=in_file,
        file_version=FILE_VERSION,
        layout=layout_of(members),
        tokens=plan.tokens,
        inputs=plan.inputs,
        outputs=plan.outputs,
        width=plan.width,
        depth=len(plan.blocks),
        modes=dynamics.modes,
        clocks=dynamics.clocks,
        clock_starts=[sum(dynamics.clock_modes[:k]) for k in range(dynamics.clocks + 1)],
        rate=dynamics.rate,
        timed=dynamics.rate != "path",
        duration="elapsed" if dynamics.rate == "fixed" else "dt",
        scale_invariant=dynamics.scale_invariant,
        counted=plan.pooling == "mean" or plan.positions != "none",
        pooling=plan.pooling,
        positions=plan.positions,
        length=0 if plan.table is None else len(plan.table),
        turns=sinusoid_turns(plan.width) if plan.positions == "sinusoid" else [],
        norm=plan.norm,
        final_norm=plan.final_norm is not None,
        discretization=dynamics.discretization,
        gate=plan.gate,
    )
    files = {f"{prefix}.h": header}
    if in_file:
        files[f"{prefix}.weights"] = weights_file(members, dtype)
    return files


def _memory(memory: OnlineMemory, prefix: str, dtype: str) -> bytes:
    modes = memory._modes
    return render(
        "memory.h",
        prefix,
        dtype,
        title=f"{prefix}: an online memory, alpha = {memory.alpha:g}, order {memory.order}, "
        f"{memory.channels} channels, {dtype}.",
        channels=memory.channels,
        order=memory.order,
        modes=len(modes.rates),
        decay=np.real(modes.rates),
        rotation=np.imag(modes.rates),
        # Re(readout z) as a product with real and imaginary parts.
        readout=np.concatenate([np.real(modes.readout), -np.imag(modes.readout)], axis=1),
        recurrence=_recurrence(memory.alpha, memory.order),
        count=memory.count,
        time=np.array(memory._time),
        state=np.concatenate([np.real(memory._z), np.imag(memory._z)], axis=1),
    )


def _recurrence(alpha: float, order: int) -> Float[np.ndarray, "order 3"]:
    """Slope, offset and the factor of p_{n−2} of the orthonormal Jacobi polynomials P^(−α,0)."""
    rows = np.zeros((order, 3))
    rows[1] = (2 - alpha) / 2, -alpha / 2, 0.0
    n = np.arange(2, order)
    c = 2 * n - alpha
    scale = 2 * n * (n - alpha) * (c - 2)
    rows[2:, 0] = (c - 1) * c * (c - 2) / scale
    rows[2:, 1] = (c - 1) * alpha**2 / scale
    rows[2:, 2] = 2 * (n - alpha - 1) * (n - 1) * c / scale
    norms = np.sqrt((2 * np.arange(order) + 1 - alpha) / (1 - alpha))
    rows[1:, :2] *= (norms[1:] / norms[:-1])[:, None]
    rows[2:, 2] *= norms[2:] / norms[:-2]
    return rows
