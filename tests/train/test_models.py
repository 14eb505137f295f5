import jax
import numpy as np
import pytest

from fractal.train import Model
from fractal.train._loop import load_task
from fractal.train._models import KINDS, build, matched, parameters, size_of
from fractal.train._yardsticks import bag_of_tokens, majority


@pytest.mark.parametrize("name", KINDS)
def test_every_model_can_be_made_as_large_as_another(tiny, name):
    task = load_task(tiny)
    for target in (43_000, 80_000):
        model = build(matched(Model(name, 64, 2), task, target), task, jax.random.key(0))
        assert abs(parameters(model) - target) <= 0.1 * target


def test_a_model_that_learns_its_alphas_is_measured_without_being_made(tiny):
    task, model = load_task(tiny), Model("fractal", 8, 1, options={"learn_alpha": True})
    assert size_of(model, task) == parameters(build(model, task, jax.random.key(0)))


def test_parameters_are_counted_without_what_is_not_trained(tiny):
    task = load_task(tiny)
    layer, batch = (
        build(Model("fractal", 8, 1, norm=norm, options={"order": 2}), task, jax.random.key(0))
        for norm in ("layer", "batch")
    )
    assert parameters(layer) == parameters(batch)
    assert parameters(layer) == sum(leaf.size for leaf in jax.tree.leaves(layer))


def test_the_yardsticks_are_what_they_say(tiny):
    task = load_task(tiny)
    labels = np.asarray(task.splits.train.labels)
    most = np.argmax(np.bincount(labels))
    assert majority(task) == np.mean(np.asarray(task.splits.test.labels) == most)
    assert 0 <= bag_of_tokens(task) <= 1
