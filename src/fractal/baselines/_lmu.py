"""The Legendre memory unit: a sliding window as Legendre polynomials (Voelker et al., 2019)."""

import functools
from typing import SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from .._checks import check_count, check_flag, check_positive
from .._engine.inputs import (
    check_key,
    check_padding,
    check_sample,
    check_sequence,
    compiled_call,
    compiled_step,
    without_padding,
)
from ._convolution import check_causal, check_rescale

CHUNK = 32
_EXACT = jax.lax.Precision.HIGHEST


class LMU(eqx.Module):
    """h_t = tanh(W_x x_t + W_m m_t + b), where m_t keeps a window of signals e·x.

    The linear form, which runs in parallel over time: the signals are read from the input alone,
    not from h and m of the step before. One signal is too narrow for a layer of many channels, so
    there are several memories, each with an encoder e of its own. The memory's matrices are those
    of a delay of `window` steps, held samples, and are not trained.

    >>> import jax
    >>> from fractal.baselines import LMU
    >>> lmu = LMU(width=4, order=8, memories=2, window=50, key=jax.random.key(0))
    >>> y, state = lmu(jax.numpy.ones((100, 4)))
    >>> y.shape, state.shape
    ((100, 4), (2, 8))
    """

    encoders: Float[Array, "memories width"]
    W_x: Float[Array, "width width"]
    W_m: Float[Array, "width read"]
    bias: Float[Array, " width"]
    order: int = eqx.field(static=True)
    window: float = eqx.field(static=True)
    bidirectional: bool = eqx.field(static=True)

    def __init__(
        self,
        width: SupportsIndex,
        *,
        order: SupportsIndex = 16,
        memories: SupportsIndex = 8,
        window: float = 1024.0,
        bidirectional: bool = False,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `width`: number of input and output channels.
        - `order`: number of polynomials of a memory.
        - `memories`: number of encoded signals, each with its memory.
        - `window`: θ, how many steps a memory reaches back.
        - `bidirectional`: read from memories of what comes after, too, with the same encoders.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        self.order = check_count("order", order, smallest=1)
        memories = check_count("memories", memories, smallest=1)
        self.window = check_positive("window", window)
        self.bidirectional = bidirectional
        read = memories * self.order * (2 if bidirectional else 1)
        self.encoders, self.W_x, self.W_m = _draw(key, width=width, memories=memories, read=read)
        self.bias = jnp.zeros(width)

    def __check_init__(self):
        check_positive("window", self.window)

    @compiled_call
    def __call__(
        self,
        u: ArrayLike,
        state: Float[Array, "memories order"] | None = None,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> tuple[Float[Array, "time width"], Float[Array, "memories order"] | None]:
        """All outputs, and the memories after the last step (None for a bidirectional layer).

        **Arguments:**

        - `u`: the input x, (time, width).
        - `state`: memories to resume from; empty by default.
        - `dt`: how many steps of the window a sample lasts: one number, 1 by default.
        - `lengths`: number of real steps; the rest is padding, which counts as zeros.
        - `mask`: boolean, False at padding.
        """
        u = check_sequence(u, len(self.bias))
        padding = check_padding(lengths, mask, len(u))
        x = without_padding(u.astype(self.bias.dtype), padding.kept)
        if state is not None:
            check_causal(2 if self.bidirectional else 1)
        start = self._empty() if state is None else state
        if len(u) == 0:
            return u, state
        matrices = self._matrices(dt)
        signals = x @ self.encoders.T
        m = _memories(*matrices, signals, start)
        features = [m]
        if self.bidirectional:
            features.append(_memories(*matrices, signals[::-1], start)[::-1])
        h = self._hidden(x, jnp.concatenate([part.reshape(len(u), -1) for part in features], 1))
        return h.astype(u.dtype), None if self.bidirectional else m[-1]

    @compiled_step
    def step(
        self, u: ArrayLike, state: Float[Array, "memories order"], dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " width"], Float[Array, "memories order"]]:
        """One step; u is of shape (width,)."""
        check_causal(2 if self.bidirectional else 1)
        u = check_sample(u, len(self.bias))
        x = u.astype(self.bias.dtype)
        A, B = self._matrices(dt)
        m = state @ A.T + jnp.outer(self.encoders @ x, B)
        return self._hidden(x, m.reshape(-1)).astype(u.dtype), m

    def initial_state(self) -> Float[Array, "memories order"]:
        """The memories before the first sample."""
        check_causal(2 if self.bidirectional else 1)
        return self._empty()

    def _empty(self) -> Float[Array, "memories order"]:
        return jnp.zeros((len(self.encoders), self.order), self.bias.dtype)

    def _hidden(self, x: Array, m: Array) -> Array:
        return jnp.tanh(x @ self.W_x.T + m @ self.W_m.T + self.bias)

    def _matrices(self, dt: ArrayLike | None) -> tuple[Array, Array]:
        """Ā and B̄ of held samples, from the exponential of both together."""
        d = self.order
        together = np.zeros((d + 1, d + 1))
        together[:d, :d], together[:d, d] = _delay(d)
        step = check_rescale(dt, self.bias.dtype) / self.window
        moved = jax.scipy.linalg.expm(step * jnp.asarray(together, self.bias.dtype))
        return moved[:d, :d], moved[:d, d]


def _delay(order: int) -> tuple[Float[np.ndarray, "order order"], Float[np.ndarray, " order"]]:
    """A and B of the delay of one: dm/dt = A m + B u holds u(t − r) = Σ P_n(2r − 1) m_n."""
    n = np.arange(order)
    sign = np.where(n[:, None] < n, -1.0, (-1.0) ** (n[:, None] - n + 1))
    return (2 * n[:, None] + 1) * sign, (2 * n + 1) * (-1.0) ** n


def _memories(
    A: Float[Array, "order order"],
    B: Float[Array, " order"],
    signals: Float[Array, "time memories"],
    start: Float[Array, "memories order"],
) -> Float[Array, "time memories order"]:
    """m_t = A m_{t−1} + B s_t for all t: in chunks, each a product, then from chunk to chunk."""
    length, memories = signals.shape
    chunks = jnp.pad(signals, ((0, -length % CHUNK), (0, 0))).reshape(-1, CHUNK, memories)
    powers = A[None]  # A … A^CHUNK
    while len(powers) < CHUNK:
        powers = jnp.concatenate([powers, powers @ powers[-1]])
    impulse = jnp.concatenate([B[None], powers[:-1] @ B])
    lag = np.arange(CHUNK)[:, None] - np.arange(CHUNK)
    response = jnp.where((lag >= 0)[..., None], impulse[np.maximum(lag, 0)], 0.0)
    local = jnp.einsum("csm,tsd->ctmd", chunks, response, precision=_EXACT)

    def cross(m, end):
        return jnp.matmul(m, powers[-1].T, precision=_EXACT) + end, m

    entering = jax.lax.scan(cross, start, local[:, -1])[1]
    m = local + jnp.einsum("cme,tde->ctmd", entering, powers, precision=_EXACT)
    return m.reshape(-1, *start.shape)[:length]


@functools.partial(jax.jit, static_argnames=("width", "memories", "read"))
def _draw(key: PRNGKeyArray, *, width: int, memories: int, read: int) -> tuple[Array, Array, Array]:
    """Encoders, W_x and W_m, with the variances of the LMU's initializers."""
    keys = jax.random.split(key, 3)
    return (
        jax.random.normal(keys[0], (memories, width)) / np.sqrt(width),
        jax.random.normal(keys[1], (width, width)) / np.sqrt(width),
        jax.random.normal(keys[2], (width, read)) * np.sqrt(2 / (width + read)),
    )
