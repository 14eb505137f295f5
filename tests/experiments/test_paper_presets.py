import pytest

from experiments import paper_presets
from fractal.train import config_parameter_count, preset


def test_the_random_task_has_the_shapes_of_the_published_one():
    config = preset("listops", "paper", "s5")
    task = paper_presets.random_task("listops")
    assert config_parameter_count(config.model, task) == 188_490
    assert (len(task.splits.train), task.length) == (4, 2048)


def test_the_estimate_counts_six_flops_per_parameter_and_step():
    hours = paper_presets.gpu_hours("listops", "s5", 188_490)
    seconds = 6 * 188_490 * 40 * 96_000 * 2048 / (0.1 * 19.5e12)
    assert hours == pytest.approx(seconds / 3600)
    twice = paper_presets.gpu_hours("retrieval", "s5", 1)
    assert twice == pytest.approx(6 * 2 * 20 * 4596 * 32 * 4000 / (0.1 * 19.5e12) / 3600)


def test_a_row_has_the_losses_and_the_estimate():
    case = {
        "task": "listops", "model": "s5", "parameters": 188_490, "batch": 4, "steps": 20,
        "first_loss": 2.5, "last_loss": 0.25, "finite": True, "cpu_seconds_per_step": 3.14,
        "compile_seconds": 60.0, "peak_memory_bytes": 3 * 2**30,
    }  # fmt: skip
    (row,) = paper_presets.table([case]).rows
    assert row == ("listops", "s5", 188_490, 4, "2.50 → 0.25", "3.1", "3.0", "1")


@pytest.mark.parametrize("arguments", [["nope", "s5"], ["listops"], ["listops", "lstm"]])
def test_an_unknown_case_is_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        paper_presets.main(arguments)
    assert stopped.value.code == 2
    found = capsys.readouterr().err
    assert found.startswith("a case is a task and a model, one of listops")
    assert found.count("\n") == 1
