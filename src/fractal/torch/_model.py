"""The sequence model in PyTorch: encoder, residual blocks, pooling, head."""

# pyright: reportMissingImports=false

from collections.abc import Callable
from typing import Any, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .._bounds import check_memory
from .._checks import check_count, check_flag
from ._block import Block
from ._encoder import encode, make_encoder
from ._head import RetrievalHead, apply_head, pool
from ._inputs import check_padding, check_tensor
from ._linear import linear, random_table
from ._model_options import block_factory, check_options
from ._model_state import ModelState, initial_model_state, pool_steps
from ._norms import LayerNorm
from ._positions import positions_of


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
        given = {"mixer": mixer, "gate": gate, "norm": norm, "dropout": dropout}
        make_block = block_factory(block, dense_init, given | {"norm_momentum": norm_momentum})
        if (positions == "learned") != (length is not None):
            raise ValueError("length must be given if and only if positions='learned'")
        weights = 4.0 * width * (inputs + outputs + depth * width)
        check_memory(weights, f"width={width}, depth={depth}, inputs={inputs}, outputs={outputs}")

        tokens = check_flag("tokens", tokens)
        self.encoder = make_encoder(encoder, tokens, inputs, width, dense_init)
        self.blocks = nn.ModuleList(make_block(width) for _ in range(depth))
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
        check_options(self.task, self.pooling, self.dtype, self.positions, self.masking)
        check_flag("remat", self.remat)
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
        return initial_model_state(mixers, self.pooling, weight, batch)

    def step(
        self, x: Any, state: ModelState, dt: Any = None
    ) -> tuple[Float[Tensor, "batch outputs"], ModelState]:
        """The outputs for the sequences up to and including the tokens or samples x.

        **Arguments:**

        - `x`: token ids (batch,) or values (batch, inputs).
        - `dt`: duration of the samples: a number, or (batch, 1).
        """
        self._check_stream(state)
        h = encode(self.encoder, check_tensor("x", x), 1, self.dtype, "x")
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
        h = encode(self.encoder, check_tensor("block", block), 2, self.dtype, "block")
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
        h, state = pool_steps(state, h)
        return self._apply_head(h), state

    def _features(self, x: Tensor, dt: Any, lengths: Any, mask: Any) -> Tensor:
        """Pooled features of the sequences."""
        if x.ndim < 2:
            raise ValueError(f"x must have a batch axis and a time axis, got {list(x.shape)}")
        kept = check_padding(lengths, mask, x)[0]
        if kept is not None:  # padding may contain NaN
            x = torch.where(kept.reshape(*kept.shape, *(1,) * (x.ndim - 2)), x, 0)
        if self.masking == "pooling":
            lengths = mask = None
        h = self._add_positions(encode(self.encoder, x, 2, self.dtype, "x"), None)
        for block in self._blocks():
            if self.training and self.remat and _is_block(block):
                run = checkpoint(block.run, h, None, dt, lengths, mask, use_reentrant=False)
                h, _, statistics = run  # pyright: ignore[reportGeneralTypeIssues]
                block.update(statistics)
            else:
                h = block(h, None, dt=dt, lengths=lengths, mask=mask)[0]
        h = h if self.final_norm is None else self.final_norm(h)
        return pool(self.pooling, h, kept)

    def _add_positions(self, h: Tensor, steps: Tensor | None) -> Tensor:
        """Add position embeddings after `steps` steps; None for whole sequences."""
        if self.positions == "none":
            return h
        if steps is None and self.table is not None and h.shape[1] > len(self.table):
            raise ValueError(f"x must have at most {len(self.table)} steps, got {h.shape[1]}")
        dtype = next(self.head.parameters()).dtype
        return h + positions_of(self.table, steps, h, dtype)

    def _apply_head(self, features: Tensor) -> Tensor:
        """Apply the head, in the dtype of its parameters."""
        return apply_head(self._linear_head(), features)

    def _linear_head(self) -> nn.Linear:
        if isinstance(self.head, RetrievalHead):
            raise ValueError("task='retrieval' needs two whole sequences: it has no step")
        return self.head


def _is_block(module: Any) -> bool:
    return isinstance(module, Block)
