import pytest

from experiments import paper_presets
from fractal.train import preset


@pytest.mark.parametrize("name", paper_presets.CASES)
def test_settings_are_the_preset_with_a_smaller_batch_and_a_short_warmup(name):
    config, published = paper_presets.settings(name, "s5"), preset(name, "paper", "s5")
    assert config.model == published.model
    assert config.optimizer.lr == published.optimizer.lr
    assert config.optimizer.warmup < paper_presets.STEPS / 2
    assert config.data.batch == paper_presets.CASES[name][0] < published.data.batch


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
    assert row == ("listops", "s5", 188_490, 4, 20, "2.50 → 0.25", "yes", "3.1", "3.0", "1")


@pytest.mark.parametrize("arguments", [["nope", "s5"], ["listops"], ["listops", "lstm"]])
def test_an_unknown_case_is_one_line(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        paper_presets.main(arguments)
    assert stopped.value.code == 2
    found = capsys.readouterr().err
    assert found.startswith("a case is a task and a model, one of listops")
    assert found.count("\n") == 1
