import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from experiments.fitting import fitted


def test_a_linear_model_finds_the_weights_that_made_the_data():
    def draw(rng):
        x = rng.normal(size=(16, 3)).astype(np.float32)
        return x, x @ np.array([1.0, -2.0, 0.5], np.float32)

    def loss(net, x, y):
        return jnp.mean((jax.vmap(net)(x)[:, 0] - y) ** 2)

    net = eqx.nn.Linear(3, 1, key=jax.random.key(0))
    net, curve = fitted(net, draw, loss, 300, seed=0, lr=0.05)
    np.testing.assert_allclose(net.weight[0], [1.0, -2.0, 0.5], atol=0.02)
    assert [step for step, _ in curve] == list(range(6, 301, 6))
    assert curve[-1][1] < 1e-3 < curve[0][1]
