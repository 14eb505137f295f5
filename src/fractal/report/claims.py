"""A claim: the published or required value, the measured value, and the verdict."""

import dataclasses
from typing import Literal

import numpy as np

Verdict = Literal["confirmed", "refuted", "holds", "fails"]


@dataclasses.dataclass(frozen=True)
class Claim:
    """One row of the verification.

    A claim of the paper is `confirmed` or `refuted`; a property of this library `holds` or `fails`.
    `value` is the number behind `measured`.
    """

    source: str
    statement: str
    published: str
    measured: str
    value: float
    verdict: Verdict


def of_paper(
    source: str, statement: str, published: str, measured: str, value: float, true: bool | np.bool_
) -> Claim:
    verdict = "confirmed" if true else "refuted"
    return Claim(source, statement, published, measured, float(value), verdict)


def of_ours(
    source: str, statement: str, required: str, measured: str, value: float, true: bool | np.bool_
):
    return Claim(source, statement, required, measured, float(value), "holds" if true else "fails")
