"""Gates of the modes from their eigenvalues and the elapsed time of each step.

See `fractal._engine.discretize` for the formulas. Elapsed times are of shape (1 or batch, 1 or
time, 1 or modes), gates of shape (1 or batch, 1 or time, modes, 2).
"""

# pyright: reportMissingImports=false

import torch
from torch import Tensor


def gate_and_complement(
    method: str, decay: Tensor, frequency: Tensor, elapsed: Tensor
) -> tuple[Tensor, Tensor]:
    """The gate g and the input weight 1 − g, without cancellation, as pairs.

    **Arguments:**

    - `decay`, `frequency`: λΔ of each mode per unit of time.
    - `elapsed`: elapsed time; where it is infinite, g = 0.
    """
    infinite = torch.isinf(elapsed)
    time = torch.where(infinite, 0.0, elapsed)
    decay, phase = decay * time, frequency * time
    if method == "zoh":
        modulus = torch.exp(-decay)
        sine, cosine = modulus * torch.sin(phase), torch.cos(phase)
        gate = modulus * cosine, -sine
        added = -torch.expm1(-decay) * cosine + 2 * torch.sin(phase / 2) ** 2
        complement = added, sine
    else:
        denominator = (1 + decay / 2) ** 2 + (phase / 2) ** 2
        added = (decay * (1 + decay / 2) + phase**2 / 2) / denominator
        turned = phase / denominator
        gate, complement = (1 - added, -turned), (added, turned)
    weight = torch.where(infinite, 1.0, complement[0]), torch.where(infinite, 0.0, complement[1])
    return torch.stack([torch.where(infinite, 0.0, p) for p in gate], -1), torch.stack(weight, -1)
