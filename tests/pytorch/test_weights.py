"""One weight file for both frameworks."""

import pathlib

import jax
import pytest

import fractal

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

import fractal.torch as ft  # noqa: E402

OLD = pathlib.Path(__file__).parents[1] / "data" / "model-0.1.safetensors"


def small(**options):
    return ft.SequenceModel(5, 3, width=4, depth=2, **options)


@pytest.mark.parametrize(
    "options", [{}, {"norm": "batch", "gate": "half_glu2", "final_norm": True}, {"depth": 0}]
)
def test_a_file_of_either_framework_is_written_back_byte_for_byte(options, tmp_path):
    made = small(**options) if "depth" not in options else ft.FractalSSM(4, learn_alpha=True)
    paths = [tmp_path / name for name in ("torch", "jax", "again")]
    ft.save(paths[0], made)
    fractal.save(paths[1], fractal.load(paths[0]))
    ft.save(paths[2], ft.load(paths[1]))
    assert len({path.read_bytes() for path in paths}) == 1


def test_training_begins_in_one_framework_and_ends_in_the_other(tmp_path):
    torch.manual_seed(0)
    model, x, labels = small(), torch.randint(5, (8, 20)), torch.randint(3, (8,))

    def train(model, steps):
        optimizer = torch.optim.SGD(model.train().parameters(), 0.1)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
        return loss.item()

    first = train(model, 3)
    ft.save(tmp_path / "one", model)

    @jax.jit
    @jax.value_and_grad
    def loss(model):
        chances = jax.nn.log_softmax(jax.vmap(model)(x.numpy()))
        return -jax.numpy.mean(chances[jax.numpy.arange(8), labels.numpy()])

    continued = fractal.load(tmp_path / "one")
    for _ in range(3):
        second, gradient = loss(continued)
        continued = jax.tree.map(lambda p, g: p - 0.1 * g, continued, gradient)
    fractal.save(tmp_path / "two", continued)
    third = train(ft.load(tmp_path / "two"), 3)
    assert first > second > third
    # The same nine steps in one framework.
    assert train(model, 6) == pytest.approx(third, abs=1e-4)


def test_a_file_of_an_earlier_version_is_read():
    model = ft.load(OLD)
    assert not model.training
    assert isinstance(model, ft.SequenceModel)


def test_a_saved_state_dict_has_the_names_of_the_file(tmp_path):
    from safetensors.torch import load_file

    ft.save(tmp_path / "model", model := small(norm="batch"))
    assert model.load_state_dict(load_file(tmp_path / "model"))


def test_invalid_models_and_files_raise_one_line(tmp_path):
    with pytest.raises(ValueError, match=r"must be a module of fractal\.torch, got a Linear"):
        ft.save(tmp_path / "linear", torch.nn.Linear(2, 2))
    own = ft.Block(Mixer(), 4)
    with pytest.raises(ValueError, match="mixer cannot be saved: Mixer is not a class"):
        ft.save(tmp_path / "own", own)
    fractal.save(tmp_path / "s5", fractal.baselines.S5(4, key=jax.random.key(0)))
    with pytest.raises(ValueError, match=r"'fractal.baselines.S5' is not a class .* fractal.load$"):
        ft.load(tmp_path / "s5")
    (tmp_path / "text").write_text("no model")
    with pytest.raises(ValueError, match=r"is not a model that fractal\.torch reads"):
        ft.load(tmp_path / "text")


class Mixer(torch.nn.Module):
    bidirectional = False

    def forward(self, u, state=None, dt=None, lengths=None, mask=None):
        return u, state

    def step(self, u, state, dt=None):
        return u, state

    def initial_state(self, batch=1):
        return ()
