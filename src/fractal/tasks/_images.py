"""Images as arrays of gray levels."""

import functools
import io
import pathlib
import struct
import zlib
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8

from .._extras import require
from ._errors import DataError
from ._folders import reading

_END = b"IEND\xaeB\x60\x82"  # the last bytes of every PNG file; Pillow reads files without them


@functools.cache
def pillow() -> Any:
    """The module `PIL.Image`; an `ImportError` names the extra that installs it."""
    require("train", "PIL", package="reading and drawing images")
    from PIL import Image

    return Image


def read_gray(
    path: pathlib.Path, width: int, height: int | None = None
) -> UInt8[np.ndarray, "rows columns"]:
    """Read a PNG file of the expected size, of any height if None is given."""
    module = pillow()
    with reading(path):
        data = path.read_bytes()
    if not data.endswith(_END):
        raise DataError(f"{path} is not a complete PNG file")
    try:
        image = module.open(io.BytesIO(data), formats=["PNG"])
        found = f"{image.width}×{image.height}"
        fits = image.width == width and image.height == (height or image.height)
        pixels = np.asarray(image.convert("L")) if fits else None
    except (
        # What Pillow raises on corrupted files.
        *(OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, MemoryError),
        *(ArithmeticError, LookupError, TypeError, AttributeError, module.DecompressionBombError),
    ) as error:
        raise DataError(
            f"{path} is not a complete PNG file: {error or type(error).__name__}"
        ) from None
    if pixels is None:
        raise DataError(f"{path} has {found} pixels, not {width}×{height or 'any'}")
    return pixels


def gray(colors: UInt8[np.ndarray, "*shape 3"]) -> UInt8[np.ndarray, "*shape"]:
    """Pillow's gray levels, (299 R + 587 G + 114 B)/1000."""
    flat = pillow().fromarray(colors.reshape(-1, colors.shape[-2], 3))
    return np.asarray(flat.convert("L")).reshape(colors.shape[:-1])


def halved(
    images: UInt8[np.ndarray, "count rows columns"],
) -> UInt8[np.ndarray, "count half_rows half_columns"]:
    """2× downsampled images: means of 2 × 2 pixels."""
    count, rows, columns = images.shape
    squares = images.reshape(count, rows // 2, 2, columns // 2, 2)
    return np.round(squares.mean(axis=(2, 4))).astype(np.uint8)


def levels(mean: float, deviation: float) -> Float32[np.ndarray, "256"]:
    """The normalized value (x/255 − mean)/deviation of each gray level x."""
    return ((np.arange(256) / 255 - mean) / deviation).astype(np.float32)
