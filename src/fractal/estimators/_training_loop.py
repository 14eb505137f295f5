"""What the training loops of estimators share: progress on stderr, and interrupts."""

import signal
import sys
import warnings
from collections.abc import Iterable

from sklearn.exceptions import ConvergenceWarning

from .._progress import progress


def shown(numbers: range, label: str, verbose: bool) -> Iterable[int]:
    """The numbers of epochs or steps, whose progress is shown on a terminal or if `verbose`."""
    if verbose or sys.stderr.isatty():
        return progress(numbers, label, len(numbers))
    return numbers


def was_interrupted(signals: list[int], place: str, *, frames: int) -> bool:
    """Whether Ctrl-C ended the training at `place`, which is a warning.

    Any other signal, such as SIGTERM, acts here as it would have without training. `frames` is the
    number of calls from that of `fit` to this one, both included: the warning names its line.
    """
    for number in signals:
        if number != signal.SIGINT:
            signal.raise_signal(number)
    if not signals:
        return False
    warnings.warn(
        f"training was interrupted in {place}; the best weights so far are kept",
        ConvergenceWarning,
        stacklevel=frames + 1,
    )
    return True
