import json
import pathlib

import pytest

from fractal._errors import UserError
from fractal.report.speed import BENCHMARKS, read_benchmark


def rows(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmarks_as_they_are_published(name):
    folder = pathlib.Path(__file__).parents[2] / "benchmarks"
    found = read_benchmark(folder, name)
    assert found is not None
    assert "cores" in found.setting
    assert "commit" in found.setting
    raw = json.loads((folder / f"{name}.json").read_text())
    if name == "layer":
        row = next(
            r for r in rows(found.tables[0]) if (r["pass"], r["layer"]) == ("forward", "ours")
        )
        assert row["× lower bound"] == pytest.approx(raw["times_the_lower_bound"]["forward"])
        assert row["× ours"] == 1.0
    elif name == "step":
        for row in rows(found.tables[0]):
            case, model = row["preset"].split(", ")[0], row["model"]
            assert row["× lower bound"] == pytest.approx(raw["times_the_lower_bound"][case][model])
            expected = raw["times_faster_than_associative"][case][model]
            assert row["× faster than associative"] == pytest.approx(expected)
            assert row["busy cores"] == raw["busy_cores"][case][model]
    elif name == "stream":
        times = {r["call"]: r["µs per sample (quartiles)"].median for r in rows(found.tables[0])}
        expected = raw["microseconds_per_sample"]
        assert times == {call: row["median"] for call, row in expected.items()}
    elif name == "torch":
        ratios = {r["pass"]: r["× ours"] for r in rows(found.tables[0]) if "s5" in r["layer"]}
        assert ratios == pytest.approx(raw["times_faster_than_s5_pytorch"])
    elif name == "memory":
        (row,) = (r for r in rows(found.tables[0]) if r["memory"] == "dense, precomputed")
        expected = raw["times_faster_than_dense_precomputed"]
        assert row["× ours, in blocks"] == pytest.approx(expected)
    elif name == "scan":
        fastest = {
            f"{r['pass and size']}, L = {r['length']}": r["fastest"] for r in rows(found.tables[0])
        }
        assert fastest == raw["fastest"]
    else:
        ahead = {r["task"]: r["batches prepared per step"] for r in rows(found.tables[0])}
        assert ahead == pytest.approx(raw["batches_prepared_per_step"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"milliseconds": 3}', '{"machine": {}}', "NaN"])
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_corrupted_benchmark_is_named(tmp_path, name, text):
    (tmp_path / f"{name}.json").write_text(text)
    with pytest.raises(
        UserError, match=rf"{name}\.json is not the output of `fractal bench {name} --json`"
    ):
        read_benchmark(tmp_path, name)
    assert read_benchmark(tmp_path / "absent", name) is None
