"""Claims in the text of the paper, measured. Sources: §, App. and Table are the paper's."""

from . import paper_measure, paper_operator, paper_spectrum
from .claims import Claim


def claims() -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        paper_operator.exact_dynamics(),
        paper_operator.endpoint_formula(),
        paper_operator.high_frequencies(),
        paper_operator.triangular(),
        paper_operator.no_closed_form(),
        paper_operator.growth_far_from_diagonal(),
        paper_operator.interpolation(),
        *paper_spectrum.zoh(),
        paper_spectrum.direct_eigendecomposition(),
        paper_measure.unit_mass(),
        paper_measure.scale_invariant_measure(),
        paper_measure.orthonormal_basis(),
        paper_operator.diagonal_by_quadrature(),
        paper_operator.monotone(),
        paper_spectrum.eigenvalues(),
        paper_operator.regularized_weight(),
        paper_measure.recent_share(),
    ]
