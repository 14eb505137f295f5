import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fractal.nn import FractalSSM, SequenceModel
from fractal.train import ModelConfig, OptimizerConfig, build, load_task
from fractal.train._optimizer import (
    apply_gradient,
    group,
    groups,
    make_optimizer,
    moving_average,
    schedule,
)

# The groups of every parameter of every built-in class, in the order of `SETTINGS`.
SETTINGS = [
    OptimizerConfig(groups="standard"),
    OptimizerConfig(groups="B-decays"),
    OptimizerConfig(groups="B-fast"),
    OptimizerConfig(groups="all-slow"),
    OptimizerConfig(dt_global=True),
]
STATES = ("states", "states", "states", "states", "states")
STEP_SIZE = ("states", "states", "states", "states", "rest")
INPUT = ("states", "slow", "rest", "states", "states")
READOUT = ("rest", "rest", "rest", "states", "rest")
REST = ("rest", "rest", "rest", "rest", "rest")
FROZEN = ("frozen", "frozen", "frozen", "frozen", "frozen")
EXPECTED = {
    "FractalSSM": {"log_dt": STEP_SIZE, "B": INPUT, "C": READOUT, "D": READOUT},
    "FreeBank": {"log_decay": STATES, "frequency": STATES},
    "LearnedAlphaBank": {"place": STATES},
    "S5": {
        "Lambda_re": STATES,
        "Lambda_im": STATES,
        "log_step": STEP_SIZE,
        "B": INPUT,
        "C": READOUT,
        "D": READOUT,
    },
    "S4": {
        "log_decay": STATES,
        "frequency": STATES,
        "P": STATES,
        "log_dt": STEP_SIZE,
        "B": INPUT,
        "C": READOUT,
        "D": READOUT,
    },
    "S4D": {
        "log_decay": STATES,
        "frequency": STATES,
        "log_dt": STEP_SIZE,
        "B": INPUT,
        "C": READOUT,
        "D": READOUT,
    },
    "DSS": {
        "real": STATES,
        "frequency": STATES,
        "log_dt": STEP_SIZE,
        "W": READOUT,
        "D": READOUT,
    },
    "LMU": {"encoders": REST, "W_x": REST, "W_m": REST, "bias": REST},
    "Attention": {"projections": REST, "out": REST},
    "Performer": {"projections": REST, "out": REST, "random_features": FROZEN},
    "TransformerBlock": {"W_1": REST, "b_1": REST, "W_2": REST, "b_2": REST},
    "LayerNorm": {"weight": REST, "bias": REST},
    "BatchNorm": {"weight": REST, "bias": REST},
    "Statistics": {"mean": FROZEN, "variance": FROZEN},
    "SequenceModel": {"table": REST},
    "Embedding": {"weight": REST},
    "OneHotLinear": {"weight": REST, "bias": REST},
    "Linear": {"weight": REST, "bias": REST},
}
MODELS = [
    ModelConfig("fractal", width=16, depth=1, norm="batch", encoder="one-hot"),
    ModelConfig("fractal", width=16, depth=1, options={"learn_alpha": True}),
    *(ModelConfig(name, width=16, depth=1) for name in ("s5", "s4", "s4d", "dss", "lmu")),
    ModelConfig("transformer", width=16, depth=1, options={"positions": "learned"}),
    ModelConfig("performer", width=16, depth=1),
]


def owner(model, path):
    """The class that has the last named field on a path, and the field."""
    node, found = model, None
    for key in path:
        if isinstance(key, jax.tree_util.GetAttrKey):
            found = (type(node).__name__, key.name)
            node = getattr(node, key.name)
        else:
            node = node[key.idx]
    return found


def test_every_parameter_of_every_model_is_in_its_group(tiny):
    task, seen = load_task(tiny), set()
    for config in MODELS:
        model = build(config, task, jax.random.key(0))
        found = [jax.tree.leaves(groups(model, settings)) for settings in SETTINGS]
        paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(model)]
        for path, row in zip(paths, zip(*found, strict=True), strict=True):
            cls, field = owner(model, path)
            assert row == EXPECTED[cls][field], (config.name, jax.tree_util.keystr(path))
            seen.add((cls, field))
    assert seen == {(cls, field) for cls, fields in EXPECTED.items() for field in fields}


def test_an_undeclared_parameter_is_an_ordinary_weight():
    assert all(group("weight", settings) == "rest" for settings in SETTINGS)


def test_the_learning_rate_has_a_linear_warmup_and_a_cosine_decay_to_zero():
    rate = schedule(OptimizerConfig(warmup=10), 110, 2.0)
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
        width=4,
        depth=1,
        norm="batch",
        mixer=functools.partial(FractalSSM, order=2),
        key=jax.random.key(0),
    )


def first_step(optimizer, gradient, model):
    """Weights and optimizer state after one step."""
    step = jax.jit(lambda gradient, model: apply_gradient(
        optimizer, gradient, optimizer.init(model), model))  # fmt: skip
    return step(gradient, model)


def test_states_have_their_own_rate_without_decay_and_running_averages_are_not_trained(small):
    """With gradients of 1 the first step of Adam is the learning rate itself."""
    settings = OptimizerConfig(0.1, ssm_lr=0.01, weight_decay=0.5, warmup=0)
    optimizer = make_optimizer(settings, steps=10)
    after, _ = first_step(optimizer, jax.tree.map(np.ones_like, small), small)
    old, new = small.blocks[0], after.blocks[0]
    np.testing.assert_allclose(old.mixer.log_dt - new.mixer.log_dt, 0.01, rtol=1e-4)
    np.testing.assert_allclose(old.mixer.B - new.mixer.B, 0.01, rtol=1e-3)
    expected = 0.1 * (1 + 0.5 * np.asarray(small.head.weight))
    np.testing.assert_allclose(small.head.weight - after.head.weight, expected, rtol=1e-3)
    np.testing.assert_array_equal(old.norm.running.variance, new.norm.running.variance)


def test_a_clipped_gradient_has_the_given_norm(small):
    """Seen in Adam's first moment, a tenth of the gradient."""
    optimizer = make_optimizer(OptimizerConfig(clip=1.0, warmup=0), steps=10)
    gradient = jax.tree.map(lambda x: np.full_like(x, 100), small)
    _, opt_state = first_step(optimizer, gradient, small)
    first = [
        leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(opt_state)
        if ".mu" in jax.tree_util.keystr(path)
    ]
    frozen = sum(x.size for x in jax.tree.leaves(small.blocks[0].norm.running))
    total = sum(x.size for x in jax.tree.leaves(small))
    expected = 0.1 * np.sqrt((total - frozen) / total)
    norm = np.sqrt(sum(np.sum(np.square(x)) for x in first))
    np.testing.assert_allclose(norm, expected, rtol=1e-4)


def test_the_average_of_weights_is_exponential():
    old, new = {"a": jnp.zeros(2)}, {"a": jnp.ones(2)}
    np.testing.assert_allclose(moving_average(old, new, 0.9)["a"], 0.1, rtol=1e-6)
