"""`fractal fit`: a classifier or regressor of the labeled series of a file."""

import dataclasses
import pathlib
import sys
import time
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from .._allocator import keep_freed_memory
from .._checks import check_count, check_seed
from .._errors import UserError
from .._predictions import Predictions
from .._run_folder import WEIGHTS
from .._series.content import Cases
from .._series.read import read_cases
from .case_inputs import (
    CLASSIFIERS,
    REGRESSORS,
    arrays_of,
    naming_file,
    targets_of,
    trained_on,
    write_trained,
)
from .console import Stdout
from .errors import warnings_in_one_line
from .parse import NO_HINT
from .result_folder import as_json, check_out, whole_folder, write_page, write_run

_HELD_OUT = 0.2
_FEWEST = 10  # cases of which some are held out
_MOST_CLASSES = 20  # integers as labels
_MOST_FILTERED = 5000  # training cases: see "Your own series" of docs/results.md


@dataclasses.dataclass(frozen=True)
class Fit:
    """Fit a classifier or regressor to the labeled series of a file.

    Files: .ts (UCR/UEA), .npz (arrays X and y), .csv, .tsv or .parquet (one case per row, or one
    sample per row with an id), or a folder with one folder of WAV files per class. How the file was
    read is reported on stderr. The result is a folder with the model, its scores and a report page.

    Example: fractal fit recordings.csv --target label

    Args:
        file: file or folder with the training set.
        target: column of the label, or array of an .npz file.
        test: file with the test set; by default a fifth of the cases is held out.
        out: folder for the results; default runs/fit-NAME.
        id: column that identifies the case, in a table with one sample per row.
        time: column with the times of the samples.
        labels: classes; numbers (regression); or auto: classes if the labels are text, or integers
            that repeat: at most 20 different ones, or 0 to n or 1 to n.
        method: filters (random filters and a ridge regression, in seconds); network (a trained
            state-space model, which can stream); or auto: a network with --epochs or more than
            5,000 training cases, filters otherwise.
        epochs: maximum number of epochs of training; with a network only.
        seed: seed of filters or weights, of the order of the data and of the held-out cases.
        json: print one JSON object.
    """

    file: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    target: Annotated[str | None, NO_HINT] = None
    test: Annotated[pathlib.Path | None, NO_HINT] = None
    out: Annotated[pathlib.Path | None, NO_HINT] = None
    id: Annotated[str | None, NO_HINT] = None
    time: Annotated[str | None, NO_HINT] = None
    labels: Literal["auto", "classes", "numbers"] = "auto"
    method: Literal["auto", "filters", "network"] = "auto"
    epochs: Annotated[int | None, NO_HINT] = None
    seed: int = 0
    json: bool = False

    def run(self) -> int:
        check_seed(self.seed)
        if self.epochs is not None:
            check_count("epochs", self.epochs, smallest=1)
            if self.method == "filters":
                raise UserError("has no meaning with --method filters", argument="epochs")
        folder = check_out(self.out, f"fit-{self.file.name.split('.')[0]}")
        cases = self._read(self.file)
        test = None if self.test is None else self._read(self.test, cases)
        numbers = self._are_numbers(cases)
        for path, found in ((self.file, cases), (self.test, test)):
            if found is not None:
                print(f"{path}: {found.summary}", file=sys.stderr)
        keep_freed_memory()
        if self.test is not None and test is not None:
            _check_labels(test, cases, numbers, self.test)
        else:
            cases, test = _held_out(cases, numbers, self.seed)
        trained = trained_on(cases)
        inputs = None if test is None else arrays_of(test, trained, self.test or self.file)
        began = time.monotonic()
        estimator = self._fitted(cases, numbers)
        result = {"seconds": time.monotonic() - began, **_summary(estimator, cases, numbers)}
        predictions = None
        if test is not None and inputs is not None:
            y = targets_of(cases, numbers, self.file)
            expected = targets_of(test, numbers, self.test or self.file)
            score = _regression_scores if numbers else _class_scores
            scores, predictions = score(estimator, y, *inputs, expected)
            result |= {"test_cases": len(test.series), **scores}
        with whole_folder(folder) as place:
            estimator.save(place / WEIGHTS)
            write_trained(place / WEIGHTS, trained)
            config = self._config(estimator, numbers)
            write_run(place, config, _learning_curve(estimator), result, predictions)
            missing = write_page(place)
        if missing:
            print(missing, file=sys.stderr)
        print(f"model, scores and report page: {folder}", file=sys.stderr)
        if self.json:
            print(as_json({**result, "folder": str(folder)}))
        else:
            _show(result)
        return 0

    def _read(self, path: pathlib.Path, like: Cases | None = None) -> Cases:
        trained = None if like is None else trained_on(like)
        found = read_cases(
            path, target=self.target, identity=self.id, time=self.time, trained=trained
        )
        if like is not None and len(found.channels) != len(like.channels):
            raise UserError(
                f"{path} has {len(found.channels)} channels, the training set {len(like.channels)}",
                argument="test",
            )
        return found

    def _are_numbers(self, cases: Cases) -> bool:
        """Whether to fit a regressor."""
        targets = cases.targets()
        if self.labels == "numbers" and targets is None:
            raise UserError(
                "must be auto or classes: the labels are not numbers", argument="labels"
            )
        if self.labels != "auto":
            return self.labels == "numbers"
        if targets is None or cases.numeric is not None:
            return targets is not None and cases.numeric is True
        numbers = not _are_class_numbers(targets)
        print(f"labels are {'numbers' if numbers else 'classes'}; see --labels", file=sys.stderr)
        return numbers

    def _fitted(self, cases: Cases, numbers: bool) -> Any:
        from .. import estimators  # loads JAX

        method = self._method(len(cases.series))
        options: dict[str, Any] = {"random_state": self.seed}
        if self.epochs is not None:
            options["max_epochs"] = self.epochs
        X, times = arrays_of(cases, trained_on(cases), self.file)
        y = targets_of(cases, numbers, self.file)
        estimator = getattr(estimators, (REGRESSORS if numbers else CLASSIFIERS)[method])(**options)
        with naming_file(self.file), warnings_in_one_line():
            return estimator.fit(X, y, times)

    def _method(self, cases: int) -> str:
        if self.method != "auto":
            return self.method
        method = "filters" if self.epochs is None and cases <= _MOST_FILTERED else "network"
        print(f"method: {method}; see --method", file=sys.stderr)
        return method

    def _config(self, estimator: Any, numbers: bool) -> dict[str, Any]:
        data: dict[str, Any] = {"task": self.file.name, "file": str(self.file)}
        if not numbers:
            data["classes"] = [str(label) for label in estimator.classes_]
        settings = {n: v for n, v in estimator.get_params().items() if n != "random_state"}
        model = {"name": type(estimator).__name__, **settings}
        return {"data": data, "model": model, "seed": self.seed}


