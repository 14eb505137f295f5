"""Pictures as arrays of gray levels."""

import io
import pathlib

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image

from ._errors import DataError
from ._folders import reading

_END = b"IEND\xaeB\x60\x82"  # how every PNG file ends; Pillow does without it


def read_image(path: pathlib.Path, width: int, height: int | None = None) -> Image.Image:
    """A whole picture of the expected size, of any height when None is named."""
    with reading(path):
        data = path.read_bytes()
    if not data.endswith(_END):
        raise DataError(f"{path} is no whole PNG picture: it is cut off or something else")
    try:
        image = Image.open(io.BytesIO(data), formats=["PNG"])
        if image.width != width or image.height != (height or image.height):
            size = f"{image.width}×{image.height} pixels, not {width}×{height or 'any'}"
            raise DataError(f"{path} has {size}")
        image.load()
        return image
    except DataError:
        raise
    except Exception as error:  # Pillow meets damage with a dozen kinds of error
        raise DataError(
            f"{path} is no whole PNG picture: {error or type(error).__name__}"
        ) from None


def gray(image: Image.Image | UInt8[np.ndarray, "*shape 3"]) -> UInt8[np.ndarray, "*shape"]:
    """Pillow's gray, (299 R + 587 G + 114 B)/1000."""
    if isinstance(image, np.ndarray):
        flat = Image.fromarray(image.reshape(-1, image.shape[-2], 3))
        return np.asarray(flat.convert("L")).reshape(image.shape[:-1])
    return np.asarray(image.convert("L"))


def halved(
    images: UInt8[np.ndarray, "count rows columns"],
) -> UInt8[np.ndarray, "count half_rows half_columns"]:
    """Means of 2 × 2 pixels."""
    count, rows, columns = images.shape
    squares = images.reshape(count, rows // 2, 2, columns // 2, 2)
    return np.round(squares.mean(axis=(2, 4))).astype(np.uint8)


def levels(mean: float, deviation: float) -> Float32[np.ndarray, "256"]:
    """The value of each gray level x: (x/255 − mean)/deviation."""
    return ((np.arange(256) / 255 - mean) / deviation).astype(np.float32)
