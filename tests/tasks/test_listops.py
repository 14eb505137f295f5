import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from fractal.tasks import DataError, MissingData, load
from fractal.tasks.listops import SIZES, generate

SMALL = SIZES["mini"]._replace(examples=1000)
FILES = ("basic_train.tsv", "basic_val.tsv", "basic_test.tsv")
# Hand-written in the official notation; nines outnumber all else, X and [MAX tie.
TRAIN = """Source\tTarget
( ( ( [MAX 9 ) 9 ) ] )\t9
( ( ( [SM 9 ) ( ( ( [MAX 3 ) 9 ) ] ) ) ] )\t8
( ( ( ( [MED 1 ) 9 ) 4 ) ] )\t4
"""


def write(folder, train=TRAIN, other=TRAIN):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(FILES, (train, other, other), strict=True):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize(
    "place",
    [
        "listops-1000",
        "listops",
        ".",
        "lra_release/listops-1000",
        "lra_release/lra_release/listops-1000",
    ],
)
def test_the_official_layout_is_found_at_every_accepted_root(cache, tmp_path, place):
    write(tmp_path / "data" / place)
    assert len(load("listops", preset="paper", data=tmp_path / "data").splits.train) == 3


def test_tokens_are_those_of_S5(cache, tmp_path):
    task = load("listops", preset="paper", data=write(tmp_path / "listops"))
    # 9: five times; X: four; [MAX: twice; the rest once, in alphabetical order.
    tokens = ("<pad>", "<unk>", "<eos>", "9", "X", "[MAX", "1", "3", "4", "[MED", "[SM")
    assert task.vocabulary == tokens
    assert (task.length, task.inputs, task.outputs) == (2048, 20, 10)
    ids = {token: number for number, token in enumerate(tokens)}
    written = ["[SM", "9", "[MAX", "3", "9", "X", "X", "<eos>"]
    (stored,) = task.splits.train.documents(1)
    assert stored.tolist() == [ids[token] for token in written]
    assert task.splits.train.labels.tolist() == [9, 8, 4]


def test_windows_line_ends_and_float_labels_are_read_alike(cache, tmp_path):
    plain = load("listops", preset="paper", data=write(tmp_path / "a"))
    windows = TRAIN.replace("\n", "\r\n").replace("\t4", "\t4.0")
    other = load("listops", preset="paper", data=write(tmp_path / "b", windows))
    assert other.splits.train.labels.tolist() == plain.splits.train.labels.tolist()
    assert other.vocabulary == plain.vocabulary


def test_a_long_expression_is_cut_to_length_with_its_end_mark(cache, tmp_path):
    long = "Source\tTarget\n" + "( " * 3001 + "[MAX" + " 1 )" * 3000 + " ] )\t1\n"
    (stored,) = load(
        "listops", preset="paper", data=write(tmp_path / "a", long, long)
    ).splits.train.documents(0)
    assert len(stored) == 2048
    assert stored[-1] == 2
    assert stored[-2] != 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Target\tSource\n", "line 1: the header"),
        ("", "line 1: the header"),
        (TRAIN + "( ( [MAX 9 ) ] )\n", "line 5: 2 columns expected, 1 found"),
        (TRAIN + "[MAX 9 ]\t9\t9\n", "line 5: 2 columns expected, 3 found"),
        (TRAIN + "( ( ( [AVG 9 ) 9 ) ] )\t9\n", r"line 5: unknown token '\[AVG'"),
        (TRAIN + "( ( ( [MAX 9 ) 9 ) ] )\t10\n", "line 5: the label must lie in 0 … 9, not '10'"),
        (TRAIN + "( ( ( [MAX 9 ) 9 ) ] )\tnan\n", "line 5: the label must lie in"),
        (TRAIN + "( ( ( [MAX 9 ) 9 ) ] )\tnine\n", "line 5: the label must be a number"),
        (TRAIN + "( ( ) )\t9\n", "line 5: there is no expression"),
        (TRAIN.encode() + b"\xff\xfe\t9\n", "line 5: not UTF-8"),
        ("Source\tTarget\n", "the train set is empty"),
    ],
)
def test_a_corrupted_file_is_named_with_its_line_and_leaves_nothing(
    cache, tmp_path, text, complaint
):
    folder = write(tmp_path / "listops", text)
    with pytest.raises(DataError, match=complaint) as error:
        load("listops", preset="paper", data=folder)
    assert "\n" not in str(error.value)
    assert not list(cache.glob("arrays/*"))
    assert not list(cache.glob("arrays/.*"))


