"""Training: settings, models by name, one loop, checkpoints, comparison."""

from ._config import Config as Config
from ._config import Data as Data
from ._config import Model as Model
from ._config import Optimiser as Optimiser
from ._evaluation import evaluate as evaluate
from ._loop import train as train
