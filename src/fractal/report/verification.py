"""All claims that can be checked: text and tables of the paper, properties of this library."""

from . import own_claims, paper_claims, paper_tables
from .claims import Claim


def verify() -> list[Claim]:
    """All claims, measured now."""
    return [*paper_claims.claims(), *paper_tables.claims(), *own_claims.claims()]
