"""Spoken digits learned at one speed: which models recognize them at others, and after a pause?

`FRACTAL_SPEECH=DIR python -m experiments.speech`, DIR: the Free Spoken Digit Dataset

Raw waveforms of at most one second: at 2 kHz for all models and three seeds, one for SITHCon, about
three hours of CPU time, then at 8 kHz, the rate of the recordings, for some models and one seed.
Training on the official training set, or, for some models and one seed, without the last speaker. A
recording at s times the speed has the same samples as the recording at 1/s times the sampling rate;
"rescaled Δ" is for a known sampling rate. At another tempo the pitch stays. All networks are causal
and average over time, so that they have a prediction at every step: "first 50%" is the prediction
when half of the recording has been heard. "resampled": all recordings are resampled to the same
length first, which needs the whole recording.
"""

import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.signal

from fractal import baselines
from fractal.nn import FractalSSM, SequenceModel
from fractal.tasks import DataError
from fractal.tasks.speech import Recording, is_official_test, read_recordings
from fractal.train import parameter_count

from . import runs, speeds
from .fitting import fitted
from .sithcon import SITHCon

REDUCED, RECORDED = 2000, 8000  # samples per second
SPEEDS = {0.25: (4, 1), 0.5: (2, 1), 0.71: (7, 5), 1.41: (5, 7), 2.0: (1, 2), 4.0: (1, 4)}
TEMPOS = (0.5, 0.71, 1.41, 2.0)
PAUSES = (0.25, 1.0)  # seconds
HEARD = (0.25, 0.5, 0.75)
STEPS, BATCH, WIDTH, DEPTH = 1000, 16, 32, 2
SPLITS = ("recordings", "speakers")
_DIGITS = 10
_SECONDS = 1.0
_SAME = 1000  # samples of a recording that is resampled
_CLASSICAL, _SITHCON, _RESAMPLED = "log-mel, logistic regression", "sithcon", "s5, resampled"
_RESCALABLE = ("fractal, uniform", "fractal, uniform, selective", "s5", "s4d", "lmu")
_FRAMES, _BANDS, _WINDOW = 20, 16, 0.032


def mixers(length: int) -> dict[str, dict[str, Any]]:
    """The parts of each network, of about the same parameter count."""
    ours = functools.partial(FractalSSM, order=8, length=length)
    free = functools.partial(ours, clock="scale-invariant")
    dt = {"dt_min": 2 / length, "dt_max": 0.5}
    s5 = {"mixer": functools.partial(baselines.S5, order=80, **dt), "gate": "half_glu2"}
    return {
        "fractal, scale-invariant": {"mixer": free},
        "fractal, uniform": {"mixer": ours},
        "s5": s5,
        "fractal, scale-invariant, selective": {"mixer": functools.partial(free, selective=True)},
        "fractal, uniform, selective": {"mixer": functools.partial(ours, selective=True)},
        "fractal, scale-invariant, path": {"mixer": functools.partial(free, rate="path")},
        _RESAMPLED: s5,
        "s4d": {"mixer": functools.partial(baselines.S4D, order=122, **dt), "gate": "full_glu"},
        "lmu": {"mixer": functools.partial(baselines.LMU, order=16, memories=8, window=length)},
    }


MODELS = (_CLASSICAL, *mixers(1), _SITHCON)
RECORDED_MODELS = (_CLASSICAL, "fractal, scale-invariant", "fractal, uniform", "s5")
SPEAKER_MODELS = (*RECORDED_MODELS, _RESAMPLED)


@functools.cache
def recordings() -> list[Recording]:
    """The recordings in the folder that FRACTAL_SPEECH names."""
    folder = os.environ.get("FRACTAL_SPEECH")
    if not folder:
        raise DataError("set FRACTAL_SPEECH to the folder of the Free Spoken Digit Dataset")
    return read_recordings(pathlib.Path(folder))


