import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy import ndimage

from fractal.tasks._occupancy import Occupancy
from fractal.tasks._paddles import marker, move, paddles, stroke, turns
from fractal.tasks._snakes import LEVELS, draw, geometry

RESOLUTIONS = (32, 64, 128, 256)
EASY, MEDIUM, HARD = LEVELS
STYLES = [
    geometry(resolution, HARD).style(margin)
    for resolution in RESOLUTIONS
    for margin in geometry(resolution, HARD).margins
]
# The middle level stands for the hard one where that takes a thousand attempts a picture.
SAMPLES = [(32, HARD, 12), (64, MEDIUM, 6), (128, MEDIUM, 8), (256, HARD, 4)]
samples = pytest.mark.parametrize(("resolution", "level", "count"), SAMPLES)
OFF_CENTER = 0.25  # of the markers of published images


@functools.cache
def drawings(resolution, level, count, unbiased=False):
    rng = np.random.default_rng(resolution)
    measures = geometry(resolution, level, unbiased)
    return [draw(measures, k % 2, rng) for k in range(count)]


def published_kernel(style, degrees):
    """The kernel by which the original dilates the image: full pixels, one off the center."""
    mask = slow_stroke(style, tip_of(style, math.radians(degrees)))[1]
    reach = style.length + style.margin
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1), bool)
    for row, column in np.argwhere(mask == 255) - style.half + reach + 1:
        if 0 <= row < len(kernel) and 0 <= column < len(kernel):
            kernel[row, column] = True
    return kernel


def dilated(image, kernel):
    """OpenCV's dilation of float64 images; SciPy looks in the mirrored direction."""
    lowest = np.finfo(float).min
    return ndimage.grey_dilation(image, footprint=kernel[::-1, ::-1], mode="constant", cval=lowest)


def tip_of(style, theta):
    """The end of a stroke, in supersampled pixels."""
    return move(style.half * style.antialias, theta, style.length * style.antialias)


def disc(radius):
    return np.hypot(*np.mgrid[-radius : radius + 1, -radius : radius + 1]) <= radius


def slow_stroke(style, tip):
    """Ink and mask of a line, on their own patch, with SciPy's dilation."""
    side = 2 * style.half + 1
    fine = (side - 1) * style.antialias + 1
    center = fine // 2
    line = Image.new("1", (fine, fine))
    ends = [center, center, center + tip[1], center + tip[0]]
    ImageDraw.Draw(line).line(ends, 1, int(style.thickness * style.antialias))
    wide = ndimage.binary_dilation(np.array(line), disc(style.margin * style.antialias))
    return [
        np.array(Image.fromarray(np.uint8(255) * layer).resize((side, side), Image.LANCZOS))
        for layer in (np.array(line), wide)
    ]


def slow_mask(style, anchor, end):
    """A paddle's mask in the window, from 0 to 1."""
    tip = np.rint((end - anchor) * style.antialias).astype(int)
    mask = slow_stroke(style, tuple(tip.tolist()))[1] / 255
    rows, columns = (a - style.half + np.arange(len(mask)) for a in anchor.astype(int))
    inside = [(axis >= 0) & (axis < style.window) for axis in (rows, columns)]
    window = np.zeros((style.window, style.window))
    window[np.ix_(rows[inside[0]], columns[inside[1]])] = mask[np.ix_(*inside)]
    return window


def paddle_masks(drawing, style):
    """Of each target snake the paddles' masks; all but the first are drawn from the far end."""
    return [
        [slow_mask(style, *(ends if k == 0 else ends[::-1])) for k, ends in enumerate(contour)]
        for contour in drawing.contours
    ]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_every_level_and_resolution_draws_the_expected_number_of_paddles(resolution, level):
    measures = geometry(resolution, level)
    drawing = draw(measures, 1, np.random.default_rng(1))
    assert drawing.image.shape == (resolution, resolution)
    assert drawing.image.dtype == np.uint8
    assert drawing.margin in measures.margins
    assert [c.shape for c in drawing.contours] == [(LEVELS[level], 2, 2)] * 2
    assert 0 <= drawing.distractors <= measures.distractors
    assert measures.distractor_length == {6: 2, 9: 3, 14: 4}[LEVELS[level]]


@samples
def test_marked_ends_belong_to_one_contour_if_and_only_if_the_label_is_one(
    resolution, level, count
):
    for drawing in drawings(resolution, level, count):
        origins = [np.array_equal(drawing.markers[0], c[0, 0]) for c in drawing.contours]
        ends = [np.array_equal(drawing.markers[1], c[-1, 1]) for c in drawing.contours]
        assert sum(origins) == sum(ends) == 1
        assert (origins == ends) == bool(drawing.label)
    assert {d.label for d in drawings(resolution, level, count)} == {0, 1}


