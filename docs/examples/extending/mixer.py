"""A mixer: exponential moving averages with learned rates."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

import fractal


class MovingAverages(eqx.Module):
    """Each channel has `order` averages z ← g z + (1 − g) u with g = exp(−rate · dt)."""

    log_rate: Float[Array, "width order"] = eqx.field(metadata=fractal.nn.role("dynamics"))
    readout: Float[Array, "width order"] = eqx.field(metadata=fractal.nn.role("readout"))

    def __init__(self, width, *, order=4, key):
        rates = jnp.geomspace(0.01, 1.0, order)
        self.log_rate = jnp.broadcast_to(jnp.log(rates), (width, order))
        self.readout = jax.random.normal(key, (width, order)) / order**0.5

    @property
    def bidirectional(self):
        """Outputs do not depend on later inputs."""
        return False

    def initial_state(self):
        """Averages before the first step."""
        return jnp.zeros_like(self.log_rate)

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None):
        """Outputs (time, width) and the state after the last step."""
        real = jnp.ones(len(u), bool) if mask is None else mask
        if lengths is not None:
            real = jnp.arange(len(u)) < lengths
        durations = jnp.where(real, 1.0 if dt is None else dt, 0.0)  # padding has duration 0
        gates = jnp.exp(-jnp.exp(self.log_rate) * durations[:, None, None])
        start = self.initial_state() if state is None else state
        z = fractal.nn.linear_scan(gates, (1 - gates) * u[..., None], start)
        return (z * self.readout).sum(axis=-1), z[-1]

    def step(self, u, state, dt=None):
        """Output (width,) of one step, and the new state."""
        gates = jnp.exp(-jnp.exp(self.log_rate) * (1.0 if dt is None else dt))
        z = gates * state + (1 - gates) * u[..., None]
        return (z * self.readout).sum(axis=-1), z


fractal.train.register_model("averages", MovingAverages, size="order")
