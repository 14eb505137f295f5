"""What the classifier and the regressor share: settings, model, training, streams."""

import abc
import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._checks import check_choice, check_count, check_flag, check_positive, check_probability
from .._errors import UserError
from ..nn import FractalSSM, SequenceModel
from ._cases import CaseSet, check_channels, read_cases
from ._fit import Examples, Loss, Schedule, outputs_of, train_model
from ._preparation import Preparation, learn_preparation
from ._stream import Stream

CLOCKS = ("uniform", "scale-invariant")
_SMALL = 200  # training cases: with fewer, the model is trained again on all of them
_MOST_STEPS, _MOST_SAMPLES = 1500, 2e7  # of training, for max_epochs="auto"
_PATIENCE, _PATIENT_STEPS = 20, 300  # epochs, and train steps in them, for patience="auto"
_SEEDS = 2**31 - 1
_PREDICTED = 8  # cases per batch in prediction: one size, so that answers do not depend on it


class FitSettings(NamedTuple):
    """Validated settings of an estimator."""

    schedule: Schedule
    held_out: float
    refit: bool


class SeriesEstimator(BaseEstimator):
    """Base class of estimators that train a `SequenceModel` on cases."""

    _preparation: Preparation
    model_: SequenceModel

    def __init__(
        self,
        *,
        width=32,
        depth=2,
        order=8,
        clock="uniform",
        bidirectional=False,
        norm="layer",
        dropout=0.1,
        lr=4e-3,
        weight_decay=0.05,
        batch_size="auto",
        max_epochs="auto",
        patience="auto",
        validation_fraction=0.15,
        refit="auto",
        warm_start=False,
        verbose=False,
        random_state=None,
    ):
        """
        **Arguments:**

        - `width`, `depth`: number of channels and of blocks of the model.
        - `order`: order of each block of the filter bank, even.
        - `clock`: `"uniform"`; or `"scale-invariant"`, if sampling rates differ and are not known.
        - `bidirectional`: whether the model also reads series backwards. It then has no streams.
        - `norm`: `"layer"` or `"batch"`.
        - `dropout`: probability of dropping a channel in training.
        - `lr`, `weight_decay`: learning rate and weight decay of AdamW.
        - `batch_size`: cases per step; `"auto"`: 8 to 32, by the number of cases.
        - `max_epochs`: epochs of training at most; `"auto"`: 10 to 200, up to 1,500 steps and 20
          million samples.
        - `patience`: epochs without a lower held-out loss after which training stops; `"auto"`: 20,
          or more where 20 epochs are fewer than 300 steps; None: never.
        - `validation_fraction`: part of the training set that is held out; 0 turns off early
          stopping and calibration.
        - `refit`: whether to train again on all cases, for the best number of epochs; `"auto"`:
          with fewer than 200 cases.
        - `warm_start`: whether `fit` starts from the weights and scales of the last fit.
        - `verbose`: whether to report progress; on a terminal it is always shown.
        - `random_state`: a seed makes results reproducible exactly.
        """
        self.width = width
        self.depth = depth
        self.order = order
        self.clock = clock
        self.bidirectional = bidirectional
        self.norm = norm
        self.dropout = dropout
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def stream(self) -> Stream:
        """A stream: `push` samples as they arrive, and get an answer after each of them.

        Needs `bidirectional=False`.
        """
        check_is_fitted(self)
        if any(block.mixer.bidirectional for block in self.model_.blocks):
            raise UserError(
                "must be False for streams: refit the estimator", argument="bidirectional"
            )
        return Stream(self.model_, self._preparation, self._answers)

    @abc.abstractmethod
    def _answers(self, outputs: np.ndarray) -> Any:
        """What `predict` returns for these outputs of the model."""

    def _fitted(self) -> dict[str, Any]:
        """Fitted values besides the model and the preparation, as JSON."""
        return {
            "n_features_in": self.n_features_in_,
            "history": self.history_,
            "best_epoch": self.best_epoch_,
        }

    def _restore(self, fitted: dict[str, Any], outputs: int) -> None:
        """Inverse of `_fitted`, for a model with this number of outputs."""
        self.n_channels_ = len(self._preparation.mean)
        self.n_features_in_ = check_count("n_features_in", fitted["n_features_in"], 1)
        self.history_, self.best_epoch_ = list(fitted["history"]), int(fitted["best_epoch"])
        self._opt_state = None

    def _fit_cases(
        self,
        cases: CaseSet,
        targets: np.ndarray,
        weights: Float[np.ndarray, " cases"],
        strata: Int[np.ndarray, " cases"] | None,
        outputs: int,
        loss: Loss,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Train; returns the held-out rows and the outputs for them before a refit."""
        settings = self._settings(cases.lengths)
        warm = self.warm_start and self._continues(cases, outputs)
        if not warm:
            self._preparation = learn_preparation(cases)
        self._set_shapes(cases)
        examples = Examples(self._preparation.apply(cases), targets, weights)
        model = self.model_ if warm else self._new_model(settings, cases, outputs)
        rng = np.random.default_rng(settings.schedule.seed)
        kept, held = hold_out(len(cases), settings.held_out, strata, rng)
        trained = train_model(
            model,
            loss,
            examples.take(kept),
            examples.take(held) if len(held) else None,
            settings.schedule,
        )
        found = np.zeros((0, outputs), np.float32)
        if len(held):
            series = [examples.series[row] for row in held]
            found = outputs_of(trained.model, series, settings.schedule.batch)
            if settings.refit:
                best = dataclasses.replace(settings.schedule, stop=trained.best_epoch)
                again = train_model(model, loss, examples, None, best)
                trained = again._replace(history=trained.history, best_epoch=trained.best_epoch)
        self.model_, self.history_ = trained.model, trained.history
        self.best_epoch_ = trained.best_epoch
        self._opt_state = None
        return held, found

    def _partial_fit(
        self,
        cases: CaseSet,
        targets: np.ndarray,
        weights: Float[np.ndarray, " cases"],
        outputs: int,
        loss: Loss,
    ) -> None:
        """One pass over the cases, from the present weights."""
        settings = self._settings(cases.lengths)
        if not self.__sklearn_is_fitted__():
            self._preparation = learn_preparation(cases)
            self._set_shapes(cases)
            self.model_, self._opt_state = self._new_model(settings, cases, outputs), None
            self.history_, self.best_epoch_ = [], 0
        examples = Examples(self._preparation.apply(cases), targets, weights)
        schedule = dataclasses.replace(
            settings.schedule,
            epochs=1,
            decay=False,
            seed=(settings.schedule.seed + len(self.history_)) % _SEEDS,
        )
        trained = train_model(self.model_, loss, examples, None, schedule, self._opt_state)
        self.model_, self._opt_state = trained.model, trained.opt_state
        self.history_ = [*self.history_, *trained.history]

    def _continues(self, cases: CaseSet, outputs: int) -> bool:
        """Whether a warm start has a model for these cases."""
        if not self.__sklearn_is_fitted__():
            return False
        check_channels(cases, self.n_channels_, self)
        head: Any = self.model_.head
        if head.out_features != outputs:
            raise UserError("must have the classes or targets of the last fit", argument="y")
        return True

    def _set_shapes(self, cases: CaseSet) -> None:
        self.n_channels_ = cases.channels
        self.n_features_in_ = int(cases.lengths.max())

    def _read(self, X: Any, times: Any) -> CaseSet:
        """Cases of the channels of `fit`."""
        check_is_fitted(self)
        cases = read_cases(X, times, estimator=self)
        check_channels(cases, self.n_channels_, self)
        return cases

    def _outputs(self, X: Any, times: Any) -> np.ndarray:
        """The outputs of the model for each case."""
        cases = self._read(X, times)
        series = self._preparation.apply(cases)
        return outputs_of(self.model_, series, _PREDICTED)

    def _settings(self, lengths: Int[np.ndarray, " cases"]) -> FitSettings:
        """Validate the settings for cases of these lengths."""
        count = len(lengths)
        check_choice("clock", self.clock, CLOCKS)
        held_out = check_probability("validation_fraction", self.validation_fraction)
        batch = _batch_size(count) if self.batch_size == "auto" else self.batch_size
        batch = check_count("batch_size", batch, 1)
        epochs = self.max_epochs
        if epochs == "auto":
            most = min(_MOST_STEPS * batch, _MOST_SAMPLES / float(np.mean(lengths)))
            epochs = int(np.clip(most // count, 10, 200))
        patience = self.patience
        if patience == "auto":
            # Of few cases few are held out, and their loss says little from one epoch to the next.
            per_epoch = max(1, math.ceil((1 - held_out) * count / batch))
            patience = max(_PATIENCE, math.ceil(_PATIENT_STEPS / per_epoch))
        patience = None if patience is None else check_count("patience", patience, 1)
        refit: Any = count < _SMALL if self.refit == "auto" else self.refit
        check_flag("bidirectional", self.bidirectional)
        check_flag("warm_start", self.warm_start)
        schedule = Schedule(
            epochs=check_count("max_epochs", epochs, 1),
            batch=batch,
            patience=patience,
            lr=check_positive("lr", self.lr),
            weight_decay=self.weight_decay and check_positive("weight_decay", self.weight_decay),
            seed=int(check_random_state(self.random_state).randint(_SEEDS)),
            verbose=check_flag("verbose", self.verbose),
        )
        return FitSettings(schedule, held_out, check_flag("refit", refit))

    def _new_model(self, settings: FitSettings, cases: CaseSet, outputs: int) -> SequenceModel:
        length = max(int(np.median(cases.lengths)), 8)
        mixer = functools.partial(
            FractalSSM,
            order=self.order,
            clock=self.clock,
            bidirectional=self.bidirectional,
            length=length,
        )
        return SequenceModel(
            self._preparation.inputs,
            outputs,
            width=self.width,
            depth=self.depth,
            tokens=False,
            dropout=self.dropout,
            norm=self.norm,
            mixer=mixer,
            key=jax.random.key(settings.schedule.seed),
        )


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


def _batch_size(count: int) -> int:
    """From 8 to 32 cases: an eighth of the training set."""
    return int(2 ** np.clip(np.round(np.log2(max(count, 1) / 8)), 3, 5))
