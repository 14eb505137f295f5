"""`fractal train` and `fractal eval`: the paper's experiments, one command each."""

import contextlib
import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import tyro

from .._allocator import keep_freed_memory
from .._checks import check_name
from .._errors import UserError
from .console import Stdout
from .settings import changed

_CORES = os.cpu_count() or 1


@dataclasses.dataclass(frozen=True)
class Train:
    """Train a model on a task; go on where a run stopped.

    Every setting can be given, e.g. --model.width 128 --optimizer.lr 1e-3 --data.batch 32
    --model.options.clock scale-invariant; --show prints them all.

    Example: fractal train listops --model s5 --steps 500 --model.depth 3

    Args:
        task: listops, text, retrieval, image, pathfinder, pathx, smnist or psmnist.
        model: fractal, s5, s4, s4d, dss, lmu, transformer or performer.
        preset: mini: minutes on a laptop, the default; paper: the published recipe, for GPUs.
        out: folder of the run; default: runs/TASK-MODEL-PRESET-SEED.
        data: folder with the task's data, unless it is generated or fetched.
        validation: test chooses the best checkpoint on the test set, as papers do for text.
        steps: of training; warm-up and evaluations follow in proportion.
        seed: decides weights, order of the data and dropout.
        resume: go on with the run in this folder.
        config: take all settings from this JSON file, such as a run's config.json.
        log: other places for metrics: tensorboard, wandb, trackio.
        show: print the settings as JSON, and do nothing.
        json: print the scores as one JSON object.
        coordinator: HOST:PORT of the first of several processes, or auto (Slurm, MPI).
        processes: how many there are.
        process: which one this is, from 0.
    """

    task: Annotated[str | None, tyro.conf.Positional] = None
    model: str | None = None
    preset: Literal["mini", "paper"] | None = None
    out: pathlib.Path | None = None
    data: pathlib.Path | None = None
    validation: Literal["held-out", "test"] | None = None
    steps: int | None = None
    seed: int | None = None
    resume: pathlib.Path | None = None
    config: pathlib.Path | None = None
    log: tuple[Literal["tensorboard", "wandb", "trackio"], ...] = ()
    show: bool = False
    json: bool = False
    coordinator: str | None = None
    processes: int | None = None
    process: int | None = None
    settings: tyro.conf.Suppress[tuple[str, ...]] = ()

    def run(self) -> int:
        """Print the scores, beside what they must beat."""
        keep_freed_memory()
        from ..train import _yardsticks as yardsticks
        from ..train._devices import join_processes
        from ..train._loop import load_task, train

        config = self._resumed() if self.resume else self._config()
        if self.show:
            print(config.to_json(), end="")
            return 0
        folder = self.resume or self.out or _default_folder(config)
        with _stdout_for_results():
            is_first = join_processes(self.coordinator, self.processes, self.process)
            result = train(config, folder, self.resume is not None, self.log, _CORES)
        if not is_first:
            return 0
        task = load_task(config)
        result["majority_class"] = yardsticks.majority(task)
        result["bag_of_tokens"] = yardsticks.bag_of_tokens(task)
        if self.json:
            print(json.dumps(result))
        else:
            _show(result, folder)
        return 0

    def _resumed(self) -> Any:
        from ..train._config import from_json

        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        fixed = ("task", "model", "preset", "out", "data", "validation", "steps", "seed", "config")
        if self.settings or any(given[name] is not None for name in fixed):
            raise UserError("--resume goes on with the run's own settings: give no others")
        assert self.resume is not None
        if not (self.resume / "config.json").exists():
            raise UserError(f"{self.resume} holds no run: there is no config.json in it")
        return from_json(self.resume / "config.json")

    def _config(self) -> Any:
        """A preset or a file, changed by the options given."""
        from ..train._config import from_json
        from ..train.presets import TASKS, preset

        if self.config is not None:
            if any(given is not None for given in (self.task, self.model, self.preset)):
                raise UserError("--config names task, model and preset: give no others")
            config = from_json(self.config)
        elif self.task is None:
            raise UserError(f"name a task: {', '.join(TASKS)}; or --resume DIR")
        else:
            check_name("task", self.task, TASKS)
            config = preset(self.task, self.preset or "mini", self.model or "fractal")
        if self.validation is not None:
            data = dataclasses.replace(config.data, validation=self.validation)
            config = dataclasses.replace(config, data=data)
        return changed(config, self.steps, self.seed, self.data, self.settings)


@contextlib.contextmanager
def _stdout_for_results() -> Iterator[None]:
    """Keeps off stdout what libraries below Python write there, such as Gloo's greetings."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _default_folder(config: Any) -> pathlib.Path:
    name = f"{config.data.task}-{config.model.name}-{config.data.preset}-{config.seed}"
    return pathlib.Path("runs") / name


def _show(result: dict, folder: pathlib.Path) -> None:
    print(f"weights, metrics and scores: {folder}", file=sys.stderr)
    console = Stdout()
    console.print(
        f"{result['task']} ({result['preset']}), {result['model']}, {result['parameters']:,} "
        f"parameters, {result['steps']} steps"
    )
    console.print(f"test accuracy: {result['test_accuracy']:.3f}")
    console.print(f"  most frequent class: {result['majority_class']:.3f}")
    console.print(f"  bag of tokens: {result['bag_of_tokens']:.3f}")


@dataclasses.dataclass(frozen=True)
class Eval:
    """Judge a run's best checkpoint on the test set, and print the scores as JSON.

    Example: fractal eval runs/listops-fractal-mini-0

    Args:
        run_folder: the folder of a run.
    """

    run_folder: Annotated[pathlib.Path, tyro.conf.Positional]

    def run(self) -> int:
        """Print one JSON object."""
        from ..train._loop import score

        print(json.dumps(score(self.run_folder)))
        return 0
