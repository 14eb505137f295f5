"""Classify recordings of unequal lengths, with gaps and time stamps.

    python classify.py [PICTURE]

Each recording is a machine that starts, with one of three faults, sampled at irregular times for a
duration of its own; some samples are missing. Replace `recordings` by a function that loads your
own.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fractal.estimators import FilterBankClassifier, FractalClassifier, reliability

FAULTS = ("none", "loose", "worn")


def recordings(rng, count, rate=1.0):
    """Series (channels, time) with their times and labels."""
    X, times, labels = [], [], rng.choice(FAULTS, count)
    for label in labels:
        end = rng.uniform(30, 60)
        t = np.sort(rng.uniform(0, end, int(rate * end)))
        phase, frequency = rng.uniform(0, 2 * np.pi), rng.uniform(0.4, 0.6)
        if label == "loose":
            phase = phase + 1.5 * np.sin(0.9 * frequency * t)
        strength = np.exp(-t / 20) if label == "worn" else 1.0
        vibration = strength * np.sin(frequency * t + phase)
        x = np.stack([vibration, 1 - np.exp(-t / 5)]) + 0.7 * rng.normal(size=(2, len(t)))
        x[rng.uniform(size=x.shape) < 0.1] = np.nan  # missing
        X.append(x)
        times.append(t)
    return X, times, labels


def main(picture="classify.png"):
    """Fit network and filters, evaluate at two rates, and draw a stream and the reliability."""
    rng = np.random.default_rng(0)
    X, times, y = recordings(rng, 250)
    model = FractalClassifier(width=16, depth=1, max_epochs=40, random_state=0).fit(X, y, times)
    filters = FilterBankClassifier(random_state=0).fit(X, y, times)
    scores = {}
    for name, rate in (("training rate", 1.0), ("twice the rate", 2.0)):
        test, stamps, truth = recordings(np.random.default_rng(1), 400, rate)
        scores[name] = model.score(test, truth, times=stamps)
        other = filters.score(test, truth, times=stamps)
        print(f"accuracy, {name:14} {scores[name]:.3f}, of filters {other:.3f}")
    probabilities = model.predict_proba(test, stamps)
    found = reliability(probabilities.max(axis=1), model.predict(test, stamps) == truth, bins=5)
    print(f"calibration error        {found.error:.3f}")
    draw(picture, model, test[0], stamps[0], truth[0], found)
    return scores, found


def draw(picture, model, x, times, label, found):
    """Probabilities after every sample of one recording, and the reliability diagram."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    stream = model.predict_stream(x, times)
    for name, column in zip(model.classes_, stream.probabilities.T, strict=True):
        left.plot(times, column, label=name, linewidth=2 if name == label else 1)
    left.set(xlabel="time", ylabel="probability", title=f"after every sample; true: {label}")
    left.legend(frameon=False)
    right.plot([0, 1], [0, 1], color="0.7", linestyle="--")
    seen = found.cases > 0
    right.plot(found.confidence[seen], found.accuracy[seen], marker="o")
    right.set(xlabel="probability of the predicted class", ylabel="fraction correct")
    right.set(xlim=(0.3, 1), ylim=(0.3, 1), title="reliability on the test set")
    figure.savefig(picture, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
