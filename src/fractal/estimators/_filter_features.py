"""Features of time series without training: how long outputs of random filters are high."""

import numpy as np
from jaxtyping import Float, Float32, Int

from .._bounds import check_memory
from .._checks import check_alpha, check_choice, check_count, check_flag, check_order
from .._errors import UserError
from .._layer_options import check_alphas
from .._options import CLOCKS
from ._filters import draw_filters, outputs, shares_above
from ._padding import PaddedBatch, batches, pad, padded_lengths
from ._preparation import CaseInputs
from ._random_state import seed_of
from ._series_features import SeriesFeatures

_BATCH = 16  # cases per compiled call
_SOURCES = 64  # training cases from which thresholds are drawn
_MOST_OUTPUTS = 2**25  # floats at a time, for thresholds
_SMALLEST_SCALE = 1e-12
_FLOAT = 4  # bytes
_COPIES = 3  # of outputs, while they are computed


class FilterBankFeatures(SeriesFeatures):
    """Random filters of the filter bank, for a linear classifier or regressor of scikit-learn.

    Each filter is a damped oscillation: a mode of the state-space layer with a random decay and
    frequency, which reads a random combination of channels, or of their slopes. Its features are
    the shares of time in which its output exceeds thresholds, which are quantiles of its output
    on training cases. Filters and thresholds are random, as the convolution kernels of ROCKET
    (Dempster et al., 2020), and nothing is trained. Series may have unequal lengths, missing values
    and irregular times. With times, features of smooth series are nearly the same at higher
    sampling rates; at lower rates fast filters are lost.

    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifierCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fractal.estimators import FilterBankFeatures
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 20)
    >>> X = [np.sin((0.2 + 0.1 * label) * np.arange(rng.integers(50, 80))) for label in y]
    >>> features = FilterBankFeatures(100, random_state=0)
    >>> model = make_pipeline(features, StandardScaler(), RidgeClassifierCV()).fit(X, y)
    >>> model.score(X, y)
    1.0

    **Attributes** after `fit`: `n_channels_`; `n_features_in_`, the largest number of steps.
    """

    def __init__(
        self,
        n_filters=1000,
        *,
        n_thresholds=4,
        alphas=None,
        orders=(4, 8, 16, 32, 64),
        clock="uniform",
        differences=True,
        random_state=None,
    ):
        """
        **Arguments:**

        - `n_filters`: number of filters.
        - `n_thresholds`: number of features of each filter.
        - `alphas`: singularity indices of the bank; 8 values from 0 to 0.9 by default.
        - `orders`: orders of bank blocks of which modes are drawn, even.
        - `clock`: `"uniform"`; or `"scale-invariant"`, if sampling rates differ and are not known.
        - `differences`: whether every second filter reads slopes between consecutive samples.
        - `random_state`: a seed makes filters and thresholds reproducible exactly.
        """
        self.n_filters = n_filters
        self.n_thresholds = n_thresholds
        self.alphas = alphas
        self.orders = orders
        self.clock = clock
        self.differences = differences
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features are float32
        return tags

    def _learn(self, series: list[CaseInputs], channels: int) -> None:
        """Draw filters, and thresholds from their outputs."""
        rng = np.random.default_rng(seed_of(self.random_state))
        inputs = series[0].values.shape[1]
        groups = [np.arange(inputs)]
        self._clock, self._slope_scale = self.clock, None
        if self.differences:
            groups.append(np.arange(inputs, inputs + channels))
            slopes = np.concatenate([self._slopes(one, channels) for one in series])
            self._slope_scale = np.maximum(slopes.std(axis=0), _SMALLEST_SCALE)
        spans = [len(one.values) if one.dt is None else float(one.dt.sum()) for one in series]
        self._filters = draw_filters(
            rng,
            int(self.n_filters),
            groups,
            check_alphas(self.alphas),
            list(self.orders),
            self.clock,
            float(np.median(spans)),
        )
        levels = rng.uniform(size=(self.n_filters, self.n_thresholds))
        sources = [series[row] for row in rng.permutation(len(series))[:_SOURCES]]
        self._thresholds = self._quantiles(self._with_slopes(sources, channels), levels)

    def _quantiles(
        self, sources: list[CaseInputs], levels: Float[np.ndarray, "filters thresholds"]
    ) -> Float[np.ndarray, "filters thresholds"]:
        """Quantiles of the output of each filter on one of the sources, which take turns."""
        count, size = len(levels), len(sources)
        each = -(-count // size)  # filters per source
        found = np.empty_like(levels, dtype=np.float32)
        padded = padded_lengths(np.array([len(one.values) for one in sources]))
        for length in np.unique(padded).tolist():
            check_memory(
                _COPIES * _FLOAT * float(max(_MOST_OUTPUTS, length)),
                f"outputs of filters on series of {length:,} steps",
                advice="cut or average the longest series",
            )
            chosen = np.flatnonzero(padded == length)
            rounds = min(each, max(1, _MOST_OUTPUTS // length))
            together = min(len(chosen), max(1, _MOST_OUTPUTS // (length * rounds)))
            for start in range(0, len(chosen), together):
                part = pad(sources, chosen[start : start + together], together, length)
                for first in range(0, each, rounds):
                    turns = size * np.arange(first, first + rounds)
                    self._quantiles_of(part, part.rows[:, None] + turns, levels, found)
        return found

    def _quantiles_of(
        self,
        sources: PaddedBatch,
        filters: Int[np.ndarray, "sources rounds"],
        levels: Float[np.ndarray, "filters thresholds"],
        found: Float32[np.ndarray, "filters thresholds"],
    ) -> None:
        """Write the quantiles of filters on their sources into `found`."""
        missing = len(sources.lengths) - len(filters)
        filters = np.pad(filters, ((0, missing), (0, 0)), mode="edge")
        own = self._filters.of_cases(np.minimum(filters, len(levels) - 1))
        values, dt, lengths, real = sources
        emitted = np.asarray(outputs(own, self._clock, values, dt, lengths))
        for case in range(len(real)):
            for place, row in enumerate(filters[case]):
                if row < len(levels):
                    output = emitted[case, : lengths[case], place]
                    found[row] = np.quantile(output, levels[row])

    def _transformed(self, series: list[CaseInputs]) -> Float[np.ndarray, "cases features"]:
        shape = len(series), *self._thresholds.shape
        check_memory(
            float(_FLOAT) * np.prod(shape, dtype=float),
            f"{shape[1] * shape[2]:,} features of {shape[0]:,} cases",
            advice="lower n_filters or n_thresholds, or transform parts of the cases",
        )
        found = np.empty(shape, np.float32)
        for batch in batches(self._with_slopes(series, self.n_channels_), _BATCH):
            shares = shares_above(self._thresholds, self._filters, self._clock, *batch[:3])
            found[batch.rows] = np.asarray(shares)[: len(batch.rows)]
        return found.reshape(len(series), -1)

    def _names(self) -> list[str]:
        """Names such as `filter17_share2`."""
        filters, thresholds = self._thresholds.shape
        return [f"filter{i}_share{j}" for i in range(filters) for j in range(thresholds)]

    def _check_settings(self) -> None:
        check_count("n_filters", self.n_filters, 1)
        check_count("n_thresholds", self.n_thresholds, 1)
        for alpha in check_alphas(self.alphas):
            check_alpha(alpha)
        if not isinstance(self.orders, list | tuple) or not self.orders:
            raise UserError("must be a list of at least one number", argument="orders")
        for order in self.orders:
            check_order(order)
        check_choice("clock", self.clock, CLOCKS)
        check_flag("differences", self.differences)

    def _with_slopes(self, series: list[CaseInputs], channels: int) -> list[CaseInputs]:
        """The inputs of the filters: values, and scaled slopes if asked for."""
        scale = self._slope_scale
        if scale is None:
            return series
        both = [(one.values, self._slopes(one, channels) / scale) for one in series]
        return [
            one._replace(values=np.concatenate(parts, axis=1).astype(np.float32))
            for one, parts in zip(series, both, strict=True)
        ]

    def _slopes(self, one: CaseInputs, channels: int) -> Float[np.ndarray, "time channels"]:
        """Change of each channel per unit of the clock's time; 0 at the first sample."""
        values = one.values[:, :channels].astype(np.float64)
        elapsed = np.ones(len(values)) if one.dt is None else one.dt.astype(np.float64)
        if self._clock == "scale-invariant":
            ends = np.cumsum(elapsed)
            elapsed = np.log(ends / np.concatenate([ends[:1], ends[:-1]]))
        elapsed[0] = 1.0
        return np.diff(values, axis=0, prepend=values[:1]) / elapsed[:, None]
