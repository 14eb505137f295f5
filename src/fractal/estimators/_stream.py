"""A stream of samples: a prediction after each of them."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import UserError
from ..nn import SequenceModel, Streaming
from ._cases import read_case
from ._preparation import Preparation

_BLOCKS = (256, 16)  # steps of the compiled blocks; the remaining samples are single steps

_compiled: tuple[SequenceModel, Streaming] | None = None  # of the last model that had a stream


def _streaming(model: SequenceModel) -> Streaming:
    """A new stream of a model. The streams of one model share its compiled programs."""
    global _compiled
    if _compiled is None or _compiled[0] is not model:
        _compiled = model, Streaming(model)
    stream = copy.copy(_compiled[1])
    stream.state = model.initial_state()
    return stream


class Stream:
    """Predictions of a fitted estimator after each sample of one series, with carried state.

    Created by the method `stream` of an estimator. The prediction after a sample is that of
    `predict` for the series up to it.
    """

    def __init__(
        self,
        model: SequenceModel,
        preparation: Preparation,
        answers: Callable[[np.ndarray], Any],
    ):
        self._model, self._preparation, self._answers = _streaming(model), preparation, answers
        self._last = preparation.start()

    def push(self, samples: Any, times: Any = None) -> Any:
        """The predictions after each of the next samples.

        **Arguments:**

        - `samples`: the next samples, (channels, time) or (time,); NaN is a missing value.
        - `times`: their times, (time,), later than those before; in all calls or in none.
        """
        case = read_case(samples, times, argument="samples")
        channels = len(self._preparation.mean)
        if case.channels != channels:
            raise UserError(
                f"must have shape ({channels}, time), got {case.values[0].T.shape}",
                argument="samples",
            )
        stamps = None if case.times is None else case.times[0]
        before = self._last.time
        if self._started and (stamps is None) != (before is None):
            raise UserError("must be given in all calls or in none", argument="times")
        if stamps is not None and before is not None and stamps[0] <= before:
            raise UserError(
                f"must be later than the last one, {before:g}, got {stamps[0]:g}", argument="times"
            )
        series, self._last = self._preparation.extend(case.values[0], stamps, self._last)
        outputs, start = [], 0
        while start < len(series.values):
            size = next((size for size in _BLOCKS if start + size <= len(series.values)), 1)
            block = slice(start, start + size)
            dt = None if series.dt is None else series.dt[block]
            if size == 1:
                one = self._model.step(series.values[start], None if dt is None else dt[0])
                outputs.append(np.asarray(one)[None])
            else:
                outputs.append(np.asarray(self._model.extend(series.values[block], dt)))
            start += size
        return self._answers(np.concatenate(outputs))

    @property
    def _started(self) -> bool:
        return bool(np.any(self._model.state.steps))
