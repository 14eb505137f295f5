"""The ground of a Pathfinder picture: what its paddles have taken up, and what they may still."""

import numpy as np
from jaxtyping import Integer, UInt8

from ._paddles import FULL, Paddle, Seed, Style

_CLEAR = 76  # 0.3 of 255: a seed may lie on what is fainter


class Ground:
    """A window with its rim in two layers: masks, and masks grown by the margin.

    The rim is taken, so that nothing need be asked about bounds. Places are flat indices.
    """

    def __init__(self, style: Style, layers: UInt8[np.ndarray, "layers=2 stride stride"]):
        self.style = style
        self._layers = layers
        # For single pixels a memory view is several times quicker than an array.
        self.reach = layers[1].reshape(-1).data

    @classmethod
    def empty(cls, style: Style, padding: int) -> "Ground":
        """A free window inside a border of width `padding`."""
        layers = np.full((2, style.stride, style.stride), FULL, np.uint8)
        for layer, border in zip(layers, (padding, padding + style.margin), strict=True):
            inside = slice(style.rim + border, -style.rim - border)
            layer[inside, inside] = 0
        return cls(style, layers)

    def copy(self) -> "Ground":
        """The same ground, to be taken up on trial."""
        return Ground(self.style, self._layers.copy())

    def admits(self, paddle: Paddle, anchor: int) -> bool:
        """Whether the paddle's mask overlaps nothing."""
        row, column = divmod(anchor, self.style.stride)
        half = self.style.half
        patch = self._layers[0, row - half : row + half + 1, column - half : column + half + 1]
        return not np.count_nonzero(patch > paddle.limit)

    def take(self, paddle: Paddle, anchor: int) -> None:
        """Give this ground to the paddle."""
        row, column = divmod(anchor, self.style.stride)
        half = self.style.half + self.style.margin
        patch = self._layers[:, row - half : row + half + 1, column - half : column + half + 1]
        np.maximum(patch, paddle.ground, out=patch)

    def tails(self, seed: Seed) -> Integer[np.ndarray, " places"]:
        """All places in the window from which the seed can be laid; beyond it nothing hinders."""
        style = self.style
        window = slice(style.rim, style.rim + style.window)
        taken = np.zeros((style.stride, style.stride), bool)
        taken[window, window] = self._layers[0, window, window] > _CLEAR
        # A shift of the flat index runs over into the rim at most, which is free.
        flat, first, last = taken.reshape(-1), style.flat(style.rim, 0), -style.flat(style.rim, 0)
        blocked = np.zeros(len(flat) + last - first, bool)
        for row, column in seed.cover:
            shift = style.flat(row, column)
            blocked |= flat[first + shift : last + shift]
        places = np.arange(len(flat)).reshape(taken.shape)[window, window]
        return places[~blocked.reshape(-1, style.stride)[:, window]]
