"""Settings of a fit: those of the estimator, validated, with `"auto"` resolved for its cases."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from .._checks import (
    check_choice,
    check_count,
    check_flag,
    check_nonnegative,
    check_positive,
    check_probability,
)
from .._options import CLOCKS
from ._fit import Schedule
from ._random_state import seed_of

_SMALL = 200  # training cases: with fewer, the model is trained again on all of them
_MOST_STEPS, _MOST_SAMPLES = 1500, 2e7  # of training, for max_epochs="auto"
_PATIENCE, _PATIENT_STEPS = 20, 300  # epochs, and train steps in them, for patience="auto"


class FitSettings(NamedTuple):
    """Schedule, fraction of held-out cases, and whether to train again on all cases."""

    schedule: Schedule
    held_out: float
    refit: bool


def fit_settings(estimator: Any, lengths: Int[np.ndarray, " cases"]) -> FitSettings:
    """The settings of an estimator, for cases of these lengths."""
    count = len(lengths)
    check_choice("clock", estimator.clock, CLOCKS)
    held_out = check_probability("validation_fraction", estimator.validation_fraction)
    batch = _batch_size(count) if estimator.batch_size == "auto" else estimator.batch_size
    batch = check_count("batch_size", batch, 1)
    epochs, patience = estimator.max_epochs, estimator.patience
    if epochs == "auto":
        most = min(_MOST_STEPS * batch, _MOST_SAMPLES / float(np.mean(lengths)))
        epochs = int(np.clip(most // count, 10, 200))
    if patience == "auto":
        # Of few cases few are held out, and their loss says little from one epoch to the next.
        kept = count - int(held_out * count + 0.5)
        per_epoch = max(1, math.ceil(kept / batch))
        patience = max(_PATIENCE, math.ceil(_PATIENT_STEPS / per_epoch))
    refit: Any = count < _SMALL if estimator.refit == "auto" else estimator.refit
    check_flag("bidirectional", estimator.bidirectional)
    check_flag("warm_start", estimator.warm_start)
    schedule = Schedule(
        epochs=check_count("max_epochs", epochs, 1),
        batch=batch,
        patience=None if patience is None else check_count("patience", patience, 1),
        lr=check_positive("lr", estimator.lr),
        weight_decay=check_nonnegative("weight_decay", estimator.weight_decay),
        seed=seed_of(estimator.random_state),
        verbose=check_flag("verbose", estimator.verbose),
    )
    return FitSettings(schedule, held_out, check_flag("refit", refit))


def _batch_size(count: int) -> int:
    """From 8 to 32 cases: an eighth of the training set."""
    return int(2 ** np.clip(np.round(np.log2(max(count, 1) / 8)), 3, 5))
