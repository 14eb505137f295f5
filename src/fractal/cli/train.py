"""`fractal train` and `fractal eval`."""

import contextlib
import dataclasses
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Annotated, Literal

import tyro

from .._allocator import keep_freed_memory
from .._errors import UserError
from ..tasks import names as task_names
from ..train import (
    Config,
    evaluate_run,
    join_processes,
    load_task,
    preset,
    read_config,
    train,
    trivial_baselines,
    with_steps,
)
from .console import Stdout
from .hints import command_hints
from .parse import NO_HINT
from .plugins import import_plugins
from .settings import CORES, MODELS, TASKS, RunCommand, with_data


@dataclasses.dataclass(frozen=True)
class Train(RunCommand):
    """Train a model on a task, or resume a run.

    All settings of a run are options, and all default to the preset's. Further arguments of the
    model are given as --model.options.NAME VALUE, e.g. --model.options.clock scale-invariant.

    Example: fractal train listops --model s5 --steps 500 --model.depth 3

    Args:
        preset: mini (default; minutes on a laptop), laptop (published length, some hours on two
            cores) or paper (published settings, for GPUs; our own where none are published).
        out: folder of the run; default runs/TASK-MODEL-PRESET-SEED.
        data: folder with the task's data, unless it is generated or downloaded.
        validation: test selects the best checkpoint on the test set, as papers do for text.
        steps: train steps; warmup and intervals scale with them.
        seed: seed of weights, order of data, and dropout.
        resume: resume the run in this folder.
        config: take all settings from this JSON file, such as a run's config.json.
        log: an additional logger: tensorboard, wandb or trackio.
        show: print the settings as JSON and exit.
        json: print the scores as one JSON object.
        devices: virtual CPU devices that share a batch; default 1.
        sequence_shards: devices that share each sequence; default 1.
        coordinator: HOST:PORT of the first of several processes, or auto (Slurm, MPI).
        processes: number of processes.
        process: index of this process, from 0.
    """

    task: Annotated[
        str | None,
        tyro.conf.Positional,
        tyro.conf.arg(metavar="TASK", help=TASKS, help_behavior_hint=""),
    ] = None
    model: Annotated[str | None, tyro.conf.arg(help=MODELS, help_behavior_hint="")] = None
    preset: Annotated[Literal["mini", "laptop", "paper"] | None, NO_HINT] = None
    out: Annotated[pathlib.Path | None, NO_HINT] = None
    data: Annotated[pathlib.Path | None, NO_HINT] = None
    validation: Annotated[Literal["held-out", "test"] | None, NO_HINT] = None
    steps: Annotated[int | None, NO_HINT] = None
    seed: Annotated[int | None, NO_HINT] = None
    resume: Annotated[pathlib.Path | None, NO_HINT] = None
    config: Annotated[pathlib.Path | None, NO_HINT] = None
    log: tyro.conf.UseAppendAction[tuple[Literal["tensorboard", "wandb", "trackio"], ...]] = ()
    show: bool = False
    json: bool = False
    devices: Annotated[int | None, NO_HINT] = None
    sequence_shards: Annotated[int, NO_HINT] = 1
    coordinator: Annotated[str | None, NO_HINT] = None
    processes: Annotated[int | None, NO_HINT] = None
    process: Annotated[int | None, NO_HINT] = None

    def run(self) -> int:
        keep_freed_memory()
        import_plugins(self.plugin)
        config = self._resumed() if self.resume else self._settings()
        if self.show:
            print(config.to_json(), end="")
            return 0
        folder = self.resume or self.out or _default_folder(config)
        with _stdout_for_results(), command_hints():
            is_first = join_processes(
                self.coordinator, self.processes, self.process, devices=self.devices
            )
            result = train(
                config,
                folder,
                resume=self.resume is not None,
                loggers=self.log,
                workers=CORES,
                sequence_shards=self.sequence_shards,
            )
        if not is_first:
            return 0
        result |= trivial_baselines(load_task(config, workers=CORES))
        if self.json:
            print(json.dumps(result))
        else:
            _show(result, folder)
        return 0

    def _resumed(self) -> Config:
        assert self.resume is not None
        fixed = ("task", "model", "preset", "out", "data", "validation", "steps", "seed", "config")
        if (
            self.options
            or self.settings.any_given()
            or any(getattr(self, name) is not None for name in fixed)
        ):
            raise UserError("cannot be combined with other settings", argument="resume")
        if not (self.resume / "config.json").exists():
            message = f"{self.resume} contains no run: there is no config.json in it"
            raise UserError(message, argument="resume")
        return read_config(self.resume / "config.json")

    def _settings(self) -> Config:
        """A preset or a file, changed by the options given."""
        if self.config is not None:
            if any(value is not None for value in (self.task, self.model, self.preset)):
                message = "cannot be combined with TASK, --model or --preset"
                raise UserError(message, argument="config")
            config = read_config(self.config)
        elif self.task is None:
            names = ", ".join(task_names())
            raise UserError(f"missing TASK: choose one of {names}, or use --resume DIR")
        else:
            model = "fractal" if self.model is None else self.model
            config = preset(self.task, self.preset or "mini", model, validation=self.validation)
        if self.steps is not None:
            config = with_steps(config, self.steps)
        if self.seed is not None:
            config = dataclasses.replace(config, seed=self.seed)
        config = with_data(config, self.data, self.validation)
        return self.settings.applied(config, self.options)


@contextlib.contextmanager
def _stdout_for_results() -> Iterator[None]:
    """Redirect to stderr what libraries below Python write to stdout, such as Gloo."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _default_folder(config: Config) -> pathlib.Path:
    name = f"{config.data.task}-{config.model.name}-{config.data.preset}-{config.seed}"
    return pathlib.Path("runs") / name


_BASELINES = {
    "majority_class": "most frequent class",
    "bag_of_tokens": "bag of tokens",
    "mean_target": "mean of the targets",
}


def _show(result: dict, folder: pathlib.Path) -> None:
    print(f"weights, metrics and scores: {folder}", file=sys.stderr)
    console, metric = Stdout(), result["metric"]
    console.print(
        f"{result['task']} ({result['preset']}), {result['model']}, {result['parameters']:,} "
        f"parameters, {result['steps']} steps"
    )
    console.print(f"test {metric.replace('_', ' ')}: {result[f'test_{metric}']:.3f}")
    for name, title in _BASELINES.items():
        if name in result:
            console.print(f"  {title}: {result[name]:.3f}")


@dataclasses.dataclass(frozen=True)
class Eval:
    """Evaluate a run's best checkpoint on the test set, and print the scores as JSON.

    Example: fractal eval runs/listops-fractal-mini-0

    Args:
        run_folder: folder of a run, or of a published model (config.json and model.safetensors).
        plugin: Python file or module that registers models and tasks.
    """

    run_folder: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN-FOLDER")]
    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()

    def run(self) -> int:
        import_plugins(self.plugin)
        with command_hints():
            print(json.dumps(evaluate_run(self.run_folder)))
        return 0
