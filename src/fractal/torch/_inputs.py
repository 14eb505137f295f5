"""Validation of the arguments of calls.

Values are checked where they are known: not while a program is compiled or exported, nor inside
`torch.func.vmap`.
"""

# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def known(condition: Callable[[], Any]) -> bool:
    """Whether a condition on values is True; also if values are not known."""
    if torch.compiler.is_compiling():
        return True
    try:
        return bool(condition())
    except RuntimeError:  # of vmap, for control flow that depends on values
        return True


def check_tensor(name: str, value: Any) -> Tensor:
    """Convert an argument to a tensor."""
    if isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        shown = repr(value) if len(repr(value)) <= 40 else f"a {type(value).__name__}"
        raise ValueError(f"{name} must be a tensor of numbers, got {shown}") from None


def check_input(u: Any, shape: str, axes: int, width: int) -> Tensor:
    """Validate an input with `axes` axes, of which the last has size `width`."""
    x = check_tensor("u", u)
    if x.ndim != axes or x.shape[-1] != width:
        raise ValueError(f"u must have shape ({shape}, {width}), got {tuple(x.shape)}")
    if x.is_complex():
        raise ValueError(f"u must be real, got {x.dtype}")
    return x if x.is_floating_point() else x.to(torch.get_default_dtype())


def check_durations(dt: Any, batch: int, time: int, like: Tensor) -> Tensor:
    """Durations (1 or batch, 1 or time, 1) from None, a number, (time,) or (batch, time)."""
    x = check_tensor("dt", 1.0 if dt is None else dt)
    if x.is_complex() or x.dtype == torch.bool:
        raise ValueError(f"dt must be a real number, or one per step, got {x.dtype}")
    durations = x.to(like)
    if durations.ndim < 2:
        durations = durations.reshape(1, -1)
    if durations.shape[0] not in (1, batch) or durations.shape[1] not in (1, time) or x.ndim > 2:
        raise ValueError(
            f"dt must be a number or have shape ({time},) or ({batch}, {time}), "
            f"got {tuple(x.shape)}"
        )
    if not known(lambda: (torch.isfinite(durations) & (durations >= 0)).all()):
        raise ValueError("dt must be finite and not negative")
    return durations[..., None]


def check_padding(lengths: Any, mask: Any, x: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Which steps of x are kept, (batch, time), and how many if all of them precede padding."""
    batch, time, device = x.shape[0], x.shape[1], x.device
    if lengths is not None and mask is not None:
        raise ValueError("pass either lengths or mask, not both")
    if lengths is not None:
        end = check_tensor("lengths", lengths).to(device)
        if end.shape != (batch,) or end.is_floating_point() or end.is_complex():
            raise ValueError(
                f"lengths must be one integer per sequence, got {end.dtype}{list(end.shape)}"
            )
        if not known(lambda: ((end >= 0) & (end <= time)).all()):
            raise ValueError(f"lengths must lie in [0, {time}], the number of steps")
        return torch.arange(time, device=device) < end[:, None], end
    if mask is None:
        return None, None
    kept = check_tensor("mask", mask).to(device)
    if kept.shape != (batch, time) or kept.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, of shape ({batch}, {time}), got {kept.dtype}"
            f"{list(kept.shape)}; use lengths for a count"
        )
    return kept, None


def check_tokens(x: Tensor, vocabulary: int, name: str) -> None:
    """Raise `ValueError` for token ids outside of the vocabulary."""
    if x.numel() and not known(lambda: ((x >= 0) & (x < vocabulary)).all()):
        raise ValueError(
            f"{name} must contain tokens below {vocabulary}, got {int(x.min())} … {int(x.max())}"
        )
