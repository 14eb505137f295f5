import functools
import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

from fractal.tasks._snakes import LEVELS, draw, geometry
from paddle_masks import OFF_CENTER, RESOLUTIONS, disc, slow_mask

EASY, MEDIUM, HARD = LEVELS
# The middle level stands for the hard one where that takes a thousand attempts a picture.
SAMPLES = [(32, HARD, 12), (64, MEDIUM, 6), (128, MEDIUM, 8), (256, HARD, 4)]
samples = pytest.mark.parametrize(("resolution", "level", "count"), SAMPLES)


@functools.cache
def drawings(resolution, level, count, unbiased=False):
    rng = np.random.default_rng(resolution)
    measures = geometry(resolution, level, unbiased)
    return [draw(measures, k % 2, rng) for k in range(count)]


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


@samples
def test_target_snakes_begin_near_the_middle_and_the_seed_distance_apart(resolution, level, count):
    measures = geometry(resolution, level)
    middle = (resolution - 1) / 2
    for drawing in drawings(resolution, level, count):
        first, second = (contour[0, 0] for contour in drawing.contours)
        reach = middle - 2 * measures.seed_distance + measures.style(drawing.margin).half
        assert np.abs(first - middle).max() <= reach
        assert abs(math.dist(first, second) - measures.seed_distance) <= math.sqrt(0.5)


def test_an_invalid_argument_raises_with_its_name(rng):
    with pytest.raises(ValueError, match="resolution must be one of 32, 64, 128, 256, got 48"):
        geometry(48, HARD)
    with pytest.raises(ValueError, match="level must be one of curv_baseline"):
        geometry(32, "hard")
    with pytest.raises(ValueError, match="label must be 0 or 1, got 2"):
        draw(geometry(32, HARD), 2, rng)
