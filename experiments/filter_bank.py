"""Is a bank of several α better than one, and does it help to learn α?

`python -m experiments.filter_bank`

All have 64 states a layer: eight blocks of 8, or one of 64.
"""

from typing import Any

import numpy as np

from . import runs

BANKS: dict[str, dict[str, Any]] = {
    "0.05": {"alphas": 0.05, "order": 64},
    "0.5": {"alphas": 0.5, "order": 64},
    "0.9": {"alphas": 0.9, "order": 64},
    "bank": {},
    "learned": {"learn_alpha": True},
}
CLOCKS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "scale-invariant": {"clock": "scale-invariant"},
}


def measure(task: str, bank: str, clock: str, seed: int) -> dict:
    """One run; of learned α the values at its end."""
    run = runs.trained(runs.settings(task, seed=seed, **BANKS[bank], **CLOCKS[clock]))
    alphas = None
    if bank == "learned":
        found = [np.asarray(block.mixer.bank.alphas) for block in run.model.blocks]
        alphas = np.round(np.concatenate(found), 4).tolist()
    return run.summary() | {"alphas": alphas}


if __name__ == "__main__":
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
