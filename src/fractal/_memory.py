"""Streaming compression of a signal: scale-invariant, O(order) operations per sample."""

import os
from typing import SupportsIndex

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ._bounds import check_memory
from ._checks import check_alpha, check_count, check_order, check_path, check_real
from ._files import read_tensors, write_tensors
from ._power_sums import power_sums
from .theory import LARGEST_ALPHA, Fractional, Modes, modes, recall

_FORMAT, _VERSION = "fractal.memory", 1
_LARGEST_SAMPLE = 1e290  # sums over a stream must not overflow float64
_MAX_CHUNK = 1 << 14  # samples per chunk: bounds the working memory
_MAX_TIME_RATIO = 4.0  # end over start time of a chunk: bounds the decay of modes within it


class OnlineMemory:
    """Online projection of a signal onto `order` orthonormal polynomials.

    The projection is with respect to the fractional measure, which weights the recent past more
    strongly at every time scale. `alpha=0` is the uniform measure (LegS).

    >>> import numpy as np, fractal
    >>> t = np.arange(1, 10_001)
    >>> mem = fractal.OnlineMemory(alpha=0.9, order=64)
    >>> mem = mem.push(np.sin(t / 1000)[:, None])
    >>> recalled = mem.recall([0.0, 0.5, 0.9])[:, 0]  # ages relative to the length
    >>> np.allclose(recalled, np.sin([10, 5, 1]), atol=1e-3)
    True

    **Arguments:**

    - `alpha`: singularity index in [0, 0.95].
    - `order`: number of polynomials, even.
    - `channels`: number of signals, projected independently.

    Time starts at 0. Ages in `recall` are relative to the time of the last sample.
    """

    def __init__(self, alpha: float, order: SupportsIndex, *, channels: SupportsIndex = 1):
        self.alpha = check_alpha(alpha, largest=LARGEST_ALPHA)
        self.order = check_order(order)
        self.channels = check_count("channels", channels, smallest=1)
        self.count = 0
        self._time = 0.0
        self._modes = modes(self.alpha, self.order)
        check_memory(16.0 * self.channels * len(self._modes.rates), f"channels={self.channels}")
        self._z = np.zeros((self.channels, len(self._modes.rates)), complex)

    def __repr__(self) -> str:
        return (
            f"OnlineMemory(alpha={self.alpha}, order={self.order}, channels={self.channels}): "
            f"{self.count} samples"
        )

    def push(self, block: ArrayLike, times: ArrayLike | None = None) -> "OnlineMemory":
        """Add one sample or a block of samples.

        **Arguments:**

        - `block`: one sample, of shape (channels,), or a block of shape (time, channels).
        - `times`: end times of the samples, positive and strictly increasing. The signal is
          piecewise constant: each sample lasts from the previous end time, the first from time 0.
          Subtract the start of the series from timestamps. By default each sample lasts 1.

        **Returns:** the memory itself.

        **Raises:** `ValueError` for invalid input; the state is then unchanged.
        """
        u = check_real("block", block)
        if u.shape == (self.channels,):
            u = u[None]
        elif u.ndim != 2 or u.shape[1] != self.channels:
            raise ValueError(
                f"block must have shape ({self.channels},) for one sample or "
                f"(time, {self.channels}) for many, got {u.shape}"
            )
        if np.abs(u).max(initial=0.0) > _LARGEST_SAMPLE:
            raise ValueError(f"block must lie within ±{_LARGEST_SAMPLE:g}")
        t = self._check_times(times, len(u))
        start = 0
        while start < len(u):
            # The first sample is a chunk by itself: log t diverges at its start.
            limit = _MAX_TIME_RATIO * self._time or t[0]
            end = int(np.searchsorted(t, limit, side="right"))
            end = min(max(end, start + 1), start + _MAX_CHUNK)
            self._update(u[start:end], t[start:end])
            start = end
        return self

    def _check_times(self, times: ArrayLike | None, length: int) -> Float[np.ndarray, " time"]:
        if times is None:
            t = self._time + np.arange(1.0, length + 1)
        else:
            t = np.atleast_1d(check_real("times", times))
        if t.shape != (length,):
            raise ValueError(f"times must have one entry per sample, ({length},), got {t.shape}")
        if length and (t[0] <= self._time or (t[1:] <= t[:-1]).any()):
            raise ValueError(
                "times must be positive and strictly increasing, after the last time pushed "
                f"({self._time:g})"
            )
        return t

    def _update(self, u: Float[np.ndarray, "time channels"], t: Float[np.ndarray, " time"]) -> None:
        """Solve dz/ds = rate (u − z), s = log t, over a chunk of piecewise-constant samples.

        With R_k = (t_k/t_K)^rate and t_0 the time before the chunk, summation by parts gives
        z(t_K) = u_K − Σ_{0<k<K} R_k (u_{k+1} − u_k) + R_0 (z(t_0) − u_1).
        """
        rates = self._modes.rates
        z = np.repeat(u[-1][:, None].astype(complex), len(rates), axis=1)
        if len(u) > 1:
            z -= power_sums(rates, np.log(t[:-1] / t[-1]), np.diff(u, axis=0))
        ratio = self._time / t[-1]  # 0 for the first sample, or if it underflows
        if ratio > 0:
            z += np.exp(rates * np.log(ratio)) * (self._z - u[0][:, None])
        self._z = z
        self._time = float(t[-1])
        self.count += len(u)

    @property
    def coefficients(self) -> Float[np.ndarray, "channels order"]:
        """Coefficients of the orthonormal polynomials of `theory.Fractional(alpha)`."""
        return np.real(self._z @ self._modes.readout.T)

    def recall(self, ages: ArrayLike) -> Float[np.ndarray, "ages channels"]:
        """Reconstruct the signals at relative ages: 0 is the present, 1 the start of the stream."""
        return recall(Fractional(self.alpha), self.coefficients, ages)

    def save(self, path: str | os.PathLike) -> None:
        """Write the state to a safetensors file. The file is replaced atomically."""
        tensors = {
            "state": self._z.view(np.float64),
            "rates": self._modes.rates.view(np.float64),
            "readout": self._modes.readout.view(np.float64),
            "alpha": np.array([self.alpha]),
            "time": np.array([self._time]),
            "count": np.array([self.count]),
        }
        write_tensors(
            check_path("path", path), tensors, {"format": _FORMAT, "version": str(_VERSION)}
        )

    @classmethod
    def load(cls, path: str | os.PathLike) -> "OnlineMemory":
        """Read a memory written by `save`. Resuming the stream reproduces its results exactly.

        The file contains the modes too, because rounding in LAPACK differs between machines.
        """
        path = check_path("path", path)
        try:
            return cls._from_tensors(read_tensors(path, _FORMAT, _VERSION)[0])
        except (KeyError, TypeError, ValueError) as error:
            message = f"{os.fspath(path)} is not a memory written by OnlineMemory.save: {error}"
            raise ValueError(message.replace("\n", " ")) from None

    @classmethod
    def _from_tensors(cls, tensors: dict[str, np.ndarray]) -> "OnlineMemory":
        for name, dtype, ndim in (
            ("state", np.float64, 2),
            ("rates", np.float64, 1),
            ("readout", np.float64, 2),
            ("alpha", np.float64, 1),
            ("time", np.float64, 1),
            ("count", np.int64, 1),
        ):
            if tensors[name].dtype != dtype or tensors[name].ndim != ndim:
                raise ValueError(f"its {name} is not {ndim}-dimensional {np.dtype(dtype)}")
            if not np.isfinite(tensors[name]).all():
                raise ValueError(f"its {name} contains NaN or infinity")
        state, rates, readout = (
            tensors[name].view(complex) for name in ("state", "rates", "readout")
        )
        (alpha,), (time,), (count,) = (tensors[name] for name in ("alpha", "time", "count"))
        memory = cls(float(alpha), readout.shape[0], channels=state.shape[0])
        expected = memory._modes
        if state.shape != memory._z.shape or rates.shape != expected.rates.shape:
            raise ValueError("the shapes of its tensors are inconsistent")
        if not (
            readout.shape == expected.readout.shape
            and np.allclose(rates, expected.rates, rtol=1e-6)
            and np.allclose(
                readout, expected.readout, rtol=0, atol=1e-6 * np.abs(expected.readout).max()
            )
        ):
            raise ValueError(f"its modes are not those of alpha={alpha}, order={memory.order}")
        if count < 0 or time < 0 or (count == 0) != (time == 0):
            raise ValueError(f"{count} samples up to time {time:g} are inconsistent")
        memory._modes = Modes(rates, readout)
        memory._z, memory._time, memory.count = state, float(time), int(count)
        return memory
