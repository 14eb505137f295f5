import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from fractal.nn import FractalSSM
from optimizers import apply_gradient

LEARNING_RATE = 1e-3
CHUNK, CHUNKS = 50_000, 20


def trained(ssm):
    """Train for 1,000 steps on random targets, with gradient noise and a 10× learning rate."""
    optimizer = optax.adam(10 * LEARNING_RATE)

    def step(carry, key):
        ssm, opt_state = carry
        one, two, three = jax.random.split(key, 3)
        u, target = (jax.random.normal(k, (64, 4)) for k in (one, two))
        gradient = jax.grad(lambda ssm: jnp.mean((ssm(u)[0] - target) ** 2))(ssm)
        leaves, tree = jax.tree.flatten(gradient)
        noise = [jax.random.normal(k, x.shape) * jnp.std(x) for k, x in
                 zip(jax.random.split(three, len(leaves)), leaves, strict=True)]  # fmt: skip
        noisy = jax.tree.unflatten(tree, map(jnp.add, leaves, noise))
        return apply_gradient(optimizer, noisy, opt_state, ssm), None

    keys = jax.random.split(jax.random.key(1), 1000)
    return jax.jit(lambda ssm: jax.lax.scan(step, (ssm, optimizer.init(ssm)), keys)[0][0])(ssm)


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["uniform", "scale-invariant"])
@pytest.mark.parametrize(
    ("init", "learn_alpha"),
    [("normal", False), ("normal", True), ("fractional", False), ("fractional", True),
     ("published", False)],
)  # fmt: skip
def test_states_are_bounded_over_a_million_steps_after_noisy_training(init, clock, learn_alpha):
    ssm = trained(FractalSSM(
        4, order=8, init=init, clock=clock, learn_alpha=learn_alpha, dt_min=1e-4, dt_max=1.0,
        key=jax.random.key(0),
    ))  # fmt: skip
    run = eqx.filter_jit(lambda ssm, u, state: ssm(u, state))
    size = sum(ssm.sizes)
    start = ssm.initial_state()._replace(
        modes=jnp.exp(1j * jax.random.uniform(jax.random.key(2), (size,)).astype(complex)),
        time=jnp.array(1.0),
    )
    undriven, driven, power = start, start, []
    for i in range(CHUNKS):
        _, undriven = run(ssm, jnp.zeros((CHUNK, 4)), undriven)
        y, driven = run(ssm, jax.random.normal(jax.random.key(i), (CHUNK, 4)), driven)
        assert np.all(np.isfinite(y))
        power.append(float(jnp.mean(y**2)))
    assert CHUNK * CHUNKS == 1_000_000
    # Without input no mode grows. A mode whose decay is below rounding stays constant.
    assert np.all(np.abs(undriven.modes) <= np.abs(start.modes) * 1.1)
    # The state of a slow mode is at most a random walk: √2 in the second half.
    assert np.mean(power[10:]) <= 2.5 * np.mean(power[5:10])