def test_distance_between_the_markers_does_not_reveal_the_label():
    rng = np.random.default_rng(2)
    apart = np.empty((2, 150))
    for label, k in itertools.product((0, 1), range(apart.shape[1])):
        apart[label, k] = math.dist(*draw(geometry(32, EASY), label, rng).markers)
    mean, error = apart.mean(axis=1), apart.std(axis=1) / math.sqrt(apart.shape[1])
    # The two kinds of ends are not of quite the same law: the origins themselves lie 7 apart.
    assert abs(mean[1] - mean[0]) < 3 * np.hypot(*error) + 1


@samples
def test_markers_are_discs_in_the_image(resolution, level, count):
    measures = geometry(resolution, level)
    brightest = max(1.0, measures.snake_contrast * 147 / 255)  # 147: the most of a half-pixel line
    rows, columns = np.indices((resolution, resolution))
    for drawing in drawings(resolution, level, count):
        for row, column in drawing.markers:
            distance = np.hypot(rows - row + OFF_CENTER, columns - column + OFF_CENTER)
            inside = drawing.image[distance <= measures.marker_radius - 0.5]
            assert inside.min() >= 0.9 * 255 / brightest


@pytest.mark.parametrize(("resolution", "level", "count"), SAMPLES[1:])
def test_there_are_just_two_discs(resolution, level, count):
    # Lines are fainter or too thin to contain such a disc; at 32 pixels a crossing of them may.
    radius = int(geometry(resolution, level).marker_radius - 1)
    for drawing in drawings(resolution, level, count):
        centers = ndimage.binary_erosion(drawing.image > 235, disc(radius))
        blobs, number = ndimage.label(centers, np.ones((3, 3)))
        assert number == 2
        found = np.array(ndimage.center_of_mass(centers, blobs, [1, 2]))
        apart = np.linalg.norm(found[:, None] - drawing.markers, axis=-1).min(axis=0)
        assert apart.max() <= 1


@samples
def test_paddles_are_lit_and_the_gaps_between_them_are_dark(resolution, level, count):
    measures = geometry(resolution, level)
    along = np.linspace(0, 1, 5)[:, None, None]
    gaps, between = [], []
    for drawing in drawings(resolution, level, count):
        near_light = ndimage.maximum_filter(drawing.image, 3)
        for contour in drawing.contours:
            points = (1 - along) * contour[:, 0] + along * contour[:, 1]
            rows, columns = np.rint(points).astype(int).reshape(-1, 2).T
            assert near_light[rows, columns].min() >= 255 * 0.25
            lengths = np.linalg.norm(contour[:, 1] - contour[:, 0], axis=1)
            assert np.abs(lengths - measures.paddle_length).max() <= math.sqrt(2) / 2
            steps = contour[1:, 0] - contour[:-1, 1]
            gaps += (np.linalg.norm(steps, axis=1) - 2 * drawing.margin).tolist()
            middle = np.rint(contour[:-1, 1] + steps / 2).astype(int)
            between += drawing.image[tuple(middle.T)].tolist()
    assert abs(np.mean(gaps)) < 0.75
    assert np.abs(gaps).max() < 3  # four roundings to whole pixels lie between two ends
    # Where the gap is a pixel or two, smoothing fills it.
    if min(measures.margins) > 1:
        assert np.median(between) < 10


@samples
def test_turns_are_bounded_by_the_continuity(resolution, level, count):
    measures = geometry(resolution, level)
    # The ends are whole antialiased pixels, so that each angle is off by up to this.
    rounding = math.asin(math.sqrt(2) / (measures.paddle_length * measures.antialias))
    largest = math.pi / (2 * measures.continuity) + 2 * rounding
    for contour in itertools.chain(*(d.contours for d in drawings(resolution, level, count))):
        angle = np.arctan2(*(contour[:, 1] - contour[:, 0]).T)
        turn = np.abs((np.diff(angle) + math.pi) % (2 * math.pi) - math.pi)
        assert turn.max() < largest
        assert turn.max() > 0.1


