import contextlib
import json
import math
import pathlib
import statistics

import pytest

from experiments import arena, summaries
from experiments.results import EXPERIMENTS, read_experiment
from fractal import tasks
from fractal._errors import UserError
from fractal.report.table import Spread, shown
from fractal.train import majority_class
from result_lines import AGES, all_lines, recall, trained, write

LINES = all_lines()


def rows(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_recall_by_age_for_each_memory():
    (table,) = summaries.recall(LINES["recall"])
    ours, legs = rows(table)
    assert (ours["memory"], legs["memory"], ours["seeds"]) == ("fractional 0.5", "legs", 2)
    # Seeds 0 and 1 have 0.3 and 1.3 in the last bin.
    assert legs["0.01 … 1"] == pytest.approx((0.8, math.sqrt(0.5), 2))
    assert ours["0 … 0.001"] == pytest.approx((0.1, 0.0, 2))


def test_recall_of_many_ages_shows_the_youngest_and_the_oldest():
    edges = [10.0 ** (k / 4 - 5) for k in range(21)]
    line = recall("x", "legs", 0, [float(k) for k in range(20)]) | {"ages": edges}
    (table,) = summaries.recall([line])
    means = [cell.mean for cell in table.rows[0][2:]]
    assert len(means) == 6
    assert (means[0], means[-1]) == (0.0, 19.0)


def test_each_initialization_is_shown_with_its_best_range_and_all_seeds_of_it():
    table = summaries.initialization(LINES["initialization"])
    normal, s5 = rows(table)
    assert (normal["initialization"], s5["initialization"]) == ("normal", "s5")
    # normal: 0.50 and 0.60 at 0.001; its other range had 0.20. s5: 0.45 and 0.35 at 0.01.
    assert (normal["Δ"], s5["Δ"]) == ("1.0e-03 … 0.5", "1.0e-02 … 0.5")
    assert (normal["ranges tried"], normal["seeds"], s5["seeds"]) == (2, 2, 2)
    assert normal["test accuracy"] == pytest.approx((0.55, math.sqrt(0.005), 2))
    assert s5["test accuracy"] == pytest.approx((0.40, math.sqrt(0.005), 2))
    assert s5["late loss"].mean == pytest.approx(1.40)


def test_the_range_is_chosen_by_validation_and_not_by_test_accuracy():
    lines = [
        trained(0, 0.9, task="t", init="normal", dt_min=0.1, dt_max=1) | {"validation_accuracy": 0},
        trained(0, 0.1, task="t", init="normal", dt_min=0.2, dt_max=1) | {"validation_accuracy": 1},
    ]
    (row,) = rows(summaries.initialization(lines))
    assert row["test accuracy"].mean == 0.1


@pytest.mark.parametrize("order", [1, -1])
def test_of_equally_good_ranges_the_one_with_the_longest_steps_is_chosen(order):
    lines = [
        trained(0, 0.1, task="t", init="normal", dt_min=0.1, dt_max=0.5),
        trained(0, 0.9, task="t", init="normal", dt_min=0.01, dt_max=0.05),
    ]
    same = [line | {"validation_accuracy": 0.5} for line in lines[::order]]
    (row,) = rows(summaries.initialization(same))
    assert row["test accuracy"].mean == 0.1


def test_a_repeated_run_counts_once_with_its_last_line():
    first, second, again = (
        trained(seed, accuracy, task="t", bank="bank", clock="uniform", alphas=None)
        for seed, accuracy in ((0, 0.1), (1, 0.3), (0, 0.5))
    )
    (row,) = rows(summaries.filter_bank([first, second, again]))
    assert row["test accuracy"] == pytest.approx((0.4, math.sqrt(0.02), 2))


def test_learned_alphas_are_shown_by_their_ends():
    found = {(r["α"], r["clock"]): r for r in rows(summaries.filter_bank(LINES["filter_bank"]))}
    assert list(found)[:2] == [("bank", "uniform"), ("learned", "uniform")]
    assert found["learned", "uniform"]["learned α"] == "0.12 … 0.87"
    assert found["bank", "uniform"]["learned α"] is None
    assert found["bank", "uniform"]["test accuracy"] == pytest.approx((0.55, math.sqrt(0.005), 2))


def test_the_clock_has_a_column_for_every_rate_and_a_gap_where_it_was_not_measured():
    (table,) = summaries.clock(LINES["clock"]).values()
    assert table.header[-3:] == ("training rate", "2× upsampled", "2× upsampled, rescaled Δ")
    scores = {"a": 1.0, "b, rescaled Δ": 0.5, "b": 0.25, "a, rescaled Δ": 0.75}
    (mixed,) = summaries.clock([LINES["clock"][0] | {"accuracy": scores}]).values()
    assert mixed.header[-4:] == ("a", "a, rescaled Δ", "b", "b, rescaled Δ")
    ours, s5 = rows(table)
    assert ours["2× upsampled, rescaled Δ"] is None
    assert s5["2× upsampled, rescaled Δ"] == pytest.approx((0.65, math.sqrt(0.005), 2))
    assert ours["training rate"] == pytest.approx((0.85, math.sqrt(0.005), 2))


def test_every_number_of_the_table_is_that_of_the_lines():
    found = rows(summaries.models(LINES["models"]))
    assert [(row["task"], row["model"]) for row in found] == [
        (task, model) for task in ("listops", "image") for model in ("fractal", "s5", "transformer")
    ]
    for row in found:
        seeds = [
            x for x in LINES["models"] if (x["task"], x["model"]) == (row["task"], row["model"])
        ]
        for column, field in (
            ("test accuracy", "test_accuracy"),
            ("early loss", "early_loss"),
            ("late loss", "late_loss"),
            ("seconds", "seconds"),
        ):
            values = [line[field] for line in seeds]
            expected = (statistics.mean(values), statistics.stdev(values), 3)
            assert row[column] == pytest.approx(expected)
        assert (row["parameters"], row["steps"], row["seeds"]) == (44_000, 600, 3)
        assert (row["most frequent class"], row["bag of tokens"]) == (0.125, 0.25)


def test_long_memory_is_relative_to_the_best_predictor_where_there_is_one(tmp_path):
    write(tmp_path, {"long_memory": LINES["long_memory"]})
    table = summaries.long_memory(read_experiment(tmp_path, "long_memory") or [])
    found = {(row["series"], row["model"]): row for row in rows(table)}
    known, real = found["arfima 0.4", "fractal"], found["power", "fractal"]
    # 0.5/0.4 and 0.6/0.4
    assert known["1 step ÷ best"] == pytest.approx((1.375, math.sqrt(0.03125), 2))
    assert known["error, 24 steps"] == pytest.approx((0.8, 0.0, 2))
    assert (real["1 step ÷ best"], real["24 steps ÷ best"]) == (None, None)


def test_the_arena_sets_measured_scores_below_the_published_ones():
    table = arena.table(LINES["models"])
    found = {(r["model"], r["source"]): r for r in rows(table)}
    assert found["FRACTAL", "FRACTAL paper"]["ListOps"] == "61.85"
    assert found["FRACTAL", "FRACTAL paper"]["average"] == "87.11"
    assert found["Transformer", "the Arena's authors"]["Path-X"] == "failed"
    ours = found["FRACTAL", "measured here"]
    assert shown(ours["ListOps"]) == "51.0 ± 1.0"  # 50, 51 and 52 %
    assert ours["Text"] is None
    assert [table.rows[index][1] for index in sorted(table.ours)] == ["measured here"] * 3


def test_the_scale_of_both_is_shown():
    first, *_, last = rows(arena.scale(LINES["models"]))
    assert (first["published: length"], first["here: length"]) == ("2,048", "96")
    assert (first["steps"], first["steps here"], first["examples seen here"]) == (
        76_800,
        600,
        30_000,
    )
    assert (first["parameters here"], first["seconds per run, one core"]) == ("44,000", "60 … 62")
    assert last["steps here"] is None


def test_lengths_are_those_of_the_tasks():
    from fractal.tasks import image, listops, pathfinder, retrieval, text

    for place, size in enumerate(("paper", "mini")):
        assert {task: lengths[place] for task, lengths in arena.LENGTHS.items()} == {
            "listops": f"{listops.SIZES[size].length:,}",
            "text": f"{text._LENGTHS[size]:,}",
            "retrieval": f"2 × {retrieval._LENGTHS[size]:,}",
            "image": f"{image._SIDE**2 // (4 if size == 'mini' else 1):,}",
            "pathfinder": f"{pathfinder.PATHFINDER[size].resolution ** 2:,}",
            "pathx": f"{pathfinder.PATHX[size].resolution ** 2:,}",
        }


def test_lines_are_read_as_they_were_written(tmp_path):
    write(tmp_path, LINES)
    for name in EXPERIMENTS:
        found = read_experiment(tmp_path, name)
        assert found is not None
        assert len(found) == len(LINES[name])
        assert "not read" not in found[0]
    assert read_experiment(tmp_path / "absent", "clock") is None


def test_null_is_a_number_that_is_not_known(tmp_path):
    write(tmp_path, {"models": [LINES["models"][0] | {"late_loss": None, "bag": None}]})
    (row,) = rows(summaries.models(read_experiment(tmp_path, "models") or []))
    assert shown(row["late loss"]) == "not finite"
    assert row["bag of tokens"] is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ("{}", "has no 'signal'"),
        (recall("x", "y", 0, [1.0, 2.0]), "'error' must have one entry less"),
        (recall("x", "y", 0, []) | {"ages": [1.0]}, "'error' must have one entry less"),
        (recall("x", "y", 0, [1.0] * 3) | {"signal": 5}, "'signal' must be a text"),
        (recall("x", "y", 0, [1.0] * 3) | {"seed": "0"}, "'seed' must be a number"),
        (recall("x", "y", 0, [1.0] * 3) | {"seed": True}, "'seed' must be a number"),
        (recall("x", "y", 0, [1.0] * 3) | {"ages": "0"}, "'ages' must be a list of numbers"),
        ("[" * 100_000, ""),
    ],
)
def test_a_corrupted_line_is_named(tmp_path, line, complaint):
    good = json.dumps(recall("x", "y", 0, [1.0] * 3))
    bad = line if isinstance(line, str) else json.dumps(line)
    (tmp_path / "recall.jsonl").write_text(f"{good}\n\n{bad}\n")
    with pytest.raises(UserError, match=r"recall\.jsonl, line 3: ") as caught:
        read_experiment(tmp_path, "recall")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_beyond_float_are_handled(tmp_path):
    huge = recall("x", "y", 0, [1.0, 2.0, 10**400]) | {"ages": AGES}
    write(tmp_path, {"recall": [huge]})
    (table,) = summaries.recall(read_experiment(tmp_path, "recall") or [])
    assert shown(table.rows[0][-1]) == "not finite"


@pytest.mark.parametrize(
    ("task", "loss", "at_chance"),
    [("smnist", (2.31, 0.02, 3), True), ("smnist", (2.29, 0.02, 3), True),
     ("smnist", (2.2, 0.02, 3), False), ("text", (0.694, None, 1), True),
     ("text", (0.675, 0.005, 3), False)],
)  # fmt: skip
def test_a_loss_is_at_chance_unless_it_is_below_that_of_equal_probabilities(task, loss, at_chance):
    assert summaries.loss_at_chance(Spread(*loss), task) == at_chance


def test_chance_is_the_accuracy_of_the_most_frequent_class():
    """As measured with the results, and on the data where it is in the cache."""
    path = pathlib.Path(__file__).parents[2] / "results" / "models.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    measured = {line["task"]: line["chance"] for line in lines}
    assert len(measured) >= 4
    for task in summaries.CHANCE:
        with contextlib.suppress(ValueError):
            measured[task] = majority_class(tasks.load(task, preset="mini", cached=True))
    assert {task: summaries.CHANCE[task] for task in measured} == pytest.approx(measured, abs=5e-4)
