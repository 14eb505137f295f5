"""Spoken digits by raw waveform, of known speakers.

mini: `fractal train speech --data DIR`
    DIR is the folder of the Free Spoken Digit Dataset. Causal, so that there is a prediction after
    every sample. Some minutes on two cores; its accuracy was not measured. That of smaller models
    is measured by the experiment `speech`.

paper: `fractal train speech --preset paper --data DIR`
    All samples of a recording. There are no published settings, these are our own. Not run here.
"""

import dataclasses

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import smnist

MINI = Config(
    data=DataConfig("speech", preset="mini", batch=32),
    model=ModelConfig(width=32, depth=2, bidirectional=False, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=1000,
)
PAPER = dataclasses.replace(
    smnist.PAPER, data=DataConfig("speech", preset="paper", batch=50, buckets=4)
)

register_task("speech", config=MINI, paper=(PAPER,))
