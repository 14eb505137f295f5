"""Pathfinder images: two long dashed snakes, two marked ends, and short distractor snakes.

The task of Linsley et al. (2018) in the four sizes of the Long Range Arena: whether the two marked
ends belong to one snake. This is an independent implementation of the published rules: the images
are not those of the release, but have the same distribution.

The published generator starts the first target snake and all distractors in some directions only:
at 32 pixels in 30 of 360, so that most distractors are omitted. `unbiased` images have snakes in
all directions and more distractors, and are harder; their markers are centered on the ends.
"""

import bisect
import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Integer, UInt8

from .._checks import check_choice, check_flag
from ._occupancy import Occupancy
from ._paddles import FULL, Paddle, Paddles, Seed, Style, marker, paddles

# Paddles per target snake. The number of the easy level of the release is not documented: 6 is the
# default of its generator; its notes also name 14, which is the hard level.
LEVELS = {"curv_baseline": 6, "curv_contour_length_9": 9, "curv_contour_length_14": 14}

_TRIES = 3  # for the position of one paddle
_DISTRACTOR_TRIES = 5  # for one whole distractor
_LEAST_WEIGHT = 1e-4  # sum over all continuations, below which a snake is stuck
_LEAST_ROOM = 0.01  # free share of the image, below which no distractor is started


@dataclasses.dataclass(frozen=True)
class Geometry:
    """The dimensions of an image: lengths in pixels, contours in paddles."""

    window: int
    padding: int
    seed_distance: int
    marker_radius: float
    contour_length: int
    paddle_length: int
    thickness: float
    margins: tuple[int, ...]
    continuity: float
    distractor_length: int
    distractors: int
    snake_contrast: float
    paddle_contrast: float
    antialias: int = 2
    unbiased: bool = False

    def style(self, margin: int) -> Style:
        """The style of the paddles for one of the margins."""
        return Style(
            self.window,
            self.paddle_length,
            self.thickness,
            margin,
            self.continuity,
            self.antialias,
            self.unbiased,
        )


_HARD = {
    32: Geometry(32, 1, 7, 1.5, 14, 2, 0.5, (1,), 1.0, 4, 5, 2.0, 0.75),
    64: Geometry(64, 1, 12, 2.5, 14, 5, 1.0, (1,), 1.8, 4, 5, 0.8, 1.0),
    128: Geometry(128, 1, 20, 3.0, 14, 5, 1.5, (2, 3), 1.8, 4, 8, 0.9, 1.0),
    256: Geometry(256, 22, 27, 5.0, 14, 5, 2.0, (3,), 1.8, 4, 7, 1.0, 1.0),
}


def geometry(resolution: int, level: str, unbiased: bool = False) -> Geometry:
    """The dimensions of the Long Range Arena's images of `resolution` pixels per side."""
    if resolution not in _HARD:
        choices = ", ".join(map(str, _HARD))
        raise ValueError(f"resolution must be one of {choices}, got {resolution!r}")
    check_choice("level", level, list(LEVELS))
    length = LEVELS[level]
    # As in the original, the number of distractors does not depend on the level.
    return dataclasses.replace(
        _HARD[resolution],
        contour_length=length,
        distractor_length=length // 3,
        unbiased=check_flag("unbiased", unbiased),
    )


class Drawing(NamedTuple):
    """An image and its description.

    - `contours`: for each of the two target snakes, the paddles in order from its origin, each with
      its two ends (row, column), the near end first.
    - `markers`: the marked pixels, an origin and an end.
    - `distractors`: number of distractors in the image.
    """

    image: UInt8[np.ndarray, "window window"]
    label: int
    margin: int
    contours: tuple[Float[np.ndarray, "paddles 2 2"], Float[np.ndarray, "paddles 2 2"]]
    markers: Integer[np.ndarray, "2 2"]
    distractors: int


def draw(geometry: Geometry, label: int, rng: np.random.Generator) -> Drawing:
    """Draw one image; the marked ends belong to one snake if `label` is 1, to two if it is 0."""
    if label not in (0, 1):
        raise ValueError(f"label must be 0 or 1, got {label!r}")
    margin = geometry.margins[int(rng.integers(len(geometry.margins)))]
    kit = paddles(geometry.style(margin))
    while (pair := _target_pair(geometry, kit, rng)) is None:
        pass
    targets, occupancy = pair
    distractors = _distractors(geometry, kit, occupancy, rng)
    origin = int(rng.integers(2))
    terminal = origin if label else 1 - origin
    ends = [targets[origin].laid[0][1], targets[terminal].laid[-1][1]]
    markers = np.array([divmod(end, kit.style.stride) for end in ends]) - kit.style.rim
    return Drawing(
        _render(geometry, kit.style, targets, distractors, markers),
        label,
        margin,
        (_contour(targets[0], kit.style), _contour(targets[1], kit.style)),
        markers,
        len(distractors),
    )


class _Snake:
    """A growing row of paddles; the newest is not yet occupied, since it would block the next."""

    def __init__(self, seed: Seed, tail: int, style: Style):
        self.pivot = tail + style.flat(*seed.pivot)
        self.laid: list[tuple[Paddle, int]] = [(seed.paddle, tail)]

    def extend(
        self, followers: list[Paddle], occupancy: Occupancy, rng: np.random.Generator
    ) -> bool:
        """Add a paddle in a direction drawn by weight; False if the snake is stuck."""
        paddle, anchor = self.laid[-1]
        pivot, reach = self.pivot + paddle.step, occupancy.reach
        total, sums = 0.0, []
        for offset, weight, _ in paddle.ways:
            total += weight * (FULL - reach[pivot + offset])
            sums.append(total)
        if total < _LEAST_WEIGHT * FULL:
            return False
        for _ in range(_TRIES):
            offset, _, number = paddle.ways[bisect.bisect_right(sums, total * rng.random())]
            follower, head = followers[number], pivot + offset
            if occupancy.admits(follower, head):
                break
        else:
            return False
        occupancy.add(paddle, anchor)
        self.pivot = pivot
        self.laid.append((follower, head))
        return True


