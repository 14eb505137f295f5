"""Solvers of x_k = a_k x_{k−1} + b_k along the second axis of (batch, time, width).

- `"sequential"`: a loop over the steps.
- `"associative"`: all steps in logarithmic depth. Step k is combined with step k − d for d = 1, 2,
  4, …; few large operations, for GPUs and compiled programs.
- `"chunked"`: chunks of 16 steps, all chunks at once. A first pass over the positions computes the
  last state of each chunk from zero, the same method the states between chunks, and a second pass
  all states. Each operation reads one sixteenth of the states, which fits into a cache.
- `"auto"`: associative in compiled programs and on GPUs, otherwise chunked.

All of them are functions without side effects, of `Numbers`. Gates are of shape (1 or batch, 1 or
time, width); with a time axis of 1 they are constant.
"""

# pyright: reportMissingImports=false

import importlib.util

import torch
from torch import Tensor
from torch.nn.functional import pad

from ._numbers import Numbers, add_product, join, product, split

CHUNK = 16
_SQUARINGS = 4  # g^16


def solve(
    method: str,
    reverse: bool,
    paired: bool,
    gates: Tensor,
    inputs: Tensor,
    start: Tensor | None,
) -> Tensor:
    """The states of all steps.

    **Arguments:**

    - `paired`: whether the last axis of the tensors is a pair.
    - `start`: the state before the first step, (batch, width); None is zero.
    """
    if method == "auto" and use_accelerated(inputs, paired):
        return _accelerated(reverse, gates, inputs, start)
    a, b = split(gates, paired), split(inputs, paired)
    first = tuple(p[:, 0].new_zeros(p[:, 0].shape) for p in b)
    first = first if start is None else split(start, paired)
    if method == "auto":
        fast = torch.compiler.is_compiling() or inputs.device.type != "cpu"
        method = "associative" if fast else "chunked"
    run = {"sequential": _sequential, "associative": _associative, "chunked": _chunked}[method]
    return join(run(reverse, a, b, first))


def _sequential(reverse: bool, gates: Numbers, inputs: Numbers, start: Numbers) -> Numbers:
    time, constant = inputs[0].shape[1], gates[0].shape[1] == 1
    x, states = start, []
    for k in _order(time, reverse):
        x = add_product(_at(inputs, k), _at(gates, 0 if constant else k), x)
        states.append(x)
    ordered = states[::-1] if reverse else states
    return tuple(torch.stack(parts, 1) for parts in zip(*ordered, strict=True))


def _associative(reverse: bool, gates: Numbers, inputs: Numbers, start: Numbers) -> Numbers:
    time, constant = inputs[0].shape[1], gates[0].shape[1] == 1
    last = time - 1 if reverse else 0
    first = add_product(_at(inputs, last), _at(gates, 0 if constant else last), start)
    x = tuple(
        torch.cat([p[:, :-1], f[:, None]] if reverse else [f[:, None], p[:, 1:]], 1)
        for p, f in zip(inputs, first, strict=True)
    )
    # Powers of constant gates in double precision: their errors would add up over the steps.
    powers = tuple(map(_widened, gates)) if constant else gates
    distance = 1
    while distance < time:
        narrow = tuple(p.to(q.dtype) for p, q in zip(powers, x, strict=True))
        x = add_product(x, narrow, _shifted(x, distance, reverse))
        powers = product(powers, powers if constant else _shifted(powers, distance, reverse))
        distance *= 2
    return x


