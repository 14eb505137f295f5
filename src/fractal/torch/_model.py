"""The sequence model in PyTorch: encoder, residual blocks, pooling, head."""

# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any, NamedTuple, SupportsIndex, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .._bounds import check_memory
from .._checks import check_choice, check_count, check_flag
from .._options import DType, Encoder, Masking, Pooling, Positions, SequenceTask
from ._block import Block
from ._clock import accumulate
from ._inputs import check_padding, check_tensor, check_tokens
from ._layer import FractalSSM
from ._linear import OneHotLinear, dense, linear, random_table, tanh_gelu
from ._norms import LayerNorm
from ._positions import sinusoids, table_rows


class ModelState(NamedTuple):
    """State of a streaming model.

    **Fields:**

    - `mixers`: states of the mixers.
    - `steps`: number of steps, an integer of 64 bits.
    - `total`, `total_lost`: sum of the features for `pooling="mean"`, otherwise None; and what
      rounding removed from it, in two words of decreasing size.
    """

    mixers: tuple[Any, ...]
    steps: Int[Tensor, ""]
    total: Float[Tensor, "batch width"] | None
    total_lost: Float[Tensor, "batch 2 width"] | None


class RetrievalHead(nn.Module):
    """Head for pairs of documents: an MLP of their features, difference and product."""

    FIELDS = ("hidden", "out")

    def __init__(self, width: int, outputs: int, *, dense_init: str = "uniform"):
        super().__init__()
        self.hidden = linear(4 * width, width, dense_init)
        self.out = linear(width, outputs, dense_init)

    def forward(self, one: Tensor, two: Tensor) -> Tensor:
        """Logits for the features of two documents, each of shape (batch, width)."""
        pair = torch.cat([one, two, one - two, one * two], -1)
        return self.out(tanh_gelu(self.hidden(pair.to(self.hidden.weight.dtype))))


