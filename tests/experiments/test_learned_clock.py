"""Tables and picture of the experiments on speed and selective rates, from known lines."""

import math

import numpy as np
import pytest

from experiments import learned_clock, speed_charts
from result_lines import all_lines

LINES = all_lines()


def rows(table):
    return [dict(zip(table.header, row, strict=True)) for row in table.rows]


def test_rescaled_steps_have_a_row_of_their_own_with_the_trained_speed_filled_in():
    plain, rescaled, other = rows(learned_clock.morse(LINES["morse"]))
    assert [row["model"] for row in (plain, rescaled, other)] == ["s5", "s5, rescaled Δ", "sithcon"]
    assert plain["40"] == pytest.approx((0.07, math.sqrt(0.005), 2))
    assert (rescaled["1"].mean, rescaled["10"].mean, rescaled["40"].mean) == (0.9, 1.0, 0.8)
    assert rescaled["10, pause 50"].mean == 0.5
    assert other["40"] == pytest.approx((0.65, math.sqrt(0.005), 2))


def test_accuracies_of_guessing_are_marked_as_such():
    table = learned_clock.morse(LINES["morse"])
    column = table.header.index("1")
    assert [(line, column) in table.chance for line in range(3)] == [True, False, False]
    synthetic = learned_clock.synthetic(LINES["synthetic"])
    found = {(row["task"], row["model"]): i for i, row in enumerate(rows(synthetic))}
    assert {line for line, _ in synthetic.chance} == {
        found["selective copying", "s5"],
        found["induction heads", "s5"],
    }


def test_only_models_of_a_smaller_length_have_an_accuracy_at_a_greater_one():
    trained_there = [line | {"length": 4096, "longer": {}} for line in LINES["synthetic"]]
    table = learned_clock.synthetic([*LINES["synthetic"], *trained_there])
    found = {row["length"]: row["at length 4,096"] for row in rows(table)}
    assert found[4096] is None
    assert found[256].mean == pytest.approx(0.6)


def test_induction_heads_are_at_chance_only_where_no_token_is_found():
    table = learned_clock.induction(LINES["induction"])
    selective, s5 = rows(table)
    assert (s5["length 256"].mean, selective["length 4,096"].mean) == pytest.approx((0.9, 0.5))
    assert {(table.rows[i][0], table.header[k]) for i, k in table.chance} == set()
    lines = [line | {"longer": {"1024": 0.3, "4096": 0.06}} for line in LINES["induction"]]
    assert {table.header[k] for _, k in learned_clock.induction(lines).chance} == {"length 4,096"}


def test_a_condition_that_was_not_measured_is_a_gap():
    table = learned_clock.speech(LINES["speech"][:2] + LINES["speech"][2:4])
    s5, rescaled, classical = rows(table)
    assert rescaled["speed 2"].mean == 0.7
    assert classical["speed 2"] == s5["speed 2"] == pytest.approx((0.35, math.sqrt(0.005), 2))
    assert (s5["rate"], s5["split"]) == (2000, "recordings")


def test_fixed_and_selective_rates_stand_side_by_side():
    found = rows(learned_clock.selective(LINES["selective"]))
    assert [(row["clock"], row["rate"]) for row in found] == [
        ("uniform", "fixed"), ("uniform", "selective"),
        ("scale-invariant", "fixed"), ("scale-invariant", "selective"),
    ]  # fmt: skip
    assert found[1]["test accuracy"] == pytest.approx((0.55, math.sqrt(0.005), 2))


def test_the_picture_shows_the_means_in_order_of_the_speed():
    figure = speed_charts.picture(LINES["morse"], LINES["speech"])
    left, right = figure.axes
    drawn = {one.get_label(): one[0].get_xydata() for one in left.containers}
    np.testing.assert_allclose(drawn["sithcon"], [[1, 0.6], [10, 1.0], [40, 0.65]])
    drawn = {one.get_label(): one[0].get_xydata() for one in right.containers}
    np.testing.assert_allclose(drawn["s5, rescaled Δ"], [[1, 0.8], [2, 0.7]])
    alone = speed_charts.picture(LINES["morse"], [])
    assert len(alone.axes) == 1
