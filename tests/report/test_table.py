import math

import pytest

from fractal.report.table import Quartiles, Spread, Table, leaders, markdown, shown, spread


def test_mean_and_sample_deviation():
    # (1 + 2 + 6)/3 = 3; ((−2)² + (−1)² + 3²)/(3 − 1) = 7
    assert spread([1, 2, 6]) == pytest.approx((3.0, math.sqrt(7), 3))
    assert spread([0.25]) == (0.25, None, 1)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (Spread(0.5277, 0.0123, 3), "0.528 ± 0.012"),
        (Spread(12.345, 0.5, 2), "12.3 ± 0.5"),
        (Spread(0.5, None, 1), "0.500"),
        (Spread(1.0, 0.0, 2), "1.000 ± 0.000"),
        (Spread(2.5e-5, 1e-6, 2), "2.50e-05 ± 1.00e-06"),
        (Spread(math.nan, math.nan, 2), "not finite"),
        (Spread(0.0, 0.0, 2), "0.000 ± 0.000"),
        (Spread(0.0078, 0.0134, 3), "0.008 ± 0.013"),
        (Quartiles(14.44, 12.74, 16.85), "14.4 (12.7 … 16.9)"),
        (44_000, "44,000"),
        (712.3, "712"),
        (1516.6, "1,517"),
        ("a name", "a name"),
        (None, "–"),
    ],
)
def test_numbers_are_shown_to_three_digits(cell, text):
    assert shown(cell) == text


def test_markdown_has_a_line_for_each_row_and_the_best_in_bold():
    table = Table(
        "two", ("task", "x"), [("a|b", Spread(2.0, 0.5, 3)), ("a|b", 1), ("c", 9.0)], "make",
        best={"x": "highest"}, within=("task",),
    )  # fmt: skip
    assert markdown(table) == (
        "| task | x |\n| --- | --- |\n| a\\|b | **2.000 ± 0.500** |\n| a\\|b | 1 |\n| c | 9.000 |\n"
    )


def test_the_best_may_be_the_lowest_and_a_failed_run_is_never_best():
    cells = [Spread(math.nan, math.nan, 2), Spread(0.2, 0.01, 2), Spread(0.1, 0.01, 2), None]
    table = Table("x", ("x",), [(cell,) for cell in cells], "make", best={"x": "lowest"})
    assert leaders(table) == {(2, 0)}


def test_a_single_seed_is_not_called_the_best():
    cells = [Spread(0.2, 0.01, 3), Spread(0.3, None, 1)]
    table = Table("x", ("x",), [(cell,) for cell in cells], "make", best={"x": "highest"})
    assert leaders(table) == set()


def test_what_lies_within_a_deviation_of_the_best_is_marked_with_it():
    cells = [Spread(0.90, 0.02, 3), Spread(0.885, 0.3, 3), Spread(0.87, 0.3, 3)]
    table = Table("x", ("x",), [(cell,) for cell in cells], "make", best={"x": "highest"})
    assert leaders(table) == {(0, 0), (1, 0)}


def test_a_cell_at_chance_level_is_not_marked():
    cells = [Spread(0.90, 0.02, 3), Spread(0.885, 0.3, 3)]
    rows = [(cell,) for cell in cells]
    table = Table("x", ("x",), rows, "make", best={"x": "highest"}, chance=frozenset({(1, 0)}))
    assert leaders(table) == {(0, 0)}


def test_a_row_with_more_cells_than_the_header_is_rejected():
    with pytest.raises(ValueError, match="a row has 2 cells, the header 1"):
        Table("", ("task",), [("text", 0.5)], "")
