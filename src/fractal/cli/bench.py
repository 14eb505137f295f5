"""`fractal bench`: speed, as ratios measured in one process."""

import dataclasses
import importlib
import json
import pathlib
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from .._errors import UserError
from .console import Stdout
from .parse import NO_HINT

_Case = Literal[
    "listops-mini", "text-mini", "image-mini", "listops-paper", "text-paper", "image-paper"
]


@dataclasses.dataclass(frozen=True)
class Bench:
    """Measure the speed of this library and of alternatives, interleaved in one process.

    Example: fractal bench memory --json

    Args:
        subject: memory, the online memory; scan, the scan by method and length; layer, the layer
            compared with a lower bound, its two matrix products without the scan, and with S5;
            step, the gradient of one batch of whole models, compared with their matrix products;
            stream, a model sample by sample and in blocks, in JAX and exported; torch, the layer in
            PyTorch compared with that in JAX and with s5-pytorch; data, the time per batch and per
            train step.
        json: print one JSON object instead of a table.
        case: step only: the preset to measure; by default all, which takes minutes each.
        update: step only: a JSON file to which the measured cases are added.
    """

    subject: Annotated[
        Literal["memory", "scan", "layer", "step", "stream", "torch", "data"], tyro.conf.Positional
    ]
    json: bool = False
    case: Annotated[_Case | None, NO_HINT] = None
    update: Annotated[pathlib.Path | None, NO_HINT] = None

    def run(self) -> int:
        if self.subject == "step":
            return self._step()
        for name, value in (("case", self.case), ("update", self.update)):
            if value is not None:
                raise UserError("must only be given with step", argument=name)
        module = importlib.import_module(f"..bench.{self.subject}", __package__)
        bench = getattr(module, f"bench_{self.subject}")
        self._print(bench())
        return 0

    def _step(self) -> int:
        from ..bench import step

        if self.update is not None:
            _earlier(self.update)  # an invalid file is rejected before minutes of measurement
        found = step.bench_step(None if self.case is None else {self.case: step.CASES[self.case]})
        if self.update is not None:
            if (earlier := _earlier(self.update)) is not None:
                try:
                    found = step.merge(earlier, found)
                except ValueError as error:
                    raise UserError(f"{self.update} was {error}", argument="update") from None
            self.update.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        self._print(found)
        return 0

    def _print(self, result: dict) -> None:
        if self.json:
            print(json.dumps(result, indent=2))
        else:
            _show(result)


def _earlier(path: pathlib.Path) -> dict[str, Any] | None:
    """The cases of a file; None if there is none."""
    if not path.absolute().parent.is_dir():
        raise UserError(f"{path.parent} is not a folder", argument="update")
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found["sources"], dict):
            return found
    except (OSError, ValueError, LookupError, TypeError):
        pass
    raise UserError(f"{path} is no output of `fractal bench step --json`", argument="update")


_SHOWN = ("provenance", "setting", "sources", "milliseconds", "microseconds_per_sample", "fastest")


def _show(result: dict) -> None:
    console = Stdout()
    made = result["provenance"]
    for part in (made["machine"], made["versions"], result["setting"]):
        console.print(", ".join(f"{key}: {value}" for key, value in part.items()))
    if "milliseconds" in result:
        for name, methods in result["milliseconds"].items():
            _times(console, f"ms, {name}", methods)
    else:
        _times(console, "µs per sample", result["microseconds_per_sample"])
    for name, value in result.items():
        label = name.replace("_", " ")
        if isinstance(value, float):
            console.print(f"{label}: {value:,.2f}")
        elif isinstance(value, dict) and name not in _SHOWN:
            console.print(f"{label}: " + ", ".join(_brief(k, v) for k, v in value.items()))


def _brief(name: str, value: object) -> str:
    if isinstance(value, dict):
        return f"{name} ({', '.join(_brief(k, v) for k, v in value.items())})"
    shown = f"{value:,.2f}" if isinstance(value, float) else str(value)
    return f"{name.replace('_', ' ')} {shown}"


def _times(console: Stdout, title: str, rows: dict) -> None:
    table = Table(title, "median", "quartiles")
    for name, timing in rows.items():
        if isinstance(timing, str):  # why it was not measured
            table.add_row(name, timing, "")
            continue
        spread = f"{timing['low']:.3f} … {timing['high']:.3f}"
        table.add_row(name, f"{timing['median']:.3f}", spread)
    console.print(table)
