"""Permuted sequential MNIST, with the settings of sequential MNIST except for the clock.

mini: `fractal train psmnist`
    after `fractal data smnist`; about 4 min on one core, compilation included.
    Measured test accuracy 0.938 (seed 0); the most frequent class has 0.114, a bag of
    gray levels 0.330. With the uniform clock it is 0.935, and in shorter runs far less:
    the permutation leaves no local structure, so the scale-invariant clock is used.

laptop: `fractal train psmnist --preset laptop`
    after `fractal data smnist`; 27 min of CPU time on one core.
    Measured test accuracy 0.967 (seed 0). `--model s5`: S5 with the same budget.

paper: `fractal train psmnist --preset paper`
    For GPUs; there are no published settings, these are our own. Not run here.
"""

import dataclasses

from .._tasks import register_task
from . import _laptop as laptop
from . import smnist

_OPTIONS = {**smnist.MINI.model.options, "clock": "scale-invariant"}
MINI = dataclasses.replace(
    smnist.MINI, model=dataclasses.replace(smnist.MINI.model, options=_OPTIONS)
)

LAPTOP = dataclasses.replace(
    smnist.LAPTOP, model=laptop.model(depth=3, dropout=0.1, clock="scale-invariant")
)

register_task(
    "psmnist",
    config=MINI,
    laptop=(LAPTOP, laptop.as_s5(LAPTOP)),
    paper=(smnist.PAPER, smnist.TRANSFORMER),
)