def _are_class_numbers(targets: np.ndarray) -> bool:
    """Whether targets are integers that repeat, and few, or the numbers from 0 or 1 to n."""
    found, counts = np.unique(targets, return_counts=True)
    if (found != np.round(found)).any() or len(found) > max(2, len(targets) // 2):
        return False
    consecutive = found[0] in (0, 1) and found[-1] - found[0] == len(found) - 1
    return len(found) <= _MOST_CLASSES or bool(consecutive and counts.min() > 1)


def _check_labels(test: Cases, trained: Cases, numbers: bool, path: pathlib.Path) -> None:
    """Raise `UserError`, before the training, for a test set that cannot be scored."""
    found = targets_of(test, numbers, path)
    unseen = [] if numbers else sorted(set(found.tolist()) - set(trained.labels or ()))
    if unseen:
        raise UserError(
            f"{path}: the label {unseen[0]!r} does not occur in the training set", argument="test"
        )


def _held_out(cases: Cases, numbers: bool, seed: int) -> tuple[Cases, Cases | None]:
    """Training and test set; a fifth of each class is held out."""
    rng = np.random.default_rng(seed)
    count = len(cases.series)
    labels = np.zeros(count) if numbers else np.array(cases.labels)
    if count < _FEWEST:
        print(f"{count} cases: none are held out to test the model", file=sys.stderr)
        return cases, None
    held: list[int] = []
    for label in np.unique(labels):
        rows = rng.permutation(np.nonzero(labels == label)[0])
        held += rows[: round(_HELD_OUT * len(rows))].tolist()
    if not held:
        print("no class has enough cases to hold some out to test the model", file=sys.stderr)
        return cases, None
    kept = np.setdiff1d(np.arange(count), held)
    return _taken(cases, kept), _taken(cases, np.sort(held))


def _taken(cases: Cases, rows: np.ndarray) -> Cases:
    def of(values: list | None) -> Any:
        return None if values is None else [values[row] for row in rows.tolist()]

    return dataclasses.replace(
        cases, series=of(cases.series), labels=of(cases.labels), times=of(cases.times),
        ids=of(cases.ids),
    )  # fmt: skip


def _is_network(estimator: Any) -> bool:
    return type(estimator).__name__ in (CLASSIFIERS["network"], REGRESSORS["network"])


def _learning_curve(estimator: Any) -> list[dict[str, float]]:
    """The losses of each epoch; none of filters."""
    history = estimator.history_ if _is_network(estimator) else []
    return [{"step": one["epoch"], **one} for one in history]


def _summary(estimator: Any, cases: Cases, numbers: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "estimator": type(estimator).__name__,
        "cases": len(cases.series),
        "channels": len(cases.channels),
    }
    if _is_network(estimator):
        import equinox as eqx
        import jax

        leaves = jax.tree.leaves(eqx.filter(estimator.model_, eqx.is_array))
        size, how = sum(leaf.size for leaf in leaves), {"epochs": len(estimator.history_)}
    else:
        size = estimator.weights_.size + estimator.intercept_.size
        how = {"filters": estimator.n_filters, "penalty": estimator.penalty_}
    found |= {"parameters": int(size), **how}
    return found if numbers else {**found, "classes": len(estimator.classes_)}


def _regression_scores(
    estimator: Any,
    trained: np.ndarray,
    X: list[np.ndarray],
    times: list[np.ndarray] | None,
    y: np.ndarray,
) -> tuple[dict[str, float], Predictions]:
    """Errors on the test set beside those of the mean target of the training set."""
    values = np.asarray(estimator.predict(X, times=times), np.float64)
    mse = float(np.mean((values - y) ** 2))
    constant = float(np.mean((y - trained.mean()) ** 2))
    scores = {"test_rmse": mse**0.5, "test_loss": mse, "mean_target_rmse": constant**0.5}
    return scores, Predictions(*(one[:, None].astype(np.float32) for one in (values, y)))


def _class_scores(
    estimator: Any,
    trained: np.ndarray,
    X: list[np.ndarray],
    times: list[np.ndarray] | None,
    y: np.ndarray,
) -> tuple[dict[str, float], Predictions]:
    """Scores on the test set beside the accuracy of the training set's most frequent class."""
    codes = np.searchsorted(estimator.classes_, y)
    share = np.asarray(estimator.predict_proba(X, times=times), np.float64)
    predictions = Predictions(np.log(np.maximum(share, 1e-12)).astype(np.float32), codes)
    names, counts = np.unique(trained, return_counts=True)
    scores = {
        "test_accuracy": float(predictions.correct().mean()),
        "test_loss": float(predictions.losses().mean()),
        "majority_class": float(np.mean(y == names[counts.argmax()])),
    }
    return scores, predictions


def _show(result: dict[str, Any]) -> None:
    console = Stdout()
    console.print(
        f"{result['estimator']}, {result['parameters']:,} parameters, {result['cases']:,} cases"
    )
    if "test_accuracy" in result:
        console.print(f"test accuracy: {result['test_accuracy']:.3f}")
        console.print(f"  of the most frequent class: {result['majority_class']:.3f}")
    elif "test_rmse" in result:
        console.print(f"test root-mean-square error: {result['test_rmse']:.4g}")
        console.print(f"  of the mean target: {result['mean_target_rmse']:.4g}")
