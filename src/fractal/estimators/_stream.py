"""A stream of samples: a prediction after each of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import UserError
from ..nn import Streaming
from ._cases import first_date, read_case
from ._preparation import Preparation

_BLOCKS = (256, 16)  # steps of the compiled blocks; the remaining samples are single steps


class Stream:
    """Predictions of a fitted estimator after each sample of one series, with carried state.

    Created by the method `stream` of an estimator. The prediction after a sample is that of
    `predict` for the series up to it.
    """

    def __init__(
        self,
        model: Streaming,
        preparation: Preparation,
        answers: Callable[[np.ndarray], Any],
    ):
        self._model, self._preparation, self._answers = model, preparation, answers
        self._last = preparation.start()
        self._origin: np.datetime64 | None = None  # of times that are dates

    def push(self, samples: Any, times: Any = None) -> Any:
        """The predictions after each of the next samples.

        **Arguments:**

        - `samples`: the next samples, (channels, time) or (time,); NaN is a missing value.
        - `times`: their times, (time,), later than those before; in all calls or in none.
        """
        origin = self._origin if self._started else first_date(times)
        case = read_case(samples, times, argument="samples", origin=origin)
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
        if not self._started:
            self._preparation.warn_without_times(stamps)
        self._origin = origin
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
