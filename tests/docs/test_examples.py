import pathlib
import runpy

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture(scope="module")
def streaming(tmp_path_factory):
    picture = tmp_path_factory.mktemp("streaming") / "picture.png"
    script = runpy.run_path(str(EXAMPLES / "streaming.py"))
    return script["main"](str(picture)), picture


def test_a_fractional_memory_recalls_the_last_week_of_a_share_price_more_sharply_than_legs(
    streaming,
):
    legs, fractional = streaming[0].values()
    assert fractional["week"] < 0.6 * legs["week"]
    assert fractional["month"] < legs["month"]


def test_it_pays_with_little_of_the_distant_past(streaming):
    legs, fractional = streaming[0].values()
    assert fractional["before"] < 1.1 * legs["before"]


def test_the_streaming_example_draws_its_picture(streaming):
    assert streaming[1].read_bytes().startswith(b"\x89PNG")


def test_the_classifier_is_far_above_chance_and_does_not_notice_twice_the_sampling_rate():
    scores = runpy.run_path(str(EXAMPLES / "classifier.py"))["main"]()
    assert scores["as trained"] > 0.75  # three classes: chance is 0.33
    assert abs(scores["twice the rate"] - scores["as trained"]) < 0.03
