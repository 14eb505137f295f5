"""Sequential MNIST.

mini: `fractal train smnist`
    after `fractal data smnist`; about 4 min on two shared cores, compilation included.
    Measured test accuracy 0.976 (seed 0); the most frequent class has 0.114, a bag of
    gray levels 0.330.

laptop: `fractal train smnist --preset laptop`
    after `fractal data smnist`; 27 min on one core.
    Measured test accuracy 0.994 (seed 0). `--model s5`: S5 with the same budget.

paper: `fractal train smnist --preset paper`
    For GPUs; there are no published settings, these are our own. Run for 20 steps here.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("smnist", preset="mini", batch=50),
    model=ModelConfig(width=64, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=1500,
)

_EPOCH = 1080
LAPTOP = Config(
    data=DataConfig("smnist", batch=50),
    model=laptop.model(depth=3, dropout=0.1),
    optimizer=OptimizerConfig(lr=6e-3, ssm_lr=2e-3, weight_decay=0.02, warmup=500),
    steps=5 * _EPOCH,
    evaluate_every=_EPOCH // 2,
    checkpoint_every=_EPOCH // 4,
    log_every=20,
)

PAPER = Config(
    data=DataConfig("smnist", preset="paper", batch=50),
    model=ModelConfig(
        "s5",
        width=96,
        depth=4,
        gate="half_glu1",
        norm="batch",
        dropout=0.1,
        options={"order": 128, "blocks": 1, "C_init": "lecun", "dt_min": 0.001, "clip_eigs": False},
    ),
    optimizer=OptimizerConfig(
        lr=0.008,
        ssm_lr=0.002,
        weight_decay=0.01,
        groups="standard",
        dt_global=False,
        warmup=1 * _EPOCH,
    ),
    steps=150 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("smnist", preset="paper", batch=64),
    model=ModelConfig(
        "transformer",
        width=96,
        depth=4,
        dropout=0.1,
        options={"heads": 4, "qkv": 96, "mlp": 192, "positions": "sinusoid"},
    ),
    optimizer=OptimizerConfig(lr=0.001, weight_decay=0, warmup=1000, clip=1),
    steps=84000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "smnist", config=MINI, laptop=(LAPTOP, laptop.as_s5(LAPTOP)), paper=(PAPER, TRANSFORMER)
)
