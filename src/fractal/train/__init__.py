"""Training: settings, models and tasks by name, one loop, checkpoints, comparison."""

# ruff: noqa: E402 - the check of the extra comes before the imports that need it.

from .._extras import require as _require

_require("train", "optax", "orbax.checkpoint", "pydantic", "rich")

from . import _builtin as _builtin
from . import presets as presets
from ._checkpoints import CheckpointMismatch as CheckpointMismatch
from ._compare import OtherSettings as OtherSettings
from ._compare import compare as compare
from ._compare import early_loss as early_loss
from ._compare import late_loss as late_loss
from ._compare import learning_curve as learning_curve
from ._compare import matched_configs as matched_configs
from ._compare import read_result as read_result
from ._compare import summarize as summarize
from ._config import Config as Config
from ._config import DataConfig as DataConfig
from ._config import ModelConfig as ModelConfig
from ._config import OptimizerConfig as OptimizerConfig
from ._config import read_config as read_config
from ._config import with_steps as with_steps
from ._devices import Devices as Devices
from ._devices import join_processes as join_processes
from ._evaluation import evaluate as evaluate
from ._loop import RunExists as RunExists
from ._loop import evaluate_run as evaluate_run
from ._loop import load_task as load_task
from ._loop import train as train
from ._metrics import Logger as Logger
from ._models import build as build
from ._models import model_names as model_names
from ._models import register_model as register_model
from ._optimizer import make_optimizer as make_optimizer
from ._parameter_counts import config_parameter_count as config_parameter_count
from ._parameter_counts import match_parameters as match_parameters
from ._parameter_counts import parameter_count as parameter_count
from ._step import TrainState as TrainState
from ._step import initial_state as initial_state
from ._step import make_objective as make_objective
from ._step import make_train_step as make_train_step
from ._steps import Interrupted as Interrupted
from ._tasks import preset as preset
from ._tasks import register_task as register_task
from ._trivial import bag_of_tokens as bag_of_tokens
from ._trivial import majority_class as majority_class
from ._trivial import trivial_baselines as trivial_baselines