class SequenceModel(nn.Module):
    """A model for sequence classification, regression, retrieval and next-token prediction.

    The model, its options and its weight files are those of `fractal.nn.SequenceModel`; inputs have
    a batch axis. Training mode adds dropout and batch statistics.

    >>> import torch
    >>> from fractal.torch import SequenceModel
    >>> model = SequenceModel(inputs=20, outputs=10, width=16, depth=2)
    >>> tuple(model(torch.randint(20, (5, 100))).shape)
    (5, 10)
    """

    FIELDS = ("encoder", "blocks", "final_norm", "head", "table", "task", "pooling", "dtype")
    FIELDS += ("positions", "remat", "masking")

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
        mixer: Callable[..., nn.Module] | None = None,
        block: Callable[..., nn.Module] | None = None,
        positions: str = "none",
        length: SupportsIndex | None = None,
        final_norm: bool = False,
        remat: bool = False,
    ):
        """
        **Arguments:** those of `fractal.nn.SequenceModel`.

        - `mixer`: called as `mixer(width)` once per block; `FractalSSM` by default.
        - `block`: called as `block(width)` once per block, instead of `Block`.
        - `dtype`: dtype of activations; parameters and the scan keep theirs.
        - `remat`: in training, keep only the input of each block and recompute the rest for the
          gradient.
        """
        super().__init__()
        inputs = check_count("inputs", inputs, smallest=1)
        outputs = check_count("outputs", outputs, smallest=1)
        width = check_count("width", width, smallest=1)
        depth = check_count("depth", depth, smallest=0)
        self.task, self.dtype, self.positions, self.masking = task, dtype, positions, masking
        default = "none" if task == "next-token" else "mean"
        self.pooling = default if pooling is None else pooling
        self.remat = remat
        options = {"mixer": mixer, "gate": gate, "norm": norm, "dropout": dropout}
        options["norm_momentum"] = norm_momentum
        given = {name: value for name, value in options.items() if value is not None}
        if block is not None and given:
            raise ValueError(f"{' and '.join(given)} cannot be given together with block")
        if (positions == "learned") != (length is not None):
            raise ValueError("length must be given if and only if positions='learned'")
        make_mixer = given.pop("mixer", FractalSSM)
        for name, factory in (("mixer", make_mixer), ("block", block or make_mixer)):
            if not callable(factory):
                raise ValueError(f"{name} must be callable, got {factory!r}")
        weights = 4.0 * width * (inputs + outputs + depth * width)
        check_memory(weights, f"width={width}, depth={depth}, inputs={inputs}, outputs={outputs}")

        self.encoder = _make_encoder(
            encoder, check_flag("tokens", tokens), inputs, width, dense_init
        )
        self.blocks = nn.ModuleList(
            Block(make_mixer(width), width, **given, dense_init=dense_init)
            if block is None
            else block(width)
            for _ in range(depth)
        )
        self.final_norm = LayerNorm(width) if check_flag("final_norm", final_norm) else None
        if task == "retrieval":
            self.head = RetrievalHead(width, outputs, dense_init=dense_init)
        else:
            self.head = linear(width, outputs, dense_init)
        self.table = None
        if length is not None:
            self.table = random_table(check_count("length", length, smallest=1), width)
        self.check()

    def check(self) -> None:
        """Raise `ValueError` for invalid options and options that do not go together."""
        check_choice("task", self.task, get_args(SequenceTask))
        check_choice("pooling", self.pooling, get_args(Pooling))
        check_choice("dtype", self.dtype, get_args(DType))
        check_choice("positions", self.positions, get_args(Positions))
        check_choice("masking", self.masking, get_args(Masking))
        check_flag("remat", self.remat)
        if self.masking == "pooling" and self.pooling == "none":
            raise ValueError("masking='pooling' needs pooling='mean' or 'last', got 'none'")
        if self.task == "next-token" and self.pooling != "none":
            raise ValueError(f"pooling must be 'none' for task='next-token', got {self.pooling!r}")
        if self.task == "retrieval" and self.pooling == "none":
            raise ValueError("pooling must be 'mean' or 'last' for task='retrieval', got 'none'")
        if self.task == "next-token" and self._is_bidirectional():
            raise ValueError("task='next-token' needs a causal mixer, got a bidirectional one")
        if isinstance(self.head, RetrievalHead) != (self.task == "retrieval"):
            raise ValueError(f"head is inconsistent with task={self.task!r}")
        if (self.table is None) != (self.positions != "learned"):
            raise ValueError(f"table is inconsistent with positions={self.positions!r}")

    def forward(
        self, x: Any, dt: Any = None, lengths: Any = None, mask: Any = None
    ) -> Float[Tensor, "batch *time outputs"]:
        """Logits or predictions: (batch, outputs), or (batch, time, outputs) without pooling.

        **Arguments:**

        - `x`: token ids (batch, time) or values (batch, time, inputs); for retrieval pairs of
          sequences, (batch, 2, time) or (batch, 2, time, inputs).
        - `dt`: durations of the samples: a number, (time,) or (batch, time).
        - `lengths`: number of real steps of each sequence, (batch,) or (batch, 2) for pairs; later
          steps are padding.
        - `mask`: boolean, False at padding, of the shape of x without channels. `lengths` is
          faster.
        """
        x = check_tensor("x", x)
        if not isinstance(self.head, RetrievalHead):
            return self._apply_head(self._features(x, dt, lengths, mask))
        if x.ndim < 3 or x.shape[1] != 2:
            raise ValueError(
                f"x must contain two sequences for task='retrieval', got {list(x.shape)}"
            )
        both = [v if v is None else check_tensor("", v).flatten(0, 1) for v in (lengths, mask)]
        if dt is not None and check_tensor("dt", dt).ndim == 3:
            dt = check_tensor("dt", dt).flatten(0, 1)
        features = self._features(x.flatten(0, 1), dt, *both).unflatten(0, (-1, 2))
        return self.head(features[:, 0], features[:, 1])

    def initial_state(self, batch: int = 1) -> ModelState:
        """The state of a stream before the first step."""
        weight = self._linear_head().weight
        mixers = tuple(block.mixer.initial_state(batch) for block in self._blocks())
        steps = torch.zeros((), dtype=torch.int64, device=weight.device)
        if self.pooling != "mean":
            return ModelState(mixers, steps, None, None)
        sums = weight.new_zeros(batch, 3, weight.shape[1])
        return ModelState(mixers, steps, sums[:, 0], sums[:, 1:])

    def step(
        self, x: Any, state: ModelState, dt: Any = None
    ) -> tuple[Float[Tensor, "batch outputs"], ModelState]:
        """The outputs for the sequences up to and including the tokens or samples x.

        **Arguments:**

        - `x`: token ids (batch,) or values (batch, inputs).
        - `dt`: duration of the samples: a number, or (batch, 1).
        """
        self._check_stream(state)
        h = self._encode(check_tensor("x", x), 1, "x")
        h = self._add_positions(h[:, None], state.steps)[:, 0]
        mixers = []
        for block, before in zip(self._blocks(), state.mixers, strict=True):
            h, after = block.step(h, before, dt)
            mixers.append(after)
        outputs, state = self._finish(h[:, None], state)
        return outputs[:, 0], state._replace(mixers=tuple(mixers))

    def extend(
        self, block: Any, state: ModelState, dt: Any = None
    ) -> tuple[Float[Tensor, "batch time outputs"], ModelState]:
        """The outputs of `step` for each step of a block, and the state after the last one.

        **Arguments:**

        - `block`: token ids (batch, time) or values (batch, time, inputs).
        - `dt`: durations of the samples: a number, (time,) or (batch, time).
        """
        self._check_stream(state)
        h = self._encode(check_tensor("block", block), 2, "block")
        if h.shape[1] == 0:
            return self._apply_head(h), state
        h = self._add_positions(h, state.steps)
        mixers = []
        for layer, before in zip(self._blocks(), state.mixers, strict=True):
            h, after = layer(h, before, dt=dt)
            mixers.append(after)
        outputs, state = self._finish(h, state)
        return outputs, state._replace(mixers=tuple(mixers))

    def _blocks(self) -> list[Any]:
        return list(self.blocks)

    def _is_bidirectional(self) -> bool:
        return any(block.mixer.bidirectional for block in self._blocks())

    def _check_stream(self, state: ModelState) -> None:
        self._linear_head()
        if self._is_bidirectional():
            raise ValueError("a bidirectional mixer needs the whole sequence: it has no stream")
        if not isinstance(state, ModelState):
            raise ValueError("state must be one that this model returned, or initial_state()")
        if self.training and any(block.dropout for block in self._blocks() if _is_block(block)):
            raise ValueError("a stream is inference: call eval() first")

    def _finish(self, h: Tensor, state: ModelState) -> tuple[Tensor, ModelState]:
        """Outputs of the steps of a block, and the state with their number and sum."""
        h = h if self.final_norm is None else self.final_norm(h)
        counts = state.steps + torch.arange(1, h.shape[1] + 1, device=h.device)
        after = state._replace(steps=counts[-1])
        if state.total is None or state.total_lost is None:
            return self._apply_head(h), after
        h = h.to(state.total.dtype)
        sums = state.total[:, None] + torch.cumsum(h, 1)
        total, lost = accumulate(state.total, state.total_lost, h.sum(1))
        means = sums / counts.to(h.dtype)[:, None]
        return self._apply_head(means), after._replace(total=total, total_lost=lost)

    def _features(self, x: Tensor, dt: Any, lengths: Any, mask: Any) -> Tensor:
        """Pooled features of the sequences."""
        if x.ndim < 2:
            raise ValueError(f"x must have a batch axis and a time axis, got {list(x.shape)}")
        kept = check_padding(lengths, mask, x)[0]
        if kept is not None:  # padding may contain NaN
            x = torch.where(kept.reshape(*kept.shape, *(1,) * (x.ndim - 2)), x, 0)
        if self.masking == "pooling":
            lengths = mask = None
        h = self._add_positions(self._encode(x, 2, "x"), None)
        for block in self._blocks():
            if self.training and self.remat and _is_block(block):
                run = checkpoint(block.run, h, None, dt, lengths, mask, use_reentrant=False)
                h, _, statistics = run  # pyright: ignore[reportGeneralTypeIssues]
                block.update(statistics)
            else:
                h = block(h, None, dt=dt, lengths=lengths, mask=mask)[0]
        h = h if self.final_norm is None else self.final_norm(h)
        return _pool(self.pooling, h, kept)

    def _encode(self, x: Tensor, axes: int, name: str) -> Tensor:
        """Encode tokens or values with `axes` leading axes: 2 for sequences, 1 for a step."""
        dtype = getattr(torch, self.dtype)
        if isinstance(self.encoder, nn.Linear):
            inputs = self.encoder.weight.shape[1]
            if x.ndim != axes + 1 or x.shape[-1] != inputs:
                raise ValueError(
                    f"{name} must have {inputs} channels in its last axis, got {list(x.shape)}"
                )
            return dense(self.encoder, x.to(dtype))
        if x.ndim != axes or x.is_floating_point() or x.is_complex():
            raise ValueError(f"{name} must contain integer tokens, got {x.dtype}{list(x.shape)}")
        check_tokens(x, len(self.encoder.weight), name)
        return self.encoder(x.long()).to(dtype)

    def _add_positions(self, h: Tensor, steps: Tensor | None) -> Tensor:
        """Add position embeddings after `steps` steps; None for whole sequences."""
        if self.positions == "none":
            return h
        if steps is None and self.table is not None and h.shape[1] > len(self.table):
            raise ValueError(f"x must have at most {len(self.table)} steps, got {h.shape[1]}")
        numbers = torch.arange(h.shape[1], device=h.device)
        numbers = numbers if steps is None else numbers + steps
        if self.table is not None:
            return h + table_rows(self.table, numbers).to(h.dtype)
        wide = self._linear_dtype()
        return h + sinusoids(numbers, h.shape[2], wide).to(h.dtype)

    def _linear_dtype(self) -> torch.dtype:
        return next(self.head.parameters()).dtype

    def _apply_head(self, features: Tensor) -> Tensor:
        """Apply the head, in the dtype of its parameters."""
        head = self._linear_head()
        return dense(head, features.to(head.weight.dtype))

    def _linear_head(self) -> nn.Linear:
        if isinstance(self.head, RetrievalHead):
            raise ValueError("task='retrieval' needs two whole sequences: it has no step")
        return self.head


