"""A regression task of one's own, a block and a whole model."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fractal import tasks
from fractal.train import register_model, register_task


def load(request):
    """The mean of two channels."""
    rng = np.random.default_rng(0)
    signals = rng.normal(size=(100, 12, 2)) + rng.normal(size=(100, 1, 2))
    return tasks.from_arrays(list(signals), signals.mean(axis=1), name="pulse")


class Shift(eqx.Module):
    """The sample before: a mixer without parameters."""

    bidirectional: bool = eqx.field(static=True, default=False)

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None):
        return jnp.concatenate([jnp.zeros_like(u[:1]), u[:-1]]), u[-1]

    def step(self, u, state, dt=None):
        return state, u

    def initial_state(self):
        return jnp.zeros(())


class Neighbors(eqx.Module):
    """A block: a linear map of a sample and the one before."""

    weight: jax.Array
    mixer: Shift

    def __init__(self, width, *, key):
        self.weight, self.mixer = 0.1 * jax.random.normal(key, (width, width)), Shift()

    def __call__(self, x, state=None, dt=None, lengths=None, mask=None):
        y, state = self.mixer(x, state)
        return x + jnp.tanh(y @ self.weight), state

    def training(self, x, dt=None, lengths=None, mask=None, axes=(), *, key):
        return self(x)[0], None

    def step(self, x, state, dt=None):
        y, state = self.mixer.step(x, state)
        return x + jnp.tanh(y @ self.weight), state


class Average(eqx.Module):
    """A whole model: a linear map of the mean of a sequence."""

    linear: eqx.nn.Linear

    def __init__(self, task, *, width, depth, key):
        self.linear = eqx.nn.Linear(task.inputs, task.outputs, key=key)

    def __call__(self, x, *, lengths=None, key=None):
        return self.linear(x.mean(axis=0))


register_task("pulse", load)
register_model("neighbors", Neighbors, kind="block", classes=[Shift])
register_model("average", Average, kind="model")
