"""Derivatives of the layer."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fractal.nn import FractalSSM
from optimizers import apply_gradient


def layer(width=3, order=8, **options):
    return FractalSSM(
        width, order=order, **{"alphas": (0.0, 0.5, 0.9), "key": jax.random.key(0)} | options
    )


def signal(length, width=3, seed=1):
    return jax.random.normal(jax.random.key(seed), (length, width))


def unrolled(ssm, u, dt, modes, time):
    """The layer as a loop over complex numbers, for comparison of derivatives."""
    decay, frequency, gain = ssm.bank()
    rates, steps = jax.lax.complex(decay, frequency), jnp.exp(ssm.log_dt)
    B = gain[:, None].astype(rates.dtype) * jax.lax.complex(*jnp.split(ssm.B, 2))

    def step(state, now):
        z, time = state
        u, dt = now
        elapsed = jnp.log1p(dt / time) if ssm.clock == "scale-invariant" else dt
        w = rates * (steps * elapsed).astype(rates.dtype)
        gate = jnp.exp(-w) if ssm.discretization == "zoh" else (1 - w / 2) / (1 + w / 2)
        z = gate * z + (1 - gate) / rates * (B @ u.astype(B.dtype))
        return (z, time + dt), ssm.C @ jnp.concatenate([z.real, z.imag]) + ssm.D * u

    (final, _), outputs = jax.lax.scan(step, (modes, time), (u, dt))
    return outputs, final


@pytest.mark.parametrize(
    ("clock", "discretization", "irregular"),
    [
        ("uniform", "zoh", True),
        pytest.param("uniform", "bilinear", False, marks=pytest.mark.slow),
        pytest.param("scale-invariant", "zoh", False, marks=pytest.mark.slow),
        pytest.param("scale-invariant", "bilinear", True, marks=pytest.mark.slow),
    ],
)
def test_first_and_second_derivatives_equal_autodiff_of_a_loop(clock, discretization, irregular):
    with jax.enable_x64(True):
        ssm = layer(2, 4, clock=clock, discretization=discretization, alphas=(0.3,))
        u, modes = signal(19, 2), signal(1, sum(ssm.sizes))[0].astype(complex) * (1 + 1j)
        dt, time = jnp.linspace(0.5, 1.5, 19) if irregular else jnp.ones(19), jnp.array(3.0)

        def loss(run, ssm, u, dt, modes):
            y, final = run(ssm, u, dt, modes)
            return jnp.sum(jnp.sin(y)) + jnp.sum(final.imag**2)

        def ours(ssm, u, dt, modes):
            start = ssm.initial_state()._replace(modes=modes, time=time)
            y, final = ssm(u, start, dt if irregular else None)
            return y, final.modes

        def plain(ssm, u, dt, modes):
            return unrolled(ssm, u, dt, modes, time)

        arguments = (ssm, u, dt, modes)
        ahead = jax.tree.map(jnp.ones_like, arguments)
        if not irregular:  # dt is not passed to the layer
            ahead = (*ahead[:2], jnp.zeros_like(dt), ahead[3])
        for run in (ours, plain):
            gradient = jax.grad(functools.partial(loss, run), argnums=(0, 1, 2, 3))
            first, second = jax.jit(lambda *a, g=gradient: jax.jvp(g, a, ahead))(*arguments)
            results = [
                jax.tree.leaves((d[0], d[1], d[2] if irregular else (), d[3]))
                for d in (first, second)
            ]
            if run is ours:
                got = results
        for order, expected in enumerate(results):
            scale = max(float(jnp.abs(x).max()) for x in expected)
            for x, y in zip(got[order], expected, strict=True):
                np.testing.assert_allclose(x, y, atol=1e-9 * scale)


@pytest.mark.slow
def test_gradients_of_single_arguments_are_finite():
    ssm, u = layer(), jnp.stack([signal(30), signal(30, seed=2)])
    for dt in (None, jnp.linspace(0.5, 1, 30)):
        y = jax.grad(lambda u, dt=dt: jnp.sum(jax.vmap(lambda u: ssm(u, dt=dt)[0])(u) ** 2))(u)
        assert np.all(np.isfinite(y))
        only = jax.grad(
            lambda log_dt, dt=dt: jnp.sum(
                jax.vmap(lambda u: eqx.tree_at(lambda s: s.log_dt, ssm, log_dt)(u, dt=dt)[0])(u)
            )
        )(ssm.log_dt)
        assert np.all(np.isfinite(only))


@pytest.mark.parametrize(
    ("clock", "discretization"),
    [("uniform", "zoh"), pytest.param("scale-invariant", "bilinear", marks=pytest.mark.slow)],
)
def test_real_modes_remain_real_during_training(clock, discretization):
    ssm = layer(
        2, 8, init="fractional", alphas=(0.3, 0.9), clock=clock, discretization=discretization
    )
    real = np.asarray(ssm.bank.frequency) == 0
    assert real.sum() == 4
    optimizer = optax.adam(1e-2)
    opt_state = optimizer.init(ssm)

    @jax.jit
    def update(ssm, opt_state, u):
        gradient = jax.grad(lambda ssm: jnp.mean((ssm(u)[0] - jnp.roll(u, 3, axis=0)) ** 2))(ssm)
        return apply_gradient(optimizer, gradient, opt_state, ssm)

    for seed in range(5):
        ssm, opt_state = update(ssm, opt_state, signal(64, 2, seed))
    np.testing.assert_array_equal(ssm.bank.frequency[real], 0)
    np.testing.assert_array_equal(eqx.filter_jit(ssm)(signal(64, 2))[1].modes[real].imag, 0)


def test_gradients_are_finite_for_a_zero_bilinear_gate():
    ssm = layer(2, 4, alphas=(0.5,), init="published", imaginary="none", discretization="bilinear",
                dt_min=1, dt_max=1)  # fmt: skip
    for dt in (None, jnp.ones(9)):
        gradient = jax.jit(jax.grad(lambda ssm, dt=dt: jnp.sum(ssm(signal(9, 2), dt=dt)[0])))(ssm)
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))
