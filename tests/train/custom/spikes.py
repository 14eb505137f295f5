"""A task of one's own: is the spike in the first or in the second half? One file."""

import numpy as np

from fractal import tasks
from fractal.train import Config, DataConfig, ModelConfig, OptimizerConfig, register_task


def load(request: tasks.Request) -> tasks.Task:
    rng = np.random.default_rng(0)
    count, length = (120, 16) if request.preset == "mini" else (10_000, 1024)
    places = rng.integers(length, size=count)
    signals = 0.1 * rng.normal(size=(count, length))
    signals[np.arange(count), places] += 3
    return tasks.from_arrays(list(signals), (places >= length // 2).astype(int), name="spikes")


register_task(
    "spikes",
    load,
    config=Config(
        DataConfig("spikes", batch=8),
        model=ModelConfig(width=8, depth=1),
        optimizer=OptimizerConfig(1e-2, warmup=1),
        steps=4,
        log_every=2,
    ),
)
