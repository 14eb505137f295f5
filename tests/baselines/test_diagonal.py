"""The recurrent form of S4D and DSS."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.baselines import DSS, S4D
from mixers import signal, streamed

MAKERS = {
    "s4d": functools.partial(S4D, order=8, copies=3),
    "s4d bilinear": functools.partial(S4D, order=8, discretization="bilinear", dt_max=2.0),
    "dss": functools.partial(DSS, order=5),
}


def outputs_and_gradients(name, scan, bidirectional):
    """Outputs and final state of padded input, from a state, and gradients of a loss of both."""
    mixer = MAKERS[name](3, bidirectional=bidirectional, scan=scan, key=jax.random.key(0))
    u, mask = signal(37, 3), np.arange(37) % 5 > 0
    state = None if bidirectional else jnp.ones_like(mixer.initial_state()) * (0.5 - 0.3j)
    varied = (0, 1) if state is None else (0, 1, 2)

    def loss(mixer, u, state):
        y, after = mixer(u, state, dt=0.7, mask=mask)
        ends = jax.tree.leaves(after)
        return jnp.sum(jnp.sin(y)) + sum(jnp.sum(jnp.abs(x) ** 2) for x in ends), (y, after)

    (_, results), gradients = jax.jit(jax.value_and_grad(loss, varied, has_aux=True))(
        mixer, u, state
    )
    return jax.tree.leaves((results, gradients))


@pytest.mark.parametrize(
    ("name", "bidirectional"),
    [
        ("s4d", False),
        pytest.param("dss", True, marks=pytest.mark.slow),
        pytest.param("s4d", True, marks=pytest.mark.slow),
        pytest.param("s4d bilinear", False, marks=pytest.mark.slow),
        pytest.param("dss", False, marks=pytest.mark.slow),
    ],
)
def test_all_methods_of_the_recurrence_equal_the_convolution(name, bidirectional):
    """In outputs, final state and gradients."""
    with jax.enable_x64(True):
        expected, *others = (
            outputs_and_gradients(name, scan, bidirectional)
            for scan in ("convolution", "auto", "sequential", "associative", "chunked")
        )
        for found in others:
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * max(1, np.abs(y).max()))


@pytest.mark.parametrize("name", ["s4d", pytest.param("dss", marks=pytest.mark.slow)])
def test_steps_and_resumed_calls_equal_the_recurrence(name):
    with jax.enable_x64(True):
        mixer = MAKERS[name](3, scan="auto", key=jax.random.key(0))
        y, final, steps, last, parts = streamed(mixer, signal(50, 3), 20)
        for other in (steps, parts):
            np.testing.assert_allclose(other, y, atol=1e-10 * np.abs(y).max())
        np.testing.assert_allclose(last, final, atol=1e-10)


@pytest.mark.parametrize("make", [S4D, DSS])
def test_an_empty_sequence_does_not_change_the_state(make):
    mixer = make(3, order=4, scan="auto", key=jax.random.key(0))
    state = jnp.ones_like(mixer.initial_state())
    y, after = mixer(jnp.zeros((0, 3)), state)
    assert y.shape == (0, 3)
    np.testing.assert_array_equal(after, state)


@pytest.mark.parametrize("make", [S4D, DSS])
def test_outputs_of_the_recurrence_do_not_depend_on_later_inputs(make):
    """Those of the convolution do: the rounding error is relative to the largest input."""
    u = signal(40, 3).astype(jnp.float32)
    errors = {}
    for scan in ("convolution", "auto"):
        mixer = make(3, scan=scan, key=jax.random.key(0))
        y, changed = (mixer(x)[0][:30] for x in (u, u.at[30:].set(1e8)))
        errors[scan] = np.abs(changed - y).max()
    assert errors["auto"] == 0
    assert errors["convolution"] > 0.1
