import collections

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fractal.tasks import Batches, DataError, load, retrieval
from fractal.tasks.retrieval import MINI, PARTS, generate

SMALL = MINI._replace(examples=400)
# As in the official files: float labels, quotation marks that open and never close, no heading.
PAIRS = (
    '1.0\tP01\tP02\tA "quoted text\tand an answer\n'
    "0.0\tP03\tP04\tone\ttwo\n"
    '1\tP05\tP06\t"all of it"\t""\n'
)


def write(folder, train=PAIRS, other=PAIRS):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(PARTS.values(), (train, other, other), strict=True):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def texts(task, split, index):
    return ["".join(task.vocabulary[i] for i in document) for document in split.documents(index)]


@pytest.mark.parametrize("place", ["tsv_data", "aan", ".", "lra_release/lra_release/tsv_data"])
def test_the_official_files_are_read_exactly_including_quotation_marks(cache, tmp_path, place):
    write(tmp_path / place)
    task = load("retrieval", preset="paper", data=tmp_path)
    assert task.kind == "retrieval"
    assert (task.length, task.outputs) == (4000, 2)
    train = task.splits.train
    assert train.labels.tolist() == [1, 0, 1]
    assert texts(task, train, 0) == ['A "quoted text<eos>', "and an answer<eos>"]
    assert texts(task, train, 2) == ['"all of it"<eos>', '""<eos>']
    letters = {c for line in PAIRS.splitlines() for text in line.split("\t")[3:] for c in text}
    assert task.inputs == len(letters) + 3


def test_a_long_document_is_cut_to_3999_characters_and_its_end_mark(cache, tmp_path):
    long = f"1\ta\tb\t{'x' * 5000}\t{'y' * 3999}\n"
    task = load("retrieval", preset="paper", data=write(tmp_path / "aan", long, long))
    assert task.splits.test.lengths.tolist() == [[4000, 4000]]
    assert texts(task, task.splits.test, 0)[0] == "x" * 3999 + "<eos>"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1\ta\tb\n", "line 4: 5 columns expected, 3 found.*ids and no text cannot be used"),
        ("1\ta\tb\tc\td\te\n", "line 4: 5 columns expected, 6 found"),
        ("2\ta\tb\tc\td\n", "line 4: the label must lie in 0 … 1"),
        ("0.5\ta\tb\tc\td\n", "line 4: the label must lie in 0 … 1"),
        ("yes\ta\tb\tc\td\n", "line 4: the label must be a number"),
        ("\n", "line 4: 5 columns expected, 1 found"),
    ],
)
def test_a_corrupted_line_is_named(cache, tmp_path, line, complaint):
    with pytest.raises(DataError, match=f"new_aan_pairs.train.tsv, {complaint}"):
        load("retrieval", preset="paper", data=write(tmp_path / "aan", PAIRS + line))


def test_the_official_pairs_are_in_the_release_only(cache, tmp_path):
    with pytest.raises(
        DataError, match="unpack the Long Range Arena release and pass data=DIR; preset='mini'"
    ):
        load("retrieval", preset="paper")
    with pytest.raises(DataError, match=r"new_aan_pairs\.train\.tsv"):
        load("retrieval", preset="paper", data=tmp_path)


@hypothesis.given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_data_errors_only(tmp_path_factory, data):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("any")
        patch.setenv("FRACTAL_DATA", str(folder / "cache"))
        try:
            load("retrieval", preset="paper", data=write(folder / "aan", data))
        except DataError:
            return
        assert data.count(b"\t") >= 4


def planted(first, second):
    words = first.split(), second.split()
    return words[0][1], words[0][-1], words[1][1], words[1][-1]


def pairs(folder):
    for name in PARTS.values():
        for line in (folder / name).read_text().splitlines():
            label, _, _, first, second = line.split("\t")
            yield int(float(label)), *planted(first, second)


def test_generated_pairs_are_related_exactly_when_the_second_cites_the_first(tmp_path):
    generate(tmp_path / "out", SMALL, seed=0)
    found = list(pairs(tmp_path / "out"))
    assert len(found) == 400
    for label, title, _, other, cited in found:
        assert label == (cited == title)
        assert other != title
        assert cited != other
    assert np.mean([label for label, *_ in found]) == 0.5


def test_neither_generated_document_determines_the_label_alone(tmp_path):
    generate(tmp_path / "out", SMALL._replace(examples=8000), seed=1)
    found = list(pairs(tmp_path / "out"))
    for part in (slice(1, 3), slice(3, 5)):
        by_words = collections.defaultdict(list)
        for row in found:
            by_words[row[part]].append(row[0])
        best = sum(max(sum(labels), len(labels) - sum(labels)) for labels in by_words.values())
        assert best / len(found) < 0.56  # chance, and the luck of 64 cells


def test_generated_pairs_depend_on_the_seed_only_and_have_the_lengths(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        generate(tmp_path / name, SMALL, seed)
    for name in PARTS.values():
        same = (tmp_path / "a" / name).read_bytes()
        assert same == (tmp_path / "b" / name).read_bytes()
        assert same != (tmp_path / "c" / name).read_bytes()
        for line in same.decode().splitlines():
            assert all(38 <= len(text) <= 127 for text in line.split("\t")[3:])


def test_mini_is_generated_and_comes_in_batches_of_pairs(cache, monkeypatch):
    monkeypatch.setattr(retrieval, "MINI", SMALL)
    task = load("retrieval", preset="mini")
    assert [len(split) for split in task.splits] == [320, 40, 40]
    batch = Batches(task, task.splits.train, 8, training=True)[0]
    assert batch.inputs.shape == (8, 2, 128)
    assert batch.inputs.max() < task.inputs
