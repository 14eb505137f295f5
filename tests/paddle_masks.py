"""Paddles of Pathfinder drawn one by one, with the dilation of SciPy."""

import math

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

from fractal.tasks._paddles import move
from fractal.tasks._snakes import LEVELS, geometry

RESOLUTIONS = (32, 64, 128, 256)
*_, HARD = LEVELS
STYLES = [
    geometry(resolution, HARD).style(margin)
    for resolution in RESOLUTIONS
    for margin in geometry(resolution, HARD).margins
]
OFF_CENTER = 0.25  # of the markers of published images


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
