"""Wrong calls from Python: one line of ValueError each, without the run-time type checker."""

import json
import subprocess
import sys

CODE = r"""
import json, pathlib, sys
import numpy as np
from fractal import tasks, train as t

folder = pathlib.Path(sys.argv[1])
(folder / "file").write_text("")
config = t.preset("listops")
task = tasks.from_arrays(list(np.zeros((30, 5))), [0, 1] * 15)
calls = {
    "train no config": lambda: t.train("x", folder / "run"),
    "train dict": lambda: t.train({}, folder / "run"),
    "train folder None": lambda: t.train(config, None),
    "train folder empty": lambda: t.train(config, ""),
    "train folder number": lambda: t.train(config, 3),
    "train folder bytes": lambda: t.train(config, b"x"),
    "train folder nul": lambda: t.train(config, "a\0b"),
    "train folder file": lambda: t.train(config, folder / "file"),
    "train resume text": lambda: t.train(config, folder / "run", resume="yes"),
    "train resume nothing": lambda: t.train(config, folder / "run", resume=True),
    "train logger text": lambda: t.train(config, folder / "run", loggers="wandb"),
    "train logger unknown": lambda: t.train(config, folder / "run", loggers=["excel"]),
    "train logger number": lambda: t.train(config, folder / "run", loggers=[3]),
    "train loggers None": lambda: t.train(config, folder / "run", loggers=None),
    "train workers 0": lambda: t.train(config, folder / "run", workers=0),
    "train workers many": lambda: t.train(config, folder / "run", workers=100_000),
    "train workers text": lambda: t.train(config, folder / "run", workers="2"),
    "evaluate_run nowhere": lambda: t.evaluate_run(folder / "none"),
    "evaluate_run None": lambda: t.evaluate_run(None),
    "evaluate task": lambda: t.evaluate(None, "listops"),
    "evaluate split": lambda: t.evaluate(None, task, "tset"),
    "evaluate split number": lambda: t.evaluate(None, task, 3),
    "evaluate batch": lambda: t.evaluate(None, task, batch=0),
    "load_task": lambda: t.load_task("listops"),
    "preset task": lambda: t.preset(None),
    "preset size": lambda: t.preset("listops", None),
    "preset model": lambda: t.preset("listops", "mini", None),
    "with_steps": lambda: t.with_steps(config, 2.5),
    "with_steps config": lambda: t.with_steps(None, 2),
    "read_config None": lambda: t.read_config(None),
    "read_config empty": lambda: t.read_config(""),
    "compare one": lambda: t.compare(config, folder / "c"),
    "compare none": lambda: t.compare([], folder / "c"),
    "compare text": lambda: t.compare(["x"], folder / "c"),
    "compare twice": lambda: t.compare([config, config], folder / "c"),
    "compare folder": lambda: t.compare([config], None),
    "matched none": lambda: t.matched_configs([]),
    "matched seeds": lambda: t.matched_configs([config], seeds=0),
    "matched seeds many": lambda: t.matched_configs([config], seeds=10**6),
    "matched seeds float": lambda: t.matched_configs([config], seeds=1.5),
    "match task": lambda: t.match_parameters(config.model, None, 100),
    "match model": lambda: t.match_parameters(None, task, 100),
    "count": lambda: t.config_parameter_count("s5", task),
    "curve": lambda: t.learning_curve(folder / "none"),
    "curve None": lambda: t.learning_curve(None),
    "result": lambda: t.read_result(folder / "none"),
    "summary": lambda: t.summarize([{}], folder),
    "summary number": lambda: t.summarize(3, folder),
    "summary of numbers": lambda: t.summarize([3], folder),
    "summary folder": lambda: t.summarize([], None),
    "early loss": lambda: t.early_loss(folder / "none", 10),
    "late loss steps": lambda: t.late_loss(folder, "x"),
    "parameter count": lambda: t.parameter_count(3),
    "parameter count None": lambda: t.parameter_count("model"),
    "initial state": lambda: t.initial_state(1, 2),
    "initial state task": lambda: t.initial_state(config, 2),
    "train step": lambda: t.make_train_step(None, None),
    "train step task": lambda: t.make_train_step(config, None),
    "match target": lambda: t.match_parameters(config.model, task, "x"),
    "match target negative": lambda: t.match_parameters(config.model, task, -1),
    "evaluate model": lambda: t.evaluate(3, task),
    "evaluate model text": lambda: t.evaluate("x", task),
    "build": lambda: t.build(config.model, "listops", None),
    "build key": lambda: t.build(config.model, task, None),
    "task": lambda: tasks.Task("a", "classification", "x", -1, None, None),
    "task length": lambda: tasks.Task("a", "classification", 0, 1, 2, task.splits),
    "task splits": lambda: tasks.Task("a", "classification", 5, 1, 2, None),
    "task name": lambda: tasks.Task("", "classification", 5, 1, 2, task.splits),
    "majority": lambda: t.majority_class(None),
    "bag": lambda: t.bag_of_tokens("listops"),
    "bag of values": lambda: t.bag_of_tokens(task),
    "register model": lambda: t.register_model("x", 3),
    "register name": lambda: t.register_model(3, int),
    "register kind": lambda: t.register_model("x", lambda width, *, key: 0, kind="layer"),
    "register gate": lambda: t.register_model("x", lambda width, *, key: 0, gate="glu"),
    "register classes": lambda: t.register_model("x", lambda width, *, key: 0, classes=int),
    "register class": lambda: t.register_model("x", lambda width, *, key: 0, classes=[3]),
    "register int": lambda: t.register_model("x", lambda width, *, key: 0, classes=[int]),
    "register size": lambda: t.register_model("x", lambda width, *, key: 0, size=3),
    "register rate": lambda: t.register_model("x", lambda width, *, key: 0, max_lr="fast"),
    "register settings_of": lambda: t.register_model("x", lambda width, *, key: 0, settings_of=3),
    "register bytes": lambda: t.register_model("x", lambda width, *, key: 0, setup_bytes=3),
    "register task": lambda: t.register_task("x", 3),
    "register config": lambda: t.register_task("x", lambda request: task, config={}),
    "register paper": lambda: t.register_task("x", lambda request: task, paper=config),
    "register task name": lambda: t.register_task(3, lambda request: task),
    "join": lambda: t.join_processes(None, 2, 0),
}
found = {}
for name, call in calls.items():
    try:
        call()
        found[name] = "no error"
    except ValueError as error:
        found[name] = str(error) if "\n" not in str(error) else "several lines"
    except BaseException as error:
        found[name] = f"{type(error).__name__}!"
print(json.dumps(found))
"""


def test_every_invalid_call_is_a_value_error_in_one_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    bad = {
        name: text
        for name, text in found.items()
        if text in ("no error", "several lines") or text.endswith("!")
    }
    assert bad == {}
    assert len(found) >= 50
    assert not (tmp_path / "run").exists()
    assert found["train workers many"].startswith("workers must be at most")
    assert found["train folder file"].endswith("is a file, not a folder")
