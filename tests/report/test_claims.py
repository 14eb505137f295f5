import math

import pytest

from fractal import theory
from fractal.report.paper_tables import condition_numbers
from fractal.report.verification import verify

# docs/theory.md §7: what does not do what the paper says.
REFUTED = [
    "the LTV dynamics of the projection are exact",
    "for α > 0, B amplifies high frequencies more than LegS",
    "A_nk has no closed form for α > 0",
    "α moves the memory from global history to recent detail",
    "ZOH: B̄ = A⁻¹(Ā − I)B",
    "direct eigendecomposition of A(α) gives a robust initialisation",
    "quadrature confirms |A_nn − (n+1)| < 1e-12 for N ≤ 64",
    "at α = 0.5 the most recent 10 % of history has 5.1 % of the weight",
    "average of the S5 row",
    "its caption: baselines are taken from the S5 paper",
    "A(0.5) for N = 5",
    "κ(V) of the published A stays acceptable up to α = 0.9, N = 64",
]


@pytest.fixture(scope="module")
def claims():
    return {claim.statement: claim for claim in verify()}


def test_all_errata_are_found_and_nothing_else_is_refuted(claims):
    assert [c.statement for c in claims.values() if c.verdict == "refuted"] == REFUTED


def test_our_own_properties_hold(claims):
    assert [c.statement for c in claims.values() if c.verdict == "fails"] == []
    assert sum(c.verdict == "holds" for c in claims.values()) == 10


def test_every_measured_value_is_a_number(claims):
    assert all(math.isfinite(claim.value) for claim in claims.values())


def test_a_broken_operator_is_noticed(monkeypatch):
    """The verdicts come from measurement: with a wrong closure our own properties fail."""
    from fractal.report import own_claims
    from fractal.theory import _operators

    def wrong(alpha, order):
        A, B = _operators.published_pair(alpha, order)
        return 1.01 * A, B

    monkeypatch.setattr(_operators, "fractional_pair", wrong)
    assert own_claims.exact_on_polynomials().verdict == "fails"
    assert own_claims.legs_at_zero().verdict == "fails"


def test_condition_table_has_every_printed_entry_beside_the_exact_one():
    table = condition_numbers()
    assert len(table) == 24
    worst = max(math.log10(row.published / row.printed) for row in table)
    assert 44 < worst < 46
    for row in table:
        if row.alpha:
            op = theory.operator(theory.Fractional(row.alpha), row.order)
            assert row.fractional == pytest.approx(theory.diagonalise(op).condition)
