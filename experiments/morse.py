"""Morse code learned at one speed: which models recognize it at others, and after a pause?

`python -m experiments.morse`, about a quarter of an hour of CPU time

The setup is that of SITHCon's authors: 43 symbols, one sequence each, a dot is 1 0, a dash 1 1 1 0,
and a symbol ends with 0 0. In training every bit is repeated 10 times; the answer is read at the
last step. The test has the same symbols with every bit repeated 1 to 40 times, or after a pause, or
with every bit repeated another number of times. "rescaled Δ": the step size is multiplied by the
known factor.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from fractal import baselines
from fractal.nn import FractalSSM, SequenceModel
from fractal.train import parameter_count

from . import runs
from .fitting import fitted
from .sithcon import SITHCon

CODE = {
    "A": ".-", "B": "-...", "C": "-.-.", "D": "-..", "E": ".", "F": "..-.", "G": "--.", "H": "....",
    "I": "..", "J": ".---", "K": "-.-", "L": ".-..", "M": "--", "N": "-.", "O": "---", "P": ".--.",
    "Q": "--.-", "R": ".-.", "S": "...", "T": "-", "U": "..-", "V": "...-", "W": ".--", "X": "-..-",
    "Y": "-.--", "Z": "--..", "1": ".----", "2": "..---", "3": "...--", "4": "....-", "5": ".....",
    "6": "-....", "7": "--...", "8": "---..", "9": "----.", "0": "-----", ",": "--..--",
    ".": ".-.-.-", "?": "..--..", "/": "-..-.", "-": "-....-", "(": "-.--.", ")": "-.--.-",
}  # fmt: skip
TRAINED = 10  # repeats of a bit
REPEATS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40)
PAUSES = (50, 200)  # steps of silence before a symbol
STEPS, WIDTH, DEPTH = 120, 32, 2
BATCH = len(CODE)
_LONGEST = 22 * TRAINED
_DT = {"dt_min": 2 / _LONGEST, "dt_max": 0.5}
# The sequential scan compiles fastest.
_OURS = functools.partial(FractalSSM, order=8, length=_LONGEST, scan="sequential")
_SCALE_FREE = functools.partial(_OURS, clock="scale-invariant")
MODELS: dict[str, dict[str, Any]] = {
    "fractal, scale-invariant": {"mixer": _SCALE_FREE},
    "fractal, scale-invariant, selective": {
        "mixer": functools.partial(_SCALE_FREE, selective=True)
    },
    "fractal, scale-invariant, path": {"mixer": functools.partial(_SCALE_FREE, rate="path")},
    "fractal, uniform": {"mixer": _OURS},
    "fractal, uniform, selective": {"mixer": functools.partial(_OURS, selective=True)},
    "s5": {"mixer": functools.partial(baselines.S5, order=80, **_DT), "gate": "half_glu2"},
    "s4d": {"mixer": functools.partial(baselines.S4D, order=122, **_DT), "gate": "full_glu"},
    "lmu": {"mixer": functools.partial(baselines.LMU, order=16, memories=8, window=_LONGEST)},
}
# As in the published runs; it sees as many symbols as the others.
SITHCON, SITHCON_STEPS, SITHCON_BATCH = "sithcon", 640, 8
_RESCALABLE = ("fractal, uniform", "fractal, uniform, selective", "s5", "s4d", "lmu")


class Signals(NamedTuple):
    """Symbols as signals (symbols, time, 1), the number of their steps, and Δ in training ones."""

    inputs: np.ndarray
    lengths: np.ndarray
    dt: float = 1.0


def bits(symbol: str) -> list[int]:
    """The code of a symbol."""
    dots = "".join("10" if one == "." else "1110" for one in CODE[symbol])
    return [int(bit) for bit in dots + "00"]


def signals(repeats: Sequence[Sequence[int]] | int, pause: int = 0) -> Signals:
    """All symbols, with every bit repeated as often, or as often as is given for each bit."""
    rows = []
    for number, symbol in enumerate(CODE):
        code = bits(symbol)
        times = [repeats] * len(code) if isinstance(repeats, int) else repeats[number]
        rows.append(np.concatenate([np.zeros(pause), np.repeat(code, times)]))
    lengths = np.array([len(row) for row in rows], np.int32)
    padded = _LONGEST if lengths.max() <= _LONGEST else 4 * _LONGEST  # few shapes
    inputs = np.zeros((len(rows), padded, 1), np.float32)
    for place, row in zip(inputs, rows, strict=True):
        place[: len(row), 0] = row
    dt = TRAINED / repeats if isinstance(repeats, int) else 1.0
    return Signals(inputs, lengths, dt)


def conditions(seed: int) -> dict[str, Signals]:
    """The test signals: all speeds, pauses at the trained speed, and a speed that changes."""
    found = {f"{one}": signals(one) for one in REPEATS}
    found |= {f"{TRAINED}, pause {pause}": signals(TRAINED, pause) for pause in PAUSES}
    rng = np.random.default_rng([seed, 1])
    uneven = [rng.integers(TRAINED // 2, 2 * TRAINED + 1, len(bits(one))).tolist() for one in CODE]
    return found | {"5 to 20 for each bit": signals(uneven)}


def measure(model: str, seed: int) -> dict:
    """Accuracy under all conditions, with and without rescaling Δ."""
    net = built(model, seed)
    train = signals(TRAINED)
    steps, size = (SITHCON_STEPS, SITHCON_BATCH) if model == SITHCON else (STEPS, BATCH)

    def draw(rng: np.random.Generator) -> tuple:
        chosen = rng.permutation(len(CODE))[:size]
        return train.inputs[chosen], train.lengths[chosen], chosen

    net, curve = fitted(net, draw, _loss, steps, seed)
    accuracy = {}
    for name, test in conditions(seed).items():
        inputs, lengths = jnp.asarray(test.inputs), jnp.asarray(test.lengths)
        for dt in sorted({1.0, test.dt}) if model in _RESCALABLE else (None,):
            label = name if dt in (1.0, None) else f"{name}, rescaled Δ"
            step = None if dt is None else jnp.asarray(dt)
            found = np.asarray(_answers(net, inputs, lengths, step))
            accuracy[label] = round(float(np.mean(found == np.arange(len(CODE)))), 4)
    about = {"parameters": parameter_count(net), "steps": steps, "late_loss": curve[-1][1]}
    return about | {"accuracy": accuracy, "curve": curve}


def built(model: str, seed: int) -> Any:
    """A model with new weights."""
    key = jax.random.key(seed)
    if model == SITHCON:
        return SITHCon(1, len(CODE), key=key)
    return SequenceModel(
        inputs=1, outputs=len(CODE), width=WIDTH, depth=DEPTH, tokens=False, pooling="last",
        key=key, **MODELS[model],
    )  # fmt: skip


def _loss(net: Any, inputs: jax.Array, lengths: jax.Array, labels: jax.Array) -> jax.Array:
    logits = jax.vmap(lambda x, length: net(x, lengths=length))(inputs, lengths)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def _answers(net: Any, inputs: jax.Array, lengths: jax.Array, dt: jax.Array | None) -> jax.Array:
    """The symbol of each signal."""
    if isinstance(net, SITHCon):  # one after another: a long signal takes it much memory
        one = jax.lax.map(lambda args: net(args[0], lengths=args[1]), (inputs, lengths))
    else:
        one = jax.vmap(lambda x, length: net(x, lengths=length, dt=dt))(inputs, lengths)
    return one.argmax(-1)


def main() -> None:
    cases = [{"model": model, "seed": seed} for seed in runs.SEEDS for model in MODELS]
    cases += [{"model": SITHCON, "seed": seed} for seed in runs.SEEDS]
    runs.run("morse", cases, measure)


if __name__ == "__main__":
    runs.main(main)
