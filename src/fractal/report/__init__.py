"""Reports: HTML pages about runs and about the paper's claims, and the claims, measured.

The pages need the extra `report`; the claims need NumPy only.
"""

from ._write import write_report as write_report
from .claims import Claim as Claim
from .verification import verify as verify
