"""The recall error of a memory of 64 coefficients, by relative age of the signal.

`python -m experiments.recall`, about a minute of CPU time

At the smallest ages the error of the fractional memory is up to ten times smaller than that of
LegS, at other ages it is the same. No memory retains noise. The published operator (A, B) is
LegS in another basis; interpreted as printed it does not reconstruct the signal.

LegT and LagT are exact projections with a window and a timescale of a tenth of the history. The
state of the published operator, α = 0.9, is interpreted as that of LegS, through the change of
basis M, and as the paper interprets it, under the power-law measure.
"""

import itertools

import numpy as np

from fractal import OnlineMemory, theory
from fractal.report.recall import brownian, error_by_age, sample_ages

from . import runs, signals

LENGTH, PATHS, ORDER = 50_000, 8, 64
ALPHAS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9)
SIGNALS = ("brownian", "fgn 0.2", "fgn 0.5", "fgn 0.8", "power")
MEMORIES = (
    *(f"fractional {alpha}" for alpha in ALPHAS),
    "legs",
    "legt",
    "lagt",
    "published 0.9 as LegS",
    "published 0.9 as printed",
)
EDGES = np.concatenate([[0.0], np.geomspace(4 / LENGTH, 1, 17)])


def drawn(name: str, seed: int) -> np.ndarray:
    """Paths of a signal, (time, path)."""
    if name == "brownian":
        return brownian(LENGTH, PATHS, seed)
    rng = np.random.default_rng(seed)
    if name == "power":
        minutes = signals.power()
        starts = rng.integers(0, len(minutes) - LENGTH, PATHS)
        return np.stack([minutes[start : start + LENGTH] for start in starts], axis=1).astype(float)
    hurst = float(name.removeprefix("fgn "))
    return signals.noise(signals.fgn_covariance(hurst, LENGTH), PATHS, rng).T


def recalled(memory: str, u: np.ndarray) -> np.ndarray:
    """The signal as recalled by the memory."""
    ages = sample_ages(len(u))
    exact = {"legt": theory.LegT(window=0.1), "lagt": theory.LagT(timescale=0.1)}
    if memory in exact:
        return theory.recall(exact[memory], theory.project(exact[memory], u, ORDER), ages)
    if memory.startswith("fractional"):
        alpha = float(memory.removeprefix("fractional "))
        return OnlineMemory(alpha, ORDER, channels=PATHS).push(u).recall(ages)
    legs = OnlineMemory(0.0, ORDER, channels=PATHS).push(u).coefficients
    if memory == "legs":
        return theory.recall(theory.LegS(), legs, ages)
    M = theory.to_legs(0.9, ORDER)
    published = legs @ M.T
    if memory == "published 0.9 as printed":
        return theory.recall(theory.Fractional(0.9), published, ages)
    return theory.recall(theory.LegS(), np.linalg.solve(M, published.T).T, ages)


def measure(signal: str, memory: str, seed: int) -> dict:
    """Root-mean-square error by age, in standard deviations of the signal."""
    u = drawn(signal, seed)
    error = (recalled(memory, u) - u) / u.std(axis=0)
    by_age = np.sqrt(np.mean(error_by_age(error, tuple(itertools.pairwise(EDGES))) ** 2, axis=1))
    return {"order": ORDER, "ages": EDGES.tolist(), "error": by_age.tolist()}


def main() -> None:
    cases = [
        {"signal": signal, "memory": memory, "seed": seed}
        for signal in SIGNALS
        for memory in MEMORIES
        for seed in runs.SEEDS
    ]
    runs.run("recall", cases, measure)


if __name__ == "__main__":
    runs.main(main)
