"""Classification of time series."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import compute_class_weight

from .._checks import check_positive
from .._errors import UserError
from ._base import SeriesEstimator
from ._calibration import fit_temperature, probabilities
from ._cases import read_cases
from ._saved import decode_labels, encode_labels, load_estimator, save_estimator
from ._targets import labels_of
from ._unchanged import unchanged_on_error


class StreamPrediction(NamedTuple):
    """Classes (time,) and probabilities (time, classes) after each sample."""

    labels: np.ndarray
    probabilities: Float[np.ndarray, "time classes"]


class FractalClassifier(ClassifierMixin, SeriesEstimator):
    """Classifier of time series of any lengths, sampling rates and gaps.

    A causal `SequenceModel` of `FractalSSM` layers, trained with early stopping on a held-out part
    of the training set, on which its probabilities are calibrated.

    >>> import numpy as np
    >>> from fractal.estimators import FractalClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.array(["slow", "fast"] * 20)
    >>> X = [np.sin((0.1 if name == "slow" else 0.5) * np.arange(rng.integers(30, 60)))
    ...      + rng.normal(size=1) for name in y]  # series of unequal lengths
    >>> model = FractalClassifier(width=8, depth=1, max_epochs=30, random_state=0).fit(X, y)
    >>> model.predict(X[:2]).tolist()
    ['slow', 'fast']

    **Attributes** after `fit`: `classes_`; `n_channels_`; `n_features_in_`, the largest number of
    steps; `model_`, the `SequenceModel`; `temperature_`, which divides its logits; `history_`, the
    losses of each epoch; `best_epoch_`.
    """

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
        class_weight=None,
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

        - `class_weight`: weights of the classes in the loss: None, `"balanced"`, or a dict. Weights
          shift the probabilities toward the classes with larger weights.
        - All others: see `FractalRegressor`.
        """
        super().__init__(
            width=width,
            depth=depth,
            order=order,
            clock=clock,
            bidirectional=bidirectional,
            norm=norm,
            dropout=dropout,
            lr=lr,
            weight_decay=weight_decay,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            refit=refit,
            warm_start=warm_start,
            verbose=verbose,
            random_state=random_state,
        )
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, times: Any = None) -> "FractalClassifier":
        """Train on labeled series.

        **Arguments:**

        - `X`: an array (cases, time) or (cases, channels, time), a list of arrays (channels, time)
          or (time,) of unequal lengths, or a pandas long table with the columns `id` and `time` and
          one column per channel. NaN is a missing value.
        - `y`: labels (cases,) of any type that can be sorted; for a long table in the order of the
          first row of each id, or a pandas series with ids as index.
        - `times`: times of the samples, non-negative and strictly increasing, (time,) for all cases
          or one array per case. Without times samples are equally spaced.

        An interrupt (Ctrl-C) ends the fit, without a refit, and keeps the best weights so far.
        """
        cases = read_cases(X, times, estimator=self)
        labels = labels_of(y, cases)
        classes, codes = np.unique(labels, return_inverse=True)
        if len(cases) < 2 or len(classes) < 2:
            raise UserError(
                f"must contain cases of at least two classes, got {len(cases)} of one class: "
                f"{classes.tolist()[0]!r:.40}",
                argument="y",
            )
        if self.warm_start and self.__sklearn_is_fitted__():
            codes = self._codes(labels)
            classes = self.classes_
        weights = self._case_weights(classes, labels)
        with unchanged_on_error(self):
            held, logits = self._fit_cases(
                cases, codes.astype(np.int32), weights, codes, len(classes), cross_entropy
            )
            self.classes_ = classes
            self.temperature_ = fit_temperature(logits, codes[held], weights[held])
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, times: Any = None
    ) -> "FractalClassifier":
        """One pass over further cases, from the present weights, at a constant learning rate.

        Scales and durations are learned in the first call. Probabilities are not calibrated.

        **Arguments:**

        - `X`, `y`, `times`: as for `fit`; one class suffices.
        - `classes`: all classes, in the first call.
        """
        cases = read_cases(X, times, estimator=self)
        labels = labels_of(y, cases)
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise UserError("must be given in the first call of partial_fit", argument="classes")
        found = self.classes_ if classes is None else np.unique(classes)
        if first and len(found) < 2:
            raise UserError("must contain at least two classes", argument="classes")
        if not first and not np.array_equal(found, self.classes_):
            raise UserError("must be those of the first call", argument="classes")
        with unchanged_on_error(self):
            if first:
                self.classes_, self.temperature_ = found, 1.0
            codes = self._codes(labels).astype(np.int32)
            weights = self._case_weights(self.classes_, labels)
            self._partial_fit(cases, codes, weights, len(self.classes_), cross_entropy)
        return self

    def predict(self, X: Any, times: Any = None) -> np.ndarray:
        """The most probable class of each case. Arguments: see `fit`."""
        found = self._outputs(X, times).argmax(axis=-1)
        return self.classes_[found]

    def predict_proba(self, X: Any, times: Any = None) -> Float[np.ndarray, "cases classes"]:
        """The probability of each class, in the order of `classes_`. Arguments: see `fit`."""
        return probabilities(self._outputs(X, times), self.temperature_)

    def score(self, X: Any, y: Any, sample_weight: Any = None, times: Any = None) -> float:
        """The accuracy of `predict`. Arguments: see `fit`."""
        labels = labels_of(y, self._read(X, times))
        return float(accuracy_score(labels, self.predict(X, times), sample_weight=sample_weight))

    def predict_stream(self, x: Any, times: Any = None) -> StreamPrediction:
        """Class and probabilities after every sample of one series. Needs `bidirectional=False`.

        **Arguments:**

        - `x`: the series, (channels, time) or (time,).
        - `times`: times of its samples, (time,).
        """
        return self.stream().push(x, times)

    def save(self, path: Any) -> None:
        """Write the fitted classifier to one safetensors file, which `fractal.load` also reads."""
        save_estimator(path, self)

    @classmethod
    def load(cls, path: Any) -> "FractalClassifier":
        """Read a classifier written by `save`. Loading does not execute code from the file."""
        return load_estimator(path, cls)

    def _answers(self, outputs: np.ndarray) -> StreamPrediction:
        found = probabilities(outputs, self.temperature_)
        return StreamPrediction(self.classes_[found.argmax(axis=-1)], found)

    def _fitted(self) -> dict[str, Any]:
        classes = encode_labels(self.classes_)
        return super()._fitted() | {"classes": classes, "temperature": self.temperature_}

    def _restore(self, fitted: dict[str, Any], outputs: int) -> None:
        super()._restore(fitted, outputs)
        self.classes_ = decode_labels(fitted["classes"])
        self.temperature_ = check_positive("temperature", fitted["temperature"])
        if self.classes_.shape != (outputs,):
            raise ValueError("its classes do not fit the model")

    def _codes(self, labels: np.ndarray) -> np.ndarray:
        """The place of each label in `classes_`."""
        unknown = np.setdiff1d(labels, self.classes_)
        if len(unknown):
            raise UserError(
                f"must contain known classes only, got {unknown.tolist()[0]!r:.40}", argument="y"
            )
        return np.searchsorted(self.classes_, labels)

    def _case_weights(self, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """The weight of each case, with mean about 1."""
        chosen = self.class_weight
        if isinstance(chosen, dict):
            unknown = set(chosen) - set(classes.tolist())
            if unknown:
                raise UserError(
                    f"must have classes of y as keys, got {unknown.pop()!r:.40}",
                    argument="class_weight",
                )
        elif chosen is not None and chosen != "balanced":
            raise UserError(
                f"must be None, 'balanced' or a dict, got {chosen!r:.60}", argument="class_weight"
            )
        present, codes = np.unique(labels, return_inverse=True)
        return compute_class_weight(chosen, classes=present, y=labels)[codes].astype(np.float64)


def cross_entropy(logits: Array, labels: Array) -> Array:
    """Cross-entropy of each case."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.asarray(labels))
