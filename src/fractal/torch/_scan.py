"""The linear recurrence x_k = a_k x_{k−1} + b_k as a function of tensors."""

# pyright: reportMissingImports=false

import torch
from torch import Tensor

from .._checks import check_choice, check_flag
from .._options import METHODS
from ._recurrence import recurrence


def linear_scan(
    a: Tensor,
    b: Tensor,
    h0: Tensor | None = None,
    *,
    reverse: bool = False,
    method: str = "auto",
) -> Tensor:
    """All states of x_k = a_k x_{k−1} + b_k along the first axis, from x_{−1} = h0.

    **Arguments:**

    - `a`: decay factors (gates), of the shape of b, or without the time axis if they are constant.
    - `b`: inputs, real or complex.
    - `h0`: state before the first step (after the last one if `reverse`); zero by default.
    - `reverse`: scan from the last step to the first.
    - `method`: `"sequential"`, a loop over steps; `"associative"`, logarithmic depth; `"chunked"`,
      chunks of 16 steps, all of them at once; `"auto"`, the last on CPUs, and associative on GPUs
      and in compiled programs.

    >>> import torch
    >>> from fractal.torch import linear_scan
    >>> linear_scan(torch.tensor(0.5), torch.ones(3))
    tensor([1.0000, 1.5000, 1.7500])
    """
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    if b.ndim == 0:
        raise ValueError("b must have a time axis, got a scalar")
    if a.shape not in (b.shape, b.shape[1:]):
        raise ValueError(
            f"a must have b's shape {tuple(b.shape)}, or {tuple(b.shape[1:])} if it is constant, "
            f"got {tuple(a.shape)}"
        )
    if h0 is not None and h0.shape != b.shape[1:]:
        raise ValueError(f"h0 must have shape {tuple(b.shape[1:])}, got {tuple(h0.shape)}")
    check_choice("method", method, METHODS)
    check_flag("reverse", reverse)
    dtype = torch.promote_types(a.dtype, b.dtype)
    dtype = dtype if h0 is None else torch.promote_types(dtype, h0.dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"a, b and h0 must be real or complex floating point, got {dtype}")
    if b.numel() == 0:
        return b.to(dtype)
    x = recurrence(
        _flat(a.to(dtype), 1 if a.ndim < b.ndim else len(b)),
        _flat(b.to(dtype), len(b)),
        None if h0 is None else _flat(h0.to(dtype), 1)[:, 0],
        paired=dtype.is_complex,
        reverse=reverse,
        method=method,
    )
    return (torch.view_as_complex(x) if dtype.is_complex else x).reshape(b.shape)


def _flat(x: Tensor, time: int) -> Tensor:
    """(1, time, width), with complex numbers as pairs."""
    flat = x.reshape(1, time, -1)
    return torch.view_as_real(flat.resolve_conj()) if x.is_complex() else flat
