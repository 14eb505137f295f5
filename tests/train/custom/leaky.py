"""A mixer of one's own: leaky integrators, in one file with its registration."""

import equinox as eqx
import jax
import jax.numpy as jnp

from fractal.nn import role
from fractal.train import register_model


class Leaky(eqx.Module):
    """x_k = a x_{k−1} + B u_k, y_k = C x_k."""

    log_rate: jax.Array = eqx.field(metadata=role("dynamics"))
    B: jax.Array = eqx.field(metadata=role("input"))
    C: jax.Array = eqx.field(metadata=role("readout"))
    bidirectional: bool = eqx.field(static=True)

    def __init__(self, width, *, order=4, key):
        one, two = jax.random.split(key)
        self.log_rate = jnp.linspace(-3.0, 0.0, order)
        self.B = jax.random.normal(one, (order, width)) / width**0.5
        self.C = jax.random.normal(two, (width, order)) / order**0.5
        self.bidirectional = False

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None):
        start = self.initial_state() if state is None else state
        state, y = jax.lax.scan(lambda x, u: self.step(u, x)[::-1], start, u)
        return y, state

    def step(self, u, state, dt=None):
        state = jnp.exp(-jnp.exp(self.log_rate)) * state + self.B @ u
        return self.C @ state, state

    def initial_state(self):
        return jnp.zeros_like(self.log_rate)


register_model("leaky", Leaky, size="order")
