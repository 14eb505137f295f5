"""The seed of a fit, from scikit-learn's `random_state`."""

from typing import Any

from sklearn.utils import check_random_state

from .._errors import UserError

SEEDS = 2**31 - 1


def seed_of(random_state: Any) -> int:
    """A number below `SEEDS`: fixed for a seed, the next of a generator, random for None."""
    try:
        return int(check_random_state(random_state).randint(SEEDS))
    except ValueError:
        raise UserError(
            f"must be None, an integer from 0 to 2³² − 1 or a RandomState, "
            f"got {random_state!r:.60}",
            argument="random_state",
        ) from None