def conditions(rate: int) -> dict[str, Callable[[Recording], np.ndarray]]:
    """The samples of a recording, at the trained rate, under each condition of the test."""

    def plain(one: Recording, up: int = 1, down: int = 1) -> np.ndarray:
        return speeds.resampled(one.samples[: int(_SECONDS * one.rate)], up * rate, down * one.rate)

    def tempo(one: Recording, speed: float) -> np.ndarray:
        changed = speeds.stretched(one.samples[: int(_SECONDS * one.rate)], speed, one.rate)
        return speeds.resampled(changed, rate, one.rate)

    def first(one: Recording, share: float) -> np.ndarray:
        samples = plain(one)
        return samples[: max(1, round(share * len(samples)))]

    def paused(one: Recording, seconds: float, level: float) -> np.ndarray:
        samples = plain(one)
        level *= float(np.sqrt(np.mean(samples**2)))
        return speeds.after(samples, seconds, rate, level, one.number)

    found: dict[str, Callable] = {"trained": plain}
    found |= {
        f"speed {speed:g}": functools.partial(plain, up=up, down=down)
        for speed, (up, down) in SPEEDS.items()
    }
    found |= {f"tempo {speed:g}": functools.partial(tempo, speed=speed) for speed in TEMPOS}
    found |= {f"first {share:.0%}": functools.partial(first, share=share) for share in HEARD}
    for name, level in (("silence", 0.0), ("noise", 0.1)):
        found |= {
            f"{name} {pause:g} s": functools.partial(paused, seconds=pause, level=level)
            for pause in PAUSES
        }
    return found


def measure(model: str, rate: int, split: str, seed: int) -> dict:
    """Accuracy under all conditions, with and without rescaling Δ."""
    last = max(one.speaker for one in recordings())
    held = [one.speaker == last if split == "speakers" else is_official_test(one)
            for one in recordings()]  # fmt: skip
    train = [one for one, apart in zip(recordings(), held, strict=True) if not apart]
    test = [one for one, apart in zip(recordings(), held, strict=True) if apart]
    ways = conditions(rate)
    scale = float(np.sqrt(np.mean(np.concatenate([ways["trained"](one) for one in train]) ** 2)))
    same = _same_length if model == _RESAMPLED else (lambda samples: samples)

    def heard(chosen: list[Recording], way: str) -> list[np.ndarray]:
        return [(same(ways[way](one)) / scale).astype(np.float32) for one in chosen]

    labels = np.array([one.digit for one in train])
    known = heard(train, "trained")
    if model == _CLASSICAL:
        answer, about = _classical(known, labels, rate)
    else:
        answer, about = _network(model, known, labels, rate, seed)
    right, accuracy = np.array([one.digit for one in test]), {}
    for way in ways:
        up, down = SPEEDS[float(way.removeprefix("speed "))] if way.startswith("speed") else (1, 1)
        speed = down / up
        signals = heard(test, way)
        for dt in sorted({1.0, speed}) if model in _RESCALABLE else (1.0,):
            label = way if dt == 1.0 else f"{way}, rescaled Δ"
            accuracy[label] = round(float(np.mean(answer(signals, dt) == right)), 4)
    return about | {"accuracy": accuracy}


def _same_length(samples: np.ndarray) -> np.ndarray:
    """The recording with a fixed number of samples, as if its speed were always the same."""
    return np.asarray(scipy.signal.resample(samples, _SAME))


def _network(
    model: str, known: list[np.ndarray], labels: np.ndarray, rate: int, seed: int
) -> tuple[Callable[[list[np.ndarray], float], np.ndarray], dict]:
    """A trained network as a function of signals and Δ, and its size and learning curve."""
    length, key = _SAME if model == _RESAMPLED else int(_SECONDS * rate), jax.random.key(seed)
    net: Any
    if model == _SITHCON:
        net = SITHCon(1, _DIGITS, channels=32, taps=11, tau_min=1.0, tau_max=4.0 * length,
                      count=80, k=15, key=key)  # fmt: skip
    else:
        net = SequenceModel(inputs=1, outputs=_DIGITS, width=WIDTH, depth=DEPTH, tokens=False,
                            key=key, **mixers(length)[model])  # fmt: skip

    sizes = np.array([_padded_size(len(one), length) for one in known])

    def draw(rng: np.random.Generator) -> tuple:
        size = sizes[rng.integers(len(known))]  # a batch has recordings of one size
        rows = rng.choice(np.flatnonzero(sizes == size), BATCH)
        return *padded([known[i] for i in rows], size), labels[rows]

    net, curve = fitted(net, draw, _loss, STEPS, seed)

    def answer(signals: list[np.ndarray], dt: float) -> np.ndarray:
        step = jnp.asarray(dt) if model in _RESCALABLE else None
        found = np.empty(len(signals), int)
        order = np.argsort([len(one) for one in signals])
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            size = _padded_size(len(signals[rows[-1]]), length)
            batch = padded([signals[i] for i in np.resize(rows, BATCH)], size)
            found[rows] = _answers(net, *map(jnp.asarray, batch), step)[: len(rows)]
        return found

    about = {"parameters": parameter_count(net), "steps": STEPS}
    return answer, about | {"late_loss": curve[-1][1], "curve": curve}


