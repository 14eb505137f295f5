"""A fit that raises leaves the estimator as it was."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def unchanged_on_error(estimator: object) -> Iterator[None]:
    """Restore the attributes of an estimator if the block raises.

    Fits replace fitted attributes and do not modify them in place: references suffice.
    """
    attributes = vars(estimator)
    before = dict(attributes)
    try:
        yield
    except BaseException:
        attributes.clear()
        attributes.update(before)
        raise
