"""The diagonal recurrence as one differentiable function, with its adjoint written out.

The gradient of x_k = a_k x_{k−1} + b_k with respect to b solves the same recurrence in reverse
time, with the conjugate gate of the next step. Only the states are kept for it. The adjoint is
differentiable itself, so that derivatives of every order are scans.
"""

# pyright: reportMissingImports=false

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from ._numbers import conj, times
from ._solvers import solve

_BLOCK = 512  # steps


def recurrence(
    gates: Tensor,
    inputs: Tensor,
    start: Tensor | None = None,
    *,
    paired: bool = True,
    reverse: bool = False,
    average: bool = False,
    method: str = "auto",
) -> Tensor:
    """All states of x_k = a_k x_{k−1} + b_k.

    **Arguments:**

    - `gates`: (1 or batch, 1 or time, width), constant if the time axis is 1.
    - `inputs`: (batch, time, width).
    - `start`: the state before the first step, (batch, width); zero by default.
    - `paired`: numbers are complex, and have an additional last axis of size 2.
    - `reverse`: scan from the last step to the first.
    - `average`: x_k = a_k x_{k−1} + (1 − a_k) v_k, with `inputs` v.
    """
    return _Recurrence.apply(gates, inputs, start, paired, reverse, average, method)  # pyright: ignore[reportReturnType]


class _Recurrence(Function):
    @staticmethod
    def forward(gates, inputs, start, paired, reverse, average, method):
        # Where a = 1 the input must vanish exactly: not v + a (x − v).
        b = inputs - times(gates, inputs, paired) if average else inputs
        return solve(method, reverse, paired, gates, b, start)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        gates, values, start, paired, reverse, average, method = inputs
        ctx.save_for_backward(gates, values if average else None, start, output)
        ctx.options = paired, reverse, average, method

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor):
        gates, values, start, x = ctx.saved_tensors
        paired, reverse, average, method = ctx.options
        a = conj(gates, paired)
        adjoint = recurrence(
            _next(a, reverse), gradients[0], paired=paired, reverse=not reverse, method=method
        )
        for_gates = for_inputs = for_start = None
        if ctx.needs_input_grad[0] and gates.shape[1] == 1 and not average:
            for_gates = _constant_gates(x, start, adjoint, reverse, gates.shape[0] == 1, paired)
        elif ctx.needs_input_grad[0]:
            before = _previous(x, start, reverse)
            before = before - values if average else before
            summed = [axis for axis in (0, 1) if gates.shape[axis] == 1]
            for_gates = times(conj(before, paired), adjoint, paired)
            for_gates = for_gates.sum(summed, keepdim=True) if summed else for_gates
        if ctx.needs_input_grad[1]:
            for_inputs = adjoint - times(a, adjoint, paired) if average else adjoint
        if start is not None and ctx.needs_input_grad[2]:
            k = x.shape[1] - 1 if reverse else 0
            for_start = times(a[:, k if a.shape[1] > 1 else 0], adjoint[:, k], paired)
        return for_gates, for_inputs, for_start, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any):
        # The vmapped axis becomes a part of the batch.
        leading: list[Any] = [
            x if x is None else x[None] if axis is None else x.movedim(axis, 0)
            for x, axis in zip(args[:3], in_dims[:3], strict=True)
        ]
        size = info.batch_size, leading[1].shape[1]
        folded = [x if x is None else x.expand(*size, *x.shape[2:]).flatten(0, 1) for x in leading]
        if in_dims[0] is None and len(args[0]) == 1:
            folded[0] = args[0]  # gates that all sequences share
        x: Any = _Recurrence.apply(*folded, *args[3:])
        return x.unflatten(0, size), 0


def _next(gates: Tensor, reverse: bool) -> Tensor:
    """The gate of the following step, at each step; that of the last one is not used."""
    if gates.shape[1] == 1:
        return gates
    return torch.cat([gates[:, :1], gates[:, :-1]] if reverse else [gates[:, 1:], gates[:, :1]], 1)


def _previous(x: Tensor, start: Tensor | None, reverse: bool) -> Tensor:
    """The state before each step."""
    first = torch.zeros_like(x[:, :1]) if start is None else start[:, None]
    return torch.cat([x[:, 1:], first] if reverse else [first, x[:, :-1]], 1)


def _constant_gates(
    x: Tensor, start: Tensor | None, adjoint: Tensor, reverse: bool, shared: bool, paired: bool
) -> Tensor:
    """The gradient of constant gates: the sum of conj(x_{k−1}) · adjoint_k over the steps."""
    axes = (0, 1) if shared else (1,)
    before, after = (x[:, 1:], adjoint[:, :-1]) if reverse else (x[:, :-1], adjoint[:, 1:])
    pairs = list(zip(before.split(_BLOCK, 1), after.split(_BLOCK, 1), strict=True))
    if start is not None:
        pairs.append((start[:, None], adjoint[:, -1:] if reverse else adjoint[:, :1]))
    # In blocks, whose products need little memory.
    return sum(
        (times(conj(one, paired), two, paired).sum(axes, keepdim=True) for one, two in pairs),
        torch.zeros_like(adjoint[:1, :1] if shared else adjoint[:, :1]),
    )
