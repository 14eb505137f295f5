"""Calibration: temperature scaling, and the reliability of probabilities."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .._checks import check_count
from .._errors import UserError

_TEMPERATURES = np.exp(np.linspace(np.log(0.2), np.log(5.0), 65))
_PRIOR = 10.0  # cases: the weight of temperature 1, since few held-out cases say little


def probabilities(
    logits: Float[np.ndarray, "cases classes"], temperature: float
) -> Float[np.ndarray, "cases classes"]:
    """softmax(logits / temperature), in float64."""
    scaled = logits.astype(np.float64) / temperature
    scaled -= scaled.max(axis=-1, keepdims=True)
    exponentials = np.exp(scaled)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def fit_temperature(
    logits: Float[np.ndarray, "cases classes"],
    labels: Int[np.ndarray, " cases"],
    weights: Float[np.ndarray, " cases"],
) -> float:
    """The temperature with the smallest cross-entropy on held-out cases, shrunk toward 1."""
    if not len(labels):
        return 1.0
    rows = np.arange(len(labels))
    costs = [
        -(weights * np.log(probabilities(logits, t)[rows, labels] + 1e-300)).sum()
        + _PRIOR * np.log(t) ** 2
        for t in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(costs))])


class Reliability(NamedTuple):
    """Reliability diagram: cases by the probability of the predicted class.

    **Fields:**

    - `confidence`, `accuracy`: mean probability and fraction of correct predictions per bin; NaN
      for an empty bin.
    - `cases`: number of cases per bin.
    - `error`: expected calibration error, the mean of |accuracy − confidence| over the cases.
    """

    confidence: Float[np.ndarray, " bins"]
    accuracy: Float[np.ndarray, " bins"]
    cases: Int[np.ndarray, " bins"]
    error: float


def reliability(probabilities: Any, correct: Any, *, bins: int = 10) -> Reliability:
    """How often predictions of a given probability are correct.

    >>> from fractal.estimators import reliability
    >>> found = reliability([0.9, 0.8, 0.95, 0.6], [True, True, True, False], bins=2)
    >>> found.cases.tolist(), round(found.error, 4)
    ([0, 4], 0.0625)

    **Arguments:**

    - `probabilities`: probability of the predicted class of each case, (cases,).
    - `correct`: whether each prediction is correct, (cases,).
    - `bins`: number of intervals of [0, 1] of equal width.
    """
    p, right = np.asarray(probabilities, np.float64), np.asarray(correct, bool)
    bins = check_count("bins", bins, 1)
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise UserError("must be numbers in [0, 1], (cases,)", argument="probabilities")
    if right.shape != p.shape:
        raise UserError(f"must have shape {p.shape}, got {right.shape}", argument="correct")
    place = np.minimum((p * bins).astype(int), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(place, p, bins) / count
        accuracy = np.bincount(place, right, bins) / count
    gaps = np.abs(np.nan_to_num(accuracy - confidence))
    return Reliability(confidence, accuracy, count, float((gaps * count).sum() / len(p)))
