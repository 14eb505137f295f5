import json
import math
import shutil

import numpy as np
import pytest

from fractal import tasks
from fractal._errors import UserError
from fractal._files import write_tensors
from fractal._predictions import Predictions
from fractal.report.groups import differing, grouped
from fractal.report.pages import worst_examples
from fractal.report.pages.run_page import _scores, runs_page
from fractal.report.runs import Run, find_runs, flat, read_run
from fractal.tasks import listops
from pages import check_self_contained
from run_folders import config, write_run

LOGITS = np.array([[2.0, 0.0], [0.0, 2.0], [5.0, 0.0], [0.0, 0.1]])
TARGETS = np.array([0, 1, 1, 0])


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """Two models with two seeds each, as `compare` leaves them."""
    folder = tmp_path_factory.mktemp("runs") / "compare"
    for model, base in (("fractal", 0.5), ("s5", 0.4)):
        for seed in (0, 1):
            write_run(
                folder / f"{model}-{seed}", config(model=model, seed=seed, task="toy"),
                accuracy=base + 0.1 * seed, logits=LOGITS, targets=TARGETS,
            )  # fmt: skip
    (folder / "results.jsonl").write_text("{}\n")
    return folder


@pytest.fixture(scope="module")
def compared(comparison):
    return runs_page([comparison])


def texts(page, *tags):
    return [text for tag in tags for text in page.texts.get(tag, [])]


def test_a_comparison_is_shown_with_means_and_deviations_over_seeds(compared):
    page = check_self_contained(compared)
    cells = texts(page, "td", "strong")
    # Seeds of fractal: 0.5 and 0.6, of s5: 0.4 and 0.5.
    assert f"0.550 ± {math.sqrt(0.005):.3f}" in cells
    assert f"0.450 ± {math.sqrt(0.005):.3f}" in cells
    assert {"finished", "1,234", "4,321"} <= set(cells)
    assert "0123456789abcdef" in cells
    assert "fractal train listops" in cells
    assert "model.name" in texts(page, "th")
    assert "4 runs on toy: 2 settings, 4 finished." in compared


def test_low_errors_are_best_and_counts_are_no_scores(tmp_path):
    settings = config()
    results = ({"test_rmse": 2.0, "test_r2": 0.5, "test_cases": 9}, {"test_rmse": 1.0})
    runs = [
        Run(tmp_path / str(i), flat(settings | {"steps": i}), [], result, None, None)
        for i, result in enumerate(results)
    ]
    table = _scores(grouped(runs))
    assert table.best == {"test rmse": "lowest", "test r2": "highest"}


def test_predictions_are_counted_over_the_seeds(compared):
    # Two of four are right, in both seeds.
    assert "50.0% of 8 predictions are correct" in compared
    assert compared.count("Confusion matrix") == 2


def test_the_worst_examples_come_first_and_a_missing_task_is_reported(compared):
    page = check_self_contained(compared)
    worst = [text for text in texts(page, "th") if text.isdigit()]
    # Cross-entropies of the four: 0.127, 0.127, 5.007, 0.744.
    assert worst[:2] == ["2", "3"]
    (note, _) = [text for text in texts(page, "p") if "cannot be shown" in text]
    assert note.startswith("The inputs of toy cannot be shown: ")


