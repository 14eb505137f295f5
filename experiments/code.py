"""A hash of the code that produces a result, so that results of earlier code are known as stale.

The hash is over the syntax trees of the files, without comments, docstrings and error messages:
rewording does not change it, a changed default does. It is the same on all Python versions.
The settings of the presets `laptop` are not part of it: see `results.code_of`.
"""

import ast
import functools
import hashlib
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

ROOT = pathlib.Path(__file__).parent.parent
_PACKAGE = "src/fractal"
_LAPTOP = "LAPTOP"  # name of the settings `laptop` in the presets
_MODELS = (
    *("theory", "_engine", "nn", "baselines"),
    *("_spectra.py", "_alpha_series.py", "_layer_options.py", "_sinusoids.py"),
)
# What determines the examples of a task: not how they are fetched, or how errors are worded.
_DATA = (
    *("listops", "_expressions", "pathfinder", "_snakes", "_paddles", "_occupancy", "retrieval"),
    *("_citations", "text", "_tokens", "image", "smnist", "_images", "_arrays", "_sequences"),
    *("_task", "_batches"),
)
# What determines a trained model and its scores: not loggers, checkpoints or comparison.
_STEPS = (
    *("_config", "_models", "_parameter_counts", "_builtin", "_tasks", "_optimizer", "_step"),
    *("_time_shards", "_evaluation", "_pretraining", "_curriculum"),
)
_TRAINING = (
    *_MODELS,
    *(f"tasks/{name}.py" for name in _DATA),
    *(f"train/{name}.py" for name in _STEPS),
    "train/presets",
    "_predictions.py",
)
# What determines a fitted estimator: not how input is read or files are written.
_FITTED = (
    *("_base", "_fit", "_fit_settings", "_hold_out", "_padding", "_preparation", "_calibration"),
    *("_classifier", "_filling", "_series_features", "_memory_features", "_filter_features"),
    *("_filters", "_random_state"),
)
_ESTIMATORS = (
    *(part for part in _MODELS if part != "baselines"),
    *("_memory.py", "_power_sums.py", "train/_optimizer.py"),
    *(f"estimators/{name}.py" for name in _FITTED),
)
_SERIES = ("smnist", "_images", "_sequences", "_task", "speech")  # data of `training_cases`
_RIDGE = ("_ridge", "_filter_base", "_filter_classifier")
_FORECAST = ("data", "fit", "model", "network", "settings", "training")
_FORECASTER = (
    *(part for part in _MODELS if part != "baselines"),
    *(f"estimators/{name}.py" for name in ("_histories", "_lag_regression", "_covariates")),
    "estimators/_filling.py",
    *(f"estimators/_forecast_{name}.py" for name in _FORECAST),
)
# What determines the lines of each experiment: parts of the package, and its own files.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "recall": (("theory", "_memory.py", "_power_sums.py", "report/recall.py"), ("signals",)),
    "initialization": (_TRAINING, ("runs",)),
    "filter_bank": (_TRAINING, ("runs",)),
    "clock": (_TRAINING, ("runs",)),
    "models": (_TRAINING, ("runs",)),
    "long_memory": (_MODELS, ("signals",)),
    "morse": (_MODELS, ("fitting", "sithcon")),
    "synthetic": (_MODELS, ("fitting",)),
    "induction": (_MODELS, ("fitting", "synthetic")),
    "selective": (_TRAINING, ("runs",)),
    "full_budget": (_TRAINING, ("runs", "selective")),
    "speech": ((*_MODELS, "tasks/speech.py", "_series/wav.py"), ("fitting", "sithcon", "speeds")),
    "laptop": (_TRAINING, ()),
    "pathfinder": (_TRAINING, ("runs",)),
    "own_series": (_ESTIMATORS, ("packages",)),
    "training_cases": (
        (
            *(*_ESTIMATORS, *(f"estimators/{name}.py" for name in _RIDGE)),
            *(f"tasks/{name}.py" for name in _SERIES),
            "_series/wav.py",
        ),
        ("speech", "speeds"),
    ),
    "forecast": (_FORECASTER, ()),
    "ecg": (_FORECASTER, ("packages",)),
}


def code_hash(name: str, root: pathlib.Path = ROOT) -> str:
    """The hash of all code that produces the lines of results/NAME.jsonl."""
    parts, own = PARTS[name]
    files = [file for part in parts for file in _files(root / _PACKAGE / part)]
    files += [root / "experiments" / f"{one}.py" for one in (name, *own)]
    return hash_of(files, root)


@functools.cache
def current(name: str) -> str:
    return code_hash(name)


@functools.cache
def training() -> str:
    """The hash of the present code that produces a trained model, besides its settings."""
    return hash_of((f for part in _TRAINING for f in _files(ROOT / _PACKAGE / part)), ROOT)


def hash_of(files: Iterable[pathlib.Path], root: pathlib.Path) -> str:
    """The hash of some files, by their place below `root`."""
    digest = hashlib.sha256()
    for file in sorted(file for file in files if file.is_file()):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        tree.body = [one for one in tree.body if _decides(one)]
        digest.update(f"{file.relative_to(root).as_posix()} {_canonical(tree)}\n".encode())
    return digest.hexdigest()[:16]


def _files(part: pathlib.Path) -> Iterator[pathlib.Path]:
    if part.suffix == ".py":
        return iter([part])
    return (file for file in part.rglob("*.py") if file.name != f"_{_LAPTOP.lower()}.py")


def _canonical(node: Any) -> str:
    """A syntax tree as text, without what does not determine a number."""
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Raise):
        return "Raise"
    fields = []
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(value, list):
            value = [one for one in value if not _is_text(one)]
        # Later versions of Python have more fields, which are empty for older code.
        if value is not None and value != []:
            fields.append(f"{name}={_canonical(value)}")
    return f"{type(node).__name__}({','.join(fields)})"


def _decides(node: ast.stmt) -> bool:
    """Whether a statement decides the numbers of a case.

    `main` chooses the cases, and the settings `laptop` are hashed with each run.
    """
    if isinstance(node, ast.FunctionDef):
        return node.name != "main"
    if not isinstance(node, ast.Assign):
        return True
    return not any(isinstance(one, ast.Name) and one.id == _LAPTOP for one in node.targets)


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is only a string, as docstrings are."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
