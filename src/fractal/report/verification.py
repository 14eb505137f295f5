"""All claims that can be checked: text and tables of the paper, properties of this library."""

import functools

from . import own_claims, paper_claims, paper_tables
from .claims import Claim


@functools.cache
def verify() -> tuple[Claim, ...]:
    """All claims, measured once per process."""
    return (*paper_claims.claims(), *paper_tables.claims(), *own_claims.claims())
