"""Paddles, the places where they can be laid, and markers."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from fractal.tasks._occupancy import Occupancy
from fractal.tasks._paddles import marker, paddles, stroke, turns
from fractal.tasks._snakes import LEVELS, geometry
from paddle_masks import (
    OFF_CENTER,
    RESOLUTIONS,
    STYLES,
    dilated,
    disc,
    published_kernel,
    slow_mask,
    slow_stroke,
    tip_of,
)

*_, HARD = LEVELS


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_kept_paddles_agree_with_paddles_drawn_directly(style):
    kit = paddles(style)
    backward = [angle + math.pi for angle in turns(style)[1]]
    forward = [math.radians(degrees) for degrees in range(-180, 180)]
    kept = [*kit.followers, *(seed.paddle for seed in kit.seeds)]
    for paddle, theta in list(zip(kept, backward + forward, strict=True))[::11]:
        tip = tip_of(style, theta)
        ink, mask = slow_stroke(style, tip)
        m = style.margin
        assert np.array_equal(paddle.ink, ink)
        assert np.array_equal(paddle.occupancy[0, m:-m, m:-m], mask)
        wide = ndimage.grey_dilation(np.pad(mask, m), footprint=disc(m))
        assert np.array_equal(paddle.occupancy[1], wide)
        assert np.array_equal(paddle.limit < 255, mask > 203)


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_a_stroke_lies_where_its_line_does(style):
    rows, columns = np.indices((2 * style.half + 1,) * 2) - style.half
    for degrees in range(0, 360, 24):
        theta = math.radians(degrees)
        ink, mask = stroke(style, tip_of(style, theta))
        weight = ink / ink.sum()
        center = np.array([(rows * weight).sum(), (columns * weight).sum()])
        middle = style.length / 2 * np.array([math.sin(theta), math.cos(theta)])
        # Half a pixel each way: a line ends on, and is wide, whole pixels of half the size.
        assert np.abs(center - middle).max() < 0.6
        # The mask is all that lies within margin + half the thickness of the line, give or take.
        along = rows * math.sin(theta) + columns * math.cos(theta)
        aside = columns * math.sin(theta) - rows * math.cos(theta)
        beyond = along - np.clip(along, 0, style.length)
        distance = np.hypot(beyond, aside) - style.thickness / 2 - style.margin
        assert mask[distance < -1.75].min(initial=255) > 203
        assert mask[distance > 1.75].max() < 128


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_continuations_are_weighted_by_the_turning_angle(style):
    radius = style.length + style.margin
    kit = paddles(style)
    for degrees in (-180, -77, 0, 45, 130):
        theta = math.radians(degrees)
        expected = {}
        for k in range(math.ceil(2 * math.pi * radius)):
            row = math.floor(radius * math.sin(k / radius) + 1e-9)
            column = math.floor(radius * math.cos(k / radius) + 1e-9)
            turn = math.acos(math.cos(math.atan2(row, column) - theta))
            if style.continuity * turn < math.pi / 2:
                expected[row * style.stride + column] = math.cos(style.continuity * turn) ** 2
        ways = {offset: weight for offset, weight, _ in kit.seeds[degrees + 180].paddle.ways}
        assert ways.keys() == expected.keys()
        assert all(ways[way] == pytest.approx(expected[way], abs=1e-6) for way in ways)


@pytest.mark.parametrize(
    "style", [*STYLES, *(dataclasses.replace(one, unbiased=True) for one in STYLES)], ids=str
)
def test_a_seed_can_be_laid_just_where_what_it_covers_is_free(style, rng):
    occupancy = Occupancy.empty(style, 1)
    kit = paddles(style)
    window = np.ones((style.window, style.window))
    window[1:-1, 1:-1] = 0
    tips = np.array([paddle.end for paddle in kit.followers])
    for _ in range(12):
        number, anchor = rng.integers(len(tips)), rng.integers(0, style.window, 2)
        occupancy.add(kit.followers[number], style.flat(*(style.rim + anchor).tolist()))
        window = np.maximum(window, slow_mask(style, anchor, anchor + tips[number]))
    assert occupancy.free() == np.count_nonzero(window <= 0.3)
    for degrees in range(0, 360, 72):
        if style.unbiased:
            mask = slow_stroke(style, tip_of(style, math.radians(degrees)))[1]
            kernel = mask == 255
        else:
            kernel = published_kernel(style, degrees)
        places = occupancy.tails(kit.seeds[(degrees + 180) % 360])
        found = np.stack(np.divmod(places, style.stride), axis=1) - style.rim
        assert np.array_equal(found, np.argwhere(dilated(window, kernel) <= 0.3))


@pytest.mark.parametrize(
    ("style", "expected"), list(zip(STYLES, (30, 95, 354, 360, 360), strict=True))
)
def test_snakes_start_in_directions_whose_dilation_is_defined_everywhere(style, expected):
    """The numbers were counted with OpenCV's own dilation."""
    usable = [seed.usable for seed in paddles(style).seeds]
    assert sum(usable) == expected
    empty = np.zeros((40, 40))
    for degrees in range(-180, 180, 1 if style.window == 32 else 7):
        kernel = published_kernel(style, degrees)
        assert usable[degrees + 180] == (dilated(empty, kernel).min() == 0)
    assert all(seed.usable for seed in paddles(dataclasses.replace(style, unbiased=True)).seeds)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_first_seeds_have_all_the_room_that_the_frame_leaves(resolution):
    measures = geometry(resolution, HARD)
    style = measures.style(measures.margins[0])
    frame = 2 * measures.seed_distance
    taken = np.ones((resolution, resolution), bool)
    taken[frame:-frame, frame:-frame] = False
    for degrees in range(-180, 180, 36):
        free = dilated(taken.astype(float), published_kernel(style, degrees)) == 0
        edge = style.half  # a seed that covers nothing but what lies beyond the window is not meant
        places = edge + np.argwhere(free[edge:-edge, edge:-edge])
        box = paddles(style).seeds[degrees + 180].box
        ranges = [range(frame - low, resolution - frame - high) for low, high in box]
        assert places.tolist() == [list(place) for place in itertools.product(*ranges)]
        assert len(places) > 0


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("radius", [1.5, 2.5, 3.0, 5.0])
def test_a_marker_is_a_smooth_disc_up_and_left_of_its_pixel_unless_unbiased(radius, unbiased):
    style = dataclasses.replace(STYLES[0], unbiased=unbiased)
    disc = marker(style, (14, 17), radius)
    rows, columns = np.indices(disc.shape)
    center = np.array([14, 17]) - (0 if unbiased else OFF_CENTER)
    distance = np.hypot(rows - center[0], columns - center[1])
    assert disc[distance <= radius - 0.75].min() > 230
    assert disc[distance >= radius + 0.75].max() < 40
    weight = disc / disc.sum()
    found = np.array([(rows * weight).sum(), (columns * weight).sum()])
    np.testing.assert_allclose(found, center, atol=0.04)
    # The number of supersampled pixels, which are quarters of pixels.
    offset = 0.5 if unbiased else 0
    fine = np.hypot(*(np.mgrid[-12:13, -12:13] - offset)) <= 2 * radius
    assert disc.sum() / 255 == pytest.approx(fine.sum() / 4, rel=0.05)
