"""The diagonal recurrence as one differentiable function, with its adjoint written out.

The gradient of x_k = a_k x_{k−1} + b_k with respect to b solves the same recurrence in reverse
time, with the conjugate gate of the next step. Only the states are kept for it. The adjoint is
differentiable itself, so that derivatives of every order are scans.
"""

# pyright: reportMissingImports=false

from typing import Any

from torch.autograd import Function

import torch
from torch import Tensor

from ._numbers import conj, times
from ._solvers import solve


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
        if ctx.needs_input_grad[0]:
            before = _previous(x, start, reverse)
            difference = before - values if average else before
            for_gates = _correlation(difference, adjoint, gates.shape, paired)
        if ctx.needs_input_grad[1]:
            for_inputs = adjoint - times(a, adjoint, paired) if average else adjoint
        if start is not None and ctx.needs_input_grad[2]:
            k = x.shape[1] - 1 if reverse else 0
            for_start = times(a[:, k if a.shape[1] > 1 else 0], adjoint[:, k], paired)
        return for_gates, for_inputs, for_start, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *args: Any):
        # The vmapped axis becomes a part of the batch.
        leading = [
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


def _correlation(before: Tensor, adjoint: Tensor, shape: torch.Size, paired: bool) -> Tensor:
    """The sum of conj(before) · adjoint over the axes in which the gates are constant."""
    found = times(conj(before, paired), adjoint, paired)
    summed = [axis for axis in (0, 1) if shape[axis] == 1]
    return found.sum(summed, keepdim=True) if summed else found
