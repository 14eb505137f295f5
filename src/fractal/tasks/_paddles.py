"""Paddles, the dashes of a Pathfinder image: ink, occupied pixels, and possible continuations.

An image has about fifty paddles and drawing it tries thousands, but there are only a few hundred
different ones, which are cached. Angles are measured from the columns to the rows. All values are
8-bit, which makes tests of overlap exact.
"""

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Integer, UInt8

from ._images import pillow

FULL = 255
_OVERLAP = 459  # 1.8 of 255: masks whose sum reaches it at any pixel overlap


@dataclasses.dataclass(frozen=True)
class Style:
    """The parameters of the shape of a paddle; lengths in pixels."""

    window: int
    length: int
    thickness: float
    margin: int
    continuity: float
    antialias: int
    unbiased: bool = False

    @functools.cached_property
    def half(self) -> int:
        """Half the side of a patch that contains a paddle and its mask."""
        return self.length + math.ceil(self.thickness) + self.margin

    @functools.cached_property
    def rim(self) -> int:
        """Width of the rim around the image; patches centered in the image stay in the array."""
        return self.half + 2 * self.margin + 2

    @functools.cached_property
    def stride(self) -> int:
        """Side of the image with its rim, a square in which positions are flat indices."""
        return self.window + 2 * self.rim

    def flat(self, row: int, column: int) -> int:
        """The flat index of a row and column, or of an offset of rows and columns."""
        return row * self.stride + column


class Paddle(NamedTuple):
    """A paddle on patches centered on the pixel from which it is drawn, its anchor.

    - `occupancy`: the mask that other paddles must not overlap, and that mask dilated by the
      margin, which their far ends must avoid.
    - `limit`: the largest values under its mask that are no overlap.
    - `end`: its other end (row, column).
    - `step`: flat offset from its pivot to the next.
    - `ways`: continuations from there: flat offset of the next far end, weight, and the index of
      the follower.
    """

    ink: UInt8[np.ndarray, "side side"]
    occupancy: UInt8[np.ndarray, "layers=2 wider wider"]
    limit: UInt8[np.ndarray, "side side"]
    end: tuple[float, float]
    step: int
    ways: list[tuple[int, float, int]]  # plain tuples are the fastest to unpack


class Seed(NamedTuple):
    """The first paddle of a snake, drawn forward from its tail; offsets (row, column) from there.

    - `cover`: the pixels that must be free.
    - `box`: their smallest and largest rows and columns.
    - `usable`: whether a snake can start in this direction.
    """

    paddle: Paddle
    head: tuple[int, int]
    pivot: tuple[int, int]
    cover: list[tuple[int, int]]
    box: tuple[tuple[int, int], tuple[int, int]]
    usable: bool


class Paddles(NamedTuple):
    """All paddles of a style: one seed per degree from −180, one follower per direction."""

    style: Style
    seeds: list[Seed]
    followers: list[Paddle]


@functools.cache
def paddles(style: Style) -> Paddles:
    """The paddles of a style, drawn once."""
    seeds = [_seed(style, math.radians(degrees)) for degrees in range(-180, 180)]
    # Followers are drawn backward, from their far ends.
    followers = [_paddle(style, t, t + math.pi) for t in turns(style)[1].tolist()]
    return Paddles(style, seeds, followers)


def move(start: int, theta: float, distance: float) -> tuple[int, int]:
    """The offset (row, column) of a move from the pixel (start, start), rounded up.

    The sum is rounded, too, and hides rounding errors of sine and cosine; except, as in the
    original, at ±60° and ±120° for a small `start`.
    """
    return (
        math.ceil(start + distance * math.sin(theta)) - start,
        math.ceil(start + distance * math.cos(theta)) - start,
    )


def turns(style: Style) -> tuple[Integer[np.ndarray, "ways 2"], np.ndarray]:
    """The pixels of the circle around a pivot that far ends may occupy, and their angles."""
    radius = style.length + style.margin
    angle = np.arange(0, 2 * math.pi, 1 / radius)  # one pixel of arc apart
    circle = radius * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    pixels = np.unique(np.floor(np.round(circle, 9)).astype(int), axis=0)
    return pixels, np.arctan2(pixels[:, 0], pixels[:, 1])


def marker(
    style: Style, pixel: tuple[int, int], radius: float
) -> UInt8[np.ndarray, "window window"]:
    """An image of a filled, antialiased disc.

    In the original its center is the first of the supersampled pixels of `pixel`, and thus up and
    left of the center of `pixel`: by ¼ for two supersampled pixels per side.
    """
    center = (style.antialias - 1) / 2 if style.unbiased else 0
    rows, columns = (
        (np.arange(style.window * style.antialias) - start * style.antialias - center) ** 2
        for start in pixel
    )
    disc = rows[:, None] + columns <= (radius * style.antialias) ** 2
    return _shrink(FULL * disc.astype(np.uint8), style.window)


