"""Training: settings, models by name, one loop, checkpoints, comparison."""

from ._compare import curve as curve
from ._config import Config as Config
from ._config import Data as Data
from ._config import Model as Model
from ._config import Optimizer as Optimizer
from ._config import shortened as shortened
from ._evaluation import evaluate as evaluate
from ._loop import load_task as load_task
from ._loop import train as train
from ._models import KINDS as KINDS
from ._models import matched as matched
from ._models import parameters as parameters
from ._models import size_of as size_of
from ._yardsticks import bag_of_tokens as bag_of_tokens
from ._yardsticks import majority as majority
from .presets import preset as preset
