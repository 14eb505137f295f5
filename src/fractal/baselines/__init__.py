"""Baselines: independent implementations from the published formulas.

- State-space models: `S5`, `S4`, `S4D`, `DSS`.
- Legendre memory unit: `LMU`.
- Attention: `TransformerBlock` with `Attention` or `Performer`.

`S5`, `S4`, `S4D`, `DSS` and `LMU` are mixers for `fractal.nn.SequenceModel(mixer=…)`.
`TransformerBlock` is a block for `SequenceModel(block=…)`.
"""

from ._attention import Attention as Attention
from ._attention import AttentionState as AttentionState
from ._dss import DSS as DSS
from ._lmu import LMU as LMU
from ._performer import Performer as Performer
from ._performer import PerformerState as PerformerState
from ._s4 import S4 as S4
from ._s4 import S4State as S4State
from ._s4d import S4D as S4D
from ._s5 import S5 as S5
from ._transformer import TransformerBlock as TransformerBlock
