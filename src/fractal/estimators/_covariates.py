"""Covariates of a forecast: their number and their scale, which `fit` learns."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .._errors import UserError


class CovariateScale(NamedTuple):
    """Mean and deviation of each covariate in the series of `fit`."""

    mean: Float[np.ndarray, " covariates"]
    deviation: Float[np.ndarray, " covariates"]

    @property
    def size(self) -> int:
        """The number of covariates."""
        return len(self.mean)

    def applied(
        self, covariates: Float[np.ndarray, "rows longer given"], steps: int
    ) -> Float[np.ndarray, "rows longer given"]:
        """Scaled covariates; UserError unless they are those of `fit`, for at least `steps`."""
        given = covariates.shape[2]
        if given != self.size:
            raise UserError(
                f"must have {self.size} covariates as in fit, got {given}", argument="X"
            )
        if not given:
            return covariates
        if covariates.shape[1] < steps:
            raise UserError(f"must have {steps} steps, got {covariates.shape[1]}", argument="X")
        return (covariates - self.mean) / self.deviation


def learn_scale(covariates: Float[np.ndarray, "rows longer covariates"]) -> CovariateScale:
    """Mean and deviation over all rows and steps; 1 for a constant covariate."""
    flat = np.concatenate(list(covariates))
    if not len(flat):
        return CovariateScale(np.zeros(0), np.zeros(0))
    deviation = flat.std(axis=0)
    return CovariateScale(flat.mean(axis=0), np.where(deviation > 0, deviation, 1.0))
