"""What is trained, on JAX: Phase 2 of the paper's figure."""

from ._scan import linear_scan as linear_scan
from ._ssm import FractalSSM as FractalSSM
from ._ssm import State as State
