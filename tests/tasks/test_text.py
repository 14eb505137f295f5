import json

import pytest

from fractal.tasks import DataError, load
from fractal.tasks.text import SOURCES

WORDS = ["dull, dull, dull", "a bore – naïve", "lovely! <br />", "just fine"]


def write_json(folder, texts=WORDS * 10):
    """In four quarters: test/neg, train/neg, test/pos, train/pos."""
    texts = sorted(texts)
    quarter = len(texts) // 4
    rows = [{"t": text, "s": int(i >= 2 * quarter)} for i, text in enumerate(texts)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reviews.json").write_text(json.dumps(rows), encoding="utf-8")
    return rows


def write_folders(root, rows):
    quarter = len(rows) // 4
    for i, row in enumerate(rows):
        part = ("test", "train")[i // quarter % 2]
        folder = root / part / ("neg", "pos")[row["s"]]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:05d}_1.txt").write_text(row["t"], encoding="utf-8")


def read(task, split):
    return [
        ("".join(task.vocabulary[t] for t in split.documents(i)[0]), int(label))
        for i, label in enumerate(split.labels)
    ]


def test_the_quarters_of_the_package_are_the_parts(cache, tmp_path):
    write_json(tmp_path / "data")
    task = load("text", preset="paper", data=tmp_path / "data", validation="test")
    assert (task.length, task.inputs, task.outputs) == (4096, 135, 2)
    texts = sorted(WORDS * 10)
    assert [label for _, label in read(task, task.splits.train)] == [0] * 10 + [1] * 10
    # Characters seen fewer than 15 times in the training text are unknown.
    train = texts[10:20] + texts[30:]
    known = {c for c in "".join(train) if "".join(train).count(c) >= 15}
    for (found, _), text in zip(
        read(task, task.splits.test), texts[:10] + texts[20:30], strict=True
    ):
        assert found == "".join(c if c in known else "<unk>" for c in text) + "<eos>"
    assert set(task.vocabulary[3:]) == known


@pytest.mark.parametrize("root", ["aclImdb", "."])
def test_stanfords_folders_give_the_same_task(cache, tmp_path, root):
    rows = write_json(tmp_path / "json")
    write_folders(tmp_path / "folders" / root, rows)
    one = load("text", preset="paper", data=tmp_path / "json")
    two = load("text", preset="paper", data=tmp_path / "folders")
    assert one.vocabulary == two.vocabulary
    for a, b in zip(one.splits, two.splits, strict=True):
        assert read(one, a) == read(two, b)


def test_a_tenth_of_the_training_set_is_held_out_or_the_test_set_taken(cache, tmp_path):
    write_json(tmp_path, WORDS * 50)
    ours = load("text", preset="paper", data=tmp_path).splits
    assert [len(split) for split in ours] == [90, 10, 100]
    assert not set(ours.train.rows) & set(ours.validation.rows)
    assert set(ours.train.rows) | set(ours.validation.rows) == set(range(100))
    papers = load("text", preset="paper", data=tmp_path, validation="test").splits
    assert [len(split) for split in papers] == [100, 100, 100]
    assert papers.validation is papers.test


def test_the_held_out_tenth_is_drawn_from_both_classes_and_always_the_same(cache, tmp_path):
    write_json(tmp_path, WORDS * 50)
    first, again = (load("text", preset="paper", data=tmp_path).splits.validation for _ in range(2))
    assert first.rows.tolist() == again.rows.tolist()
    assert set(first.labels) == {0, 1}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("[", "is not complete JSON"),
        ("{}", "four equal parts"),
        ("[]", "four equal parts"),
        ('[{"t": "a", "s": 0}]', "four equal parts"),
        (
            '[{"t": "a", "s": 0}, {"t": "a", "s": 0}, {"t": "a", "s": 0}, {"t": "a", "s": 1}]',
            "review 3",
        ),
        (
            '[{"t": 1, "s": 0}, {"t": "a", "s": 0}, {"t": "a", "s": 1}, {"t": "a", "s": 1}]',
            "review 1",
        ),
        ("[1, 2, 3, 4]", "review 1"),
        ("[" * 100_000, "is not complete JSON"),
    ],
)
def test_a_corrupted_package_is_named(cache, tmp_path, content, complaint):
    (tmp_path / "reviews.json").write_text(content)
    with pytest.raises(DataError, match=rf"reviews\.json.*{complaint}"):
        load("text", preset="paper", data=tmp_path)


def test_a_review_that_is_not_utf8_is_named(cache, tmp_path):
    write_folders(tmp_path, write_json(tmp_path / "json"))
    (tmp_path / "test" / "pos" / "9_9.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"9_9\.txt is not UTF-8"):
        load("text", preset="paper", data=tmp_path)


def test_missing_data_is_named_with_what_to_do(cache, tmp_path):
    with pytest.raises(DataError, match=r"call fractal\.tasks\.fetch\('text'\) or pass data=DIR"):
        load("text", preset="paper")
    with pytest.raises(DataError, match="no IMDB reviews"):
        load("text", preset="paper", data=tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        load("text", preset="paper", data=tmp_path / "nowhere")


def test_imdb_has_134_characters_and_the_published_sizes(real_cache):
    if not SOURCES.package.folder.is_dir():
        pytest.skip("IMDB has not been fetched here: fractal data text")
    task = load("text", preset="paper", validation="test")
    assert len(task.vocabulary) == 134
    assert task.inputs == 135
    assert [len(split) for split in task.splits] == [25_000, 25_000, 25_000]
    assert task.splits.train.labels.sum() == task.splits.test.labels.sum() == 12_500
    assert task.splits.train.lengths.max() == 4096
    assert [len(split) for split in load("text", preset="paper").splits] == [22_500, 2_500, 25_000]