def _chunked(reverse: bool, gates: Numbers, inputs: Numbers, start: Numbers) -> Numbers:
    time, constant = inputs[0].shape[1], gates[0].shape[1] == 1
    count = time // CHUNK
    if count < 2:
        return _sequential(reverse, gates, inputs, start)
    whole = count * CHUNK
    rest_inputs = tuple(p[:, whole:] for p in inputs)
    rest_gates = gates if constant else tuple(p[:, whole:] for p in gates)
    rest: list[Numbers] = []
    if reverse and whole < time:
        rest = [_sequential(reverse, rest_gates, rest_inputs, start)]
        start = _at(rest[0], 0)

    b = [_at(_chunks(inputs, whole), j, axis=2) for j in range(CHUNK)]
    if constant:
        a = [gates] * CHUNK
    else:
        a = [_at(_chunks(gates, whole), j, axis=2) for j in range(CHUNK)]
    first, *later = _order(CHUNK, reverse)
    ends = b[first]
    for j in later:
        ends = add_product(b[j], a[j], ends)
    between = _chunked(reverse, _chunk_gates(a, constant), ends, start)
    x, states = _before(between, start, reverse), {}
    for j in (first, *later):
        states[j] = x = add_product(b[j], a[j], x)
    parts = zip(*(states[j] for j in range(CHUNK)), strict=True)
    found = tuple(torch.stack(part, 2).flatten(1, 2) for part in parts)
    if not reverse and whole < time:
        rest = [_sequential(reverse, rest_gates, rest_inputs, _at(found, -1))]
    if not rest:
        return found
    return tuple(torch.cat(p, 1) for p in zip(found, rest[0], strict=True))


def _chunk_gates(a: list[Numbers], constant: bool) -> Numbers:
    """The product of the gates of each chunk."""
    if not constant:
        whole = a[0]
        for one in a[1:]:
            whole = product(whole, one)
        return whole
    wide = tuple(map(_widened, a[0]))
    for _ in range(_SQUARINGS):
        wide = product(wide, wide)
    return tuple(w.to(p.dtype) for w, p in zip(wide, a[0], strict=True))


def _widened(x: Tensor) -> Tensor:
    if x.device.type == "mps":  # has no double precision
        return x
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def _before(states: Numbers, start: Numbers, reverse: bool) -> Numbers:
    """The states before each step, from those after each step."""
    return tuple(
        torch.cat([p[:, 1:], s[:, None]] if reverse else [s[:, None], p[:, :-1]], 1)
        for p, s in zip(states, start, strict=True)
    )


def _chunks(x: Numbers, whole: int) -> Numbers:
    return tuple(p[:, :whole].unflatten(1, (-1, CHUNK)) for p in x)


def _at(x: Numbers, k: int, axis: int = 1) -> Numbers:
    return tuple(p.select(axis, k) for p in x)


def _shifted(x: Numbers, distance: int, reverse: bool) -> Numbers:
    """Each step as `distance` steps before it, zero at the start."""
    if reverse:
        return tuple(pad(p[:, distance:], (0, 0, 0, distance)) for p in x)
    return tuple(pad(p[:, :-distance], (0, 0, distance, 0)) for p in x)


def _order(count: int, reverse: bool) -> range:
    return range(count - 1, -1, -1) if reverse else range(count)


def use_accelerated(inputs: Tensor, paired: bool) -> bool:
    """Whether the Triton kernel of the package accelerated-scan computes a scan, if installed.

    It is for complex numbers in single precision on CUDA devices.
    """
    if torch.compiler.is_compiling() or not inputs.is_cuda or not paired:
        return False
    if inputs.dtype != torch.float32 or importlib.util.find_spec("accelerated_scan") is None:
        return False
    return importlib.util.find_spec("accelerated_scan.complex") is not None


def _accelerated(reverse: bool, gates: Tensor, inputs: Tensor, start: Tensor | None) -> Tensor:
    """The scan by `accelerated_scan.complex.scan`, of contiguous (batch, width, time)."""
    from accelerated_scan.complex import scan  # pyright: ignore[reportMissingImports]

    if reverse:
        gates, inputs = gates.flip(1), inputs.flip(1)
    (a,), (b,) = split(gates, True), split(inputs, True)
    if start is not None:  # the kernel starts from zero
        first = b[:, :1] + a[:, :1] * split(start, True)[0][:, None]
        b = torch.cat([first, b[:, 1:]], 1)
    a = a.expand_as(b)
    x = scan(a.transpose(1, 2).contiguous(), b.transpose(1, 2).contiguous()).transpose(1, 2)
    states = join((x.contiguous(),))
    return states.flip(1) if reverse else states
