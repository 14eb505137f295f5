"""Retrieval (AAN; `mini`: a synthetic substitute).

mini: `fractal train retrieval`
    about 4 min on two shared cores, compilation included.
    Measured test accuracy 0.985 (seed 0); the most frequent class has 0.500, a bag of
    tokens 0.497.

laptop: `fractal train retrieval --preset laptop`
    about 40 min on one core (an estimate), on a generated substitute of the published length. The
    scale-invariant clock learns the small task from fewer examples than the uniform one.
    Not yet run to the end: its accuracy is not known. `--model s5`: S5 with the same budget.

paper: `fractal train retrieval --preset paper --data DIR`
    For GPUs; S5's published settings; `--model s5` is the published S5. Run for 20 steps here.
    Published test accuracy in %: FRACTAL 91.19, S5 91.40 (91.27 when the FRACTAL paper ran it),
    Transformer 57.46, Performer 53.82.
"""

from .._config import Config, DataConfig, ModelConfig, OptimizerConfig
from .._tasks import register_task
from . import _laptop as laptop

MINI = Config(
    data=DataConfig("retrieval", preset="mini", batch=32),
    model=ModelConfig(width=64, depth=2, options={"order": 8}),
    optimizer=OptimizerConfig(lr=4e-3, ssm_lr=1e-3, weight_decay=0.01, warmup=100),
    steps=2500,
)

LAPTOP = Config(
    data=DataConfig("retrieval", batch=16, buckets=4),
    model=laptop.model(depth=2, clock="scale-invariant"),
    optimizer=OptimizerConfig(lr=3e-3, ssm_lr=1e-3, weight_decay=0.05, warmup=300),
    steps=2000,
    evaluate_every=250,
    checkpoint_every=125,
    log_every=20,
)

_EPOCH = 4596
PAPER = Config(
    data=DataConfig("retrieval", preset="paper", batch=32),
    model=ModelConfig(
        "s5",
        width=128,
        depth=6,
        gate="half_glu1",
        norm="batch",
        dropout=0.0,
        encoder="one-hot",
        dense_init="lecun",
        masking="pooling",
        options={
            "order": 256,
            "blocks": 16,
            "C_init": "trunc",
            "dt_min": 0.001,
            "clip_eigs": False,
        },
    ),
    optimizer=OptimizerConfig(
        lr=0.002,
        ssm_lr=0.001,
        weight_decay=0.05,
        groups="standard",
        dt_global=True,
        warmup=1 * _EPOCH,
    ),
    steps=20 * _EPOCH,
    evaluate_every=_EPOCH,
    checkpoint_every=_EPOCH,
    log_every=100,
)

TRANSFORMER = Config(
    data=DataConfig("retrieval", preset="paper", batch=32),
    model=ModelConfig(
        "transformer",
        width=128,
        depth=4,
        dropout=0.1,
        options={"heads": 4, "qkv": 128, "mlp": 512, "positions": "sinusoid"},
    ),
    optimizer=OptimizerConfig(lr=0.00035, weight_decay=0.1, warmup=4999, clip=0),
    steps=5000,
    evaluate_every=1000,
    checkpoint_every=1000,
    log_every=100,
)

register_task(
    "retrieval", config=MINI, laptop=(LAPTOP, laptop.as_s5(LAPTOP)), paper=(PAPER, TRANSFORMER)
)
