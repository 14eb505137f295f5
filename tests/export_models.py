"""Small models with every choice that an export must support."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from fractal.baselines import S5
from fractal.nn import FractalSSM, SequenceModel

_LAYER = ("clock", "init", "learn_alpha", "discretization", "bidirectional", "selective", "rate",
          "alphas")  # fmt: skip


def small(inputs=3, outputs=2, *, width=6, depth=2, key=0, **options):
    """A small model; options of the layer and of the model by name."""
    layer = {name: options.pop(name) for name in _LAYER if name in options}
    mixer = functools.partial(FractalSSM, order=4, alphas=(0.1, 0.8), dt_min=0.05, dt_max=0.5)
    if options.pop("s5", False):
        mixer = functools.partial(S5, order=8, blocks=2, dt_min=0.05, dt_max=0.5)
    model = SequenceModel(
        inputs, outputs, width=width, depth=depth, mixer=functools.partial(mixer, **layer),
        key=jax.random.key(key), **options,
    )  # fmt: skip
    return trained(model)


def trained(model):
    """The model with parameters that differ from their initial values, as after training."""
    rng = np.random.default_rng(9)

    def moved(leaf):
        factor, shift = 1 + 0.1 * rng.random(leaf.shape), 0.1 * rng.standard_normal(leaf.shape)
        return jnp.asarray(leaf * factor + shift, leaf.dtype)

    return jax.tree.map(lambda leaf: moved(np.asarray(leaf)), model)
