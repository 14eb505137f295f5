import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.nn import FractalSSM, SequenceModel
from fractal.train import Model, Optimizer
from fractal.train._loop import load_task
from fractal.train._models import build
from fractal.train._optimizer import averaged, label, labels, schedule, step, transformation

DYNAMICS = {
    "fractal": {"bank.log_decay", "bank.frequency", "log_dt", "B"},
    "s5": {"Lambda_re", "Lambda_im", "log_step", "B"},
    "s4": {"log_decay", "frequency", "P", "B", "log_dt"},
    "s4d": {"log_decay", "frequency", "B", "log_dt"},
    "dss": {"real", "frequency", "log_dt"},
    "lmu": set(),
    "transformer": set(),
    "performer": set(),
}
FROZEN = {"performer": {"random_features"}}


@pytest.mark.parametrize("name", DYNAMICS)
def test_the_groups_hold_exactly_the_intended_parameters(tiny, name):
    transformer = name in ("transformer", "performer")
    norm = None if transformer else "batch"
    model = build(Model(name, 16, 2, norm=norm), load_task(tiny), jax.random.key(0))
    groups = {}
    for path, group in jax.tree_util.tree_leaves_with_path(labels(model, Optimizer())):
        groups.setdefault(group, set()).add(jax.tree_util.keystr(path))
    in_blocks = {f".blocks[{i}].mixer.{leaf}" for i in range(2) for leaf in DYNAMICS[name]}
    assert groups.get("states", set()) == in_blocks
    frozen = {f".blocks[{i}].mixer.{leaf}" for i in range(2) for leaf in FROZEN.get(name, ())}
    if norm == "batch":
        frozen |= {f".blocks[{i}].norm.running.{x}" for i in range(2) for x in ("mean", "variance")}
    assert groups.get("frozen", set()) == frozen
    assert "slow" not in groups


@pytest.mark.parametrize(
    ("groups", "dt_global", "expected"),
    [
        ("standard", False, {"B": "states", "C": "rest", "D": "rest", "log_dt": "states"}),
        ("standard", True, {"B": "states", "C": "rest", "D": "rest", "log_dt": "rest"}),
        ("B-decays", False, {"B": "slow", "C": "rest", "D": "rest", "log_dt": "states"}),
        ("B-fast", False, {"B": "rest", "C": "rest", "D": "rest", "log_dt": "states"}),
        ("all-slow", False, {"B": "states", "C": "states", "D": "states", "log_dt": "states"}),
    ],
)
def test_the_groupings_are_those_of_S5(groups, dt_global, expected):
    optimizer = Optimizer(groups=groups, dt_global=dt_global)
    for leaf, group in expected.items():
        assert label(f".blocks[3].mixer.{leaf}", optimizer) == group
    assert label(".blocks[3].mixer.bank.frequency", optimizer) == "states"
    assert label(".encoder.weight", optimizer) == "rest"
    assert label(".blocks[3].norm.weight", optimizer) == "rest"
    assert label(".blocks[3].inner.bias", optimizer) == "rest"


def test_the_learning_rate_rises_to_its_peak_and_falls_as_a_cosine_to_zero():
    rate = schedule(Optimizer(warmup=10), 110, 2.0)
    rates = np.array([float(rate(k)) for k in range(111)])
    np.testing.assert_allclose(np.diff(rates[:11]), rates[1] - rates[0], rtol=1e-4)
    assert rates[0] > 0
    assert rates.argmax() == 10
    assert rates[10] == 2.0
    np.testing.assert_allclose(rates[10:], 1 + np.cos(np.pi * np.arange(101) / 100), atol=1e-5)


@pytest.fixture(scope="module")
def small():
    return SequenceModel(
        5,
        3,
        4,
        1,
        norm="batch",
        mixer=functools.partial(FractalSSM, order=2),
        key=jax.random.key(0),
    )


def test_states_move_at_their_own_rate_without_decay_and_running_averages_not_at_all(small):
    """With gradients of 1 the first step of Adam is the learning rate itself."""
    settings = Optimizer(lr=0.1, ssm_lr=0.01, weight_decay=0.5, warmup=0)
    optimizer = transformation(settings, steps=10)
    after, _ = step(optimizer, jax.tree.map(jnp.ones_like, small), optimizer.init(small), small)
    old, new = small.blocks[0], after.blocks[0]
    np.testing.assert_allclose(old.mixer.log_dt - new.mixer.log_dt, 0.01, rtol=1e-4)
    np.testing.assert_allclose(old.mixer.B - new.mixer.B, 0.01, rtol=1e-3)
    expected = 0.1 * (1 + 0.5 * np.asarray(small.head.weight))
    np.testing.assert_allclose(small.head.weight - after.head.weight, expected, rtol=1e-3)
    np.testing.assert_array_equal(old.norm.running.variance, new.norm.running.variance)


def test_a_clipped_gradient_has_the_given_norm(small):
    """Seen in Adam's first moment, a tenth of the gradient."""
    optimizer = transformation(Optimizer(clip=1.0, warmup=0), steps=10)
    gradient = jax.tree.map(lambda x: 100 * jnp.ones_like(x), small)
    _, moments = step(optimizer, gradient, optimizer.init(small), small)
    first = [
        leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(moments)
        if ".mu" in jax.tree_util.keystr(path)
    ]
    frozen = sum(x.size for x in jax.tree.leaves(small.blocks[0].norm.running))
    total = sum(x.size for x in jax.tree.leaves(small))
    expected = 0.1 * np.sqrt((total - frozen) / total)
    norm = np.sqrt(sum(np.sum(np.square(x)) for x in first))
    np.testing.assert_allclose(norm, expected, rtol=1e-4)


def test_the_average_of_models_is_a_moving_one():
    old, new = {"a": jnp.zeros(2)}, {"a": jnp.ones(2)}
    np.testing.assert_allclose(averaged(old, new, 0.9)["a"], 0.1, rtol=1e-6)
