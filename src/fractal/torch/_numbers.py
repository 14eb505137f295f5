"""Real and complex numbers in real tensors.

A complex number is a pair: real and imaginary part in the last axis, of size 2. Compiled programs
compute with the two parts. Elsewhere a view as complex numbers, which copies nothing, needs one
operation per multiplication and addition instead of four.
"""

# pyright: reportMissingImports=false

import torch
from torch import Tensor

# The tensors that hold the numbers: one, real or complex; or real and imaginary parts.
Numbers = tuple[Tensor, ...]


def split(x: Tensor, paired: bool) -> Numbers:
    """Numbers from a real tensor, whose last axis is a pair if `paired`."""
    if not paired:
        return (x,)
    if torch.compiler.is_compiling() or x.device.type not in ("cpu", "cuda"):
        return x.unbind(-1)
    *strides, last = x.stride()
    even = last == 1 and not any(size % 2 for size in (*strides, x.storage_offset()))
    return (torch.view_as_complex(x if even else x.contiguous()),)


def join(x: Numbers) -> Tensor:
    """The inverse of `split`."""
    if len(x) == 2:
        return torch.stack(x, -1)
    return torch.view_as_real(x[0]) if x[0].is_complex() else x[0]


def add_product(b: Numbers, a: Numbers, x: Numbers) -> Numbers:
    """b + a x."""
    if len(b) == 1:
        return (torch.addcmul(b[0], a[0], x[0]),)
    (br, bi), (ar, ai), (xr, xi) = b, a, x
    return torch.addcmul(br, ar, xr) - ai * xi, torch.addcmul(bi, ar, xi) + ai * xr


def product(a: Numbers, x: Numbers) -> Numbers:
    """a x."""
    if len(a) == 1:
        return (a[0] * x[0],)
    (ar, ai), (xr, xi) = a, x
    return ar * xr - ai * xi, ar * xi + ai * xr


def times(a: Tensor, x: Tensor, paired: bool) -> Tensor:
    """a x of tensors whose last axis is a pair if `paired`."""
    if not paired:
        return a * x
    return join(product(split(a, True), split(x, True)))


def conj(x: Tensor, paired: bool) -> Tensor:
    """The complex conjugate."""
    if not paired:
        return x
    parts = split(x, True)
    return join((parts[0].conj_physical(),) if len(parts) == 1 else (parts[0], -parts[1]))
