"""Files of `jax.export` against the model, loaded as in docs/export.md."""

import functools
import pathlib

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from export_models import small
from fractal import baselines, nn
from fractal.export import to_stablehlo

pytest.importorskip("flatbuffers")


def load(path):
    return jax.export.deserialize(bytearray(pathlib.Path(path).read_bytes()))


def test_steps_and_whole_sequences_of_a_file_are_those_of_the_model(tmp_path, rng):
    model = small(clock="scale-invariant", depth=1)
    step, sequence = map(load, to_stablehlo(model, tmp_path, length=20, durations=True))
    assert step.platforms == sequence.platforms == ("cpu", "cuda", "tpu")
    shapes = jax.tree.unflatten(step.in_tree, step.in_avals)[0][1]
    x = rng.integers(0, 3, (4, 20)).astype(np.int32)
    dt = rng.uniform(0.5, 2.0, (4, 20)).astype(np.float32)
    state = {name: jnp.zeros((4, *one.shape[1:]), one.dtype) for name, one in shapes.items()}
    call = jax.jit(step.call)
    for k in range(20):
        output, state = call(x[:, k], state, dt[:, k])
    expected = jax.jit(jax.vmap(model))(x, dt)
    assert jnp.abs(output - expected).max() < 1e-5
    found = sequence.call(x, np.full(4, 20, np.int32), dt)
    assert jnp.abs(found - expected).max() < 1e-5


def test_every_mixer_can_be_exported_and_growing_states_have_no_step(tmp_path):
    mixer = functools.partial(baselines.Attention, heads=2, causal=True)
    model = nn.SequenceModel(3, 2, width=4, depth=1, mixer=mixer, key=jax.random.key(0))
    with pytest.raises(ValueError, match="length must be given: the state of a mixer grows"):
        to_stablehlo(model, tmp_path)
    (path,) = to_stablehlo(model, tmp_path, length=5)
    tokens = np.array([[0, 1, 2, 1, 0]], np.int32)
    found = load(path).call(tokens, np.array([5], np.int32))
    assert jnp.abs(found - jax.vmap(model)(tokens)).max() < 1e-5
