import dataclasses

from experiments import full_budget
from fractal.train import preset


def test_runs_are_those_of_the_preset_but_for_rate_clock_and_seed():
    known = preset("listops", "mini")
    fixed = full_budget.settings("listops", "uniform", "fixed", 2)
    selective = full_budget.settings("listops", "uniform", "selective", 2)
    assert fixed.model.options == known.model.options | {"clock": "uniform"}
    assert selective.model.options == fixed.model.options | {"selective": True}
    for config in (fixed, selective):
        model = dataclasses.replace(config.model, options=known.model.options)
        assert dataclasses.replace(config, model=model, seed=known.seed) == known
