"""The occupied pixels of a Pathfinder image, which later paddles must avoid."""

import numpy as np
from jaxtyping import Integer, UInt8

from ._paddles import FULL, Paddle, Seed, Style

_CLEAR = 76  # 0.3 of 255: a seed may overlap fainter pixels


class Occupancy:
    """The image with a rim, in two layers: masks of paddles, and masks dilated by the margin.

    The rim is occupied, so that no bounds are checked. Positions are flat indices.
    """

    def __init__(self, style: Style, layers: UInt8[np.ndarray, "layers=2 stride stride"]):
        self.style = style
        self._layers = layers
        # Reading single pixels of a memory view is several times faster than of an array.
        self.reach = layers[1].reshape(-1).data

    @classmethod
    def empty(cls, style: Style, padding: int) -> "Occupancy":
        """No paddles, inside an occupied border of width `padding`."""
        layers = np.full((2, style.stride, style.stride), FULL, np.uint8)
        for layer, border in zip(layers, (padding, padding + style.margin), strict=True):
            inside = slice(style.rim + border, -style.rim - border)
            layer[inside, inside] = 0
        return cls(style, layers)

    def copy(self) -> "Occupancy":
        """A copy for a trial."""
        return Occupancy(self.style, self._layers.copy())

    def admits(self, paddle: Paddle, anchor: int) -> bool:
        """Whether the mask of a paddle overlaps no other."""
        row, column = divmod(anchor, self.style.stride)
        half = self.style.half
        patch = self._layers[0, row - half : row + half + 1, column - half : column + half + 1]
        return not np.count_nonzero(patch > paddle.limit)

    def add(self, paddle: Paddle, anchor: int) -> None:
        """Mark the pixels of a paddle as occupied."""
        row, column = divmod(anchor, self.style.stride)
        half = self.style.half + self.style.margin
        patch = self._layers[:, row - half : row + half + 1, column - half : column + half + 1]
        np.maximum(patch, paddle.occupancy, out=patch)

    def free(self) -> int:
        """The number of pixels of the image that are free."""
        window = slice(self.style.rim, self.style.rim + self.style.window)
        return int(np.count_nonzero(self._layers[0, window, window] <= _CLEAR))

    def tails(self, seed: Seed) -> Integer[np.ndarray, " positions"]:
        """All positions in the image at which the seed fits; pixels outside of it are free."""
        style = self.style
        window = slice(style.rim, style.rim + style.window)
        occupied = np.zeros((style.stride, style.stride), bool)
        occupied[window, window] = self._layers[0, window, window] > _CLEAR
        # A shift of the flat index wraps around into the rim at most, which is free here.
        flat, first, last = (
            occupied.reshape(-1),
            style.flat(style.rim, 0),
            -style.flat(style.rim, 0),
        )
        blocked = np.zeros(len(flat) + last - first, bool)
        for row, column in seed.cover:
            shift = style.flat(row, column)
            blocked |= flat[first + shift : last + shift]
        positions = np.arange(len(flat)).reshape(occupied.shape)[window, window]
        return positions[~blocked.reshape(-1, style.stride)[:, window]]
