"""Labels and targets: one per case."""

import sys
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._errors import UserError
from ._cases import CaseSet


def one_per_case(y: Any, cases: CaseSet, *, columns: bool = False) -> np.ndarray:
    """The entries of y in the order of the cases.

    **Arguments:**

    - `y`: (cases,), or a pandas series or data frame whose index are the ids of a long table.
    - `columns`: whether y may have shape (cases, outputs).
    """
    if y is None:
        raise UserError(
            "must be given: requires y to be passed, but the target y is None", argument="y"
        )
    pandas = sys.modules.get("pandas")
    if cases.ids is not None and pandas and isinstance(y, pandas.Series | pandas.DataFrame):
        known = [name for name in cases.ids if name in y.index]
        # An index that has none of the ids is no index of ids: y is in the order of the cases.
        if known and (len(known) < len(cases) or not y.index.is_unique):
            raise UserError(
                "must have one entry per id of the table; without ids, pass an array in the order "
                "of the cases",
                argument="y",
            )
        y = y.loc[list(cases.ids)] if known else y
    array = np.asarray(y)
    if not (columns and array.ndim == 2):
        array = column_or_1d(array, warn=True)
    if len(array) != len(cases):
        raise UserError(
            f"must have one entry per case: inconsistent numbers, {len(cases)} cases and "
            f"{len(array)} entries",
            argument="y",
        )
    return array


def numbers_of(y: Any, cases: CaseSet, estimator: Any) -> Float[np.ndarray, "cases *outputs"]:
    """The targets of each case, finite, (cases,) or (cases, outputs)."""
    return check_array(
        one_per_case(y, cases, columns=True),
        ensure_2d=False,
        dtype="float64",
        input_name="y",
        estimator=estimator,
    )


def labels_of(y: Any, cases: CaseSet) -> np.ndarray:
    """The label of each case; none is missing, and they can be sorted."""
    labels = one_per_case(y, cases)
    given = y if isinstance(y, list | tuple) else labels  # NumPy makes text of NaN among text
    for index, label in enumerate(given):
        if _is_missing(label):
            raise UserError(
                f"must have a label for every case, got {label!r} for case {index}", argument="y"
            )
    try:
        check_classification_targets(labels)
        np.unique(labels)
    except TypeError:
        raise UserError("must have labels that can be sorted", argument="y") from None
    return labels


def _is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, NaT or NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # NA of pandas is neither true nor false
        return True