@functools.cache
def _empty(style: Style, padding: int) -> Occupancy:
    return Occupancy.empty(style, padding)


def _target_pair(
    geometry: Geometry, kit: Paddles, rng: np.random.Generator
) -> tuple[tuple[_Snake, _Snake], Occupancy] | None:
    """One attempt at the two target snakes, grown alternately, and the resulting occupancy."""
    style = kit.style
    seed, other = kit.seeds[rng.integers(360)], kit.seeds[rng.integers(360)]
    if not seed.usable:
        return None
    # The border is so wide that the first seed is near the center: its box must fit inside.
    low, high = 2 * geometry.seed_distance, geometry.window - 2 * geometry.seed_distance
    row, column = (int(rng.integers(low - least, high - most)) for least, most in seed.box)
    # The second is not checked; so near the center it cannot leave the image.
    phi = math.radians(rng.integers(360))
    beside = (
        round(row + geometry.seed_distance * math.sin(phi)),
        round(column + geometry.seed_distance * math.cos(phi)),
    )
    corner = style.flat(style.rim, style.rim)
    snakes = (
        _Snake(seed, corner + style.flat(row, column), style),
        _Snake(other, corner + style.flat(*beside), style),
    )
    occupancy = _empty(style, geometry.padding).copy()
    for _ in range(geometry.contour_length - 1):
        for snake in snakes:
            if not snake.extend(kit.followers, occupancy, rng):
                return None
    # As in the original, the last paddle of the first snake is never occupied.
    occupancy.add(*snakes[1].laid[-1])
    return snakes, occupancy


def _distractors(
    geometry: Geometry, kit: Paddles, occupancy: Occupancy, rng: np.random.Generator
) -> list[_Snake]:
    """The short snakes; each is omitted if a few attempts fail."""
    snakes = []
    for _ in range(geometry.distractors):
        for _ in range(_DISTRACTOR_TRIES):
            trial = occupancy.copy()
            snake = _distractor(geometry.distractor_length, kit, trial, rng)
            if snake is not None:
                snakes.append(snake)
                occupancy = trial
                break
    return snakes


def _distractor(
    length: int, kit: Paddles, occupancy: Occupancy, rng: np.random.Generator
) -> _Snake | None:
    """One attempt at a distractor, started at a random free position."""
    style = kit.style
    if occupancy.free() < _LEAST_ROOM * style.window**2:
        return None
    for _ in range(_TRIES):
        seed = kit.seeds[rng.integers(360)]
        tails = occupancy.tails(seed) if seed.usable else ()
        if len(tails) == 0:
            return None
        tail = int(tails[rng.integers(len(tails))])
        if _inside(style, tail, seed.head) and _inside(style, tail, seed.pivot):
            break
    else:
        return None
    snake = _Snake(seed, tail, style)
    for _ in range(length - 1):
        if not snake.extend(kit.followers, occupancy, rng):
            return None
    occupancy.add(*snake.laid[-1])
    return snake


def _inside(style: Style, position: int, offset: tuple[int, int]) -> bool:
    row, column = divmod(position, style.stride)
    row, column = row + offset[0] - style.rim, column + offset[1] - style.rim
    return 0 <= row < style.window and 0 <= column < style.window


def _render(
    geometry: Geometry,
    style: Style,
    targets: tuple[_Snake, _Snake],
    distractors: list[_Snake],
    markers: Integer[np.ndarray, "2 2"],
) -> UInt8[np.ndarray, "window window"]:
    """The maximum of all ink at each pixel, scaled to 0 … 255.

    At 32 pixels the lines are thin, and contrasts of 1.5 and 2 compensate for it; a marker has 1.
    """
    contrast = geometry.snake_contrast
    faint = contrast * geometry.paddle_contrast
    inked = [(p.ink, anchor, faint) for snake in targets for p, anchor in snake.laid]
    inked += [(p.ink, anchor, contrast) for snake in distractors for p, anchor in snake.laid]
    light = np.zeros((style.stride, style.stride))
    for ink, anchor, contrast in inked:
        row, column = divmod(anchor, style.stride)
        half = len(ink) // 2
        patch = light[row - half : row + half + 1, column - half : column + half + 1]
        np.maximum(patch, contrast * ink, out=patch)
    window = slice(style.rim, style.rim + style.window)
    light = light[window, window]
    for row, column in markers.tolist():
        light = np.maximum(light, marker(style, (row, column), geometry.marker_radius))
    return (light * (FULL / light.max()) + 0.5).astype(np.uint8)


def _contour(snake: _Snake, style: Style) -> Float[np.ndarray, "paddles 2 2"]:
    """The ends of the paddles, near end first. All but the seed are anchored at their far ends."""
    anchors = np.array([divmod(anchor, style.stride) for _, anchor in snake.laid]) - style.rim
    others = anchors + np.array([paddle.end for paddle, _ in snake.laid])
    contour = np.stack([others, anchors.astype(float)], axis=1)
    contour[0] = contour[0, ::-1]
    return contour
