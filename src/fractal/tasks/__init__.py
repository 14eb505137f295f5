"""Tasks and data: the Long Range Arena and sequential MNIST, from files or generated."""

from ._batches import Batch as Batch
from ._batches import Batches as Batches
from ._errors import DataError as DataError
from ._registry import NAMES as NAMES
from ._registry import load as load
from ._task import Split as Split
from ._task import Task as Task
