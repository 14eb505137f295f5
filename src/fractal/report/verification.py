"""Every claim that can be checked: the paper's text, its tables, and our own properties."""

from . import own_claims, paper_claims, paper_tables
from .claims import Claim


def verify() -> list[Claim]:
    """All claims, measured now."""
    return [*paper_claims.claims(), *paper_tables.claims(), *own_claims.claims()]
