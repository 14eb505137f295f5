import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fractal.nn import FractalSSM, FractalState

USUAL_RATE = 1e-3
PIECE, PIECES = 50_000, 20


def trained(ssm):
    """1,000 steps on random targets with noisy gradients, at ten times the usual learning rate."""
    optimizer = optax.adam(10 * USUAL_RATE)

    def step(carry, key):
        ssm, moments = carry
        one, two, three = jax.random.split(key, 3)
        u, target = (jax.random.normal(k, (64, 4)) for k in (one, two))
        gradient = jax.grad(lambda ssm: jnp.mean((ssm(u)[0] - target) ** 2))(ssm)
        leaves, tree = jax.tree.flatten(gradient)
        noise = [jax.random.normal(k, x.shape) * jnp.std(x) for k, x in
                 zip(jax.random.split(three, len(leaves)), leaves, strict=True)]  # fmt: skip
        noisy = jax.tree.unflatten(tree, map(jnp.add, leaves, noise))
        updates, moments = optimizer.update(noisy, moments)
        return (optax.apply_updates(ssm, updates), moments), None

    keys = jax.random.split(jax.random.key(1), 1000)
    return jax.jit(lambda ssm: jax.lax.scan(step, (ssm, optimizer.init(ssm)), keys)[0][0])(ssm)


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
@pytest.mark.parametrize(
    ("init", "learn_alpha"),
    [("normal", False), ("normal", True), ("fractional", False), ("fractional", True),
     ("published", False)],
)  # fmt: skip
def test_a_million_steps_after_rough_training_neither_grow_nor_break(init, clock, learn_alpha):
    ssm = trained(FractalSSM(
        4, order=8, init=init, clock=clock, learn_alpha=learn_alpha, dt_min=1e-4, dt_max=1.0,
        key=jax.random.key(0),
    ))  # fmt: skip
    run = eqx.filter_jit(lambda ssm, u, state: ssm(u, state))
    size = sum(ssm.sizes)
    start = FractalState(
        jnp.exp(1j * jax.random.uniform(jax.random.key(2), (size,))), jnp.array(1.0)
    )
    quiet, driven, power = start, start, []
    for i in range(PIECES):
        _, quiet = run(ssm, jnp.zeros((PIECE, 4)), quiet)
        y, driven = run(ssm, jax.random.normal(jax.random.key(i), (PIECE, 4)), driven)
        assert np.all(np.isfinite(y))
        power.append(float(jnp.mean(y**2)))
    assert PIECE * PIECES == 1_000_000
    # Left alone, no mode grows; a mode whose decay is below the rounding of its gate stays.
    assert np.all(np.abs(quiet.modes) <= np.abs(start.modes) * 1.1)
    # A slow mode gathers white noise like a random walk at most, √2 in the second half.
    assert np.mean(power[10:]) <= 2.5 * np.mean(power[5:10])
