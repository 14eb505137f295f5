"""The scan of `fractal.torch`: values, derivatives of first and second order, transformations."""

import sys
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

from fractal.torch import _solvers, linear_scan  # noqa: E402
from fractal.torch._recurrence import recurrence  # noqa: E402

METHODS = ("sequential", "associative", "chunked", "auto")


def problem(length, dtype=torch.complex128, varying=True, width=3):
    generator = torch.Generator().manual_seed(length)
    a, b, h0 = (
        torch.randn(shape, dtype=dtype, generator=generator)
        for shape in ((length, width) if varying else (width,), (length, width), (width,))
    )
    return a / (0.1 + a.abs()), b, h0


def loop(a, b, h0, reverse):
    """The recurrence in NumPy, step by step."""
    a, b, x = (np.asarray(v) for v in (a, b, h0))
    a = a if a.ndim == b.ndim else np.broadcast_to(a, b.shape)
    states = np.empty_like(b)
    for k in range(len(b))[:: -1 if reverse else 1]:
        states[k] = x = a[k] * x + b[k]
    return states


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_every_method_computes_the_recurrence(method, dtype):
    for length, varying, reverse in ((1, True, False), (31, True, True), (100, False, True),
                                     (600, True, False), (600, False, False)):  # fmt: skip
        a, b, h0 = problem(length, dtype, varying)
        x = linear_scan(a, b, h0, reverse=reverse, method=method)
        np.testing.assert_allclose(x.numpy(), loop(a, b, h0, reverse), rtol=0, atol=1e-11)


def test_float32_is_accurate_for_slow_modes():
    a = torch.polar(torch.tensor([0.9999]), torch.tensor([0.5]))
    b = torch.randn(5000, 1, dtype=torch.complex64, generator=torch.Generator().manual_seed(0))
    exact = loop(a.to(torch.complex128), b.to(torch.complex128), torch.zeros(1), False)
    for method in ("associative", "chunked"):
        error = np.abs(linear_scan(a, b, method=method).numpy() - exact).max()
        assert error < 2e-5 * np.abs(exact).max()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("gates", [(1, 1), (1, 35), (2, 35)])
def test_first_and_second_derivatives_are_those_of_finite_differences(gates, average):
    generator = torch.Generator().manual_seed(0)
    shapes = ((*gates, 1, 2), (2, 35, 1, 2), (2, 1, 2))
    a, b, h0 = (torch.randn(s, dtype=torch.float64, generator=generator) for s in shapes)
    inputs = [x.requires_grad_() for x in (0.5 * a, b, h0)]

    def states(*inputs):
        return recurrence(*inputs, average=average, reverse=average)[:, ::6]

    assert torch.autograd.gradcheck(states, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(states, inputs, fast_mode=True)


def test_vmap_and_grad_agree_with_loops():
    a, b, h0 = problem(40, torch.float64)
    batch = torch.stack([b, 2 * b, b + 1], 1)
    mapped = torch.func.vmap(lambda b: linear_scan(a, b, h0), in_dims=1)(batch)
    for one, expected in zip(mapped, batch.unbind(1), strict=True):
        torch.testing.assert_close(one, linear_scan(a, expected, h0))
    gates = torch.stack([a[0], 0.5 * a[0]])
    mapped = torch.func.vmap(lambda a: linear_scan(a, b))(gates)
    torch.testing.assert_close(mapped[1], linear_scan(gates[1], b))

    def loss(b, a):
        return (linear_scan(a, b, h0) ** 2).sum()

    per_example = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)), in_dims=(1, None))
    for_b, for_a = per_example(batch, a)
    for k, one in enumerate(batch.unbind(1)):
        inputs = one.clone().requires_grad_(), a.clone().requires_grad_()
        expected = torch.autograd.grad(loss(*inputs), inputs)
        torch.testing.assert_close((for_b[k], for_a[k]), expected)


def test_the_accelerated_scan_has_the_formula_of_the_others(monkeypatch):
    """On CPU, with a loop in place of the kernel, which needs a GPU."""

    def scan(forget, inputs):
        assert forget.shape == inputs.shape
        assert forget.is_contiguous()
        assert inputs.is_contiguous()
        x, states = torch.zeros_like(inputs[..., 0]), []
        for k in range(inputs.shape[-1]):
            x = forget[..., k] * x + inputs[..., k]
            states.append(x)
        return torch.stack(states, -1)

    package, module = types.ModuleType("accelerated_scan"), types.ModuleType("complex")
    module.scan = scan
    monkeypatch.setitem(sys.modules, "accelerated_scan", package)
    monkeypatch.setitem(sys.modules, "accelerated_scan.complex", module)
    a, b, h0 = problem(20)
    expected = linear_scan(a, b, h0, reverse=True)
    monkeypatch.setattr(_solvers, "use_accelerated", lambda *_: True)
    torch.testing.assert_close(linear_scan(a, b, h0, reverse=True), expected)
    torch.testing.assert_close(linear_scan(a[0], b), linear_scan(a[0], b, method="chunked"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"b": torch.tensor(1.0)}, "b must have a time axis"),
        ({"a": torch.ones(2)}, "a must have b's shape"),
        ({"h0": torch.ones(2)}, "h0 must have shape"),
        ({"method": "fast"}, "method must be one of"),
        ({"b": torch.ones(4, 3, dtype=torch.int64)}, "must be real or complex floating point"),
    ],
)
def test_invalid_arguments_are_named(arguments, message):
    given = {"a": torch.ones(3, dtype=torch.int64), "b": torch.ones(4, 3)} | arguments
    with pytest.raises(ValueError, match=message):
        linear_scan(**given)
