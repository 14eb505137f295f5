import numpy as np
import pytest

from fractal.report.pages import figures
from fractal.report.recall import AGE_BANDS, brownian, error_by_age, sample_ages


def test_every_figure_is_written_for_screen_and_print(tmp_path, monkeypatch):
    draw = figures.recall_by_age
    monkeypatch.setattr(figures, "recall_by_age", lambda: draw(paths=1, length=2000))
    written = figures.draw_all(tmp_path / "new")
    assert [path.stem for path in written] == [
        "measures", "operators", "spectrum", "conditioning", "recall",
    ]  # fmt: skip
    for path in written:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    "draw", [figures.measures, figures.spectrum, figures.conditioning, figures.recall_by_age]
)
def test_axes_are_labeled(draw):
    for axes in draw().axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        assert axes.get_legend() is not None


def test_recall_figure_shows_all_memories_and_the_order_of_theory():
    (axes,) = figures.recall_by_age(paths=4).axes
    newest = {line.get_label(): line.get_ydata()[0] for line in axes.lines}
    assert {name.split(",")[0] for name in newest} == {
        "LagT", "LegT", "published", "LegS", "fractional",
    }  # fmt: skip
    assert newest["fractional, α = 0.9"] < newest["LegS"] / 4
    # The published operator does not even represent the mean (docs/theory.md §2): error of order 1.
    assert newest["published, α = 0.9"] > 5 * newest["LegS"]


def test_error_by_age_puts_each_sample_into_its_band():
    error = np.where(sample_ages(100_000) < 1e-4, 2.0, 0.5)[:, None]
    bands = error_by_age(error)
    assert bands[:, 0].tolist() == [2.0, 0.5, 0.5, 0.5, 0.5]
    short = error_by_age(np.ones((50, 2)))
    assert np.isnan(short[:, 0]).tolist() == [True, True, True, False, False]
    assert len(AGE_BANDS) == len(bands)


def test_brownian_paths_have_the_variance_of_time():
    u = brownian(400, 4000)
    np.testing.assert_allclose(u.var(axis=1)[[99, 199, 399]], [0.25, 0.5, 1.0], rtol=0.1)
