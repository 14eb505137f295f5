"""Ways to run a sequence mixer, for the tests of all baselines."""

import jax
import jax.numpy as jnp
import numpy as np


def signal(length: int, width: int, seed: int = 1):
    return jnp.asarray(np.random.default_rng(seed).standard_normal((length, width)))


def complex_of(pairs) -> np.ndarray:
    array = np.asarray(pairs, float)
    return array[..., 0] + 1j * array[..., 1]


def steps(mixer, u, state):
    """Outputs and last state, one step after the other."""

    def step(state, sample):
        y, state = mixer.step(sample, state)
        return state, y

    state, y = jax.lax.scan(step, state, u)
    return y, state


@jax.jit(static_argnums=2)
def streamed(mixer, u, cut: int):
    """Outputs and last state of one call, of single steps, and outputs of two calls."""
    y, final = mixer(u)
    stepped, last = steps(mixer, u, mixer.initial_state())
    first, state = mixer(u[:cut])
    second, _ = mixer(u[cut:], state)
    return y, final, stepped, last, jnp.concatenate([first, second])
