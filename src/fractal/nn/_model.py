"""The sequence model: encoder, residual blocks, pooling, head."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, PRNGKeyArray

from .._bounds import check_memory
from .._checks import check_count, check_flag
from .._engine.inputs import check_array, check_concrete, check_key, check_padding
from .._engine.sharding import check_axis, total_length
from ._block import Mixer, Residual, WithStatistics, sharding_of
from ._encoder import encode, make_encoder
from ._head import RetrievalHead, apply_head, pool
from ._linear import OneHotLinear, linear
from ._model_options import block_factory, check_choices, check_consistent
from ._model_state import ModelState, initial_model_state, pool_steps
from ._norms import BATCH_AXIS, LayerNorm, Statistics
from ._positions import add_positions

_PAIR_AXIS = "pair"


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
        check_choices(task, pooling, dtype, positions, masking)
        tokens, final_norm = check_flag("tokens", tokens), check_flag("final_norm", final_norm)
        options = {"mixer": mixer, "gate": gate, "norm": norm, "dropout": dropout}
        make_block = block_factory(block, dense_init, options | {"norm_momentum": norm_momentum})
        if (positions == "learned") != (length is not None):
            raise ValueError("length must be given if and only if positions='learned'")
        check_consistent(task, pooling, dtype)
        keys = jax.random.split(key, 2 * depth + 3)
        weights = 4.0 * width * (inputs + outputs + depth * width)
        check_memory(weights, f"width={width}, depth={depth}, inputs={inputs}, outputs={outputs}")
        self.encoder = make_encoder(encoder, tokens, inputs, width, dense_init, keys[0])
        self.blocks = tuple(
            make_block(width, *pair) for pair in zip(keys[2:-1:2], keys[3:-1:2], strict=True)
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
        check_choices(self.task, self.pooling, self.dtype, self.positions, self.masking)
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
        return initial_model_state(mixers, self.pooling, weight)

    def step(
        self, x: ArrayLike, state: ModelState, dt: ArrayLike | None = None
    ) -> tuple[Float[Array, " outputs"], ModelState]:
        """The output for the sequence up to and including the token or sample x.

        Not compiled: see `Streaming`, or use `jax.jit(SequenceModel.step)(model, x, state)`.
        """
        self._check_stream(state)
        check_concrete(dt)
        h = encode(self.encoder, check_array("x", x), 0, self.dtype)
        h = add_positions(h[None], self.positions, self.table, state.steps)[0]
        mixers = []
        for block, before in zip(self.blocks, state.mixers, strict=True):
            h, after = block.step(h, before, dt)
            mixers.append(after)
        outputs, state = self._finish(h[None], state._replace(mixers=tuple(mixers)))
        return outputs[0], state

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
        h = encode(self.encoder, x, 1, self.dtype, "block")
        if len(x) == 0:
            return apply_head(self._linear_head(), h), state
        h = add_positions(h, self.positions, self.table, state.steps)
        mixers = []
        for layer, before in zip(self.blocks, state.mixers, strict=True):
            h, after = layer(h, before, dt=dt)
            mixers.append(after)
        return self._finish(h, state._replace(mixers=tuple(mixers)))

    def _check_stream(self, state):
        self._linear_head()
        if any(block.mixer.bidirectional for block in self.blocks):
            raise ValueError("a bidirectional mixer needs the whole sequence: it has no stream")
        if not isinstance(state, ModelState):
            raise ValueError("state must be one that this model returned, or initial_state()")

    def _finish(self, h, state):
        """Outputs after each step of a block, and the state with their number and sum."""
        h = h if self.final_norm is None else self.final_norm(h)
        pooled, state = pool_steps(state, h)
        return apply_head(self._linear_head(), pooled), state

    def _run(self, x, dt, lengths, mask, key, axis_name):
        x, pair = check_array("x", x), isinstance(self.head, RetrievalHead)
        if x.ndim < 1 + pair:
            raise ValueError(f"x must have a time axis, got shape {x.shape}")
        check_axis(axis_name)
        time = total_length(x.shape[1 if pair else 0], axis_name)
        check_concrete(dt, lengths, mask, time=time)
        if not isinstance(self.head, RetrievalHead):
            pooled, statistics = self._features(x, dt, lengths, mask, key, axis_name)
            return apply_head(self._linear_head(), pooled), statistics
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
        h = encode(self.encoder, x, 1, self.dtype)
        h = add_positions(h, self.positions, self.table, None, axis_name)
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
        return pool(self.pooling, h, kept, axis_name), tuple(statistics)

    def _linear_head(self) -> eqx.nn.Linear:
        if isinstance(self.head, RetrievalHead):
            raise ValueError("task='retrieval' needs two whole sequences: it has no step")
        return self.head


def _array(values: ArrayLike | None) -> Array | None:
    return None if values is None else jnp.asarray(values)
