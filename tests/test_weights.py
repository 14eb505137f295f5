import functools
import json
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from jaxtyping import Complex, Float

import fractal
from fractal._files import read_tensors, write_tensors
from fractal._weights import check_savable
from fractal.nn import FractalSSM, SequenceModel


def model(**options):
    mixer = functools.partial(FractalSSM, order=4, alphas=(0.0, 0.9), **options)
    return SequenceModel(7, 3, width=8, depth=2, norm="batch", mixer=mixer, key=jax.random.key(0))


def assert_equal(one, two):
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
        lambda: SequenceModel(7, 3, width=8, depth=1, encoder="one-hot", masking="pooling",
                              dense_init="lecun", key=jax.random.key(0)),
        lambda: FractalSSM(5, key=jax.random.key(0)),
        lambda: model().initial_state(),
        lambda: SequenceModel(7, 3, width=np.int64(8), depth=1, key=jax.random.key(0)),
    ],
    ids=["plain", "learned alpha", "fractional", "retrieval", "one-hot", "layer", "state",
         "NumPy sizes"],
)  # fmt: skip
def test_save_and_load_restore_the_model(tmp_path, make):
    path = tmp_path / "model.safetensors"
    written = make()
    fractal.save(path, written)
    assert_equal(fractal.load(path), written)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_loaded_model_has_equal_outputs_and_finite_gradients(tmp_path):
    path = tmp_path / "model.safetensors"
    written = model()
    fractal.save(path, written)
    loaded, x = fractal.load(path), jnp.arange(7)
    run = jax.jit(lambda m: m(x))
    np.testing.assert_array_equal(run(loaded), run(written))
    gradient = jax.jit(jax.grad(lambda m: jnp.sum(m(x))))(loaded)
    assert np.all(np.isfinite(gradient.encoder.weight))


def test_tensor_names_are_paths_in_the_model(tmp_path):
    path = tmp_path / "model.safetensors"
    fractal.save(path, model())
    names = set(safetensors.numpy.load_file(path))
    assert {"encoder.weight", "blocks.0.mixer.bank.log_decay", "blocks.1.norm.running.mean"} < names


def test_loading_float64_without_x64_raises(tmp_path):
    path = tmp_path / "model.safetensors"
    with jax.enable_x64(True):
        fractal.save(path, FractalSSM(2, key=jax.random.key(0)))
        assert fractal.load(path).D.dtype == jnp.float64
    with pytest.raises(ValueError, match="jax_enable_x64"):
        fractal.load(path)


class Custom(eqx.Module):
    weight: jax.Array


def rewritten(path, change, tensors=None):
    found, metadata = read_tensors(path, "fractal.model", 1)
    structure = json.loads(metadata["structure"])
    change(structure)
    write_tensors(path, found | (tensors or {}), metadata | {"structure": json.dumps(structure)})