def test_losses_are_those_of_a_plain_computation():
    found = Predictions(LOGITS, TARGETS).losses()
    softmax = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, -np.log(softmax[np.arange(4), TARGETS]))
    values = np.array([[1.0, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose(Predictions(values, np.zeros((2, 2))).losses(), [5.0, 0.0])


def test_classes_have_the_labels_of_the_users_file(tmp_path):
    settings = config(task="cases.csv", data__classes=["slow", "fast"])
    run = write_run(tmp_path / "run", settings, logits=LOGITS, targets=TARGETS)
    assert "fast → slow" in texts(check_self_contained(runs_page([run])), "td", "strong")


def test_inputs_of_a_loaded_task_are_drawn(tmp_path, monkeypatch):
    image = tasks.Sequences(
        np.arange(4 * 64, dtype=np.uint8), np.arange(5) * 64, TARGETS.astype(np.int32)
    )
    split = tasks.Split(image, np.arange(4))
    levels = np.linspace(0, 1, 256).astype(np.float32)
    splits = tasks.Splits(split, split, split)
    task = tasks.Task("toy", "classification", 64, 1, 2, splits, levels=levels)
    monkeypatch.setattr(worst_examples, "load", lambda name, **options: task)
    run = write_run(tmp_path / "run", config(task="toy"), logits=LOGITS, targets=TARGETS)
    html = runs_page([run])
    check_self_contained(html)
    assert html.count("data:image/png") >= 4
    assert "no. 2: 1 → 0" in html


def test_tokens_are_shown_as_text(tmp_path, monkeypatch):
    words = tasks.Sequences(
        np.tile(np.array([1, 2, 3], np.uint8), 4), np.arange(5) * 3, TARGETS.astype(np.int32)
    )
    split = tasks.Split(words, np.arange(4))
    vocabulary = ("<pad>", "[MAX", "<b>", "4")
    splits = tasks.Splits(split, split, split)
    task = tasks.Task("toy", "classification", 3, 4, 2, splits, vocabulary=vocabulary)
    monkeypatch.setattr(worst_examples, "load", lambda name, **options: task)
    run = write_run(tmp_path / "run", config(task="toy"), logits=LOGITS, targets=TARGETS)
    page = check_self_contained(runs_page([run]))
    assert texts(page, "td").count("[MAX <b> 4") == 4


@pytest.mark.parametrize("error", [ImportError, OSError, ValueError])
def test_a_task_that_cannot_be_loaded_is_a_note(tmp_path, monkeypatch, error):
    def load(name, **options):
        raise error("no\nsuch thing")

    monkeypatch.setattr(worst_examples, "load", load)
    run = write_run(tmp_path / "run", config(task="toy"), logits=LOGITS, targets=TARGETS)
    page = check_self_contained(runs_page([run]))
    (note,) = [text for text in texts(page, "p") if "cannot be shown" in text]
    assert "no such thing; give the folder with the option --data DIR" in note


def test_a_strangers_run_reads_no_folder_and_generates_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path / "cache"))
    named = config(data__folder=str(tmp_path / "secret"))
    run = write_run(tmp_path / "named", named, logits=LOGITS, targets=TARGETS)
    assert f"the run has read them from {tmp_path / 'secret'}; give the folder" in runs_page([run])
    with pytest.raises(UserError):
        tasks.load("listops", preset="mini", cached=True)
    run = write_run(tmp_path / "generated", config(), logits=LOGITS, targets=TARGETS)
    html = runs_page([run])
    assert "its data is not in the cache" in html
    assert "--data DIR" in html
    assert not (tmp_path / "cache").exists()


def test_inputs_are_read_from_the_folder_given(tmp_path, monkeypatch):
    monkeypatch.setenv("FRACTAL_DATA", str(tmp_path / "cache"))
    size = listops.SIZES["mini"]._replace(examples=200)
    listops.generate(tmp_path / "data", size, seed=0, workers=1)
    task = tasks.load("listops", preset="mini", data=tmp_path / "data")
    targets = np.asarray(task.splits.test.labels)
    run = write_run(
        tmp_path / "run", config(data__folder="/nowhere"),
        logits=np.zeros((len(targets), 10)), targets=targets,
    )  # fmt: skip
    page = check_self_contained(runs_page([run], data=tmp_path / "data"))
    assert any(text.startswith("[") for text in texts(page, "td"))


def test_a_changed_test_set_is_not_shown(tmp_path, monkeypatch):
    words = tasks.Sequences(
        np.tile(np.array([1, 2, 3], np.uint8), 4), np.arange(5) * 3, 1 - TARGETS.astype(np.int32)
    )
    split = tasks.Split(words, np.arange(4))
    splits = tasks.Splits(split, split, split)
    task = tasks.Task("toy", "classification", 3, 4, 2, splits, vocabulary=tuple("abcd"))
    monkeypatch.setattr(worst_examples, "load", lambda name, **options: task)
    run = write_run(tmp_path / "run", config(task="toy"), logits=LOGITS, targets=TARGETS)
    assert "has changed since the run" in runs_page([run])


def test_a_regression_has_residuals(tmp_path):
    targets = np.linspace(-1, 1, 50)[:, None]
    run = write_run(
        tmp_path / "run", config(task="toy"), logits=targets + 0.5, targets=targets
    )  # fmt: skip
    html = runs_page([run])
    check_self_contained(html)
    assert "root-mean-square error 0.5 on 50 values" in html


def test_an_unfinished_run_is_shown_with_what_it_has(tmp_path):
    run = write_run(tmp_path / "run", config(), accuracy=None)
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"step": 30, "lo')  # killed while writing
    html = runs_page([run])
    page = check_self_contained(html)
    assert "1 unfinished: step 20 of 40" in texts(page, "td")
    assert "training loss" in html
    assert "No run has predictions yet" in html
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(run / "config.json", bare)
    assert "No metrics yet" in runs_page([bare])


def test_a_finished_run_without_metrics_has_no_learning_curves(tmp_path):
    run = write_run(tmp_path / "run", config())
    assert "Learning curves" in runs_page([run])
    (run / "metrics.jsonl").write_text("")
    html = runs_page([run])
    assert "Learning curves" not in html
    assert "No metrics yet" not in html


def test_runs_that_differ_in_settings_are_named_by_them(tmp_path):
    for width in (16, 32):
        write_run(tmp_path / f"w{width}", config(model__width=width))
    runs = [read_run(folder) for folder in find_runs([tmp_path])]
    assert [group.name for group in grouped(runs)] == ["fractal, width 16", "fractal, width 32"]
    assert differing(runs) == ["model.width"]
    page = check_self_contained(runs_page([tmp_path]))
    assert "model.width" in texts(page, "th")
    assert {"16", "32"} <= set(texts(page, "td"))


def test_a_folder_is_found_once(comparison):
    single = comparison / "s5-1"
    assert len(find_runs([comparison, single, comparison.parent])) == 4


def test_names_in_files_are_never_read_as_html_or_formulas(tmp_path):
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&$\\frac$\ud800"
    for seed in (0, 1):
        run = write_run(
            tmp_path / str(seed), config(task=evil, model=evil, seed=seed),
            logits=LOGITS, targets=TARGETS,
        )  # fmt: skip
        result = json.loads((run / "result.json").read_text())
        result |= {f"test_{evil}": 1.0, "provenance": {"command": evil, "machine": evil}}
        (run / "result.json").write_text(json.dumps(result))
    html = runs_page([tmp_path])
    check_self_contained(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    html.encode()


def break_config(run):
    (run / "config.json").write_text("{")


def foreign_config(run):
    (run / "config.json").write_text('{"model_type": "bert", "model": 3}')


def deep_config(run):
    (run / "config.json").write_text("[" * 100_000)


def binary_config(run):
    (run / "config.json").write_bytes(b"\xff\xfe\x00")


def list_result(run):
    (run / "result.json").write_text("[1]")


def break_metrics(run):
    (run / "metrics.jsonl").write_text('{"step": 1}\nnonsense\n{"step": 2}\n')


def no_step(run):
    (run / "metrics.jsonl").write_text('{"loss": 1.0}\n')


def break_predictions(run):
    (run / "predictions.safetensors").write_bytes(b"not tensors")


def foreign_predictions(run):
    import safetensors.numpy

    safetensors.numpy.save_file({"weight": np.ones(3)}, run / "predictions.safetensors")


def predictions(run, logits, targets, form="fractal.predictions", version="1"):
    tensors = {"logits": np.asarray(logits), "targets": np.asarray(targets)}
    write_tensors(run / "predictions.safetensors", tensors, {"format": form, "version": version})


def other_format(run):
    predictions(run, LOGITS, TARGETS, "other.predictions")


def later_version(run):
    predictions(run, LOGITS, TARGETS, version="2")


def wrong_shapes(run):
    predictions(run, np.ones((3, 2)), np.zeros(4, int))


def no_axes(run):
    predictions(run, 1.0, 0)


def no_axis_of_targets(run):
    predictions(run, LOGITS, 0)


def three_axes(run):
    predictions(run, np.ones((4, 2, 1)), TARGETS)


def no_classes(run):
    predictions(run, np.ones((4, 0)), TARGETS)


def boolean_logits(run):
    predictions(run, np.ones((4, 2), bool), TARGETS)


def wrong_classes(run):
    predictions(run, np.ones((3, 2)), np.array([0, 1, 2]))


def list_metrics(run):
    (run / "metrics.jsonl").write_text('[1]\n{"step": 2}\n')


def binary_metrics(run):
    (run / "metrics.jsonl").write_bytes(b'{"step": 1}\n\xff\xfe\xfd\n{"step": 2}\n')


def folder_result(run):
    (run / "result.json").unlink()
    (run / "result.json").mkdir()


CORRUPTIONS = {
    break_config: "config.json: is not JSON",
    foreign_config: "config.json: is not the configuration of a run",
    deep_config: "config.json: is not JSON",
    binary_config: "config.json: is not JSON",
    list_result: "result.json: is not a JSON object",
    break_metrics: "metrics.jsonl, line 2: is not JSON",
    no_step: "metrics.jsonl, line 1: has no step",
    break_predictions: "predictions.safetensors: is not a file of predictions",
    foreign_predictions: "predictions.safetensors: is not a file of predictions",
    other_format: "its format is 'other.predictions', not 'fractal.predictions'",
    later_version: "its version is '2'; this version of fractal reads 1 to 1",
    wrong_shapes: "do not match",
    no_axes: "logits () and targets () do not match",
    no_axis_of_targets: "logits (4, 2) and targets () do not match",
    three_axes: "logits (4, 2, 1) and targets (4,) do not match",
    no_classes: "logits (4, 0) and targets (4,) do not match",
    boolean_logits: "values are bool and int64, not numbers",
    list_metrics: "metrics.jsonl, line 1: is not a JSON object",
    binary_metrics: "metrics.jsonl, line 2: is not JSON",
    wrong_classes: "a target is not one of 2 classes",
    folder_result: "result.json: Is a directory",
}


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
def test_a_file_that_cannot_be_used_is_named_in_one_line(tmp_path, corrupt):
    run = write_run(tmp_path / "run", config(), logits=LOGITS, targets=TARGETS)
    corrupt(run)
    with pytest.raises(UserError) as caught:
        read_run(run)
    assert CORRUPTIONS[corrupt] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "no such folder"),
        (lambda path: path.mkdir(), "no run in it or in its folders"),
        (lambda path: path.write_text(""), "is a file, not the folder of a run"),
    ],
)
def test_a_folder_without_runs_is_named(tmp_path, make, message):
    make(tmp_path / "x")
    with pytest.raises(UserError, match=message):
        runs_page([tmp_path / "x"])
