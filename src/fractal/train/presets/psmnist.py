"""Permuted sequential MNIST: the settings of sequential MNIST.

mini: `fractal train psmnist`
    MINI_NOTE
paper: `fractal train psmnist --preset paper`, for GPUs
    No recipe is in the papers that we follow; this is ours. Not run here.
"""

import dataclasses

from .._config import Config
from . import smnist


def _permuted(config: Config) -> Config:
    return dataclasses.replace(config, data=dataclasses.replace(config.data, task="psmnist"))


MINI = _permuted(smnist.MINI)
PAPER = _permuted(smnist.PAPER)
TRANSFORMER = _permuted(smnist.TRANSFORMER)
