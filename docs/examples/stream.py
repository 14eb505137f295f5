"""Decide while a series arrives: how early, and how surely?

    python stream.py [PICTURE]

The demand for electricity of a day in Italy arrives hour by hour: is the day in the warm or in the
cold half of the year? The data set ItalyPowerDemand of the UCR archive is part of the package aeon.
Replace `days` by a function that reads your own series.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from fractal.estimators import FractalClassifier

SURE = 0.95
COPIES = 6  # of each training day


def days(split):
    """Days (days, hours) and their classes."""
    from aeon.datasets import load_classification

    X, y = load_classification("ItalyPowerDemand", split=split)
    return X[:, 0], y


def cut_off(rng, X, y):
    """Copies of series: one is whole, the others end at random times."""
    rows = np.repeat(np.arange(len(X)), COPIES)
    ends = rng.integers(1, X.shape[1] + 1, len(rows))
    ends[::COPIES] = X.shape[1]
    return [X[row, :end] for row, end in zip(rows, ends, strict=True)], y[rows]


def watch(model, x):
    """The class, its probability and the number of samples at the first sure decision."""
    stream = model.stream()
    for number in range(1, len(x) + 1):
        found = stream.push(x[number - 1 : number])
        if found.probabilities.max() >= SURE:
            break
    return found.labels[-1], found.probabilities.max(), number


def decisions(probabilities, classes, truth):
    """Whether each series is decided, after how many samples, and whether that is right."""
    sure = probabilities.max(axis=2) >= SURE
    decided, first = sure.any(axis=1), sure.argmax(axis=1)
    found = classes[probabilities[np.arange(len(truth)), first].argmax(axis=1)]
    return decided, first + 1, found == truth


def main(picture="stream.png"):
    """Train on whole days and on days cut off, and decide all test days."""
    X, y = days("train")
    test, truth = days("test")
    sets = {
        "whole days": (X, y),
        "days cut off": cut_off(np.random.default_rng(0), X, y),
    }
    found = {}
    for name, cases in sets.items():
        model = FractalClassifier(width=16, depth=1, max_epochs=30, random_state=0).fit(*cases)
        # What a stream says after each hour, for all days at once.
        hours = range(1, test.shape[1] + 1)
        seen = np.stack([model.predict_proba(test[:, :end]) for end in hours], axis=1)
        correct = model.classes_[seen.argmax(axis=2)] == truth[:, None]
        decided, first, right = decisions(seen, model.classes_, truth)
        found[name] = correct.mean(axis=0), seen.max(axis=2).mean(axis=0), decided, first, right
        print(
            f"trained on {name}: {decided.mean():.2f} are decided, half of these by hour "
            f"{np.median(first[decided]):.0f}; right {right[decided].mean():.2f}, "
            f"after 24 hours {correct[:, -1].mean():.2f}"
        )
    label, probability, hour = watch(model, test[0])
    print(
        f"first test day: class {label} after {hour} hours, p = {probability:.2f}; true: {truth[0]}"
    )
    draw(picture, found)
    return found


def draw(picture, found):
    """Accuracy beside probability after each hour, and the decisions so far."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for color, (name, (accuracy, probability, decided, first, correct)) in zip(
        ("tab:orange", "tab:blue"), found.items(), strict=True
    ):
        hours = np.arange(1, len(accuracy) + 1)
        left.plot(hours, accuracy, color=color, label=f"{name}: accuracy")
        left.plot(hours, probability, color=color, linestyle=":", label="mean probability")
        for chosen, style, what in ((correct, "-", "right"), (~correct, "--", "wrong")):
            share = [np.mean(decided & chosen & (first <= hour)) for hour in hours]
            right.plot(hours, share, color=color, linestyle=style, label=f"{name}: {what}")
    left.set(xlabel="hours seen", ylabel="test days", ylim=(0.35, 1.02))
    right.set(xlabel="hours seen", ylabel=f"days decided at {SURE}", ylim=(-0.02, 1.02))
    for axes in (left, right):
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    figure.savefig(picture, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    main(*sys.argv[1:2])
