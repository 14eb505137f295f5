import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from experiments import gpus
from fractal.nn import SequenceModel

LENGTH, DEPTH = 2048, 3


def compiled_bytes(size: gpus.Size) -> float:
    """Temporary memory per step of a gradient, as XLA reports it for the compiled program."""

    def mixer(width, key):
        options = {"order": size.states // 16, "bidirectional": True}
        return gpus.FractalSSM(width, **options, key=key)

    model = SequenceModel(
        7, 2, width=size.width, depth=size.depth, mixer=mixer, key=jax.random.key(0)
    )
    trained, rest = eqx.partition(model, eqx.is_inexact_array)

    def loss(trained, x, key):
        return eqx.combine(trained, rest).training(x, lengths=LENGTH, key=key)[0].sum()

    x = jnp.zeros(LENGTH, int)
    compiled = jax.jit(jax.grad(loss)).lower(trained, x, jax.random.key(1)).compile()
    memory = compiled.memory_analysis()
    assert memory is not None
    return memory.temp_size_in_bytes / LENGTH


@pytest.mark.slow
@pytest.mark.parametrize("size", [gpus.Size(64, DEPTH, 256), gpus.Size(128, DEPTH, 64)])
def test_the_memory_per_step_is_that_of_the_compiled_program(size):
    assert gpus.bytes_per_step(size) == pytest.approx(compiled_bytes(size), rel=0.2)


def test_steps_are_shared_by_the_gpus_and_limited_by_the_memory():
    size = gpus.Size(128, 6, 512)
    one = gpus.steps_that_fit(size, 80, 1)
    assert gpus.steps_that_fit(size, 80, 8) == pytest.approx(8 * one)
    assert one * gpus.bytes_per_step(size) < 80e9
