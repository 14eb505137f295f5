"""Does a power-law memory forecast series with long memory better, and does α follow the exponent?

`python -m experiments.long_memory`, about 40 minutes of CPU time

All state-space models come near the best linear prediction, none ahead of the others. Learned α do
not follow the exponent: a single α per layer converges to where its gains are smallest.

Every model reads 256 values and predicts, at each step, the next one and the 24th. All have about
13,000 parameters and 300 steps of Adam at the same learning rate, α at a higher one. Noise series
are resampled in each train step, and their best possible error is known. Household power is
standardized; its last fifth is the test set.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from fractal import baselines
from fractal.nn import FractalSSM, SequenceModel
from fractal.train import parameter_count

from . import runs, signals

LENGTH, AHEAD = 256, (1, 24)
BATCH, STEPS, TESTS = 32, 300, 1024
FIRST = 128  # first evaluated step: earlier ones have a short past
LAGS = 64  # of the autoregression
COVARIANCES = {
    "arfima 0.1": functools.partial(signals.arfima_covariance, 0.1),
    "arfima 0.25": functools.partial(signals.arfima_covariance, 0.25),
    "arfima 0.4": functools.partial(signals.arfima_covariance, 0.4),
    "fgn 0.8": functools.partial(signals.fgn_covariance, 0.8),
}
_DT = {"dt_min": 2 / LENGTH, "dt_max": 0.5}
_ATTENTION = functools.partial(baselines.Attention, causal=True)
MODELS: dict[str, dict[str, Any]] = {
    "fractal": {"mixer": functools.partial(FractalSSM, order=8, length=LENGTH)},
    "fractal, learned α": {
        "mixer": functools.partial(FractalSSM, order=8, length=LENGTH, learn_alpha=True)
    },
    "fractal, single learned α": {
        "mixer": functools.partial(
            FractalSSM, order=64, alphas=0.5, init="fractional", learn_alpha=True, **_DT
        )
    },
    "s5": {"mixer": functools.partial(baselines.S5, order=80, **_DT), "gate": "half_glu2"},
    "s4d": {"mixer": functools.partial(baselines.S4D, order=122, **_DT), "gate": "full_glu"},
    "transformer": {
        "block": functools.partial(baselines.TransformerBlock, attention=_ATTENTION, mlp=32),
        "positions": "sinusoid",
        "final_norm": True,
    },
}


def measure(series: str, model: str, seed: int) -> dict:
    """Mean squared test errors at both horizons, and those of the best prediction."""
    draw, test = data(series, seed)
    best = {f"best_{ahead}": best_possible(series, test, ahead) for ahead in AHEAD}
    if model == "ar":
        fit = autoregression(draw(STEPS * BATCH // 8), test)
        return fit | best | {"alphas": None, "parameters": len(AHEAD) * (LAGS + 1), "steps": 0}
    net = SequenceModel(
        inputs=1, outputs=len(AHEAD), width=32, depth=2, task="regression", tokens=False,
        pooling="none", key=jax.random.key(seed), **MODELS[model],
    )  # fmt: skip
    net = fitted(net, draw)
    errors = [
        np.asarray(_errors(net, test[i : i + 64]))[:, FIRST:].mean(axis=(0, 1))
        for i in range(0, TESTS, 64)
    ]
    found = {f"mse_{a}": float(x) for a, x in zip(AHEAD, np.mean(errors, axis=0), strict=True)}
    alphas = runs.learned_alphas(net) if "learned" in model else None
    return found | best | {"alphas": alphas, "parameters": parameter_count(net), "steps": STEPS}


def data(name: str, seed: int) -> tuple[Callable[[int], np.ndarray], np.ndarray]:
    """A function that draws training series, and the test series."""
    total = LENGTH + max(AHEAD)
    rng, apart = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    if name in COVARIANCES:
        covariance = COVARIANCES[name](total)

        def drawn(count, rng=rng):
            return signals.noise(covariance, count, rng).astype(np.float32)

        return drawn, drawn(TESTS, apart)
    minutes = signals.power()
    cut = len(minutes) * 4 // 5
    minutes = (minutes - minutes[:cut].mean()) / minutes[:cut].std()

    def windows(count, part=minutes[:cut], rng=rng):
        starts = rng.integers(0, len(part) - total, count)
        return part[starts[:, None] + np.arange(total)]

    return windows, windows(TESTS, minutes[cut:], apart)


def best_possible(name: str, test: np.ndarray, ahead: int) -> float | None:
    """Mean squared error of the best linear prediction on the same steps of the same series."""
    if name not in COVARIANCES:
        return None
    covariance = COVARIANCES[name](LENGTH + ahead + 1)
    errors = []
    for step in range(FIRST, LENGTH):
        weights = signals.best_weights(covariance, step + 1, ahead)
        errors.append(test[:, step::-1] @ weights - test[:, step + ahead])
    return float(np.mean(np.square(errors)))


def fitted(net: SequenceModel, draw: Callable[[int], np.ndarray]) -> SequenceModel:
    """Train by Adam, with a higher learning rate for α."""
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, STEPS // 10, STEPS)
    fast = optax.warmup_cosine_decay_schedule(0.0, 1e-1, STEPS // 10, STEPS)

    def label(path: Any, _: Any) -> str:
        name = jax.tree_util.keystr(path)
        return "fast" if name.endswith(".bank.place") else "rest"

    adam = optax.partition(
        {"rest": optax.adam(schedule), "fast": optax.adam(fast)},
        lambda tree: jax.tree_util.tree_map_with_path(label, tree),
    )
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), adam)

    @jax.jit
    def train_step(net, opt_state, batch):
        gradient = jax.grad(lambda net: _errors(net, batch).mean())(net)
        with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
            updates, opt_state = optimizer.update(gradient, opt_state, net)
        return optax.apply_updates(net, updates), opt_state

    opt_state = optimizer.init(net)
    for _ in range(STEPS):
        net, opt_state = train_step(net, opt_state, draw(BATCH))
    return net


@jax.jit
def _errors(net: SequenceModel, batch: jax.Array) -> jax.Array:
    """Squared errors (series, step, horizon)."""
    targets = jnp.stack([batch[:, ahead : ahead + LENGTH] for ahead in AHEAD], axis=-1)
    return (jax.vmap(net)(batch[:, :LENGTH, None]) - targets) ** 2


def autoregression(known: np.ndarray, test: np.ndarray) -> dict:
    """Least squares on the last 64 values, separately per horizon."""
    found = {}
    for ahead in AHEAD:
        x, y = _lagged(known, ahead, every=8)  # neighboring windows overlap
        weights = np.linalg.lstsq(x, y, rcond=None)[0]
        x, y = _lagged(test, ahead, every=1)
        found[f"mse_{ahead}"] = float(np.mean((x @ weights - y) ** 2))
    return found


def _lagged(batch: np.ndarray, ahead: int, every: int) -> tuple[np.ndarray, np.ndarray]:
    """Past values and targets of the evaluated steps."""
    rows = [
        (batch[:, step - LAGS + 1 : step + 1], batch[:, step + ahead])
        for step in range(FIRST, LENGTH, every)
    ]
    past, targets = (np.concatenate(part) for part in zip(*rows, strict=True))
    return np.column_stack([past, np.ones(len(past))]), targets


def main() -> None:
    cases = [
        {"series": name, "model": model, "seed": seed}
        for seed in runs.SEEDS
        for name in (*COVARIANCES, "power")
        for model in (*MODELS, "ar")
    ]
    runs.run("long_memory", cases, measure)


if __name__ == "__main__":
    runs.main(main)