def _is_block(module: Any) -> bool:
    return isinstance(module, Block)


def _make_encoder(
    kind: str | None, tokens: bool, inputs: int, width: int, dense_init: str
) -> nn.Linear | nn.Embedding | OneHotLinear:
    if not tokens:
        if kind is not None:
            raise ValueError(f"encoder={kind!r} is for tokens: leave it out for real values")
        return linear(inputs, width, dense_init)
    check_choice("encoder", "embedding" if kind is None else kind, get_args(Encoder))
    if kind == "one-hot":
        return OneHotLinear(inputs, width, dense_init=dense_init)
    return nn.Embedding(inputs, width)


def _pool(pooling: str, h: Tensor, kept: Tensor | None) -> Tensor:
    """Features of each sequence, or of each step for `"none"`; `kept` is False at padding."""
    if pooling == "none":
        return h
    if h.shape[1] == 0:
        raise ValueError("x must have at least one step for pooling")
    if pooling == "last":
        if kept is None:
            return h[:, -1]
        last = h.shape[1] - 1 - kept.flip(1).int().argmax(1)
        return h[torch.arange(len(h), device=h.device), last]
    wide = h.float() if h.dtype.itemsize < 4 else h
    if kept is None:
        return wide.mean(1)
    count = kept.sum(1, keepdim=True).clamp(min=1).to(wide.dtype)
    return torch.where(kept[..., None], wide, 0.0).sum(1) / count
