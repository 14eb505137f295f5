import functools
import json
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import fractal
from fractal._files import read_tensors, write_tensors
from fractal.nn import FractalSSM, SequenceModel


def model(**options):
    mixer = functools.partial(FractalSSM, order=4, alphas=(0.0, 0.9), **options)
    return SequenceModel(7, 3, width=8, depth=2, norm="batch", mixer=mixer, key=jax.random.key(0))


def same(one, two):
    assert jax.tree.structure(one) == jax.tree.structure(two)
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "make",
    [
        model,
        lambda: model(learn_alpha=True, clock="scale-invariant"),
        lambda: model(init="fractional", bidirectional=True, discretization="bilinear"),
        lambda: SequenceModel(7, 3, width=8, depth=1, task="retrieval", tokens=False,
                              gate="full_glu", dtype="bfloat16", key=jax.random.key(0)),
        lambda: FractalSSM(5, key=jax.random.key(0)),
        lambda: model().initial_state(),
        lambda: SequenceModel(7, 3, width=np.int64(8), depth=1, key=jax.random.key(0)),
    ],
    ids=["plain", "learned alpha", "fractional", "retrieval", "layer", "state", "NumPy sizes"],
)  # fmt: skip
def test_a_model_comes_back_as_it_was(tmp_path, make):
    path = tmp_path / "model.safetensors"
    written = make()
    fractal.save(path, written)
    same(fractal.load(path), written)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_loaded_model_answers_and_trains_on(tmp_path):
    path = tmp_path / "model.safetensors"
    written = model()
    fractal.save(path, written)
    loaded, x = fractal.load(path), jnp.arange(7)
    np.testing.assert_array_equal(loaded(x), written(x))
    gradient = eqx.filter_grad(lambda m: jnp.sum(m(x)))(loaded)
    assert np.all(np.isfinite(gradient.encoder.weight))


def test_names_in_the_file_are_paths_in_the_model(tmp_path):
    path = tmp_path / "model.safetensors"
    fractal.save(path, model())
    names = set(safetensors.numpy.load_file(path))
    assert {"encoder.weight", "blocks.0.mixer.bank.log_decay", "blocks.1.norm.running.mean"} < names


def test_double_precision_is_not_lost_silently(tmp_path):
    path = tmp_path / "model.safetensors"
    with jax.enable_x64(True):
        fractal.save(path, FractalSSM(2, key=jax.random.key(0)))
        assert fractal.load(path).D.dtype == jnp.float64
    with pytest.raises(ValueError, match="jax_enable_x64"):
        fractal.load(path)


class Stranger(eqx.Module):
    weight: jax.Array


def rewritten(path, change):
    tensors, metadata = read_tensors(path, "fractal.model 1")
    structure = json.loads(metadata["structure"])
    change(structure)
    write_tensors(path, tensors, metadata | {"structure": json.dumps(structure)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update({"class": "os.system"}), "not a class of"),
        (lambda s: s.update({"class": "fractal.nn.linear_scan"}), "not a class of"),
        (lambda s: s.update({"class": "fractal.nn._ssm.FractalSSM"}), "not a class of"),
        (lambda s: s["fields"].pop("C"), "has the fields"),
        (lambda s: s["fields"].update({"C": {"tensor": "nowhere"}}), "nowhere"),
        (lambda s: s["fields"].update({"C": {"call": "exit"}}), "is not understood"),
        (lambda s: s.update({"fields": []}), "is not a model"),
        (lambda s: s.pop("class"), "it holds no module"),
    ],
)
def test_a_file_that_lies_is_refused_in_one_line(tmp_path, change, message):
    path = tmp_path / "model.safetensors"
    fractal.save(path, FractalSSM(2, key=jax.random.key(0)))
    rewritten(path, change)
    with pytest.raises(ValueError, match=message) as error:
        fractal.load(path)
    assert "\n" not in str(error.value)


def test_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"is not a model that fractal\.save wrote"):
        fractal.load(path)
    fractal.OnlineMemory(0.5, 4).save(path)
    with pytest.raises(ValueError, match="its format is"):
        fractal.load(path)
    with pytest.raises(ValueError, match="it is a folder"):
        fractal.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        fractal.load(tmp_path / "missing")


def test_what_cannot_be_saved_is_named_and_leaves_no_file(tmp_path):
    for stranger, message in (
        (Stranger(jnp.ones(2)), "Stranger is not of fractal"),
        (eqx.nn.Lambda(jax.nn.relu), "fn cannot be saved"),
    ):
        with pytest.raises(ValueError, match=message):
            fractal.save(tmp_path / "model", stranger)
    assert not list(pathlib.Path(tmp_path).iterdir())
