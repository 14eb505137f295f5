import json

import pytest

from commands import check_mistake, run
from fractal.cli import main
from fractal.tasks.listops import SIZES, generate

SMALL = ("--model.width", 8, "--model.depth", 1, "--model.options.order", 2, "--data.batch", 8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "listops"
    generate(folder, SIZES["mini"]._replace(examples=200), seed=0, workers=1)
    return folder


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """One cache for all tests: generated data is generated once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRACTAL_DATA", str(tmp_path_factory.mktemp("cache")))
        yield


def test_train_resume_and_eval_agree_on_the_score(capfd, tmp_path, folder):
    out = tmp_path / "run"
    command = ("train", "listops", "--data", folder, "--steps", 6, "--out", out, *SMALL)
    code, printed, _ = run(capfd, *command, "--json")
    assert code == 0
    result = json.loads(printed)
    assert result["steps"] == 6
    assert {"majority_class", "bag_of_tokens"} < set(result)
    code, printed, err = run(capfd, "train", "--resume", out)
    assert code == 0
    assert f"test accuracy: {result['test_accuracy']:.3f}" in printed
    assert "most frequent class" in printed
    assert "resuming after step 6" in err
    code, printed, _ = run(capfd, "eval", out)
    assert code == 0
    assert json.loads(printed)["test_accuracy"] == result["test_accuracy"]
    code, _, err = run(capfd, *command)
    assert code == 2
    assert "already contains a run" in err


def _scores(folder):
    """The results of a comparison, without what is measured anew when a run is resumed."""
    lines = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return [{k: line[k] for k in ("model", "seed", "test_loss", "test_accuracy")} for line in lines]


@pytest.mark.slow
def test_compare_trains_each_model_once_and_resumes(capfd, tmp_path, folder):
    out = tmp_path / "compared"
    sizes = ("--model.width", 16, "--model.depth", 1, "--data.batch", 8)
    command = ("compare", "listops", "--models", "fractal,lmu", "--seeds", 2, "--steps", 10)
    command += ("--data", folder, "--out", out, *sizes, "--log-every", 1)
    code, printed, _ = run(capfd, *command)
    assert code == 0
    assert "lmu" in printed
    assert "±" in printed
    lines = _scores(out)
    assert [(line["model"], line["seed"]) for line in lines] == [
        ("fractal", 0), ("lmu", 0), ("fractal", 1), ("lmu", 1)]  # fmt: skip
    (out / "lmu-1" / "result.json").unlink()
    times = {path: path.stat().st_mtime_ns for path in out.glob("fractal-*/result.json")}
    code, again, _ = run(capfd, *command, "--json")
    rows = json.loads(again)["models"]
    assert code == 0
    assert times == {path: path.stat().st_mtime_ns for path in out.glob("fractal-*/result.json")}
    assert _scores(out) == lines
    assert abs(rows[0]["parameters"] - rows[1]["parameters"]) < 0.1 * rows[0]["parameters"]
    assert (out / "curves.png").stat().st_size > 5000
    code, _, err = run(capfd, *command, "--model.dropout", 0.1)
    assert code == 2
    assert "other settings" in err


def test_the_settings_can_be_seen_and_given_back_as_a_file(capfd, tmp_path):
    options = ("--optimizer.lr", 0.5, "--seed", 3, "--model.options.selective", True)
    code, shown, _ = run(capfd, "train", "listops", "--show", *options)
    assert code == 0
    assert json.loads(shown)["optimizer"]["lr"] == 0.5
    assert json.loads(shown)["model"]["options"]["selective"] is True
    (tmp_path / "config.json").write_text(shown)
    code, again, _ = run(capfd, "train", "--config", tmp_path / "config.json", "--show")
    assert again == shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("train",), "missing TASK: choose one of listops"),
        (("train", "listpos"), "did you mean listops?"),
        (("train", "listops", "--model", "s44"), "did you mean s4"),
        (("train", "listops", "--model.widht", "3"), "--model.width"),
        (("train", "listops", "--optimizer.lr", "fast"), "--optimizer.lr"),
        (("train", "listops", "--optimizer.lr", "-1"), "--optimizer.lr must be greater than 0"),
        (("train", "listops", "--model.options.ordr", "3"), "did you mean order?"),
        (("train", "listops", "--model.options.order"), "needs a value"),
        (("train", "listops", "--steps", "0"), "--steps must be greater"),
        (("train", "listops", "--model", ""), "--model must not be empty"),
        (("train", "listops", "--out="), "--out must not be empty"),
        (("train", "listops", "--mode", "s5"), "no option --mode: did you mean --model?"),
        (("train", "listops", "--model.width", "3.5"), "--model.width"),
        (("train", "listops", "--model.width", "100000000"), "GB needed"),
        (("train", "listops", "--model.options.order", "1000000"), "GB needed"),
        (("train", "listops", "--model.depth", "1000000"), "GB needed"),
        (("train", "listops", "--data.batch", "1000000000"), "GB needed"),
        (("train", "listops", "--plugin", "none.py"), "--plugin: there is no file none.py"),
        (("train", "listops", "--plugin", "no_such_module"), "cannot import no_such_module"),
        (("compare", "listops", "--seed", "3"), "no option --seed: did you mean --seeds?"),
        (("compare", "listops", "--seeds", "100000"), "at most 1000"),
        (("train", "listops", "--preset", "paper"), "fractal data listops --out DIR"),
        (("train", "image"), "fractal data image"),
        (("train", "text", "--data", "nowhere"), "is not a folder"),
        (("train", "--resume", "nowhere"), "contains no run"),
        (("train", "--resume", "nowhere", "--steps", "3"), "--resume: cannot be combined"),
        (("train", "listops", "--config", "x.json"), "cannot be combined with TASK"),
        (("train", "--config", "x.json"), "cannot read x.json"),
        (("train", "listops", "--processes", "2"), "--coordinator must be given"),
        (("train", "listops", "--log", "excel"), "excel"),
        (("train", "listops", "--log"), "--log: needs a value"),
        (("compare", "listops", "--models", "fractal,"), "--models: a name is empty"),
        (("eval", "nowhere"), "cannot read"),
        (("compare", "listops", "--models", "fractal,fractal"), "named twice"),
        (("compare", "listops", "--models", "fractal,s6x"), "there is no model"),
        (("compare", "listops", "--seeds", "0"), "at least 1"),
    ],
)
def test_a_users_mistake_is_one_line_and_writes_nothing(
    capfd, tmp_path, monkeypatch, arguments, complaint
):
    monkeypatch.chdir(tmp_path)
    check_mistake(capfd, *arguments, complaint=complaint)


@pytest.mark.parametrize("command", [(), ("train",), ("eval",), ("compare",), ("data",)])
def test_help_shows_an_example_and_all_settings(capsys, command):
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    out = capsys.readouterr().out
    has_settings = command in (("train",), ("compare",))
    assert len(out.splitlines()) <= (130 if has_settings else 60)
    for setting in ("--model.width INT", "--optimizer.lr FLOAT", "--data.batch INT", "--keep INT"):
        assert (setting in out) == has_settings
    assert "Example: fractal" in out
