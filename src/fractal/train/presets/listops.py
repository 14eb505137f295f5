"""ListOps.

mini: `fractal train listops`
    about 3 min on two shared cores, compilation included.
    Measured test accuracy 0.528 (seed 0); the most frequent class has 0.132, a bag of
    tokens 0.290.

laptop: `fractal train listops --preset laptop`
    110 min of CPU time on one core; the data is generated first, in a few minutes. In trials the
    loss fell from 2.27 to 1.68 in 160 steps with the scale-invariant clock, and to 2.25 in 380
    steps with the uniform one.
    Measured test accuracy 0.487 (seed 0); two epochs in place of five had 0.474.
    `--model s5`: S5 with the same budget.

paper: `fractal train listops --preset paper --data DIR`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 61.85, S5 62.15 (61.10 when the FRACTAL paper ran it),
    Transformer 36.37, Performer 18.01.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("listops", preset="mini", batch=50),
    model=ModelConfig(width=64, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=3000,
)

_EPOCH = 1920
LAPTOP = Config(
    data=DataConfig("listops", batch=50, buckets=8),
    model=laptop.model(depth=4, clock="scale-invariant"),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=2e-3, weight_decay=0.04, warmup=400),
    steps=5 * _EPOCH,
    evaluate_every=_EPOCH // 2,
    checkpoint_every=_EPOCH // 8,
    log_every=20,
)

PAPER = Config(
    data=DataConfig("listops", preset="paper", batch=50),
    model=ModelConfig(
        "s5",
        width=128,
        depth=8,
        gate="half_glu2",
        norm="batch",
        dropout=0.0,
        encoder="one-hot",
        dense_init="lecun",
        masking="pooling",
        options={"order": 16, "blocks": 8, "C_init": "lecun", "dt_min": 0.001, "clip_eigs": False},
    ),
    optimizer=OptimizerConfig(
        lr=0.003,
        ssm_lr=0.001,
        weight_decay=0.04,
        groups="B-fast",
        dt_global=False,
        warmup=1 * _EPOCH,
    ),
    steps=40 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("listops", preset="paper", batch=32),
    model=ModelConfig(
        "transformer",
        width=512,
        depth=4,
        dropout=0.1,
        options={"heads": 8, "qkv": 512, "mlp": 1024, "positions": "sinusoid"},
    ),
    optimizer=OptimizerConfig(lr=0.00158, weight_decay=0.1, warmup=1000, clip=0),
    steps=5000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "listops", config=MINI, laptop=(LAPTOP, laptop.as_s5(LAPTOP)), paper=(PAPER, TRANSFORMER)
)
