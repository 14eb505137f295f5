"""Text (IMDB).

mini: `fractal train text`
    after `fractal data text`; about 5 min on two shared cores, compilation included.
    Measured test accuracy 0.689 (seed 0); the most frequent class has 0.500, a bag of
    tokens 0.618.

laptop: `fractal train text --preset laptop`
    after `fractal data text`; 33 min on one core.
    Measured test accuracy 0.841 (seed 0). `--model s5`: S5 with the same budget.

paper: `fractal train text --preset paper`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 89.10, S5 89.31 (88.72 when the FRACTAL paper ran it),
    Transformer 64.27, Performer 65.40.
"""

import dataclasses

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig, with_steps
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("text", preset="mini", batch=32),
    model=ModelConfig(width=64, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=1000,
)

LAPTOP = Config(
    data=DataConfig("text", batch=32, buckets=8),
    model=laptop.model(depth=3, dropout=0.1),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.05, warmup=300),
    steps=8 * 703,
    evaluate_every=352,
    checkpoint_every=176,
    log_every=20,
)

_EPOCH = 500
PAPER_TEST = Config(
    data=DataConfig("text", preset="paper", validation="test", batch=50),
    model=ModelConfig(
        "s5",
        width=256,
        depth=6,
        gate="half_glu2",
        norm="batch",
        dropout=0.1,
        encoder="one-hot",
        dense_init="lecun",
        masking="pooling",
        options={
            "order": 192,
            "blocks": 12,
            "C_init": "lecun",
            "dt_min": 0.001,
            "clip_eigs": False,
        },
    ),
    optimizer=OptimizerConfig(
        lr=0.004,
        ssm_lr=0.001,
        weight_decay=0.07,
        groups="standard",
        dt_global=True,
        warmup=0,
    ),
    steps=35 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)
# An epoch has a tenth fewer steps where a tenth is held out.
PAPER = dataclasses.replace(
    with_steps(PAPER_TEST, 35 * 450), data=DataConfig("text", preset="paper", batch=50)
)

TRANSFORMER = Config(
    data=DataConfig("text", preset="paper", batch=32),
    model=ModelConfig(
        "transformer",
        width=256,
        depth=4,
        dropout=0.1,
        options={"heads": 4, "qkv": 256, "mlp": 1024, "positions": "sinusoid"},
    ),
    optimizer=OptimizerConfig(lr=0.00056, weight_decay=0.1, warmup=8000, clip=0),
    steps=20000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "text",
    config=MINI,
    laptop=(LAPTOP, laptop.as_s5(LAPTOP)),
    paper=(PAPER, PAPER_TEST, TRANSFORMER),
)
