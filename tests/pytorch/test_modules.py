"""Modules of `fractal.torch`: streams, padding, dropout, options, errors, examples, programs."""

import inspect
import pathlib
import runpy
import subprocess
import sys

import numpy as np
import pytest

import fractal

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

import fractal.torch as ft  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs" / "examples"
LAYERS = (
    {},
    {"clock": "scale-invariant"},
    {"selective": True},
    {"rate": "path", "clock": "scale-invariant"},
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("options", LAYERS)
def test_steps_and_blocks_compute_the_outputs_of_the_whole_sequence(options):
    layer = ft.FractalSSM(3, order=4, **options).double()
    u = torch.randn(2, 40, 3, dtype=torch.float64)
    y, end = layer(u)
    first, state = layer(u[:, :17])
    second, state = layer(u[:, 17:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), y)
    torch.testing.assert_close(state.modes, end.modes)
    state, outputs = layer.initial_state(2), []
    for sample in u.unbind(1):
        output, state = layer.step(sample, state)
        outputs.append(output)
    torch.testing.assert_close(torch.stack(outputs, 1), y)
    torch.testing.assert_close(state.time, end.time)


@pytest.mark.parametrize("options", LAYERS)
def test_padding_of_any_content_changes_nothing(options):
    layer = ft.FractalSSM(3, order=4, bidirectional=True, **options).double()
    u = torch.randn(2, 20, 3, dtype=torch.float64)
    padded = torch.cat([u, torch.full((2, 9, 3), torch.nan, dtype=torch.float64)], 1)
    expected, end = layer(u)
    for padding in ({"lengths": [20, 20]}, {"mask": (torch.arange(29) < 20).expand(2, -1)}):
        y, state = layer(padded, **padding)
        torch.testing.assert_close(y[:, :20], expected)
        torch.testing.assert_close(state.modes, end.modes)


def test_initial_outputs_have_the_variance_of_white_noise():
    for options in ({"length": 300}, {"init": "fractional", "length": 300, "bidirectional": True}):
        y, _ = ft.FractalSSM(64, **options)(torch.randn(8, 3000, 64))
        assert 0.6 < y[:, 1000:].var().item() < 1.6


def test_a_period_rounds_the_rotation_of_modes_to_its_harmonics():
    layer = ft.FractalSSM(4, period=28.0, length=784)
    rotation = (layer.bank.frequency * layer.log_dt.exp()).detach() * 28 / (2 * torch.pi)
    fast = rotation > 0.51
    assert fast.sum() > 10
    torch.testing.assert_close(rotation[fast], rotation[fast].round(), rtol=0, atol=1e-4)


def test_dropout_drops_whole_channels_of_sequences_in_training_only():
    block = ft.Block(ft.FractalSSM(64, order=2), 64, dropout=0.5)
    x = torch.randn(2, 6, 64)
    change = (block(x)[0] - x).detach()
    dropped = change == 0
    assert (dropped.all(1) == dropped.any(1)).all()
    assert 0.3 < dropped.float().mean() < 0.7
    assert not ((block.eval()(x)[0] - x) == 0).all(1).any()


def test_rematerialization_changes_neither_gradients_nor_running_averages():
    results = []
    for remat in (False, True):
        torch.manual_seed(1)
        model = ft.SequenceModel(5, 3, width=4, depth=2, norm="batch", dropout=0.3, remat=remat)
        model(torch.arange(20).reshape(2, 10) % 5).sum().backward()
        gradients = [p.grad for p in model.parameters()]
        results.append((gradients, [b.norm.running.mean for b in model.blocks]))
    torch.testing.assert_close(*results)


def test_autocast_does_not_reach_into_the_layer():
    layer, u = ft.FractalSSM(4), torch.randn(1, 30, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y, _ = layer(u)
    torch.testing.assert_close(y, layer(u)[0], rtol=0, atol=0)
    assert layer(u.bfloat16())[0].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ft.FractalSSM(4, clock="atomic"), "clock must be one of"),
        (lambda: ft.FractalSSM(4, order=3), "order must be even"),
        (lambda: ft.FractalSSM(4, scan="fast"), "scan must be one of"),
        (lambda: ft.FractalSSM(4)(torch.ones(5, 4)), r"u must have shape \(batch, time, 4\)"),
        (lambda: ft.FractalSSM(4)(torch.ones(1, 5, 4), dt=-1.0), "dt must be finite and not neg"),
        (lambda: ft.FractalSSM(4)(torch.ones(1, 5, 4), lengths=[6]), r"lengths must lie in \[0, 5"),
        (
            lambda: ft.FractalSSM(4)(torch.ones(1, 5, 4), state=ft.FractalSSM(4).initial_state(2)),
            "state must be one",
        ),
        (lambda: ft.FractalSSM(4, rate="path")(torch.ones(1, 5, 4), dt=2.0), "dt must be None"),
        (lambda: ft.Block(torch.nn.Linear(4, 4), 4), "mixer must have forward, step"),
        (lambda: ft.Block(ft.FractalSSM(4), 4, gate="glu"), "gate must be one of"),
        (lambda: ft.SequenceModel(3, 2, width=4)(torch.tensor([[3]])), "x must contain tokens bel"),
        (lambda: ft.SequenceModel(3, 2, width=4, task="translation"), "task must be one of"),
        (lambda: ft.SequenceModel(3, 2, width=4, block=ft.Block, gate="silu"), "together with blo"),
    ],
)
def test_wrong_uses_raise_one_line_that_names_the_argument(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["FractalSSM", "Block", "SequenceModel"])
def test_options_and_defaults_are_those_of_the_twin_and_documented(name):
    found, expected = (
        {option.name: option.default for option in inspect.signature(one).parameters.values()}
        for one in (getattr(ft, name), getattr(fractal.nn, name))
    )
    assert found == {option: default for option, default in expected.items() if option != "key"}
    page = (EXAMPLES.parent / "pytorch.md").read_text(encoding="utf-8")
    table = page.split(f"| `{name}` |")[1].split("\n| `")[0]
    assert all(f"`{option}`" in table for option in found)


@pytest.mark.slow
def test_compiled_and_exported_programs_compute_the_same():
    """In a process of its own; see compiled.py. JAX is not imported there."""
    script = pathlib.Path(__file__).with_name("compiled.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_mnist_example_learns_from_images(capsys):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    images = rng.normal(size=(80, 16, 1)) + 2.0 * labels[:, None, None]
    task = fractal.tasks.from_arrays(images.astype(np.float32), labels, test=0.25)
    main = runpy.run_path(str(EXAMPLES / "pytorch_smnist.py"))["main"]
    assert main(task, steps=100, batch=16, width=8, depth=1, dropout=0.0) > 0.9
    assert "accuracy" in capsys.readouterr().out


def test_the_example_with_a_configuration_returns_loss_and_logits():
    script = runpy.run_path(str(EXAMPLES / "pytorch_config.py"))
    config = script["FractalConfig"](vocab_size=7, hidden_size=4, num_hidden_layers=1)
    model = script["FractalForSequenceClassification"](config)
    ids, labels = torch.randint(7, (3, 12)), torch.tensor([0, 1, 1])
    output = model(ids, attention_mask=torch.ones(3, 12, dtype=torch.int64), labels=labels)
    expected = torch.nn.functional.cross_entropy(output.logits, labels)
    torch.testing.assert_close(output.loss, expected)
