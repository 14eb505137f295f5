"""Folders of WAV files: one folder per class, with the standard library's reader."""

import pathlib
import wave

import numpy as np
from jaxtyping import Float

from .._bounds import check_memory
from .._errors import UserError
from .content import Cases, described

_MOST_FILES = 1_000_000


def read_wav_folder(folder: pathlib.Path) -> Cases:
    """The recordings in a folder's subfolders, which name their classes; sorted by path.

    Recordings in the folder itself have no class. Times are in seconds; they are given where the
    sampling rates differ.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".wav")
    if not files:
        raise UserError(f"{folder}: no .wav files in it or in its folders")
    if len(files) > _MOST_FILES:
        raise UserError(f"{folder}: more than {_MOST_FILES:,} .wav files")
    check_memory(8.0 * sum(path.stat().st_size for path in files), str(folder))
    classes = [path.parent.relative_to(folder).as_posix() for path in files]
    if "." in classes and len(set(classes)) > 1:
        first = files[classes.index(".")]
        raise UserError(f"{first}: move it into one of the folders, which name the classes")
    read = [read_wav(path) for path in files]
    for path, (values, _) in zip(files, read, strict=True):
        if len(values) != len(read[0][0]):
            raise UserError(
                f"{path}: {len(values)} channels, but {files[0].name} has {len(read[0][0])}"
            )
    series = [values for values, _ in read]
    rates = sorted({rate for _, rate in read})
    times = None
    if len(rates) > 1:
        times = [np.arange(1, values.shape[1] + 1) / rate for values, rate in read]
    names = [f"channel {index}" for index in range(1, len(series[0]) + 1)]
    hertz = ", ".join(f"{rate:,}" for rate in rates)
    said = f"{described(series)}, {hertz} Hz"
    labels = None if "." in classes else classes
    ids = [path.relative_to(folder).as_posix() for path in files]
    return Cases(series, labels, False if labels else None, times, names, said, ids)


def read_wav(path: pathlib.Path) -> tuple[Float[np.ndarray, "channels time"], int]:
    """Samples in [-1, 1] and the sampling rate."""
    try:
        with wave.open(str(path), "rb") as file:
            width, channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
            declared = file.getnframes()
            data = file.readframes(declared)
    except (wave.Error, EOFError, OSError) as error:
        why = "it is cut off" if isinstance(error, EOFError) else error
        raise UserError(f"{path} is not a WAV file of PCM samples: {why}") from None
    frames = len(data) // (width * channels)
    if not frames:
        raise UserError(f"{path}: has no samples")
    if frames != declared:
        raise UserError(f"{path}: cut off after {frames:,} of {declared:,} samples")
    values = _samples(data[: frames * width * channels], width)
    return values.reshape(frames, channels).T, rate


def _samples(data: bytes, width: int) -> Float[np.ndarray, " samples"]:
    if width == 1:  # unsigned
        return (np.frombuffer(data, np.uint8).astype(np.float64) - 128.0) / 128.0
    if width == 3:  # the upper three bytes of 32 bits
        padded = np.zeros((len(data) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return padded.view("<i4")[:, 0] / 2.0**31
    return np.frombuffer(data, f"<i{width}") / 2.0 ** (8 * width - 1)
