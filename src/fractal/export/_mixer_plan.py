"""A layer of modes as arrays and choices: `FractalSSM`, and S5, which has the same recurrence."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from ..baselines import S5
from ..nn import FractalSSM, PathRate, SelectiveRate

MIXERS = (FractalSSM, S5)


@dataclasses.dataclass(frozen=True)
class Dynamics:
    """What the layers of a model have in common.

    **Fields:**

    - `rate`: `"fixed"`; `"selective"`; or `"path"`, whose samples have no duration `dt`.
    - `clock_modes`: the number of modes that follow each clock of a layer, in order.
    """

    scale_invariant: bool
    discretization: str
    bidirectional: bool
    rate: str
    clock_modes: tuple[int, ...]

    @property
    def modes(self) -> int:
        """Number of modes of a layer."""
        return sum(self.clock_modes)

    @property
    def clocks(self) -> int:
        """Number of clocks of a layer."""
        return len(self.clock_modes)


@dataclasses.dataclass(frozen=True)
class RatePlan:
    """The time that a sample takes, by clock: dt · softplus(weight u + bias), or ‖weight ∘ Δu‖.

    The second is that of a path, which has no bias.
    """

    weight: Float[np.ndarray, "clocks width"]
    bias: Float[np.ndarray, " clocks"] | None


@dataclasses.dataclass(frozen=True)
class MixerPlan:
    """Modes dz/ds = rates · (response u − z), and the output readout [Re z, Im z] + skip u.

    A bidirectional layer has a second set of modes, whose readout follows the first.
    """

    rates: Complex[np.ndarray, " modes"]
    response: Complex[np.ndarray, "modes width"]
    readout: Float[np.ndarray, "width parts"]
    skip: Float[np.ndarray, " width"]
    rate: RatePlan | None


def dynamics_of(mixer: Any) -> Dynamics:
    """The choices of a layer, one of `MIXERS`."""
    if isinstance(mixer, S5):
        modes = (len(mixer.Lambda_re),)
        return Dynamics(False, mixer.discretization, mixer.bidirectional, "fixed", modes)
    rate = {type(None): "fixed", SelectiveRate: "selective", PathRate: "path"}[type(mixer.rate)]
    shared = mixer.rate is None or mixer.rate.weight is None
    return Dynamics(
        mixer.clock == "scale-invariant",
        mixer.discretization,
        mixer.bidirectional,
        rate,
        (sum(mixer.sizes),) if shared else mixer.sizes,
    )


def mixer_plan(mixer: FractalSSM | S5) -> MixerPlan:
    """The arrays of a layer, computed in float64."""
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda leaf: jnp.asarray(wide(leaf)), mixer)
        modes, response = exact._modes()
        readout = exact._readout() if isinstance(mixer, S5) else exact.C
    return MixerPlan(
        wide(modes.real) + 1j * wide(modes.imag),
        np.asarray(response, np.complex128),
        wide(readout),
        wide(mixer.D),
        None if isinstance(mixer, S5) else _rate(mixer.rate, len(mixer.D)),
    )


def unit_complement(
    discretization: str, rates: Complex[np.ndarray, " modes"]
) -> Complex[np.ndarray, " modes"]:
    """1 − gate of each mode for an elapsed time of 1."""
    return -np.expm1(-rates) if discretization == "zoh" else rates / (1 + rates / 2)


def _rate(rate: SelectiveRate | PathRate | None, width: int) -> RatePlan | None:
    if rate is None:
        return None
    if isinstance(rate, SelectiveRate):
        return RatePlan(wide(rate.weight), wide(rate.bias))
    if rate.weight is None:
        return RatePlan(np.full((1, width), 1 / math.sqrt(width)), None)
    return RatePlan(wide(rate.weight), None)


def wide(x: Any) -> Float[np.ndarray, "..."]:
    """An array in float64."""
    return np.asarray(x, np.float64)
