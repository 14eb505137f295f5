"""Modules of `fractal.torch` and `fractal.nn` with one weight file: outputs, gradients, states."""

import copy
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fractal
from export_models import trained

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

import fractal.torch as ft  # noqa: E402

LAYERS = {
    "plain": {},
    "irregular": {"bidirectional": True, "discretization": "bilinear"},
    "scale-invariant": {"clock": "scale-invariant", "bidirectional": True, "learn_alpha": True},
    "selective": {"clock": "scale-invariant", "init": "fractional", "selective": True},
    "path": {"rate": "path", "selective": True, "bidirectional": True},
}
MODELS = {
    "silu": {"final_norm": True, "positions": "sinusoid"},
    "batch norm": {"gate": "half_glu1", "norm": "batch", "encoder": "one-hot"},
    "values": {"tokens": False, "gate": "full_glu", "pooling": "last", "norm": "batch"},
    "per step": {"task": "next-token", "gate": "half_glu2", "positions": "learned", "length": 40},
    "pairs": {"task": "retrieval", "gate": "half_glu1"},
}
TIME = 37
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def close(found, expected, tolerance):
    """Relative to the largest number, or to 1."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def both(path, module):
    """The same weights in both frameworks."""
    fractal.save(path, module)
    return ft.load(path)


def compare_gradients(twin, loss, gradient, dtype, path):
    """Gradients of a loss of `twin` and those of JAX, by name, each relative to its largest entry.

    JAX's are read through the weight file of a module that has them as parameters. Some gradients
    in float32 are rounded by more than 1e-5 in both frameworks: those of the decay of slow modes,
    whose gate and steady state depend on it in opposite ways, are differences of large terms.
    There PyTorch may differ from JAX by three times what JAX differs from float64: its own rounding
    may be twice that of JAX.
    """
    fractal.save(path, gradient)
    expected = ft.load(path).state_dict()
    loss(twin).backward()
    wide = copy.deepcopy(twin).double()
    if isinstance(wide, ft.SequenceModel):
        wide.dtype = "float64"  # of activations
    wide.zero_grad()
    loss(wide).backward()
    exact = {name: parameter.grad for name, parameter in wide.named_parameters()}
    largest = max(float(grad.abs().max()) for grad in exact.values())
    for name, parameter in twin.named_parameters():
        assert parameter.grad is not None, name
        own = exact[name].abs().max().item()
        rounding = (expected[name] - exact[name]).abs().max().item()
        difference = (parameter.grad - expected[name]).abs().max().item()
        slack = 3 * rounding if dtype == "float32" else 0.0
        found = name, difference, own, rounding
        assert difference <= TOLERANCE[dtype] * own + slack, found
        assert difference <= TOLERANCE[dtype] * largest, found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_agree_in_outputs_states_and_gradients(name, dtype, tmp_path):
    tolerance = TOLERANCE[dtype]
    u, weight = numbers(0, 2, TIME, 3).astype(dtype), numbers(1, 2, TIME, 3).astype(dtype)
    dt = np.linspace(0.5, 1.5, TIME).astype(dtype) if name == "irregular" else None
    lengths = np.array([TIME, 20])
    with jax.enable_x64(dtype == "float64"):
        options = {"order": 4, "alphas": [0.2, 0.7]} | LAYERS[name]
        layer = trained(fractal.nn.FractalSSM(3, key=jax.random.key(0), **options))
        twin = both(tmp_path / "layer", layer)

        @functools.partial(jax.value_and_grad, argnums=(0, 1), has_aux=True)
        def loss(layer, u):
            y, state = jax.vmap(lambda u, n: layer(u, dt=dt, lengths=n))(u, jnp.asarray(lengths))
            return jnp.sum(y * weight), (y, state)

        (_, (y, state)), (gradient, for_u) = loss(layer, jnp.asarray(u))
        signal = torch.tensor(u, requires_grad=True)
        found, end = twin(signal, dt=dt, lengths=torch.tensor(lengths))
        (found * torch.tensor(weight)).sum().backward(inputs=[signal])

        def twin_loss(twin):
            x, each = signal.detach().to(twin.D.dtype), None if dt is None else torch.tensor(dt)
            y, _ = twin(x, dt=each, lengths=torch.tensor(lengths))
            return (y * torch.tensor(weight)).sum()

        close(found.detach(), y, tolerance)
        close(torch.view_as_complex(end.modes.detach()), state.modes, tolerance)
        close(end.time.detach().reshape(state.time.shape), state.time, tolerance)
        close(signal.grad, for_u, tolerance)
        compare_gradients(twin, twin_loss, gradient, dtype, tmp_path / "gradient")


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, "float64") for name in MODELS), ("silu", "float32"), ("values", "float32")],
)
def test_models_agree_in_outputs_and_gradients(name, dtype, tmp_path):
    tolerance = TOLERANCE[dtype]
    options = dict(MODELS[name])
    shape = (2, 2, TIME) if name == "pairs" else (2, TIME)
    x = np.random.default_rng(0).integers(0, 5, shape)
    x = numbers(0, *shape, 5).astype(dtype) if name == "values" else x
    with jax.enable_x64(dtype == "float64"):
        mixer = functools.partial(fractal.nn.FractalSSM, order=4, alphas=[0.3])
        model = fractal.nn.SequenceModel(
            *(5, 3), width=4, depth=1, mixer=mixer, dtype=dtype, key=jax.random.key(1), **options
        )
        twin = both(tmp_path / "model", model)
        lengths = np.full(shape[:-1], TIME)
        lengths.flat[-1] = 20
        training = options.get("norm") == "batch"

        @functools.partial(jax.value_and_grad, has_aux=True)
        def loss(model):
            def run(x, n):
                if training:
                    return model.training(x, lengths=n, key=jax.random.key(2))
                return model(x, lengths=n), None

            outputs, statistics = jax.vmap(run, axis_name="batch", out_axes=(0, None))(
                jnp.asarray(x), jnp.asarray(lengths)
            )
            return jnp.sum(outputs**2), (outputs, statistics)

        (_, (outputs, statistics)), gradient = jax.jit(loss)(model)

        def twin_loss(twin):
            return (twin(torch.tensor(x), lengths=torch.tensor(lengths)) ** 2).sum()

        with torch.no_grad():
            found = copy.deepcopy(twin).train(training)(
                torch.tensor(x), lengths=torch.tensor(lengths)
            )
        close(found, outputs, tolerance)
        compare_gradients(twin.train(training), twin_loss, gradient, dtype, tmp_path / "gradient")
        if training:
            new = model.with_statistics(statistics).blocks[0].norm.running
            close(twin.blocks[0].norm.running.mean, new.mean, tolerance)
            close(twin.blocks[0].norm.running.variance, new.variance, tolerance)


def test_streams_agree(tmp_path):
    model = fractal.nn.SequenceModel(
        *(2, 3), tokens=False, width=4, depth=1, positions="sinusoid", key=jax.random.key(0),
        mixer=functools.partial(fractal.nn.FractalSSM, order=4, clock="scale-invariant"),
    )  # fmt: skip
    twin = both(tmp_path / "model", model)
    u = numbers(3, 20, 2).astype("float32")
    stream, state = fractal.nn.Streaming(model), twin.initial_state()
    answers, state = twin.extend(torch.tensor(u[None]), state, dt=0.5)
    close(answers[0].detach(), stream.extend(u, dt=0.5), 1e-5)
    answer, state = twin.step(torch.tensor(u[:1]), state)
    close(answer[0].detach(), stream.step(u[0]), 1e-5)
    assert state.steps == 21