@samples
def test_no_paddle_overlaps_those_that_were_occupied_before_it(resolution, level, count):
    measures = geometry(resolution, level)
    for drawing in drawings(resolution, level, count):
        masks = paddle_masks(drawing, measures.style(drawing.margin))
        occupancy = np.ones((resolution, resolution))
        inside = slice(measures.padding, -measures.padding)
        occupancy[inside, inside] = 0
        for k in range(1, measures.contour_length):
            for snake in masks:
                assert (occupancy + snake[k]).max() < 1.8
                occupancy = np.maximum(occupancy, snake[k - 1])  # the newest is occupied later


@samples
def test_an_image_spans_all_grays_and_is_mostly_dark(resolution, level, count):
    measures = geometry(resolution, level)
    area = measures.paddle_length * measures.thickness
    for drawing in drawings(resolution, level, count):
        targets = 2 * measures.contour_length
        total = targets + drawing.distractors * measures.distractor_length
        discs = 2 * math.pi * measures.marker_radius**2
        assert drawing.image.min() == 0
        assert drawing.image.max() == 255
        lit = np.count_nonzero(drawing.image > 64)
        # A line of n pixels lights n to three times as many, the targets hardly share any of them.
        thick = max(1, measures.thickness)
        assert targets * area * 0.8 < lit < total * 3 * (measures.paddle_length + 1) * thick + discs
        assert lit < 0.5 * resolution**2


@samples
def test_target_snakes_keep_off_the_border_and_hardly_anything_is_lit_there(
    resolution, level, count
):
    measures = geometry(resolution, level)
    lit = []
    for drawing in drawings(resolution, level, count):
        tips = np.concatenate([c[1:, 1] for c in drawing.contours])
        border = measures.padding + drawing.margin
        assert tips.min() >= border
        assert tips.max() <= resolution - 1 - border
        edges = [drawing.image[0], drawing.image[-1], drawing.image[:, 0], drawing.image[:, -1]]
        lit.append(np.mean(np.concatenate(edges) > 64))
    # Distractors may begin on the border, and the rims of markers reach it.
    assert np.mean(lit) < 0.02


def test_same_seed_gives_the_same_bytes():
    measures = geometry(32, HARD)
    first, again, other = (
        [draw(measures, 0, rng) for _ in range(2)] for rng in map(np.random.default_rng, (3, 3, 4))
    )
    for one, two in zip(first, again, strict=True):
        assert one.image.tobytes() == two.image.tobytes()
        assert np.array_equal(one.markers, two.markers)
    assert first[0].image.tobytes() != first[1].image.tobytes() != other[0].image.tobytes()


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


def test_published_images_of_32_pixels_have_few_distractors_and_unbiased_ones_nearly_all():
    published, unbiased = (drawings(32, HARD, 60, flag) for flag in (False, True))
    few, most = (np.array([one.distractors for one in group]) for group in (published, unbiased))
    # Five standard errors of 60 images around the means of thousands: 1.2 and 4.7.
    assert abs(few.mean() - 1.2) < 5 * 0.95 / math.sqrt(60)
    assert abs(most.mean() - 4.7) < 5 * 0.5 / math.sqrt(60)
    dark, light = (np.mean([one.image for one in group]) for group in (published, unbiased))
    assert abs(dark - 20.2) < 5 * 2.2 / math.sqrt(60)
    assert light > dark + 5


def test_first_snakes_of_published_images_start_toward_the_upper_left_and_others_anywhere():
    starts = {False: [], True: []}
    for unbiased, group in starts.items():
        for drawing in drawings(32, HARD, 60, unbiased):
            near, far = drawing.contours[0][0]
            group.append(np.sign(far - near).tolist())
    assert np.max(starts[False]) == -1
    assert np.max(starts[True]) == 1


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


@samples
def test_target_snakes_begin_near_the_middle_and_the_seed_distance_apart(resolution, level, count):
    measures = geometry(resolution, level)
    middle = (resolution - 1) / 2
    for drawing in drawings(resolution, level, count):
        first, second = (contour[0, 0] for contour in drawing.contours)
        reach = middle - 2 * measures.seed_distance + measures.style(drawing.margin).half
        assert np.abs(first - middle).max() <= reach
        assert abs(math.dist(first, second) - measures.seed_distance) <= math.sqrt(0.5)


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


def test_an_invalid_argument_raises_with_its_name(rng):
    with pytest.raises(ValueError, match="resolution must be one of 32, 64, 128, 256, got 48"):
        geometry(48, HARD)
    with pytest.raises(ValueError, match="level must be one of curv_baseline"):
        geometry(32, "hard")
    with pytest.raises(ValueError, match="label must be 0 or 1, got 2"):
        draw(geometry(32, HARD), 2, rng)
