import contextlib
import io
import pathlib
import runpy
from typing import NamedTuple

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs" / "examples"


class Streaming(NamedTuple):
    errors: dict
    printed: str
    picture: pathlib.Path


@pytest.fixture(scope="module")
def streaming(tmp_path_factory):
    picture = tmp_path_factory.mktemp("streaming") / "picture.png"
    script = runpy.run_path(str(EXAMPLES / "streaming.py"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        errors = script["main"](str(picture))
    return Streaming(errors, printed.getvalue(), picture)


def test_a_fractional_memory_recalls_the_last_week_of_a_share_price_better_than_legs(
    streaming,
):
    legs, fractional = streaming.errors.values()
    assert fractional["week"] < 0.6 * legs["week"]
    assert fractional["month"] < legs["month"]


def test_its_error_on_the_distant_past_is_hardly_larger(streaming):
    legs, fractional = streaming.errors.values()
    assert fractional["before"] < 1.1 * legs["before"]


def test_the_streaming_example_draws_its_picture(streaming):
    assert streaming.picture.read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_what_the_streaming_example_prints(streaming):
    page = (EXAMPLES / "streaming.md").read_text(encoding="utf-8")
    assert f"```text\n{streaming.printed}```" in page


@pytest.mark.slow
def test_the_classifier_is_far_above_chance_and_as_accurate_at_twice_the_sampling_rate():
    scores = runpy.run_path(str(EXAMPLES / "classifier.py"))["main"]()
    assert scores["training rate"] > 0.75  # three classes: chance is 0.33
    assert abs(scores["twice the rate"] - scores["training rate"]) < 0.03


@pytest.mark.slow
def test_recordings_with_gaps_and_irregular_times_are_classified_at_both_rates(tmp_path):
    picture = tmp_path / "picture.png"
    main = runpy.run_path(str(EXAMPLES / "classify.py"))["main"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        scores, found = main(str(picture))
    assert min(scores.values()) > 0.6  # three classes: chance is 0.33
    assert found.error < 0.15
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert printed.getvalue().count("\n") == 3


def test_forecasts_of_the_load_are_better_than_the_week_before(tmp_path):
    picture = tmp_path / "picture.png"
    main = runpy.run_path(str(EXAMPLES / "forecast.py"))["main"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found, trivial = main(str(picture))
    assert found["mse"] < 0.8 * trivial
    assert 0.6 < found["coverage"][0.9] - found["coverage"][0.1] < 0.95
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert printed.getvalue().count("\n") == 2


@pytest.mark.slow
def test_days_are_decided_before_they_end_and_surely_if_short_ones_were_trained_on(tmp_path):
    pytest.importorskip("aeon")
    picture = tmp_path / "picture.png"
    main = runpy.run_path(str(EXAMPLES / "stream.py"))["main"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = main(str(picture))
    accuracy, probability, decided, first, right = found["days cut off"]
    assert decided.mean() > 0.5
    assert np.median(first[decided]) < 24
    *_, sure_too_early, _, guessed = found["whole days"]
    assert right[decided].mean() > 0.9 > guessed[sure_too_early].mean() + 0.2
    assert np.abs(accuracy - probability).mean() < 0.1
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert printed.getvalue().count("\n") == 3