def test_a_missing_folder_or_file_is_named_with_what_to_do(cache, tmp_path):
    with pytest.raises(DataError, match=r"^data: .*nowhere is not a folder"):
        load("listops", preset="paper", data=tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"^data: .* contains no listops-1000/basic_train\.tsv"):
        load("listops", preset="paper", data=tmp_path)
    with pytest.raises(MissingData, match=r"fractal data listops --out DIR.* data=DIR") as error:
        load("listops", preset="paper")
    assert (error.value.task, error.value.remedy) == ("listops", "generate")
    (write(tmp_path / "listops") / "basic_val.tsv").unlink()
    with pytest.raises(DataError, match=r"basic_val\.tsv: No such file"):
        load("listops", preset="paper", data=tmp_path)


@hypothesis.given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_data_errors_only(tmp_path_factory, data):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("any")
        patch.setenv("FRACTAL_DATA", str(folder / "cache"))
        for train in (data, b"Source\tTarget\n" + data):
            with pytest.raises(DataError):
                load("listops", preset="paper", data=write(folder / "listops", train))


def test_one_and_two_workers_write_the_same_bytes(tmp_path):
    for name, workers in (("one", 1), ("two", 2)):
        generate(tmp_path / name, SMALL, seed=3, workers=workers)
    generate(tmp_path / "other", SMALL, seed=4, workers=1)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        assert (tmp_path / "one" / name).read_bytes() != (tmp_path / "other" / name).read_bytes()


def test_no_expression_occurs_twice_in_any_file_and_the_parts_have_their_shares(tmp_path):
    generate(tmp_path / "out", SMALL, seed=0, workers=1)
    lines = [(tmp_path / "out" / name).read_text().splitlines()[1:] for name in FILES]
    assert [len(part) for part in lines] == [960, 20, 20]
    sources = [line.split("\t")[0] for part in lines for line in part]
    assert len(set(sources)) == 1000


def test_what_is_generated_is_read_back(cache, tmp_path):
    generate(tmp_path / "listops-1000", SMALL, seed=0, workers=1)
    task = load("listops", preset="mini", data=tmp_path)
    assert [len(split) for split in task.splits] == [960, 20, 20]
    assert len(task.vocabulary) == 18
    assert task.splits.train.lengths.max() <= task.length
    first = (tmp_path / "listops-1000" / FILES[0]).read_text().splitlines()[1]
    words = [task.vocabulary[number] for number in task.splits.train.documents(0)[0]]
    expected = first.split("\t")[0].replace("(", "").replace(")", "").replace("]", "X").split()
    assert words == [*expected, "<eos>"]


def test_generating_never_overwrites(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(DataError, match=r"^out: .* already exists"):
        generate(tmp_path / "out", SMALL, seed=0, workers=1)
    with pytest.raises(
        ValueError, match=r"^count must be an integer of at least 50 for three files, got 49"
    ):
        generate(tmp_path / "few", SMALL._replace(examples=49), seed=0, workers=1)


def test_mini_needs_no_data_and_is_generated_once(cache, monkeypatch):
    monkeypatch.setitem(SIZES, "mini", SMALL)
    first = load("listops", preset="mini")
    made = sorted(path.stat().st_mtime_ns for path in cache.rglob("*.tsv"))
    again = load("listops", preset="mini")
    assert made == sorted(path.stat().st_mtime_ns for path in cache.rglob("*.tsv"))
    assert len(made) == 3
    np.testing.assert_array_equal(first.splits.test.labels, again.splits.test.labels)


def test_a_changed_file_is_read_again(cache, tmp_path):
    folder = write(tmp_path / "listops")
    assert len(load("listops", preset="paper", data=folder).splits.train) == 3
    write(folder, TRAIN + "( ( ( [MIN 0 ) 9 ) ] )\t0\n")
    assert len(load("listops", preset="paper", data=folder).splits.train) == 4


def test_validation_on_the_test_set_raises_if_there_is_a_validation_set(cache, tmp_path):
    with pytest.raises(DataError, match="has a validation set"):
        load("listops", preset="paper", data=write(tmp_path / "listops"), validation="test")