def fields(**values):
    return lambda s: s["fields"].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update({"class": "os.system"}), "not a class of"),
        (lambda s: s.update({"class": "fractal.nn.linear_scan"}), "not a class of"),
        (lambda s: s.update({"class": "fractal.nn._ssm.FractalSSM"}), "not a class of"),
        (lambda s: s.update({"class": 3}), "is not a valid value"),
        (lambda s: s["fields"].pop("C"), "has the fields"),
        (fields(extra=1), "has the fields"),
        (fields(C={"tensor": "nowhere"}), "no tensor 'nowhere'"),
        (fields(C={"call": "exit"}), "is not a valid value"),
        (fields(C={"tensor": "B"}), "B and C must have the shapes"),
        (fields(C=None), "its C cannot be None"),
        (fields(D={"tensor": "log_dt"}), "B and C must have the shapes"),
        (fields(clock="sundial"), "clock must be one of"),
        (fields(clock=None), "its clock cannot be None"),
        (fields(bidirectional=1), "its bidirectional cannot be 1"),
        (fields(sizes={"tuple": [8]}), "must have the shapes of 8 modes"),
        (fields(sizes={"list": [8]}), "its sizes cannot be"),
        (lambda s: s.update({"fields": []}), "is not a model"),
        (lambda s: s.pop("class"), "it contains no module"),
    ],
)
def test_a_tampered_layer_raises_value_error_in_one_line(tmp_path, change, message):
    path = tmp_path / "model.safetensors"
    fractal.save(path, FractalSSM(2, key=jax.random.key(0)))
    rewritten(path, change)
    with pytest.raises(ValueError, match=message) as error:
        fractal.load(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "tensors", "message"),
    [
        (fields(task="tagging"), {}, "task must be one of"),
        (fields(task="retrieval"), {}, "head is inconsistent"),
        (fields(pooling="max"), {}, "pooling must be one of"),
        (fields(dtype="float16"), {}, "dtype must be one of"),
        (fields(head=None), {}, "its head cannot be None"),
        (fields(blocks={"tuple": [3]}), {}, "its blocks cannot be"),
        (lambda s: s["fields"]["blocks"]["tuple"][0]["fields"].update(dropout=5.0), {}, "dropout"),
        (lambda s: s["fields"]["blocks"]["tuple"][0]["fields"].update(gate="none"), {}, "gate"),
        (lambda s: None, {"head.weight": np.ones((3, 9), np.float32)}, "are inconsistent|head"),
        (lambda s: None, {"head.weight": np.ones((3, 8), np.int32)}, "its tensors have dtypes"),
        (lambda s: None, {"head.weight": np.ones((3, 8), np.float16)}, "its tensors have dtypes"),
        (lambda s: None, {"surplus": np.ones(3, np.float32)}, "belongs to no field"),
    ],
)
def test_a_tampered_model_raises_value_error_in_one_line(tmp_path, change, tensors, message):
    path = tmp_path / "model.safetensors"
    fractal.save(path, model())
    rewritten(path, change, tensors)
    with pytest.raises(ValueError, match=message) as error:
        fractal.load(path)
    assert "\n" not in str(error.value)


STORED = pathlib.Path(__file__).parent / "data" / "model-0.1.safetensors"


def test_a_file_of_version_0_1_loads_with_equal_outputs():
    """Written by `python tests/test_weights.py`. It must not be regenerated for 0.x."""
    tensors, metadata = read_tensors(STORED, "fractal.model", 1)
    assert metadata["version"] == "1"
    loaded = fractal.load(STORED)
    expected = json.loads(STORED.with_suffix(".json").read_text())
    np.testing.assert_allclose(loaded(jnp.arange(7)), expected, rtol=1e-5)
    assert len(tensors) == len(jax.tree.leaves(loaded))


def test_a_file_of_a_later_version_raises(tmp_path):
    path = tmp_path / "model.safetensors"
    fractal.save(path, FractalSSM(2, key=jax.random.key(0)))
    tensors, metadata = read_tensors(path, "fractal.model", 1)
    write_tensors(path, tensors, metadata | {"version": "2"})
    with pytest.raises(ValueError, match="its version is '2'; this version of fractal reads"):
        fractal.load(path)


def registered(monkeypatch, *classes):
    monkeypatch.setattr("fractal._weights._registered", {})
    fractal.register_classes("mine", classes)


