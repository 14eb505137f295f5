"""What FRACTAL is compared with, each written from its published formulas.

State-space models: `S5`, `S4`, `S4D`, `DSS`; the Legendre memory unit, `LMU`; attention:
`TransformerBlock` with `Attention` or `Performer`. The first five are mixers for
`fractal.nn.SequenceModel(mixer=…)`, the last a block for `SequenceModel(block=…)`.
"""

from ._s5 import S5 as S5
