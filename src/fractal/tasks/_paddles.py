"""Paddles, the dashes of a Pathfinder picture: their ink, their ground, and the ways on from them.

A picture holds some fifty of them and its making tries thousands, but each is one of a few hundred:
they are drawn once and kept. Angles run from the columns to the rows; all values are 8-bit, 0 to
255, which makes every test of overlap exact.
"""

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Integer, UInt8
from PIL import Image, ImageDraw

FULL = 255
_OVERLAP = 459  # 1.8 of 255: two masks that add up to this anywhere overlap


@dataclasses.dataclass(frozen=True)
class Style:
    """What the look of a paddle depends on; all lengths in pixels."""

    window: int
    length: int
    thickness: float
    margin: int
    continuity: float
    antialias: int

    @functools.cached_property
    def half(self) -> int:
        """From the center of a patch to its edge, with room for a paddle and its mask."""
        return self.length + math.ceil(self.thickness) + self.margin

    @functools.cached_property
    def rim(self) -> int:
        """Around the window, so that what begins inside never leaves the array."""
        return self.half + 2 * self.margin + 2

    @functools.cached_property
    def stride(self) -> int:
        """The side of the window with its rim: places are flat indices of that square."""
        return self.window + 2 * self.rim

    def flat(self, row: int, column: int) -> int:
        """A step of so many rows and columns, as a step of the flat index."""
        return row * self.stride + column


class Paddle(NamedTuple):
    """A paddle as it is stamped, on patches centered on the pixel it is drawn from.

    `ground` is what it takes up: the mask that other paddles must not overlap, and that mask grown
    by the margin, where their far ends must not lie. `limit` is the most that its own mask bears
    beneath. `end` is its other end (row, column). The next pivot lies `step` after its own; from
    there go `ways`: where the next far end may lie, with what weight, and which follower that is.
    """

    ink: UInt8[np.ndarray, "side side"]
    ground: UInt8[np.ndarray, "layers=2 wider wider"]
    limit: UInt8[np.ndarray, "side side"]
    end: tuple[float, float]
    step: int
    ways: list[tuple[int, float, int]]  # plain tuples: they are the quickest to unpack


class Seed(NamedTuple):
    """A snake's first paddle, drawn forwards from its tail, with offsets (row, column) from there.

    `cover` are the pixels that must be free, and `box` their least and largest rows and columns.
    """

    paddle: Paddle
    head: tuple[int, int]
    pivot: tuple[int, int]
    cover: list[tuple[int, int]]
    box: tuple[tuple[int, int], tuple[int, int]]


class Paddles(NamedTuple):
    """All paddles of a style: seeds for each degree from -180, followers for each way of a turn."""

    style: Style
    seeds: list[Seed]
    followers: list[Paddle]


@functools.cache
def paddles(style: Style) -> Paddles:
    """The set for a style, drawn when first asked for."""
    seeds = [_seed(style, math.radians(degrees)) for degrees in range(-180, 180)]
    # Followers are drawn backwards, from their far ends.
    followers = [_paddle(style, t, t + math.pi) for t in turns(style)[1].tolist()]
    return Paddles(style, seeds, followers)


def move(theta: float, distance: float) -> tuple[int, int]:
    """A step (row, column), rounded up; but not because of the last bits of a sine."""
    return (
        math.ceil(round(distance * math.sin(theta), 9)),
        math.ceil(round(distance * math.cos(theta), 9)),
    )


def turns(style: Style) -> tuple[Integer[np.ndarray, "ways 2"], np.ndarray]:
    """The pixels of the circle about a pivot on which far ends may lie, and their angles."""
    radius = style.length + style.margin
    # A pixel of arc apart; the original's first angle is not recorded, which moves a pixel or two.
    angle = np.arange(0, 2 * math.pi, 1 / radius)
    circle = radius * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    pixels = np.unique(np.floor(np.round(circle, 9)).astype(int), axis=0)
    return pixels, np.arctan2(pixels[:, 0], pixels[:, 1])


def marker(radius: float, antialias: int) -> UInt8[np.ndarray, "side side"]:
    """A filled disc with a smooth rim, on a patch of odd side."""
    half = math.ceil(radius)
    fine = half * antialias
    return _shrink(FULL * _disc(radius * antialias, fine).astype(np.uint8), 2 * half + 1)


def stroke(
    style: Style, tip: tuple[int, int]
) -> tuple[UInt8[np.ndarray, "side side"], UInt8[np.ndarray, "side side"]]:
    """Ink and mask of a line from a patch's center to `tip`, in the finer pixels."""
    center, side = style.half * style.antialias, 2 * style.half + 1
    fine = Image.new("L", (2 * center + 1, 2 * center + 1))
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
    head = move(theta, style.length)
    back = move(theta + math.pi, style.length + style.margin)
    pivot = (head[0] + back[0], head[1] + back[1])
    # Only the pixels that the mask covers wholly must be free: at its gray edge a seed may touch.
    rows, columns = np.nonzero(paddle.ground[0] == FULL)
    rows, columns = ((axis - style.half - style.margin).tolist() for axis in (rows, columns))
    box = ((min(rows), max(rows)), (min(columns), max(columns)))
    return Seed(paddle, head, pivot, list(zip(rows, columns, strict=True)), box)


def _paddle(style: Style, theta: float, drawn: float) -> Paddle:
    """The paddle of a snake that heads for `theta`, drawn from its anchor along `drawn`."""
    tip = move(drawn, style.length * style.antialias)
    ink, mask = stroke(style, tip)
    ground = np.stack([np.pad(mask, style.margin), _dilate(mask, style.margin)])
    limit = np.clip(_OVERLAP - 1 - mask.astype(int), 0, FULL).astype(np.uint8)
    end = (tip[0] / style.antialias, tip[1] / style.antialias)
    step = style.flat(*move(theta, style.length + 2 * style.margin))
    return Paddle(ink, ground, limit, end, step, _ways(style, theta))


def _ways(style: Style, theta: float) -> list[tuple[int, float, int]]:
    """Where a snake that heads for `theta` may go: cos² of the turn times the continuity."""
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
    """The largest value within `radius`, on a patch wider by that much on every side."""
    side = len(picture)
    grown = np.zeros((side + 2 * radius, side + 2 * radius), np.uint8)
    for row, column in np.argwhere(_disc(radius, radius)):
        view = grown[row : row + side, column : column + side]
        np.maximum(view, picture, out=view)
    return grown


def _shrink(picture: UInt8[np.ndarray, "fine fine"], side: int) -> UInt8[np.ndarray, "side side"]:
    small = Image.fromarray(picture).resize((side, side), Image.Resampling.LANCZOS)
    return np.asarray(small)
