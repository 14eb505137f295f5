"""How classifiers and regressors are trained: seeds, parts, warm starts, and Ctrl-C."""

import signal

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fractal.estimators import FractalClassifier, FractalRegressor, _classifier, _fit
from fractal.estimators._classifier import cross_entropy

from .conftest import SIZES, TINY


def test_a_seed_makes_fits_equal_and_others_do_not(waves):
    fits = [FractalClassifier(**TINY | {"random_state": seed}).fit(*waves) for seed in (0, 0, 1)]
    one, two, other = (fit.predict_proba(waves[0]) for fit in fits)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("cases", "per_epoch"),  # of 10 cases 8 are trained on, of 36 there are 31, in batches of 8
    [(36, 4), pytest.param(10, 1, marks=pytest.mark.slow)],
)
def test_training_waits_for_20_epochs_and_300_steps(cases, per_epoch, waves):
    X, y = (part * 2 for part in (waves[0], waves[1].tolist()))
    model = FractalClassifier(width=4, depth=1, order=2, lr=1e-12, random_state=0, refit=False)
    model.fit(X[:cases], y[:cases])  # its loss does not fall after the first epoch
    assert len(model.history_) - 1 == min(max(20, 300 // per_epoch), 199)


def test_class_weights_shift_probabilities(waves):
    X, y = waves
    model = FractalClassifier(**TINY, class_weight={"slow": 20.0, "fast": 1.0}).fit(X, y)
    plain = FractalClassifier(**TINY).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()


def test_partial_fit_learns_from_parts(waves):
    X, y = waves
    model = FractalClassifier(**SIZES, random_state=0)
    losses = []
    for _ in range(8):
        for half in (slice(0, 16), slice(16, None)):
            model.partial_fit(X[half], y[half], classes=["slow", "fast"])
            losses.append(model.history_[-1]["loss"])
    assert losses[-1] < 0.7 * losses[0]
    with pytest.raises(ValueError, match="known classes only, got"):
        model.partial_fit(X[:1], ["other"])


def test_partial_fit_has_a_constant_learning_rate(waves, monkeypatch):
    rates = []

    def recording(fixed, model, opt_state, loss):
        rates.append(fixed[-1][0])
        return model, opt_state, 0.0

    monkeypatch.setattr(_fit, "_train_step", recording)
    model = FractalRegressor(**TINY, batch_size=1, lr=0.01)
    for _ in range(2):
        model.partial_fit(waves[0], np.arange(32.0))
    np.testing.assert_array_equal(rates, np.full(64, np.float32(0.01)))


def test_a_warm_start_continues_from_the_last_weights(waves, tmp_path):
    X, y = waves
    model = FractalClassifier(**TINY | {"max_epochs": 15}, warm_start=True).fit(X, y)
    first = model.history_[0]["loss"]
    assert model.fit(X, y).history_[0]["loss"] < first
    with pytest.raises(ValueError, match="known classes"):
        model.fit(X, np.where(y == "slow", "other", y))
    model.set_params(width=8)
    line = "^width must be 4 as in the last fit, whose model is continued, got 8$"
    model.save(tmp_path / "model")
    for one in (model, FractalClassifier.load(tmp_path / "model")):
        with pytest.raises(ValueError, match=line):
            one.fit(X, y)
        with pytest.raises(ValueError, match=line):
            one.partial_fit(X, y)


@pytest.mark.parametrize("made", [FractalClassifier, FractalRegressor])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(waves, made):
    X, targets = waves[0], np.arange(32) % 4
    model = made(**TINY).fit(X, targets)
    before, expected = dict(vars(model)), model.predict(X)
    for wrong in ({"lr": -1.0}, {"width": -1}):
        for method in (model.fit, model.partial_fit):
            model.set_params(**wrong)
            with pytest.raises(ValueError, match=next(iter(wrong))):
                method([9 * x[:20] - 4 for x in X], targets[::-1] // 2)
            assert {name for name, one in vars(model).items() if before[name] is not one} == {
                *wrong
            }
            model.set_params(**{name: before[name] for name in wrong})
    np.testing.assert_array_equal(model.predict(X), expected)


def test_too_little_memory_for_a_batch_is_one_line_before_the_training(waves, monkeypatch):
    monkeypatch.setattr("fractal._bounds.available_bytes", lambda: 5e7)
    X, line = np.ones((8, 100_000)), "batches of 8 cases of up to 100,000 steps: at least 0.2 GB"
    for train in (FractalClassifier(**TINY).fit, FractalRegressor(**TINY).partial_fit):
        with pytest.raises(ValueError, match=f"{line} needed, .*; lower batch_size, width"):
            train(X, np.arange(8) % 2)


@pytest.mark.parametrize("wrong", [{"width": -1}, {"clock": "fast"}])
def test_a_first_partial_fit_that_fails_sets_nothing(waves, wrong):
    X, y = waves
    for made, arguments in (
        (FractalClassifier, (y, ["slow", "fast"])),
        (FractalRegressor, (np.arange(32.0),)),
    ):
        model = made(**TINY | wrong)
        before = set(vars(model))
        with pytest.raises(ValueError, match=next(iter(wrong))):
            model.partial_fit(X, *arguments)
        assert set(vars(model)) == before


def test_one_compiled_step_serves_all_learning_rates_and_weight_decays(waves, monkeypatch):
    traced = []

    def loss(outputs, targets):
        traced.append(1)
        return cross_entropy(outputs, targets)

    monkeypatch.setattr(_classifier, "cross_entropy", loss)
    X, y = waves  # one batch: each call of partial_fit is one step from the same weights

    def stepped(lr, weight_decay):
        model = FractalClassifier(**TINY, batch_size=32, lr=lr, weight_decay=weight_decay)
        model.partial_fit(X, y, classes=["slow", "fast"])
        mixer = model.model_.blocks[0].mixer
        return [np.asarray(one) for one in (model.model_.encoder.weight, mixer.log_dt)]

    start, *steps = (stepped(*one) for one in ((1e-30, 0), (1e-3, 0), (2e-3, 0), (2e-3, 50)))
    assert len(traced) == 1
    for index, decay in ((0, 0.1), (1, 0.0)):  # step sizes do not decay
        small, large, decayed = (one[index] - start[index] for one in steps)
        np.testing.assert_allclose(large, 2 * small, rtol=1e-3, atol=1e-7)
        np.testing.assert_allclose(decayed - large, -decay * start[index], rtol=1e-3, atol=1e-7)
        assert np.abs(small).max() > 1e-4


def _interrupt_step(monkeypatch, number):
    """Ctrl-C in a train step; returns the list of steps that were made."""
    step, calls = _fit._train_step, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == number:
            signal.raise_signal(signal.SIGINT)
        return step(*arguments)

    monkeypatch.setattr(_fit, "_train_step", interrupted)
    return calls


@pytest.mark.parametrize("refit", [False, True])
def test_ctrl_c_ends_the_training_without_a_refit(waves, monkeypatch, refit):
    calls = _interrupt_step(monkeypatch, 6)
    model = FractalClassifier(**TINY | {"max_epochs": 50}, refit=refit)
    with pytest.warns(ConvergenceWarning, match="interrupted in epoch 2; the best weights"):
        model.fit(*waves)
    assert len(calls) == 6
    assert model.predict(waves[0]).shape == (32,)


def test_ctrl_c_in_the_refit_keeps_the_first_training(waves, monkeypatch):
    calls = _interrupt_step(monkeypatch, 0)
    first = FractalClassifier(**TINY, refit=False).fit(*waves)
    steps = len(calls)
    again = _interrupt_step(monkeypatch, steps + 1)
    model = FractalClassifier(**TINY, refit=True)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(*waves)
    assert len(again) == steps + 1
    np.testing.assert_array_equal(model.predict_proba(waves[0]), first.predict_proba(waves[0]))