def stroke(
    style: Style, tip: tuple[int, int]
) -> tuple[UInt8[np.ndarray, "side side"], UInt8[np.ndarray, "side side"]]:
    """Ink and mask of a line from the center of a patch to `tip`, in supersampled pixels."""
    center, side = style.half * style.antialias, 2 * style.half + 1
    fine = pillow().new("L", (2 * center + 1, 2 * center + 1))
    from PIL import ImageDraw

    ImageDraw.Draw(fine).line(
        [(center, center), (center + tip[1], center + tip[0])],
        fill=FULL,
        width=round(style.thickness * style.antialias),
    )
    line, around = np.asarray(fine), style.margin * style.antialias
    mask = _dilate(line, around)[around:-around, around:-around]
    return _shrink(line, side), _shrink(mask, side)


def _seed(style: Style, theta: float) -> Seed:
    paddle = _paddle(style, theta, theta)
    head = move(style.window // 2, theta, style.length)
    back = move(style.window // 2, theta + math.pi, style.length + style.margin)
    pivot = (head[0] + back[0], head[1] + back[1])
    # Only pixels that the mask covers entirely must be free; its gray edges may overlap.
    offsets = np.argwhere(paddle.occupancy[0] == FULL) - style.half - style.margin
    if not style.unbiased:
        # The original tests a patch that is too small, with the paddle one pixel off its center.
        offsets = offsets + 1
        offsets = offsets[(np.abs(offsets) <= style.length + style.margin).all(axis=1)]
    rows, columns = offsets.T.tolist()
    box = ((min(rows), max(rows)), (min(columns), max(columns)))
    cover = list(zip(rows, columns, strict=True))
    return Seed(paddle, head, pivot, cover, box, style.unbiased or _meets_corners(cover))


def _meets_corners(cover: list[tuple[int, int]]) -> bool:
    """Whether the cover of each pixel of an image, those in its corners included, meets the image.

    Where it does not, the original takes the maximum of no pixels, which OpenCV defines as the
    lowest number, and then considers the whole image to be occupied.
    """
    signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    return all(any(a * row >= 0 and b * column >= 0 for row, column in cover) for a, b in signs)


def _paddle(style: Style, theta: float, drawn: float) -> Paddle:
    """The paddle of a snake in direction `theta`, drawn from its anchor along `drawn`."""
    tip = move(style.half * style.antialias, drawn, style.length * style.antialias)
    ink, mask = stroke(style, tip)
    occupancy = np.stack([np.pad(mask, style.margin), _dilate(mask, style.margin)])
    limit = np.clip(_OVERLAP - 1 - mask.astype(int), 0, FULL).astype(np.uint8)
    end = (tip[0] / style.antialias, tip[1] / style.antialias)
    step = style.flat(*move(style.window // 2, theta, style.length + 2 * style.margin))
    return Paddle(ink, occupancy, limit, end, step, _ways(style, theta))


def _ways(style: Style, theta: float) -> list[tuple[int, float, int]]:
    """Continuations of a snake in direction `theta`, weighted by cos²(continuity · turn)."""
    pixels, angles = turns(style)
    turn = np.abs(angles - theta)
    turn = style.continuity * np.minimum(turn, 2 * math.pi - turn)
    return [
        (style.flat(*pixels[k].tolist()), math.cos(turn[k]) ** 2, k)
        for k in np.flatnonzero(turn < math.pi / 2).tolist()
    ]


def _disc(radius: float, half: int) -> Bool[np.ndarray, "side side"]:
    """The pixels within `radius` of the center of a patch."""
    square = np.arange(-half, half + 1) ** 2
    return square[:, None] + square <= radius**2


def _dilate(
    picture: UInt8[np.ndarray, "side side"], radius: int
) -> UInt8[np.ndarray, "wider wider"]:
    """The maximum within `radius`, on a patch that is wider by `radius` on every side."""
    side = len(picture)
    grown = np.zeros((side + 2 * radius, side + 2 * radius), np.uint8)
    for row, column in np.argwhere(_disc(radius, radius)):
        view = grown[row : row + side, column : column + side]
        np.maximum(view, picture, out=view)
    return grown


def _shrink(picture: UInt8[np.ndarray, "fine fine"], side: int) -> UInt8[np.ndarray, "side side"]:
    image = pillow()
    small = image.fromarray(picture).resize((side, side), image.Resampling.LANCZOS)
    return np.asarray(small)
