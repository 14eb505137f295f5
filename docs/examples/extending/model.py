"""A whole model: an average over all steps, without regard to their order."""

import equinox as eqx
import jax
import jax.numpy as jnp

import fractal


class DeepSet(eqx.Module):
    """head(mean over real steps of gelu(encoder(x)))."""

    encoder: eqx.nn.Linear | eqx.nn.Embedding
    layers: tuple[eqx.nn.Linear, ...]
    head: eqx.nn.Linear

    def __init__(self, task, *, width, depth, key):
        first, last, *keys = jax.random.split(key, depth + 2)
        encoder = eqx.nn.Embedding if task.tokens else eqx.nn.Linear
        self.encoder = encoder(task.inputs, width, key=first)
        self.layers = tuple(eqx.nn.Linear(width, width, key=one) for one in keys)
        self.head = eqx.nn.Linear(width, task.outputs, key=last)

    def __call__(self, x, *, lengths=None, key=None):
        """Output (outputs,) for one sequence; `key` is None in evaluation."""
        features = jax.nn.gelu(jax.vmap(self.encoder)(x))
        for layer in self.layers:
            features = jax.nn.gelu(jax.vmap(layer)(features))
        real = jnp.arange(len(x)) < (len(x) if lengths is None else lengths)
        total = jnp.where(real[:, None], features, 0.0).sum(axis=0)
        return self.head(total / jnp.maximum(real.sum(), 1))


fractal.train.register_model("deep_set", DeepSet, kind="model")
