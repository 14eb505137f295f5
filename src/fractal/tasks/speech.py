"""Spoken digits by raw waveform: a folder of WAV files named {digit}_{speaker}_{index}.wav.

The Free Spoken Digit Dataset has this form. Its official test set are the recordings of index 0 to
4. A second task holds out speakers instead.
"""

import pathlib
import re
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from .._series.wav import read_wav
from ._arrays import from_arrays
from ._errors import DataError
from ._folders import check_folder, reading
from ._registry import register
from ._request import Request
from ._task import Task, portions

_NAME = re.compile(r"([0-9])_(.+)_([0-9]+)\.wav")
_OFFICIAL_TEST = 5  # recordings of each digit and speaker
_MINI_MEAN = 4  # samples
_MINI_SECONDS = 1
_CLASSES = 10


class Recording(NamedTuple):
    """A spoken digit: samples in [−1, 1), `rate` of them per second."""

    digit: int
    speaker: str
    number: int
    rate: int
    samples: Float32[np.ndarray, " time"]


def load(request: Request) -> Task:
    """The waveform; for `mini` its first second, as means of four samples. Test: index 0 to 4."""
    return _load("speech", request, by_speaker=False)


def load_speakers(request: Request) -> Task:
    """The same; the test set are all recordings of a sixth of the speakers, the last by name."""
    return _load("speech_speakers", request, by_speaker=True)


def _load(name: str, request: Request, by_speaker: bool) -> Task:
    if request.data is None:
        raise DataError(
            "must be given: a folder of recordings named {digit}_{speaker}_{index}.wav, such as "
            "those of the Free Spoken Digit Dataset",
            argument="data",
        )
    recordings = read_recordings(request.data)
    first = recordings[0].rate
    for one in recordings:
        if one.rate != first:
            raise DataError(f"{_file(one)} has {one.rate} samples per second, others {first}")
    speakers = sorted({one.speaker for one in recordings})
    unheard = speakers[-max(1, len(speakers) // 6) :]
    test = [one.speaker in unheard if by_speaker else is_official_test(one) for one in recordings]
    what = "speaker" if by_speaker else f"recording of index {_OFFICIAL_TEST} or more"
    if all(test):
        raise DataError(f"there is no {what} to train with in {request.data}", argument="data")
    if not any(test):
        raise DataError(f"there is no recording of index 0 to 4 in {request.data}", argument="data")
    kept = [one for one, held in zip(recordings, test, strict=True) if not held]
    scale = np.sqrt(np.mean(np.concatenate([one.samples for one in kept]) ** 2)) or 1.0
    mini = request.preset == "mini"

    def examples(chosen: list[Recording]) -> tuple[list[np.ndarray], np.ndarray]:
        values = [_shortened(one) if mini else one.samples for one in chosen]
        return [x / np.float32(scale) for x in values], np.array([one.digit for one in chosen])

    held = examples([one for one, apart in zip(recordings, test, strict=True) if apart])
    if request.validation == "test":
        return from_arrays(*examples(kept), name=name, validation=held, test=held, outputs=_CLASSES)
    rows, apart = portions(len(kept), (0.9, 0.1))
    if not len(rows) or not len(apart):
        raise DataError(f"{request.data} has too few recordings to hold out a tenth of them")
    return from_arrays(
        *examples([kept[i] for i in rows]), name=name, outputs=_CLASSES,
        validation=examples([kept[i] for i in apart]), test=held,
    )  # fmt: skip


def is_official_test(recording: Recording) -> bool:
    """Whether a recording belongs to the official test set."""
    return recording.number < _OFFICIAL_TEST


def read_recordings(folder: pathlib.Path) -> list[Recording]:
    """All recordings of a folder, or of its subfolder `recordings`, sorted by name."""
    folder = check_folder("data", folder)
    folder = folder / "recordings" if (folder / "recordings").is_dir() else folder
    with reading(folder):
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".wav")
    if not paths:
        raise DataError(f"{folder} contains no WAV files", argument="data")
    return [_read(path) for path in paths]


def _read(path: pathlib.Path) -> Recording:
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise DataError(f"{path}: the name must be {{digit}}_{{speaker}}_{{index}}.wav")
    values, rate = read_wav(path)
    if len(values) > 1:
        raise DataError(f"{path}: {len(values)} channels, not one")
    return Recording(int(found[1]), found[2], int(found[3]), rate, values[0].astype(np.float32))


def _shortened(recording: Recording) -> Float32[np.ndarray, " time"]:
    """The first second, as means of four samples."""
    samples = recording.samples[: _MINI_SECONDS * recording.rate]
    if len(samples) < _MINI_MEAN:
        return samples.mean(keepdims=True)
    whole = samples[: len(samples) // _MINI_MEAN * _MINI_MEAN]
    return whole.reshape(-1, _MINI_MEAN).mean(axis=1)


def _file(one: Recording) -> str:
    return f"{one.digit}_{one.speaker}_{one.number}.wav"


register("speech", load)
register("speech_speakers", load_speakers)
