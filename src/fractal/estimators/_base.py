"""What the classifier and the regressor share: settings, model, training, streams."""

import abc
import copy
import dataclasses
import functools
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count
from .._errors import UserError
from ..nn import FractalSSM, SequenceModel, Streaming
from ._bounds import check_training_memory
from ._cases import CaseSet, check_channels
from ._fit import Examples, Loss, outputs_of, train_model
from ._fit_settings import FitSettings, fit_settings
from ._hold_out import hold_out
from ._preparation import Preparation, learn_preparation
from ._random_state import SEEDS
from ._saved_settings import plain
from ._series_input import TakesSeries
from ._stream import Stream

_OF_MODEL = ("width", "depth", "order", "clock", "bidirectional", "norm", "dropout")
_PREDICTED = 8  # cases per batch in prediction: one size, so that outputs do not depend on it


class SeriesEstimator(TakesSeries):
    """Base class of estimators that train a `SequenceModel` on cases."""

    _preparation: Preparation
    _model_settings: dict[str, Any]
    model_: SequenceModel
    _compiled: tuple[SequenceModel, Streaming] | None = None  # the model that streams are of

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
        - `bidirectional`: whether the model also reads series backward. It then cannot stream.
        - `norm`: `"layer"` or `"batch"`.
        - `dropout`: probability of dropping a channel in training.
        - `lr`, `weight_decay`: learning rate and weight decay of AdamW.
        - `batch_size`: cases per step; `"auto"`: 8 to 32, by the number of cases.
        - `max_epochs`: maximum number of epochs; `"auto"`: 10 to 200, up to 1,500 steps and 20
          million samples.
        - `patience`: epochs without a lower held-out loss after which training stops; `"auto"`: 20,
          or more where 20 epochs are fewer than 300 steps; None: never.
        - `validation_fraction`: part of the training set that is held out; 0 turns off early
          stopping and calibration.
        - `refit`: whether to train again on all cases, for the best number of epochs; `"auto"`:
          with fewer than 200 cases.
        - `warm_start`: whether `fit` starts from the weights and scales of the last fit. Settings
          of the model, `width` to `dropout`, must then be those of the last fit.
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

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: all but compiled programs."""
        state: Any = super().__getstate__()
        return {name: one for name, one in state.items() if name != "_compiled"}

    def stream(self) -> Stream:
        """A stream: `push` samples as they arrive, and get a prediction after each of them.

        Needs `bidirectional=False`.
        """
        check_is_fitted(self)
        if any(block.mixer.bidirectional for block in self.model_.blocks):
            raise UserError(
                "must be False for streams: refit the estimator", argument="bidirectional"
            )
        if self._compiled is None or self._compiled[0] is not self.model_:
            self._compiled = self.model_, Streaming(self.model_)
        streaming = copy.copy(self._compiled[1])  # streams share compiled programs, not the state
        streaming.state = self.model_.initial_state()
        return Stream(streaming, self._preparation, self._answers)

    @abc.abstractmethod
    def _answers(self, outputs: np.ndarray) -> Any:
        """What `predict` returns for these outputs of the model."""

    def _fitted(self) -> dict[str, Any]:
        """Fitted values besides the model and the preparation, as JSON."""
        return {
            "n_features_in": self.n_features_in_,
            "history": self.history_,
            "best_epoch": self.best_epoch_,
            "model_settings": {name: plain(one) for name, one in self._model_settings.items()},
        }

    def _restore(self, fitted: dict[str, Any], outputs: int) -> None:
        """Inverse of `_fitted`, for a model with this number of outputs."""
        self.n_channels_ = len(self._preparation.mean)
        self.n_features_in_ = check_count("n_features_in", fitted["n_features_in"], 1)
        self.history_, self.best_epoch_ = list(fitted["history"]), int(fitted["best_epoch"])
        self._model_settings = {name: fitted["model_settings"][name] for name in _OF_MODEL}
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
        """Train; returns the held-out rows and the outputs for them before a refit.

        An interrupted training is not followed by a refit, and an interrupted refit is dropped.
        """
        settings = fit_settings(self, cases.lengths)
        warm = self.warm_start and self._continues(cases, outputs)
        if not warm:
            self._preparation = learn_preparation(cases)
        self._set_shapes(cases)
        model = self.model_ if warm else self._new_model(settings, cases, outputs)
        check_training_memory(model, cases.lengths, settings.schedule.batch)
        examples = Examples(self._preparation.apply(cases), targets, weights)
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
            if settings.refit and not trained.interrupted:
                best = dataclasses.replace(settings.schedule, stop=trained.best_epoch)
                again = train_model(model, loss, examples, None, best)
                if not again.interrupted:
                    trained = trained._replace(model=again.model)
        self.model_, self.history_ = trained.model, trained.history
        self.best_epoch_ = trained.best_epoch
        self._model_settings, self._opt_state = self._settings_of_model(), None
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
        settings = fit_settings(self, cases.lengths)
        if not self._continues(cases, outputs):
            self._preparation = learn_preparation(cases)
            self._set_shapes(cases)
            self.model_, self._opt_state = self._new_model(settings, cases, outputs), None
            self._model_settings = self._settings_of_model()
            self.history_, self.best_epoch_ = [], 0
        check_training_memory(self.model_, cases.lengths, settings.schedule.batch)
        examples = Examples(self._preparation.apply(cases), targets, weights)
        schedule = dataclasses.replace(
            settings.schedule,
            epochs=1,
            decay=False,
            seed=(settings.schedule.seed + len(self.history_)) % SEEDS,
        )
        trained = train_model(self.model_, loss, examples, None, schedule, self._opt_state)
        self.model_, self._opt_state = trained.model, trained.opt_state
        self.history_ = [*self.history_, *trained.history]

    def _continues(self, cases: CaseSet, outputs: int) -> bool:
        """Whether there is a model to continue; UserError unless it is one for these cases."""
        if not self.__sklearn_is_fitted__():
            return False
        for name, before in self._model_settings.items():
            if getattr(self, name) != before:
                raise UserError(
                    f"must be {before!r} as in the last fit, whose model is continued, "
                    f"got {getattr(self, name)!r:.60}",
                    argument=name,
                )
        check_channels(cases, self.n_channels_, self)
        head: Any = self.model_.head
        if head.out_features != outputs:
            raise UserError("must have the classes or targets of the last fit", argument="y")
        return True

    def _settings_of_model(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OF_MODEL}

    def _set_shapes(self, cases: CaseSet) -> None:
        self.n_channels_ = cases.channels
        self.n_features_in_ = int(cases.lengths.max())

    def _outputs(self, X: Any, times: Any) -> np.ndarray:
        """The outputs of the model for each case."""
        cases = self._read(X, times)
        series = self._preparation.apply(cases)
        return outputs_of(self.model_, series, _PREDICTED)

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
