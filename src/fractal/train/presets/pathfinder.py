"""Pathfinder.

mini: `fractal train pathfinder`
    about 6 min on two shared cores, compilation included.
    Measured test accuracy 0.503 (seed 0); the most frequent class has 0.497, a bag of
    gray levels 0.522.
    That is chance: a run as short as this does not learn the task. Measured with unbiased images.

laptop: `fractal train pathfinder --preset laptop`
    62 min of CPU time on one core; the data is generated first, in a quarter of an hour. Modes have
    the period of a row, the gate is that of S5, and the first 30 % of the steps have shorter
    contours. Measured test accuracy 0.702 (seed 0); with the default gate, 8,000 steps in 110 min
    had 0.706. `--model s5`: S5 with the same budget.

paper: `fractal train pathfinder --preset paper --data DIR`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 94.80, S5 95.33 (95.04 when the FRACTAL paper ran it),
    Transformer 71.40, Performer 77.05.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("pathfinder", preset="mini", batch=32),
    model=ModelConfig(width=48, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=1000,
)

_EPOCH = 2500
_ROW = 32  # pixels: the period of what is above and below
LAPTOP = Config(
    data=DataConfig("pathfinder", batch=64, curriculum=("pathfinder_6", "pathfinder_9")),
    model=laptop.model(depth=4, gate="half_glu1", period=_ROW),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.03, warmup=300),
    steps=5600,
    evaluate_every=1400,
    checkpoint_every=200,
    log_every=20,
)

PAPER = Config(
    data=DataConfig("pathfinder", preset="paper", batch=64),
    model=ModelConfig(
        "s5",
        width=192,
        depth=6,
        gate="half_glu1",
        norm="batch",
        norm_momentum=0.9,
        dropout=0.05,
        dense_init="lecun",
        options={"order": 256, "blocks": 8, "C_init": "trunc", "dt_min": 0.001, "clip_eigs": False},
    ),
    optimizer=OptimizerConfig(
        lr=0.0045,
        ssm_lr=0.0009,
        weight_decay=0.03,
        groups="standard",
        dt_global=False,
        warmup=1 * _EPOCH,
    ),
    steps=200 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("pathfinder", preset="paper", batch=512),
    model=ModelConfig(
        "transformer",
        width=32,
        depth=4,
        dropout=0.2,
        options={"heads": 4, "qkv": 16, "mlp": 32, "positions": "sinusoid"},
    ),
    optimizer=OptimizerConfig(lr=0.001, weight_decay=0, warmup=312, clip=0),
    steps=62400,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "pathfinder", config=MINI, laptop=(LAPTOP, laptop.as_s5(LAPTOP)), paper=(PAPER, TRANSFORMER)
)
