"""The Legendre memory unit, with a sliding-window memory (Voelker et al., 2019)."""

import functools
import math
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
    mask_padding,
)
from ._convolution import check_causal, check_scalar_dt

CHUNK = 32
_PRECISION = jax.lax.Precision.HIGHEST  # full precision on all devices


class LMU(eqx.Module):
    """h_t = tanh(W_x x_t + W_m m_t + b), where m_t represents a window of the signals e·x.

    This is the parallelizable form: the encoded signals depend on the input only, not on the
    previous h and m. A layer has several memories, each with a separate encoder e. The matrices of
    the memory are those of a delay of `window` steps with zero-order hold. They are not trained.

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
        - `order`: number of Legendre polynomials per memory.
        - `memories`: number of encoded signals, with one memory each.
        - `window`: length θ of the window in steps.
        - `bidirectional`: add memories of the later steps, with the same encoders.
        """
        key = check_key(key)
        width = check_count("width", width, smallest=1)
        bidirectional = check_flag("bidirectional", bidirectional)
        self.order = check_count("order", order, smallest=1)
        memories = check_count("memories", memories, smallest=1)
        self.window = check_positive("window", window)
        self.bidirectional = bidirectional
        read = memories * self.order * (2 if bidirectional else 1)
        self.encoders, self.W_x, self.W_m = _init_parameters(
            key, width=width, memories=memories, read=read
        )
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
        """Outputs, and the memories after the last step (None if bidirectional).

        **Arguments:**

        - `u`: the input x, (time, width).
        - `state`: memories to resume from; zero by default.
        - `dt`: duration of a sample in units of the window: one number, 1 by default.
        - `lengths`: number of real steps; later steps are padding, treated as zeros.
        - `mask`: boolean, False at padding.
        """
        u = check_sequence(u, len(self.bias))
        padding = check_padding(lengths, mask, len(u))
        x = mask_padding(u.astype(self.bias.dtype), padding.kept)
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
        """Output (width,) for one sample u (width,), and the next memories."""
        check_causal(2 if self.bidirectional else 1)
        u = check_sample(u, len(self.bias))
        x = u.astype(self.bias.dtype)
        A, B = self._matrices(dt)
        m = state @ A.T + jnp.outer(self.encoders @ x, B)
        return self._hidden(x, m.reshape(-1)).astype(u.dtype), m

    def initial_state(self) -> Float[Array, "memories order"]:
        """The memories before the first sample: zero."""
        check_causal(2 if self.bidirectional else 1)
        return self._empty()

    def _empty(self) -> Float[Array, "memories order"]:
        return jnp.zeros((len(self.encoders), self.order), self.bias.dtype)

    def _hidden(self, x: Array, m: Array) -> Array:
        bias = jax.lax.broadcast_to_rank(self.bias, x.ndim)
        return jnp.tanh(x @ self.W_x.T + m @ self.W_m.T + bias)

    def _matrices(self, dt: ArrayLike | None) -> tuple[Array, Array]:
        """Ā and B̄ for zero-order hold, by the exponential of the augmented matrix."""
        d = self.order
        augmented = np.zeros((d + 1, d + 1))
        augmented[:d, :d], augmented[:d, d] = _delay(d)
        step = check_scalar_dt(dt, self.bias.dtype) / self.window
        discrete = jax.scipy.linalg.expm(step * jnp.asarray(augmented, self.bias.dtype))
        return discrete[:d, :d], discrete[:d, d]


def _delay(order: int) -> tuple[Float[np.ndarray, "order order"], Float[np.ndarray, " order"]]:
    """A and B of a delay of length 1: dm/dt = A m + B u with u(t − r) ≈ Σ P_n(2r − 1) m_n."""
    n = np.arange(order)
    sign = np.where(n[:, None] < n, -1.0, (-1.0) ** (n[:, None] - n + 1))
    return (2 * n[:, None] + 1) * sign, (2 * n + 1) * (-1.0) ** n


def _memories(
    A: Float[Array, "order order"],
    B: Float[Array, " order"],
    signals: Float[Array, "time memories"],
    start: Float[Array, "memories order"],
) -> Float[Array, "time memories order"]:
    """m_t = A m_{t−1} + B s_t: matrix products within chunks, then a scan over chunks."""
    length, memories = signals.shape
    chunks = jnp.pad(signals, ((0, -length % CHUNK), (0, 0))).reshape(-1, CHUNK, memories)
    powers = A[None]  # A … A^CHUNK
    while len(powers) < CHUNK:
        powers = jnp.concatenate([powers, powers @ powers[-1]])
    impulse = jnp.concatenate([B[None], powers[:-1] @ B])
    lag = np.arange(CHUNK)[:, None] - np.arange(CHUNK)
    response = jnp.where((lag >= 0)[..., None], impulse[np.maximum(lag, 0)], 0.0)
    local = jnp.einsum("csm,tsd->ctmd", chunks, response, precision=_PRECISION)

    def next_chunk(m, final):
        return jnp.matmul(m, powers[-1].T, precision=_PRECISION) + final, m

    initial = jax.lax.scan(next_chunk, start, local[:, -1])[1]
    m = local + jnp.einsum("cme,tde->ctmd", initial, powers, precision=_PRECISION)
    return m.reshape(-1, *start.shape)[:length]


@functools.partial(jax.jit, static_argnames=("width", "memories", "read"))
def _init_parameters(
    key: PRNGKeyArray, *, width: int, memories: int, read: int
) -> tuple[Array, Array, Array]:
    """Encoders, W_x and W_m, with the variances of the published initializers."""
    keys = jax.random.split(key, 3)
    return (
        jax.random.normal(keys[0], (memories, width)) / math.sqrt(width),
        jax.random.normal(keys[1], (width, width)) / math.sqrt(width),
        jax.random.normal(keys[2], (width, read)) * math.sqrt(2 / (width + read)),
    )
