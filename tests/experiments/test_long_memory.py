import jax
import numpy as np
import pytest

from experiments import long_memory, signals
from fractal.nn import SequenceModel
from fractal.train import parameter_count


@pytest.fixture(scope="module")
def test_set():
    return long_memory.data("arfima 0.4", 0)[1][:40]


@pytest.mark.parametrize("ahead", long_memory.AHEAD)
def test_the_best_error_is_that_of_a_loop_over_all_evaluated_steps(test_set, ahead):
    covariance = signals.arfima_covariance(0.4, 300)
    squares = []
    for step in range(long_memory.FIRST, long_memory.LENGTH):
        known = np.arange(step + 1)
        matrix = covariance[np.abs(known[:, None] - known)]
        weights = np.linalg.solve(matrix, covariance[step + ahead - known])
        squares.append((test_set[:, : step + 1] @ weights - test_set[:, step + ahead]) ** 2)
    found = long_memory.best_possible("arfima 0.4", test_set, ahead)
    assert found == pytest.approx(np.mean(squares), rel=1e-4)


def test_autoregression_is_evaluated_on_the_steps_of_the_others_and_hardly_worse_than_the_best():
    draw, test = long_memory.data("arfima 0.4", 1)
    found = long_memory.autoregression(draw(500), test)
    for ahead in long_memory.AHEAD:
        best = long_memory.best_possible("arfima 0.4", test, ahead)
        assert 1 < found[f"mse_{ahead}"] / best < 1.1


def test_all_models_have_about_as_many_parameters():
    sizes = [
        parameter_count(
            jax.eval_shape(
                lambda parts=parts: SequenceModel(
                    inputs=1, outputs=2, width=32, depth=2, task="regression", tokens=False,
                    pooling="none", key=jax.random.key(0), **parts,
                )
            )
        )
        for parts in long_memory.MODELS.values()
    ]  # fmt: skip
    assert max(sizes) <= 1.1 * min(sizes)
