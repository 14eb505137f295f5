"""Image (gray CIFAR-10).

mini: `fractal train image`
    after `fractal data image`; about 4 min on two shared cores, compilation included.
    Measured test accuracy 0.474 (seed 0); the most frequent class has 0.100, a bag of
    gray levels 0.213.

laptop: `fractal train image --preset laptop`
    after `fractal data image`; 70 min on one core.
    Measured test accuracy 0.666 (seed 0). `--model s5`: S5 with the same budget.

paper: `fractal train image --preset paper`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 87.30, S5 88.00 (87.59 when the FRACTAL paper ran it),
    Transformer 42.44, Performer 42.77.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("image", preset="mini", batch=50),
    model=ModelConfig(width=64, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=1500,
)

_EPOCH = 900
LAPTOP = Config(
    data=DataConfig("image", batch=50),
    model=laptop.model(depth=4, dropout=0.1),
    optimizer=OptimizerConfig(lr=6e-3, ssm_lr=2e-3, weight_decay=0.05, warmup=500),
    steps=8 * _EPOCH,
    evaluate_every=_EPOCH // 2,
    checkpoint_every=_EPOCH // 4,
    log_every=20,
)

PAPER = Config(
    data=DataConfig("image", preset="paper", batch=50),
    model=ModelConfig(
        "s5",
        width=512,
        depth=6,
        gate="half_glu1",
        norm="batch",
        dropout=0.1,
        dense_init="lecun",
        options={"order": 384, "blocks": 3, "C_init": "lecun", "dt_min": 0.001, "clip_eigs": True},
    ),
    optimizer=OptimizerConfig(
        lr=0.0045,
        ssm_lr=0.001,
        weight_decay=0.07,
        groups="B-fast",
        dt_global=False,
        warmup=1 * _EPOCH,
    ),
    steps=250 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("image", preset="paper", batch=256),
    model=ModelConfig(
        "transformer",
        width=128,
        depth=1,
        dropout=0.3,
        options={"heads": 8, "qkv": 64, "mlp": 128, "positions": "learned"},
    ),
    optimizer=OptimizerConfig(lr=0.0005, weight_decay=0, warmup=175, clip=0),
    steps=35000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "image", config=MINI, laptop=(LAPTOP, laptop.as_s5(LAPTOP)), paper=(PAPER, TRANSFORMER)
)