def test_a_missing_field_takes_its_default(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    registered(monkeypatch, Custom)
    fractal.save(path, Custom(jnp.ones(2)))

    class Later(eqx.Module):
        weight: jax.Array
        scale: float = eqx.field(static=True, default=0.5)

    Later.__name__ = "Custom"
    registered(monkeypatch, Later)
    loaded = fractal.load(path)
    assert isinstance(loaded, Later)
    assert loaded.scale == 0.5


def test_only_registered_classes_are_loaded(tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    registered(monkeypatch, Custom)
    fractal.save(path, Custom(jnp.ones(2)))
    assert_equal(fractal.load(path), Custom(jnp.ones(2)))
    monkeypatch.setattr("fractal._weights._registered", {})
    with pytest.raises(ValueError, match=r"'mine\.Custom' is not a class of"):
        fractal.load(path)


def test_registration_of_invalid_or_duplicate_classes_raises(monkeypatch):
    registered(monkeypatch, Custom)
    fractal.register_classes("mine", [Custom])  # registering the same class again is allowed
    with pytest.raises(ValueError, match="registered already"):
        fractal.register_classes("mine", [type("Custom", (eqx.Module,), {})])
    with pytest.raises(ValueError, match="must be Equinox modules"):
        fractal.register_classes("mine", [dict])
    with pytest.raises(ValueError, match="must be a name"):
        fractal.register_classes("a b", [Custom])


def test_files_of_other_formats_raise(tmp_path):
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


def test_unsupported_models_raise_and_write_no_file(tmp_path):
    for part, message in (
        (Custom(jnp.ones(2)), "Custom is not registered"),
        (eqx.nn.Lambda(lambda x: x), "fn cannot be saved"),
    ):
        with pytest.raises(ValueError, match=message):
            fractal.save(tmp_path / "model", part)
    assert not list(pathlib.Path(tmp_path).iterdir())


class Oscillator(eqx.Module):
    """A mixer with complex parameters, a stock layer of Equinox and a minimum length."""

    rates: Complex[jax.Array, " modes"]
    dropout: eqx.nn.Dropout
    mlp: eqx.nn.MLP
    bidirectional: bool = eqx.field(static=True, default=False)

    def __init__(self, width, *, key):
        self.rates = jax.lax.complex(jnp.cos(jnp.arange(1.0 * width)), jnp.ones(width))
        self.dropout = eqx.nn.Dropout(0.1)
        self.mlp = eqx.nn.MLP(width, width, 4, 1, activation=jax.nn.gelu, key=key)
        self.bidirectional = False

    def __call__(self, u, state=None, dt=None, lengths=None, mask=None):
        if len(u) % 8:
            raise ValueError("the length must be a multiple of 8")
        return jax.vmap(self.mlp)(u) * self.rates.real[None], state

    def step(self, u, state, dt=None):
        return self.mlp(u) * self.rates.real, state

    def initial_state(self):
        return jnp.zeros(())


def test_a_model_with_a_custom_mixer_of_any_kind_round_trips(tmp_path, monkeypatch):
    registered(monkeypatch, Oscillator)
    written = SequenceModel(7, 3, width=8, depth=1, mixer=Oscillator, key=jax.random.key(0))
    check_savable(eqx.filter_eval_shape(lambda: written))
    fractal.save(tmp_path / "model", written)
    loaded = fractal.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded(jnp.arange(8) % 7), written(jnp.arange(8) % 7))


class Mislabeled(eqx.Module):
    weight: Float[jax.Array, "3"]


def test_a_model_that_could_not_be_loaded_is_detected_before_training(monkeypatch):
    registered(monkeypatch, Mislabeled)
    check_savable(Mislabeled(jnp.zeros(3)))
    with pytest.raises(ValueError, match="could not be loaded after it is saved: its weight"):
        check_savable(Mislabeled(jnp.zeros(4)))


def test_a_class_that_is_defined_again_replaces_its_registration(tmp_path, monkeypatch):
    def cell():
        class Again(eqx.Module):
            weight: jax.Array

        return Again

    registered(monkeypatch, cell())
    later = cell()
    fractal.register_classes("mine", [later])
    fractal.save(tmp_path / "model", later(jnp.ones(2)))
    assert type(fractal.load(tmp_path / "model")) is later


if __name__ == "__main__":
    STORED.parent.mkdir(exist_ok=True)
    fractal.save(STORED, model(clock="scale-invariant"))
    outputs = fractal.load(STORED)(jnp.arange(7)).tolist()
    STORED.with_suffix(".json").write_text(json.dumps(outputs))
