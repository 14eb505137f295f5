"""Run every wrong use, outside of the type checker of the tests, and print what each produces.

`python -m tests.wrong_uses` prints JSON; `--write` puts the present lines into the tables, to be
read before they are committed.
"""

import contextlib
import functools
import io
import json
import os
import pathlib
import re
import shlex
import signal
import sys
import tempfile
from typing import Any

from .files import make_files

HERE = pathlib.Path(__file__).parent
TABLES = ("calls", "commands")
ARROW = "    → "
_SECONDS = 60  # a wrong use that starts to work is stopped
# What differs between machines, versions and runs.
_VARYING = re.compile(
    r"[\d,.]+ [GTP]B|/\S*tmp\S*?(?=[\s:,]|$)|at most \d+, \d+ (for each|per)[^,]*"
)


def read(table: str) -> dict[str, str]:
    """The uses of a table with their lines."""
    lines = (HERE / f"{table}.txt").read_text(encoding="utf-8").splitlines()
    found, use = {}, ""
    for line in lines:
        if line.startswith(ARROW):
            found[use] = line.removeprefix(ARROW)
        elif line and not line.startswith("#"):
            use = line
            found[use] = ""
    return found


def results(table: str) -> dict[str, str]:
    """What each use of a table produces."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_files(pathlib.Path(folder))
        names()  # before the clock of the first use starts
        run = call if table == "calls" else command
        return {use: _VARYING.sub("…", _bounded(run, use)) for use in read(table)}


def _bounded(run, use: str) -> str:
    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    try:
        return run(use)
    except TimeoutError:
        return "STILL RUNNING"
    finally:
        signal.alarm(0)


def call(code: str) -> str:
    """The message of the ValueError that an expression raises, or what happened instead."""
    try:
        found = eval(code, dict(names()))
    except ValueError as error:
        return "MORE THAN ONE LINE" if "\n" in str(error) else str(error)
    except Exception as error:
        return f"WRONG TYPE {type(error).__name__}: {error}".split("\n")[0]
    return f"NO ERROR: {found!r}".split("\n")[0]


def command(line: str) -> str:
    """The line that a command prints on stderr, or what happened instead."""
    from fractal.cli import main

    before = sorted(map(str, pathlib.Path().rglob("*")))
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(shlex.split(line))
    except SystemExit as error:
        code = error.code
    except Exception as error:
        return f"TRACEBACK {type(error).__name__}: {error}".split("\n")[0]
    shown = err.getvalue().strip()
    if code != 2 or out.getvalue():
        return f"EXIT {code}: {shown}".split("\n")[0]
    if "\n" in shown or not shown.startswith("fractal: "):
        return f"MORE THAN ONE LINE: {shown}".split("\n")[0]
    if after := sorted(set(map(str, pathlib.Path().rglob("*"))) - set(before)):
        return f"LEFT BEHIND {after[0]}"
    return shown


@functools.cache
def names() -> dict[str, Any]:
    """What the expressions of calls.txt may use."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import fractal

    key = jax.random.key(0)
    nn = fractal.nn
    return {
        **{"fractal": fractal, "jax": jax, "jnp": jnp, "np": np, "nn": nn, "key": key},
        "baselines": fractal.baselines,
        "tasks": fractal.tasks,
        "theory": fractal.theory,
        "train": fractal.train,
        "memory": fractal.OnlineMemory(0.5, 4),
        "model": nn.SequenceModel(7, 3, width=4, depth=1, key=key),
        "ssm": nn.FractalSSM(3, order=4, alphas=(0.0, 0.9), key=key),
        "classifier": fractal.estimators.FractalClassifier(width=2, depth=1, max_epochs=1),
        "features": fractal.estimators.MemoryFeatures(orders=(2,)),
        "regressor": fractal.estimators.FractalRegressor(width=2, depth=1, max_epochs=1),
        "task": fractal.tasks.from_arrays([np.arange(5)] * 20, [0, 1] * 10),
        "tokens": jnp.arange(5),
        "u": jnp.zeros((5, 3)),
    }


def main() -> None:
    """Print the results of both tables, or write them."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    chosen = [table for table in TABLES if table in sys.argv[1:]] or TABLES
    with tempfile.TemporaryDirectory() as cache:
        os.environ["FRACTAL_DATA"] = cache  # a user's own cache may hold data that is missing here
        found = {table: results(table) for table in chosen}
    if "--write" not in sys.argv:
        print(json.dumps(found))
        return
    for table, lines in found.items():
        text = (HERE / f"{table}.txt").read_text(encoding="utf-8")
        kept = [line for line in text.splitlines() if not line.startswith(ARROW)]
        new = [f"{use}\n{ARROW}{lines[use]}" if use in lines else use for use in kept]
        (HERE / f"{table}.txt").write_text("\n".join(new) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
