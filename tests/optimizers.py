"""A step of an optimizer, for tests that train."""

import jax
import optax


def apply_gradient(optimizer, gradient, opt_state, model):
    """The model and the optimizer state after a step."""
    with jax.numpy_dtype_promotion("standard"):  # optax computes decay**step, step an integer
        updates, opt_state = optimizer.update(gradient, opt_state, model)
    return optax.apply_updates(model, updates), opt_state
