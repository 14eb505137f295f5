"""The part of the training set that is held out for early stopping and calibration."""

import numpy as np
from jaxtyping import Int


def hold_out(
    count: int,
    fraction: float,
    strata: Int[np.ndarray, " cases"] | None,
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " held"]]:
    """Rows for training and held-out rows, a fraction of every stratum with at least two cases."""
    groups = np.zeros(count, int) if strata is None else strata
    order = rng.permutation(count)
    held = []
    # Fractions of cases carry over to the next stratum, so that the total is right.
    carried = 0.5
    for stratum in np.unique(groups):
        rows = order[groups[order] == stratum]
        wanted = fraction * len(rows) + carried
        taken = min(int(wanted), len(rows) - 1)
        carried = min(wanted - taken, 1.0) if taken == int(wanted) else 0.5
        held.append(rows[:taken])
    chosen = np.sort(np.concatenate(held))
    return np.setdiff1d(np.arange(count), chosen), chosen
