"""Permuted sequential MNIST, with the settings of sequential MNIST.

mini: `fractal train psmnist`
    after `fractal data smnist`; about 2 min on two shared cores, compilation included.
    Measured test accuracy 0.935 (seed 0); the most frequent class has 0.114, a bag of
    grey levels 0.330.

paper: `fractal train psmnist --preset paper`
    For GPUs; no recipe is in the papers that we follow, this one is ours. Not run here.
"""

import dataclasses

from .._config import Config
from . import smnist


def _permuted(config: Config) -> Config:
    return dataclasses.replace(config, data=dataclasses.replace(config.data, task="psmnist"))


MINI = _permuted(smnist.MINI)
PAPER = _permuted(smnist.PAPER)
TRANSFORMER = _permuted(smnist.TRANSFORMER)
