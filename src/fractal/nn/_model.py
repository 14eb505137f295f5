"""The sequence model: encoder, residual blocks, pooling, head."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, SupportsIndex, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt32

from .._bounds import check_memory
from .._checks import check_choice, check_count, check_flag, check_probability
from .._engine.inputs import check_array, check_concrete, check_key, check_padding, check_tokens
from .._engine.sharding import check_axis, from_last, part_number, total, total_length
from ._block import GATES, Block, Mixer, Residual, WithStatistics, dense, sharding_of
from ._linear import OneHotLinear, linear
from ._norms import BATCH_AXIS, NORMS, LayerNorm, Statistics
from ._positions import add_steps, no_steps, sinusoids, steps_as_float, table_rows
from ._running_sum import accumulate
from ._ssm import FractalSSM

SequenceTask = Literal["classification", "regression", "retrieval", "next-token"]
Pooling = Literal["mean", "last", "none"]
Positions = Literal["none", "sinusoid", "learned"]
Encoder = Literal["embedding", "one-hot"]
Masking = Literal["all", "pooling"]
DType = Literal["float32", "bfloat16", "float64"]
_PAIR_AXIS = "pair"


class ModelState(NamedTuple):
    """State of a streaming model.

    **Fields:**

    - `mixers`: states of the mixers.
    - `steps`: number of steps, as lower and upper 32 bits.
    - `total`, `total_lost`: sum of the features for `pooling="mean"`, otherwise None; and what
      rounding removed from it, in two words of decreasing size.
    """

    mixers: tuple[Any, ...]
    steps: UInt32[Array, "2"]
    total: Float[Array, " width"] | None
    total_lost: Float[Array, "2 width"] | None


class RetrievalHead(eqx.Module):
    """Head for pairs of documents: an MLP of their features, difference and product."""

    hidden: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, width: int, outputs: int, *, dense_init: str = "uniform", key: PRNGKeyArray):
        width = check_count("width", width, smallest=1)
        outputs = check_count("outputs", outputs, smallest=1)
        keys = jax.random.split(check_key(key))
        self.hidden = linear(4 * width, width, dense_init, key=keys[0])
        self.out = linear(width, outputs, dense_init, key=keys[1])

    def __call__(
        self, one: Float[Array, " width"], two: Float[Array, " width"]
    ) -> Float[Array, " outputs"]:
        """Logits for the features of two documents, each of shape (width,)."""
        pair = jnp.concatenate([one, two, one - two, one * two])
        return self.out(jax.nn.gelu(self.hidden(pair.astype(self.hidden.weight.dtype))))


class SequenceModel(eqx.Module):
    """A model for sequence classification, regression, retrieval and next-token prediction.

    The model processes one sequence; use `jax.vmap` for a batch (with `axis_name="batch"` for
    `norm="batch"`). A call is inference; `training` adds dropout and batch statistics.

    >>> import jax
    >>> from fractal.nn import SequenceModel
    >>> model = SequenceModel(inputs=20, outputs=10, width=16, depth=2, key=jax.random.key(0))
    >>> tokens = jax.random.randint(jax.random.key(1), (5, 100), 0, 20)
    >>> jax.vmap(model)(tokens).shape
    (5, 10)
    """

    encoder: eqx.nn.Embedding | OneHotLinear | eqx.nn.Linear
    blocks: tuple[Residual, ...]
    final_norm: LayerNorm | None
    head: eqx.nn.Linear | RetrievalHead
    table: Float[Array, "length width"] | None
    task: str = eqx.field(static=True)
    pooling: str = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    positions: str = eqx.field(static=True)
    remat: bool = eqx.field(static=True, default=False)
    masking: str = eqx.field(static=True, default="all")

    def __init__(
        self,
        inputs: SupportsIndex,
        outputs: SupportsIndex,
        *,
        width: SupportsIndex = 128,
        depth: SupportsIndex = 4,
        task: str = "classification",
        tokens: bool = True,
        pooling: str | None = None,
        gate: str | None = None,
        norm: str | None = None,
        dropout: float | None = None,
        norm_momentum: float | None = None,
        encoder: str | None = None,
        dense_init: str = "uniform",
        masking: str = "all",
        dtype: str = "float32",
        mixer: Callable[..., Mixer] | None = None,
        block: Callable[..., Residual] | None = None,
        positions: str = "none",
        length: SupportsIndex | None = None,
        final_norm: bool = False,
        remat: bool = False,
        key: PRNGKeyArray,
    ):
        """
        **Arguments:**

        - `inputs`: size of the vocabulary, or number of channels of real-valued input.
        - `outputs`: number of classes or regression targets, or size of the output vocabulary.
        - `width`, `depth`: number of channels and number of blocks.
        - `task`: `"classification"` and `"regression"`: one output per sequence, or one per step
          with `pooling="none"`; `"retrieval"`: one output per pair of sequences; `"next-token"`:
          logits per step. `SequenceModel(task=…)` takes `Task.kind`, not the name of a task.
        - `tokens`: whether the input is token ids, (time,), or values, (time, inputs).
        - `pooling`: `"mean"` (default), `"last"` or `"none"` (the default of `"next-token"`).
        - `gate`, `norm`, `dropout`, `norm_momentum`: options of `Block`.
        - `encoder`: for tokens: `"embedding"` (default), with weights of variance 1; or
          `"one-hot"`, a linear map of one-hot tokens with bias, as in S5.
        - `dense_init`: initialization of linear layers with n inputs, those of blocks included:
          `"uniform"` in ±1/√n, biases too; or `"lecun"`, normal with variance 1/n and biases 0, as
          in S5.
        - `masking`: `"all"`: padding has no effect; `"pooling"`: it is left out of the pooling
          only, as in the published S5. Scans and batch statistics then include it, as token 0 or
          as zeros, and outputs may depend on its length.
        - `dtype`: dtype of activations, `"float32"`, `"bfloat16"` or `"float64"`. Parameters and
          the scan are not affected.
        - `mixer`: called as `mixer(width, key=key)` once per block; `FractalSSM` by default. Set
          options by `functools.partial(FractalSSM, order=32, clock="scale-invariant")`.
        - `block`: called as `block(width, key=key)` once per block, instead of `Block`. Excludes
          `mixer` and options of `Block`; `dense_init` is then that of encoder and head only.
        - `positions`: position embedding, for mixers that are invariant to order: `"none"`,
          `"sinusoid"` or `"learned"`.
        - `length`: maximum number of steps for `positions="learned"`. A stream that is longer uses
          the last embedding.
        - `final_norm`: whether to add a layer norm after the last block.
        - `remat`: in training, keep only the input of each block and recompute the rest for the
          gradient, at the cost of one more forward pass. How much memory this saves depends on
          the order in which XLA schedules the operations; on CPUs little was measured.
        """
        key = check_key(key)
        inputs = check_count("inputs", inputs, smallest=1)
        outputs = check_count("outputs", outputs, smallest=1)
        width = check_count("width", width, smallest=1)
        depth = check_count("depth", depth, smallest=0)
        pooling = ("none" if task == "next-token" else "mean") if pooling is None else pooling
        _check_choices(task, pooling, dtype, positions, masking)
        tokens, final_norm = check_flag("tokens", tokens), check_flag("final_norm", final_norm)
        options = {"mixer": mixer, "gate": gate, "norm": norm, "dropout": dropout}
        options["norm_momentum"] = norm_momentum
        block_options = {name: value for name, value in options.items() if value is not None}
        if block is not None and block_options:
            raise ValueError(f"{' and '.join(block_options)} cannot be given together with block")
        make_mixer = block_options.pop("mixer", FractalSSM)
        for name, factory in (("mixer", make_mixer), ("block", block or make_mixer)):
            if not callable(factory):
                raise ValueError(f"{name} must be callable, got {factory!r}")
        if gate is not None:
            check_choice("gate", gate, GATES)
        if norm is not None:
            check_choice("norm", norm, tuple(NORMS))
        if dropout is not None:
            check_probability("dropout", dropout)
        if (positions == "learned") != (length is not None):
            raise ValueError("length must be given if and only if positions='learned'")
        if dtype == "float64" and not jax.config.read("jax_enable_x64"):
            raise ValueError("dtype='float64' needs jax.config.update('jax_enable_x64', True)")
        if task == "next-token" and pooling != "none":
            raise ValueError(f"pooling must be 'none' for task='next-token', got {pooling!r}")
        if task == "retrieval" and pooling == "none":
            raise ValueError("pooling must be 'mean' or 'last' for task='retrieval', got 'none'")
        keys = jax.random.split(key, 2 * depth + 3)
        weights = 4.0 * width * (inputs + outputs + depth * width)
        check_memory(weights, f"width={width}, depth={depth}, inputs={inputs}, outputs={outputs}")
        self.encoder = _make_encoder(encoder, tokens, inputs, width, dense_init, keys[0])
        self.blocks = tuple(
            block(width, key=one)
            if block is not None
            else Block(
                make_mixer(width, key=one),
                width,
                **block_options,
                dense_init=dense_init,
                key=two,
            )
            for one, two in zip(keys[2:-1:2], keys[3:-1:2], strict=True)
        )
        for made in self.blocks:
            if not isinstance(made, Residual):
                raise ValueError(
                    "block must return a module with __call__, training, step and mixer, as Block "
                    f"has, got {type(made).__name__}"
                )
        if task == "next-token" and any(block.mixer.bidirectional for block in self.blocks):
            raise ValueError("task='next-token' needs a causal mixer, got a bidirectional one")
        if task == "retrieval":
            self.head = RetrievalHead(width, outputs, dense_init=dense_init, key=keys[1])
        else:
            self.head = linear(width, outputs, dense_init, key=keys[1])
        self.final_norm = LayerNorm(width) if final_norm else None
        self.table = None
        if length is not None:
            rows = check_count("length", length, smallest=1)
            self.table = 0.02 * jax.random.normal(keys[-1], (rows, width))
        self.task, self.pooling, self.dtype, self.positions = task, pooling, dtype, positions
        self.remat, self.masking = check_flag("remat", remat), masking

    def __check_init__(self):
        _check_choices(self.task, self.pooling, self.dtype, self.positions, self.masking)
        check_flag("remat", self.remat)
        if isinstance(self.head, RetrievalHead) != (self.task == "retrieval"):
            raise ValueError(f"head is inconsistent with task={self.task!r}")
        if (self.table is None) != (self.positions != "learned"):
            raise ValueError(f"table is inconsistent with positions={self.positions!r}")

    def __call__(
        self,
        x: ArrayLike,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        axis_name: str | None = None,
    ) -> Float[Array, "..."]:
        """Logits or predictions: (outputs,), or (time, outputs) without pooling.

        **Arguments:**

        - `x`: token ids (time,) or values (time, inputs); for retrieval a stack of two sequences.
        - `dt`: durations of the samples: a scalar, or one per step (of each sequence).
        - `lengths`: number of real steps (of each sequence); later steps are padding.
        - `mask`: boolean, False at padding, of the shape of x without channels. `lengths` is
          faster.
        - `axis_name`: inside `jax.shard_map`, the mesh axis over which time is sharded. `x`, `mask`
          and `dt` with a time axis are then the parts of one device, and so are outputs without
          pooling; `lengths` counts the steps of all parts.
        """
        return self._run(x, dt, lengths, mask, None, axis_name)[0]

    def training(
        self,
        x: ArrayLike,
        dt: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        *,
        key: PRNGKeyArray,
        axis_name: str | None = None,
    ) -> tuple[Float[Array, "..."], tuple[Statistics | None, ...]]:
        """Outputs during training, and the updated running averages of batch norms.

        Pass the averages to `with_statistics`. They are equal for all sequences of a batch: use
        `jax.vmap(…, axis_name="batch", out_axes=(0, None))`. `key` is the same on all devices of
        `axis_name`; `norm="batch"` then needs `jax.shard_map(…, check_vma=False)`.
        """
        return self._run(x, dt, lengths, mask, check_key(key), axis_name)

    def with_statistics(self, statistics: Sequence[Statistics | None]) -> "SequenceModel":
        """A copy of the model with the running averages returned by `training`."""
        if not isinstance(statistics, Sequence) or len(statistics) != len(self.blocks):
            raise ValueError(f"statistics must have one entry per block, {len(self.blocks)}")
        new = {i: statistic for i, statistic in enumerate(statistics) if statistic is not None}
        if not new:
            return self
        blocks: list[Any] = list(self.blocks)
        for i, statistic in new.items():
            block = blocks[i]
            if not isinstance(block, WithStatistics):
                raise ValueError(
                    f"{type(block).__name__} returns statistics, but has no with_statistics"
                )
            blocks[i] = block.with_statistics(statistic)
        return eqx.tree_at(lambda model: model.blocks, self, tuple(blocks))

    def initial_state(self) -> ModelState:
        """The state of a stream before the first step."""
        weight = self._linear_head().weight
        mixers = tuple(block.mixer.initial_state() for block in self.blocks)
        if self.pooling != "mean":
            return ModelState(mixers, no_steps(), None, None)
        sums = jnp.zeros((3, weight.shape[1]), weight.dtype)
        return ModelState(mixers, no_steps(), sums[0], sums[1:])

    def step(
        self, x: ArrayLike, state: ModelState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " outputs"], ModelState]:
        """The output for the sequence up to and including the token or sample x.

        Not compiled: see `Streaming`, or use `jax.jit(SequenceModel.step)(model, x, state)`.
        """
        self._check_stream(state)
        check_concrete(dt)
        h = self._encode(check_array("x", x), 0)
        h = self._add_positions(h[None], state.steps)[0]
        mixers = []
        for block, before in zip(self.blocks, state.mixers, strict=True):
            h, after = block.step(h, before, dt)
            mixers.append(after)
        outputs, state = self._finish(h[None], state)
        return outputs[0], state._replace(mixers=tuple(mixers))

    def extend(
        self, block: ArrayLike, state: ModelState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, "time outputs"], ModelState]:
        """The outputs of `step` for each step of a block, and the state after the last one.

        Not compiled: see `Streaming`, or use `jax.jit(SequenceModel.extend)(model, block, state)`.

        **Arguments:**

        - `block`: token ids (time,) or values (time, inputs), of any number of steps.
        - `state`: the state before the block.
        - `dt`: durations of the samples: a scalar, or one per step; 1 by default.
        """
        self._check_stream(state)
        x = check_array("block", block)
        if x.ndim < 1:
            raise ValueError(f"block must have a time axis, got shape {x.shape}")
        check_concrete(dt, time=len(x))
        if dt is not None and jnp.shape(dt) not in ((), (len(x),)):
            raise ValueError(f"dt must be a number or have shape ({len(x)},), got {jnp.shape(dt)}")
        h = self._encode(x, 1, "block")
        if len(x) == 0:
            return self._apply_head(h), state
        h = self._add_positions(h, state.steps)
        mixers = []
        for layer, before in zip(self.blocks, state.mixers, strict=True):
            h, after = layer(h, before, dt=dt)
            mixers.append(after)
        outputs, state = self._finish(h, state)
        return outputs, state._replace(mixers=tuple(mixers))

    def _check_stream(self, state):
        self._linear_head()
        if any(block.mixer.bidirectional for block in self.blocks):
            raise ValueError("a bidirectional mixer needs the whole sequence: it has no stream")
        if not isinstance(state, ModelState):
            raise ValueError("state must be one that this model returned, or initial_state()")

    def _finish(self, h, state):
        """Outputs of the steps of a block, and the state with their number and sum."""
        h = h if self.final_norm is None else self.final_norm(h)
        counts = add_steps(state.steps, jnp.arange(1, len(h) + 1, dtype=jnp.uint32))
        after = state._replace(steps=counts[:, -1])
        if state.total is None:
            return self._apply_head(h), after
        h = h.astype(state.total.dtype)
        sums = state.total[None] + jnp.cumsum(h, axis=0)
        means = sums / steps_as_float(counts, h.dtype)[:, None]
        total, lost = accumulate(state.total, state.total_lost, h.sum(axis=0))
        return self._apply_head(means), after._replace(total=total, total_lost=lost)

    def _run(self, x, dt, lengths, mask, key, axis_name):
        x, pair = check_array("x", x), isinstance(self.head, RetrievalHead)
        if x.ndim < 1 + pair:
            raise ValueError(f"x must have a time axis, got shape {x.shape}")
        check_axis(axis_name)
        time = total_length(x.shape[1 if pair else 0], axis_name)
        check_concrete(dt, lengths, mask, time=time)
        if not isinstance(self.head, RetrievalHead):
            pooled, statistics = self._features(x, dt, lengths, mask, key, axis_name)
            return self._apply_head(pooled), statistics
        if len(x) != 2:
            raise ValueError(f"x must contain two sequences for task='retrieval', got {len(x)}")
        for name, given in (("lengths", lengths), ("mask", mask)):
            if given is not None and jnp.shape(given)[:1] != (2,):
                raise ValueError(f"{name} must have one entry per sequence of the pair")
        keys = None if key is None else jax.random.split(key)
        (one, two), statistics = jax.vmap(
            lambda x, dt, lengths, mask, key: self._features(
                x, dt, lengths, mask, key, axis_name, (BATCH_AXIS, _PAIR_AXIS)
            ),
            in_axes=(0, 0 if dt is not None and jnp.ndim(dt) == 2 else None, 0, 0, 0),
            out_axes=(0, None),
            axis_name=_PAIR_AXIS,
        )(x, dt, _array(lengths), _array(mask), keys)
        return self.head(one, two), statistics

    def _features(self, x, dt, lengths, mask, key, axis_name, axes=(BATCH_AXIS,)):
        """Pooled features of one sequence, and updated running averages."""
        kept = check_padding(lengths, mask, len(x), axis_name).kept
        if kept is not None:  # padding may contain NaN
            x = jnp.where(jnp.expand_dims(kept, tuple(range(1, x.ndim))), x, 0)
        if self.masking == "pooling":
            lengths = mask = None
        h = self._encode(x, 1)
        h = self._add_positions(h, None, axis_name)
        statistics = []
        for i, block in enumerate(self.blocks):
            if key is None:
                sharded = sharding_of(block, axis_name)
                h, new = block(h, None, dt=dt, lengths=lengths, mask=mask, **sharded)[0], None
            else:
                sharded = sharding_of(block, axis_name, "training")
                train = functools.partial(
                    block.training, dt=dt, lengths=lengths, mask=mask, axes=axes, **sharded
                )
                run = jax.checkpoint(train) if self.remat else train
                h, new = run(h, key=jax.random.fold_in(key, i))
            statistics.append(new)
        h = h if self.final_norm is None else self.final_norm(h)
        return _pool(self.pooling, h, kept, axis_name), tuple(statistics)

    def _encode(self, x, axes, name="x"):
        """Embed tokens or values with `axes` leading axes: 1 for a sequence, 0 for a step."""
        if isinstance(self.encoder, eqx.nn.Embedding | OneHotLinear):
            if x.ndim != axes or not jnp.issubdtype(x.dtype, jnp.integer):
                raise ValueError(
                    f"{name} must contain integer tokens, got {x.dtype}{list(x.shape)}"
                )
            check_tokens(x, len(self.encoder.weight), name)
            if isinstance(self.encoder, OneHotLinear):
                return self.encoder(x).astype(self.dtype)
            return self.encoder.weight[x].astype(self.dtype)
        inputs = self.encoder.weight.shape[1]
        if x.ndim != axes + 1 or x.shape[-1] != inputs:
            raise ValueError(
                f"{name} must have {inputs} channels in its last axis, got {list(x.shape)}"
            )
        return dense(self.encoder, x.astype(self.dtype))

    def _add_positions(self, h, steps, axis_name=None):
        """Add position embeddings after `steps` steps; None for a whole sequence."""
        if self.positions == "none":
            return h
        length = total_length(len(h), axis_name)
        if steps is None and self.table is not None and length > len(self.table):
            raise ValueError(f"x must have at most {len(self.table)} steps, got {length}")
        start = no_steps() if steps is None else steps
        if axis_name is not None:
            start = add_steps(start, (part_number(axis_name) * len(h)).astype(jnp.uint32))
        numbers = add_steps(start, jnp.arange(len(h), dtype=jnp.uint32))
        if self.table is None:
            return h + sinusoids(numbers, h.shape[1]).astype(h.dtype)
        return h + table_rows(self.table, numbers).astype(h.dtype)

    def _apply_head(self, pooled):
        """Apply the head, in the dtype of the parameters."""
        head = self._linear_head()
        return dense(head, pooled.astype(head.weight.dtype))

    def _linear_head(self) -> eqx.nn.Linear:
        if isinstance(self.head, RetrievalHead):
            raise ValueError("task='retrieval' needs two whole sequences: it has no step")
        return self.head


def _make_encoder(
    kind: str | None, tokens: bool, inputs: int, width: int, dense_init: str, key: PRNGKeyArray
) -> eqx.nn.Embedding | OneHotLinear | eqx.nn.Linear:
    if not tokens:
        if kind is not None:
            raise ValueError(f"encoder={kind!r} is for tokens: leave it out for real values")
        return linear(inputs, width, dense_init, key=key)
    check_choice("encoder", "embedding" if kind is None else kind, get_args(Encoder))
    if kind == "one-hot":
        return OneHotLinear(inputs, width, dense_init=dense_init, key=key)
    return eqx.nn.Embedding(inputs, width, key=key)


def _check_choices(task: str, pooling: str, dtype: str, positions: str, masking: str) -> None:
    check_choice("task", task, get_args(SequenceTask))
    check_choice("pooling", pooling, get_args(Pooling))
    check_choice("dtype", dtype, get_args(DType))
    check_choice("positions", positions, get_args(Positions))
    check_choice("masking", masking, get_args(Masking))
    if masking == "pooling" and pooling == "none":
        raise ValueError("masking='pooling' needs pooling='mean' or 'last', got 'none'")


def _array(values: ArrayLike | None) -> Array | None:
    return None if values is None else jnp.asarray(values)


def _pool(
    pooling: str,
    h: Float[Array, "time width"],
    mask: Bool[Array, " time"] | None,
    axis_name: str | None,
) -> Float[Array, "*time width"]:
    if pooling == "none":
        return h
    if len(h) == 0:
        raise ValueError("x must have at least one step for pooling")
    if pooling == "last":
        last = h[-1] if mask is None else h[len(h) - 1 - jnp.argmax(mask[::-1])]
        return last if axis_name is None else from_last(axis_name, mask, last)
    wide = h.astype(jnp.float32) if jnp.finfo(h.dtype).bits < 32 else h
    if mask is None:
        mean = wide.mean(axis=0)
        return mean if axis_name is None else jax.lax.pmean(mean, axis_name)
    count = jnp.maximum(total(axis_name, mask.sum()), 1).astype(wide.dtype)
    return total(axis_name, wide.sum(axis=0, where=mask[:, None])) / count
