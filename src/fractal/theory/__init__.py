"""The mathematics of FRACTAL in NumPy: measures, operators, spectra, projections.

Computed once, in float64. Derivations are in docs/theory.md.

>>> from fractal import theory
>>> m = theory.Fractional(alpha=0.5)
>>> print(f"{m.recent_share(0.1):.3f}")  # mass of the most recent tenth
0.316
>>> spectrum = theory.diagonalize(theory.operator(m, order=16))
>>> bool(spectrum.eigenvalues.real.min() > 0.5)
True
"""

from ._measures import Fractional as Fractional
from ._measures import LagT as LagT
from ._measures import LegS as LegS
from ._measures import LegT as LegT
from ._measures import Measure as Measure
from ._modes import LARGEST_ALPHA as LARGEST_ALPHA
from ._modes import Modes as Modes
from ._modes import modes as modes
from ._operators import Operator as Operator
from ._operators import operator as operator
from ._projection import project as project
from ._projection import recall as recall
from ._published import published_operator as published_operator
from ._published import published_spectrum as published_spectrum
from ._published import to_legs as to_legs
from ._spectrum import IllConditioned as IllConditioned
from ._spectrum import Spectrum as Spectrum
from ._spectrum import diagonalize as diagonalize
