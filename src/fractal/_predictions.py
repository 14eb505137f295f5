"""Predictions of a model, and their losses."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num


class Predictions(NamedTuple):
    """Outputs of a model for the examples of a split, and what they should be.

    - `logits`: scores of the classes, or values of a regression.
    - `targets`: classes (examples,), or values of a regression.
    """

    logits: Float[np.ndarray, "examples outputs"]
    targets: Num[np.ndarray, "examples *outputs"]

    @property
    def classes(self) -> bool:
        """Whether the targets are classes."""
        return np.issubdtype(self.targets.dtype, np.integer) and self.targets.ndim == 1

    def losses(self) -> Float[np.ndarray, " examples"]:
        """Cross-entropy, or mean squared error, of each example."""
        logits = self.logits.astype(np.float64)
        if not self.classes:
            return np.mean((logits - self.targets.reshape(logits.shape)) ** 2, axis=1)
        shifted = logits - logits.max(axis=1, keepdims=True)
        of_target = np.take_along_axis(shifted, self.targets[:, None], axis=1)[:, 0]
        return np.log(np.exp(shifted).sum(axis=1)) - of_target

    def correct(self) -> Int[np.ndarray, " examples"]:
        """1 for each example whose class is predicted, 0 for the others."""
        return (self.logits.argmax(axis=1) == self.targets).astype(np.int64)
