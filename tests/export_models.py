"""Small models with every choice that an export must support."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from fractal.nn import FractalSSM, SequenceModel


def small(inputs=3, outputs=2, *, width=6, depth=2, key=0, **options):
    """A small model; options of the layer and of the model by name."""
    names = ("clock", "init", "learn_alpha", "discretization", "bidirectional")
    layer = {name: options.pop(name) for name in names if name in options}
    mixer = functools.partial(FractalSSM, order=4, alphas=(0.1, 0.8), dt_min=0.05, dt_max=0.5)
    model = SequenceModel(
        inputs, outputs, width=width, depth=depth, mixer=functools.partial(mixer, **layer),
        key=jax.random.key(key), **options,
    )  # fmt: skip
    return trained(model)


def trained(model):
    """The model with parameters that differ from their initial values, as after training."""
    rng = np.random.default_rng(9)

    def moved(leaf):
        return jnp.asarray(leaf * (1 + 0.1 * rng.random(leaf.shape)) + 0.01, leaf.dtype)

    return jax.tree.map(lambda leaf: moved(np.asarray(leaf)), model)
