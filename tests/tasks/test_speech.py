"""Spoken digits: WAV files against SciPy's reader, splits, and files that cannot be used."""

import numpy as np
import pytest
import scipy.io.wavfile

from fractal._errors import UserError
from fractal.tasks import DataError, load
from fractal.tasks.speech import read_recordings

RATE = 8000


def write(path, samples, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    scipy.io.wavfile.write(path, rate, samples)


@pytest.fixture
def folder(tmp_path, rng):
    """Two digits of four speakers, indices 0 to 7, lengths from 40 to 100 samples."""
    for digit in (0, 7):
        for speaker in ("ann", "bo_b", "cy", "di"):
            for index in range(8):
                samples = rng.integers(-3000, 3000, rng.integers(40, 101), np.int16)
                write(tmp_path / "recordings" / f"{digit}_{speaker}_{index}.wav", samples)
    return tmp_path


def test_samples_are_those_that_scipy_reads(tmp_path, rng):
    samples = rng.integers(-(2**15), 2**15, 500, np.int16)
    write(tmp_path / "4_ann_0.wav", samples, 11025)
    (found,) = read_recordings(tmp_path)
    rate, expected = scipy.io.wavfile.read(tmp_path / "4_ann_0.wav")
    assert found[:4] == (4, "ann", 0, rate)
    np.testing.assert_array_equal(found.samples, (expected / 2**15).astype(np.float32))


def test_the_official_test_set_are_the_recordings_of_index_0_to_4(folder):
    task = load("speech", preset="paper", data=folder)
    assert (task.kind, task.inputs, task.outputs, task.tokens) == ("classification", 1, 10, False)
    train, validation, test = task.splits
    assert (len(test), len(train) + len(validation)) == (2 * 4 * 5, 2 * 4 * 3)
    assert len(validation) == 2
    found = read_recordings(folder)
    official = [one for one in found if one.number < 5]
    assert test.lengths[:, 0].tolist() == [len(one.samples) for one in official]
    assert test.labels.tolist() == [one.digit for one in official]
    # All samples are divided by one number, that of the training set.
    ratio = [test.documents(i)[0][:, 0] / one.samples for i, one in enumerate(official)]
    kept = np.concatenate([one.samples for one in found if one.number >= 5])
    np.testing.assert_allclose(np.concatenate(ratio), 1 / np.sqrt((kept**2).mean()), rtol=1e-5)


def test_speakers_of_the_test_set_are_not_in_the_training_set(folder):
    task = load("speech_speakers", preset="paper", data=folder / "recordings")
    last = [one for one in read_recordings(folder) if one.speaker == "di"]
    assert len(task.splits.test) == len(last) == 16
    assert task.splits.test.lengths[:, 0].tolist() == [len(one.samples) for one in last]


def test_mini_has_the_means_of_four_samples_of_the_first_second(tmp_path, rng):
    for index in (0, *range(5, 15)):
        samples = rng.integers(-99, 99, 9000, np.int16)
        write(tmp_path / f"3_ann_{index}.wav", samples)
    task = load("speech", data=tmp_path)
    assert task.length == RATE // 4
    values = task.splits.test.documents(0)[0][:, 0]
    samples = scipy.io.wavfile.read(tmp_path / "3_ann_0.wav")[1][:8000].astype(float)
    means = np.array([samples[i : i + 4].mean() for i in range(0, 8000, 4)])
    np.testing.assert_allclose(values / values[0], means / means[0], rtol=1e-4, atol=1e-4)


def test_a_folder_is_needed_and_the_test_set_can_choose_the_checkpoint(folder):
    with pytest.raises(DataError, match="data must be given: a folder of recordings"):
        load("speech")
    task = load("speech", data=folder, validation="test")
    assert len(task.splits.validation) == len(task.splits.test) == 40


def broken(path, kind):
    """A file that is no usable recording."""
    if kind == "no sound":
        path.write_bytes(b"not a WAV file")
    elif kind == "empty file":
        path.write_bytes(b"")
    elif kind == "floats":
        write(path, np.zeros(50, np.float32))
    elif kind == "two channels":
        write(path, np.zeros((50, 2), np.int16))
    elif kind == "truncated":
        write(path, np.zeros(50, np.int16))
        path.write_bytes(path.read_bytes()[:-9])
    elif kind == "no samples":
        write(path, np.zeros(0, np.int16))
    else:
        write(path, np.zeros(50, np.int16), rate=16000)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no sound", "is not a WAV file of PCM samples"),
        ("empty file", "is not a WAV file of PCM samples"),
        ("floats", "is not a WAV file of PCM samples"),
        ("two channels", "2 channels, not one"),
        ("truncated", "cut off after 45 of 50 samples"),
        ("no samples", "has no samples"),
        ("other rate", "has 16000 samples per second, others 8000"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_in_one_line(folder, kind, message):
    broken(folder / "recordings" / "9_eve_3.wav", kind)
    with pytest.raises(UserError, match=message) as raised:
        load("speech", data=folder)
    assert "9_eve_3.wav" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_another_name_or_no_file_at_all_is_an_error_of_one_line(tmp_path, folder):
    write(folder / "recordings" / "seven.wav", np.zeros(9, np.int16))
    with pytest.raises(DataError, match=r"seven\.wav: the name must be"):
        load("speech", data=folder)
    (tmp_path / "other").mkdir()
    with pytest.raises(DataError, match="contains no WAV files"):
        load("speech", data=tmp_path / "other")


@pytest.mark.parametrize("indices", [range(5), range(5, 9)])
def test_a_set_without_recordings_is_an_error(tmp_path, indices):
    for index in indices:
        write(tmp_path / f"1_ann_{index}.wav", np.ones(9, np.int16))
    with pytest.raises(DataError, match="there is no recording of index"):
        load("speech", data=tmp_path)
