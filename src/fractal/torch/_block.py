"""The gated residual block in PyTorch: norm, sequence mixer, gate."""

# pyright: reportMissingImports=false

from typing import Any, SupportsIndex

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._checks import check_choice, check_count, check_probability
from .._options import GATES
from ._inputs import check_padding
from ._linear import dense, linear, tanh_gelu
from ._norms import NORMS, BatchNorm

_MIXER = ("forward", "step", "initial_state", "bidirectional")


class Block(nn.Module):
    """x + gate(mixer(norm(x))); the gates are those of `fractal.nn.Block`.

    In training mode with dropout, and with the statistics of the batch for `norm="batch"`.

    >>> import torch
    >>> from fractal.torch import Block, FractalSSM
    >>> y, state = Block(FractalSSM(8), width=8)(torch.ones(2, 50, 8))
    >>> tuple(y.shape)
    (2, 50, 8)
    """

    FIELDS = ("norm", "mixer", "outer", "inner", "gate", "dropout")
    mixer: Any

    def __init__(
        self,
        mixer: nn.Module,
        width: SupportsIndex,
        *,
        gate: str = "silu",
        norm: str = "layer",
        dropout: float = 0.0,
        norm_momentum: float | None = None,
        dense_init: str = "uniform",
    ):
        """
        **Arguments:**

        - `mixer`: a module with `forward(u, state, dt, lengths, mask)`, `step`, `initial_state` and
          `bidirectional`, such as `FractalSSM`.
        - `width`: number of channels.
        - all others: options of `fractal.nn.Block`.
        """
        super().__init__()
        if not isinstance(mixer, nn.Module) or not all(hasattr(mixer, name) for name in _MIXER):
            raise ValueError(
                "mixer must have forward, step, initial_state and bidirectional, as FractalSSM "
                f"has, got {type(mixer).__name__}"
            )
        check_choice("gate", gate, GATES)
        check_choice("norm", norm, tuple(NORMS))
        width = check_count("width", width, smallest=1)
        if norm_momentum is not None and norm != "batch":
            raise ValueError(f"norm_momentum is for norm='batch', got norm={norm!r}")
        momentum = {} if norm_momentum is None else {"momentum": norm_momentum}
        self.norm, self.mixer = NORMS[norm](width, **momentum), mixer
        self.outer = linear(width, width, dense_init) if gate in ("silu", "full_glu") else None
        self.inner = linear(width, width, dense_init)
        self.gate, self.dropout = gate, check_probability("dropout", dropout)

    def check(self) -> None:
        """Raise `ValueError` for invalid options."""
        check_choice("gate", self.gate, GATES)
        check_probability("dropout", self.dropout)
        if (self.outer is None) != (self.gate in ("half_glu1", "half_glu2")):
            raise ValueError(f"outer is inconsistent with gate={self.gate!r}")

    def forward(
        self, x: Tensor, state: Any = None, dt: Any = None, lengths: Any = None, mask: Any = None
    ) -> tuple[Tensor, Any]:
        """Outputs, and the state of the mixer after the last step. Arguments: see the mixer."""
        y, state, statistics = self.run(x, state, dt, lengths, mask)
        self.update(statistics)
        return y, state

    def run(
        self, x: Tensor, state: Any, dt: Any, lengths: Any, mask: Any
    ) -> tuple[Tensor, Any, tuple[Tensor, Tensor] | None]:
        """As `forward`, which also updates the running averages by the last result."""
        statistics = None
        if self.training and isinstance(self.norm, BatchNorm):
            kept = check_padding(lengths, mask, x)[0]
            z, statistics = self.norm.by_batch(x, kept)
        else:
            z = self.norm(x)
        y, state = self.mixer(z, state, dt=dt, lengths=lengths, mask=mask)
        return x + self._apply_gate(y, z), state, statistics

    def update(self, statistics: tuple[Tensor, Tensor] | None) -> None:
        """Update the running averages of the norm, if any."""
        if statistics is not None and isinstance(self.norm, BatchNorm):
            self.norm.update(*statistics)

    def step(self, x: Tensor, state: Any, dt: Any = None) -> tuple[Tensor, Any]:
        """Output for one sample (batch, width) at inference, and the next state of the mixer."""
        if self.training and (self.dropout or isinstance(self.norm, BatchNorm)):
            raise ValueError("step is inference: call eval() first")
        z = self.norm(x)
        y, state = self.mixer.step(z, state, dt)
        return x + self._apply_gate(y, z), state

    def _apply_gate(self, y: Tensor, z: Tensor) -> Tensor:
        if self.outer is not None and self.gate == "silu":
            return self._drop(dense(self.outer, y) * functional.silu(dense(self.inner, z)))
        active = self._drop(tanh_gelu(y))
        gate = torch.sigmoid(dense(self.inner, active))
        if self.outer is not None:
            return self._drop(dense(self.outer, active) * gate)
        return self._drop((active if self.gate == "half_glu1" else y) * gate)

    def _drop(self, x: Tensor) -> Tensor:
        """Drop channels, the same ones at all steps of a sequence."""
        if not self.training or self.dropout == 0:
            return x
        keep = torch.rand(len(x), 1, x.shape[-1], device=x.device) >= self.dropout
        return torch.where(keep, x / (1 - self.dropout), 0.0).to(x.dtype)
