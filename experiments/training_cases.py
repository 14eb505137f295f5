"""From how many training cases on is a trained network ahead of random filters?

`FRACTAL_SPEECH=DIR python -m experiments.training_cases`, DIR: the Free Spoken Digit Dataset

`FractalClassifier` and `FilterBankClassifier` with default settings on random parts of two training
sets: images of MNIST as 784 samples, row by row (`fractal data smnist` fetches them), and spoken
digits as at most one second of waveform at 2 kHz, with the official test set. Half an hour of CPU
time.
"""

import time

import numpy as np

from fractal.estimators import FilterBankClassifier, FractalClassifier, reliability
from fractal.tasks import Split
from fractal.tasks.speech import Recording, is_official_test
from fractal.train import load_task, preset

from . import runs, speech

DATA, DIGITS = "MNIST by pixels", "spoken digits, 2 kHz"
METHODS = {"network": FractalClassifier, "filters": FilterBankClassifier}
CASES = {DATA: (100, 300, 1000, 3000, 10_000), DIGITS: (100, 300, 1000, 2700)}
_TEST = 2000  # images

Data = tuple[list[np.ndarray], np.ndarray]


def load(data: str) -> tuple[Data, Data]:
    """Series and labels of the training and the test set."""
    if data == DATA:
        splits = load_task(preset("smnist", "laptop")).splits
        return _images(splits.train, max(CASES[DATA])), _images(splits.test, _TEST)
    known = [one for one in speech.recordings() if not is_official_test(one)]
    return _spoken(known), _spoken([one for one in speech.recordings() if is_official_test(one)])


def _images(split: Split, count: int) -> Data:
    series = [np.asarray(split.documents(row)[0], float) for row in range(count)]
    return series, split.labels[:count]


def _spoken(found: list[Recording]) -> Data:
    plain = speech.conditions(speech.REDUCED)["trained"]
    return [plain(one) for one in found], np.array([one.digit for one in found])


def measure(data: str, method: str, cases: int, seed: int) -> dict:
    """Accuracy on the test set, calibration of the probabilities, and the time of the fit."""
    (X, y), (test, truth) = load(data)
    rows = np.random.default_rng(seed).permutation(len(X))[:cases]
    start = time.process_time()
    model = METHODS[method](random_state=seed).fit([X[row] for row in rows], y[rows])
    seconds = time.process_time() - start
    assert len(model.classes_) == len(np.unique(truth)), "a class is missing in the part"
    share = model.predict_proba(test)
    place = np.searchsorted(model.classes_, truth)
    right = share.argmax(axis=1) == place
    loss = -np.log(np.maximum(share[np.arange(len(truth)), place], 1e-12)).mean()
    return {
        "accuracy": round(float(right.mean()), 4),
        "log_loss": round(float(loss), 4),
        "calibration_error": round(reliability(share.max(axis=1), right).error, 4),
        "fit_seconds": round(seconds, 1),
    }


def main() -> None:
    cases = [
        {"data": data, "method": method, "cases": count, "seed": 0}
        for data, counts in CASES.items()
        for count in counts
        for method in METHODS
    ]
    cases.sort(key=lambda case: case["cases"])
    runs.run("training_cases", cases, measure)


if __name__ == "__main__":
    runs.main(main)