def _padded_size(samples: int, length: int) -> int:
    """A power of two times half the length, so that there are few shapes to compile."""
    size = length // 2
    while size < samples:
        size *= 2
    return size


def padded(signals: list[np.ndarray], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Signals as one array (signals, length, 1), and the number of samples of each."""
    inputs = np.zeros((len(signals), length, 1), np.float32)
    for place, one in zip(inputs, signals, strict=True):
        place[: len(one), 0] = one
    return inputs, np.array([len(one) for one in signals], np.int32)


def _loss(net: Any, inputs: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
    logits = jax.vmap(lambda x, length: net(x, lengths=length))(inputs, lengths)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def _answers(net: Any, inputs: jax.Array, lengths: jax.Array, dt: jax.Array | None) -> jax.Array:
    more = {} if dt is None else {"dt": dt}
    return jax.vmap(lambda x, n: net(x, lengths=n, **more))(inputs, lengths).argmax(-1)


def _classical(
    known: list[np.ndarray], labels: np.ndarray, rate: int
) -> tuple[Callable[[list[np.ndarray], float], np.ndarray], dict]:
    """Logistic regression on log-mel features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def features(signals: list[np.ndarray]) -> np.ndarray:
        return np.stack([log_mel(one, rate).ravel() for one in signals])

    fit = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
    fit.fit(features(known), labels)
    count = _DIGITS * (_FRAMES * _BANDS + 1)
    about = {"parameters": count, "steps": 0, "late_loss": None, "curve": []}
    return lambda signals, dt: fit.predict(features(signals)), about


def log_mel(samples: np.ndarray, rate: int) -> np.ndarray:
    """Log energies (frames, bands) of mel bands, in frames evenly spaced over the recording."""
    size = 1 << int(_WINDOW * rate - 1).bit_length()
    long = np.pad(samples, (0, max(0, size - len(samples))))
    starts = np.linspace(0, len(long) - size, _FRAMES).astype(int)
    frames = long[starts[:, None] + np.arange(size)] * np.hanning(size)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    return np.log(power @ _mel_bands(size, rate).T + 1e-3)


@functools.cache
def _mel_bands(size: int, rate: int) -> np.ndarray:
    """Triangular weights (bands, frequencies), evenly spaced on the mel scale."""
    top = 2595 * np.log10(1 + rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, _BANDS + 2) / 2595) - 1)
    hertz = np.fft.rfftfreq(size, 1 / rate)
    left, middle, right = (edges[i : i + _BANDS, None] for i in range(3))
    up, down = (hertz - left) / (middle - left), (right - hertz) / (right - middle)
    return np.maximum(0, np.minimum(up, down))


def main() -> None:
    recordings()  # an error before any case
    official, speakers = SPLITS
    first, *others = runs.SEEDS
    quick = [model for model in MODELS if model != _SITHCON]  # four times as slow as the others
    chosen = [
        *((model, REDUCED, official, first) for model in quick),
        *((model, RECORDED, official, first) for model in RECORDED_MODELS),
        *((model, REDUCED, speakers, first) for model in SPEAKER_MODELS),
        *((model, REDUCED, official, seed) for seed in others for model in quick),
        (_SITHCON, REDUCED, official, first),
    ]
    cases = [
        {"model": model, "rate": rate, "split": split, "seed": seed}
        for model, rate, split, seed in chosen
        if seed == first or model != _CLASSICAL  # which has no random numbers
    ]
    runs.run("speech", cases, measure)


if __name__ == "__main__":
    runs.main(main)
