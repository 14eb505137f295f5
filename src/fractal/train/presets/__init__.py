"""Presets of the built-in tasks: one module per task, with its commands and expected scores.

`MINI` is a run of minutes on a laptop, `LAPTOP` one of hours on data of the published length,
`PAPER` S5's published settings, and `TRANSFORMER` those of the Long Range Arena. Other models use
these as far as they apply.
"""

import importlib

TASKS = (
    *("listops", "text", "retrieval", "image", "pathfinder", "pathx", "smnist", "psmnist"),
    *("speech", "speech_speakers"),
)

for _task in TASKS:  # each registers its presets
    importlib.import_module(f".{_task}", __name__)
