"""What the presets `laptop` of all tasks share: the model, and S5 with the same budget.

Sequences have the published length, and models are of a size that one core trains in half an hour
to two hours. `fractal train TASK --preset laptop --model s5` has the same data, steps, learning
rates, width and depth, an order for which its parameter count is within 7 % of FRACTAL's, and the
range of step sizes Δ that FRACTAL has for this length.
"""

import dataclasses

from ...nn import Gate
from .._config import Config, ModelConfig, Option

_LENGTHS = {
    **{"listops": 2048, "text": 4096, "retrieval": 4000},
    **{"image": 1024, "pathfinder": 1024, "smnist": 784, "psmnist": 784},
}


def model(
    depth: int, *, gate: Gate | None = None, dropout: float = 0.0, **options: Option
) -> ModelConfig:
    """FRACTAL with batch norm, 64 channels and 8 blocks of order 8 per layer."""
    return ModelConfig(
        width=64,
        depth=depth,
        gate=gate,
        norm="batch",
        dropout=dropout,
        options={"order": 8, **options},
    )


def as_s5(config: Config) -> Config:
    """The same run with S5, whose gate has one matrix; FRACTAL's default gate has two."""
    shortest = 2 / _LENGTHS[config.data.task]
    order = 80 if config.model.gate is None else 64  # multiples of S5's default of 8 blocks
    options: dict[str, Option] = {"order": order, "dt_min": shortest, "dt_max": 0.5}
    return dataclasses.replace(
        config, model=dataclasses.replace(config.model, name="s5", options=options)
    )
