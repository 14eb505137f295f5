"""A block: a mixer followed by a feed-forward layer, each with a residual connection."""

import equinox as eqx
import jax

import fractal


class FeedForwardBlock(eqx.Module):
    """y = x + mixer(norm(x)); y + W₂ gelu(W₁ norm(y))."""

    mixer: fractal.nn.FractalSSM
    norms: tuple[fractal.nn.LayerNorm, fractal.nn.LayerNorm]
    inner: eqx.nn.Linear
    outer: eqx.nn.Linear

    def __init__(self, width, *, hidden=64, bidirectional=False, length=None, key):
        keys = jax.random.split(key, 3)
        self.mixer = fractal.nn.FractalSSM(
            width, order=8, bidirectional=bidirectional, length=length, key=keys[0]
        )
        self.norms = fractal.nn.LayerNorm(width), fractal.nn.LayerNorm(width)
        self.inner = eqx.nn.Linear(width, hidden, key=keys[1])
        self.outer = eqx.nn.Linear(hidden, width, key=keys[2])

    def __call__(self, x, state=None, dt=None, lengths=None, mask=None):
        """Outputs (time, width) and the mixer's state after the last step."""
        y, state = self.mixer(self.norms[0](x), state, dt=dt, lengths=lengths, mask=mask)
        return jax.vmap(self._feed_forward)(x + y), state

    def training(self, x, dt=None, lengths=None, mask=None, axes=(), *, key):
        """Outputs in training, and running averages of batch norms, of which there are none."""
        y, _ = self(x, dt=dt, lengths=lengths, mask=mask)
        return y, None

    def step(self, x, state, dt=None):
        """Output (width,) of one step, and the new state."""
        y, state = self.mixer.step(self.norms[0](x), state, dt)
        return self._feed_forward(x + y), state

    def _feed_forward(self, y):
        return y + self.outer(jax.nn.gelu(self.inner(self.norms[1](y))))


fractal.train.register_model(
    "feed_forward", FeedForwardBlock, kind="block", size="hidden", length="length"
)
