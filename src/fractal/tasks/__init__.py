"""Tasks and data: the Long Range Arena, sequential MNIST, spoken digits, and data of your own."""

import importlib

from ._arrays import from_arrays as from_arrays
from ._batches import Batch as Batch
from ._batches import Batches as Batches
from ._errors import DataError as DataError
from ._errors import MissingData as MissingData
from ._registry import fetch as fetch
from ._registry import fetchable as fetchable
from ._registry import load as load
from ._registry import names as names
from ._registry import register as register
from ._request import Preset as Preset
from ._request import Request as Request
from ._request import Validation as Validation
from ._sequences import Sequences as Sequences
from ._task import Kind as Kind
from ._task import Split as Split
from ._task import Splits as Splits
from ._task import Task as Task

# The modules of the built-in tasks; each registers its own.
for _module in ("listops", "text", "retrieval", "image", "pathfinder", "smnist", "speech"):
    importlib.import_module(f".{_module}", __name__)
