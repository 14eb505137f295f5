"""Path-X.

mini: `fractal train pathx`
    about 3 min on two shared cores, compilation included.
    Measured test accuracy 0.490 (seed 0); the most frequent class has 0.510, a bag of
    gray levels 0.500.
    That is chance: a run as short as this does not learn the task. Measured with unbiased images.

paper: `fractal train pathx --preset paper --data DIR`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 98.39, S5 98.58 (98.62 when the FRACTAL paper ran it),
    Transformer fails, Performer fails.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task

MINI = Config(
    data=DataConfig("pathx", preset="mini", batch=16),
    model=ModelConfig(width=32, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=50),
    steps=500,
)

_EPOCH = 5000
PAPER = Config(
    data=DataConfig("pathx", preset="paper", batch=32),
    model=ModelConfig(
        "s5",
        width=128,
        depth=6,
        gate="half_glu1",
        norm="batch",
        norm_momentum=0.9,
        dropout=0.0,
        dense_init="lecun",
        options={
            "order": 256,
            "blocks": 16,
            "C_init": "complex_normal",
            "dt_min": 0.0001,
            "clip_eigs": False,
        },
    ),
    optimizer=OptimizerConfig(
        lr=0.0018,
        ssm_lr=0.0006,
        weight_decay=0.06,
        groups="B-decays",
        dt_global=False,
        warmup=1 * _EPOCH,
    ),
    steps=75 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("pathx", preset="paper", batch=64),
    model=ModelConfig(
        "transformer",
        width=32,
        depth=1,
        dropout=0.1,
        options={"heads": 2, "qkv": 16, "mlp": 32, "positions": "learned"},
    ),
    optimizer=OptimizerConfig(lr=0.001, weight_decay=0, warmup=2500, clip=1),
    steps=500000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task("pathx", config=MINI, paper=(PAPER, TRANSFORMER))
