"""From features to outputs: pooling over time, and heads."""

# pyright: reportMissingImports=false

import torch
from torch import Tensor, nn

from ._linear import dense, linear, tanh_gelu


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


def pool(pooling: str, h: Tensor, kept: Tensor | None) -> Tensor:
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


def apply_head(head: nn.Linear, features: Tensor) -> Tensor:
    """Apply a linear head, in the dtype of its parameters."""
    return dense(head, features.to(head.weight.dtype))
