"""Is a bank of several α better than a single one, and does learning α help?

`python -m experiments.filter_bank`, about half an hour of CPU time

A bank is not better than α = 0.9 in all blocks. Learning α helps on MNIST, with either clock. With
Δ up to 3 the scale-invariant clock needs a single block of high order to resolve enough.

All layers have eight blocks of order 8, of a single α or of several, or a single block of order 64
with the same number of states, whose modes reach much higher frequencies.
"""

from typing import Any

from . import runs

BANKS: dict[str, dict[str, Any]] = {
    "0.05": {"alphas": [0.05] * 8},
    "0.5": {"alphas": [0.5] * 8},
    "0.9": {"alphas": [0.9] * 8},
    "0.5, single block": {"alphas": [0.5], "order": 64},
    "bank": {},
    "learned": {"learn_alpha": True},
}
CLOCKS: dict[str, dict[str, Any]] = {
    "uniform": {},
    # Shorter Δ than the default of up to length/2, which the experiment `clock` has.
    "scale-invariant": {"clock": "scale-invariant", "dt_min": 0.3, "dt_max": 3.0},
}


def measure(task: str, bank: str, clock: str, seed: int) -> dict:
    """One run; with learned α also their values after training."""
    run = runs.trained(runs.settings(task, seed=seed, **BANKS[bank], **CLOCKS[clock]))
    alphas = runs.learned_alphas(run.model) if bank == "learned" else None
    return run.summary() | {"alphas": alphas}


def main() -> None:
    cases = [
        {"task": task, "bank": bank, "clock": clock, "seed": seed}
        for task, clock in (
            ("smnist", "uniform"),
            ("smnist", "scale-invariant"),
            ("listops", "uniform"),
        )
        for seed in runs.SEEDS
        for bank in BANKS
    ]
    runs.run("filter_bank", cases, measure)


if __name__ == "__main__":
    runs.main(main)
