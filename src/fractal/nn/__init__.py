"""Trainable layers and models in JAX.

A `SequenceModel` is a stack of `Block`s, a `Block` contains a mixer such as `FractalSSM`, and the
mixer computes a linear recurrence (`linear_scan`).
"""

from .._engine.scan import linear_scan as linear_scan
from .._options import DenseInit as DenseInit
from .._options import DType as DType
from .._options import Encoder as Encoder
from .._options import Gate as Gate
from .._options import Masking as Masking
from .._options import Norm as Norm
from .._options import Pooling as Pooling
from .._options import Positions as Positions
from .._options import SequenceTask as SequenceTask
from ._block import Block as Block
from ._block import Mixer as Mixer
from ._block import Residual as Residual
from ._block import WithStatistics as WithStatistics
from ._filter_bank import FreeBank as FreeBank
from ._filter_bank import LearnedAlphaBank as LearnedAlphaBank
from ._head import RetrievalHead as RetrievalHead
from ._linear import OneHotLinear as OneHotLinear
from ._model import SequenceModel as SequenceModel
from ._model_state import ModelState as ModelState
from ._norms import BatchNorm as BatchNorm
from ._norms import LayerNorm as LayerNorm
from ._norms import Statistics as Statistics
from ._rate import PathRate as PathRate
from ._rate import SelectiveRate as SelectiveRate
from ._roles import Role as Role
from ._roles import role as role
from ._roles import roles as roles
from ._ssm import FractalSSM as FractalSSM
from ._ssm import FractalState as FractalState
from ._streaming import Streaming as Streaming
