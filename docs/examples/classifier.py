"""Train a classifier on arrays, and use it at another sampling rate.

    python classifier.py [scale-invariant | uniform]

Each recording has one event in noise, a step, a bump or a decay, at a random time and of random
duration. Replace `recordings` by a function that loads your own: values (examples, time, channels)
and integer labels (examples,).
"""

import functools
import sys

import jax
import numpy as np
import optax

import fractal

CLASSES = ("step", "bump", "decay")
LENGTH = 64  # samples of a recording in training
STEPS, BATCH = 200, 32


def recordings(rng, count, length):
    """Values (count, length, 1) and labels (count,)."""
    time = (np.arange(length) + 0.5) / length
    start, duration = rng.uniform([[0.1], [0.1]], [[0.6], [0.3]], (2, count))[..., None]
    passed = np.clip((time - start) / duration, 0, None)
    progress = np.minimum(passed, 1)
    events = np.stack([progress, np.sin(np.pi * progress) ** 2, np.exp(-3 * passed) * (passed > 0)])
    labels = rng.integers(0, len(CLASSES), count)
    sign = rng.choice([-2.0, 2.0], (count, 1))
    signal = sign * events[labels, np.arange(count)] + 0.4 * brownian(rng, count, length)
    return signal[..., None].astype(np.float32), labels


def brownian(rng, count, length):
    """Noise without a time scale, of mean 0 and variance 1."""
    noise = rng.standard_normal((count, length)).cumsum(axis=1)
    noise -= noise.mean(axis=1, keepdims=True)
    return noise / noise.std(axis=1, keepdims=True)


def train(values, labels, clock):
    """Train a model for one sequence (time, 1) on random batches."""
    model = fractal.nn.SequenceModel(
        inputs=1,
        outputs=len(CLASSES),
        width=32,
        depth=1,
        tokens=False,  # values, not tokens
        mixer=functools.partial(
            fractal.nn.FractalSSM,
            order=8,
            clock=clock,
            length=LENGTH,
        ),
        key=jax.random.key(0),
    )
    optimizer = optax.adam(optax.cosine_decay_schedule(1e-2, STEPS))

    def loss(model, values, labels):
        logits = jax.vmap(model)(values)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    @jax.jit
    def train_step(model, opt_state, values, labels):
        gradient = jax.grad(loss)(model, values, labels)
        updates, opt_state = optimizer.update(gradient, opt_state)
        return optax.apply_updates(model, updates), opt_state

    rng, opt_state = np.random.default_rng(1), optimizer.init(model)
    for _ in range(STEPS):
        chosen = rng.integers(0, len(values), BATCH)
        model, opt_state = train_step(model, opt_state, values[chosen], labels[chosen])
    return model


@jax.jit
def accuracy(model, values, labels):
    """Share of recordings with the right class."""
    return (jax.vmap(model)(values).argmax(axis=-1) == labels).mean()


def main(clock="scale-invariant"):
    """Train, then evaluate on held-out recordings, at the same rate and at twice that rate."""
    values, labels = recordings(np.random.default_rng(0), 2500, 2 * LENGTH)
    slow = values[:, 1::2]  # every second sample of the same recordings
    model = train(slow[:2000], labels[:2000], clock)
    scores = {
        "training rate": float(accuracy(model, slow[2000:], labels[2000:])),
        "twice the rate": float(accuracy(model, values[2000:], labels[2000:])),
    }
    print(f"{clock} clock, accuracy on 500 held-out recordings:")
    for name, score in scores.items():
        print(f"  {name:15} {score:.3f}")
    return scores


if __name__ == "__main__":
    main(*sys.argv[1:2])
