"""What the presets `laptop` of all tasks share: the model, and S5 with the same budget.

Sequences have the published length, and models are of a size that one core trains in half an hour
to two hours. `fractal train TASK --preset laptop --model s5` has the same data, steps, learning
rates, width and depth, an order for which its parameter count is within 7 % of FRACTAL's, and the
range of step sizes Δ that FRACTAL has for this length.
"""

import dataclasses

from .._config import Config, ModelConfig, Option

_S5_ORDER = 80  # a multiple of S5's default of 8 blocks
_LENGTHS = {
    **{"listops": 2048, "text": 4096, "retrieval": 4000},
    **{"image": 1024, "pathfinder": 1024, "smnist": 784, "psmnist": 784},
}


def model(depth: int, dropout: float = 0.0, **options: Option) -> ModelConfig:
    """FRACTAL with batch norm, 64 channels and 8 blocks of order 8 per layer."""
    options = {"order": 8, **options}
    return ModelConfig(width=64, depth=depth, norm="batch", dropout=dropout, options=options)


def as_s5(config: Config) -> Config:
    """The same run with S5."""
    shortest = 2 / _LENGTHS[config.data.task]
    options: dict[str, Option] = {"order": _S5_ORDER, "dt_min": shortest, "dt_max": 0.5}
    return dataclasses.replace(
        config, model=dataclasses.replace(config.model, name="s5", options=options)
    )
