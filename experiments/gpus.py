"""How many steps of a sequence fit on how many GPUs: a computation, not a measurement.

The gradient of a model keeps values of every step of every block. Their number was fitted to the
programs that XLA compiles for CPUs, and a test compares it with them. Sequences are sharded along
time, so that each GPU needs memory for its part only; parameters are on all of them.
"""

from typing import NamedTuple

import jax

from fractal.nn import FractalSSM
from fractal.report.table import Cell, Table
from fractal.train import preset

_FLOAT = 4  # bytes
_COPIES = 4  # of the parameters: themselves, their gradient and Adam's two moments
_USABLE = 0.9  # of a GPU's memory; the rest is the runtime's
PER_CHANNEL, PER_STATE = 9.7, 2.2  # kept values per step and block
GIGABYTES, COUNTS = (24, 80), (1, 8, 64)
TASKS = ("listops", "text", "pathx")


class Size(NamedTuple):
    """Width, depth, and real states per block, of both directions."""

    width: int
    depth: int
    states: int


def size_of(task: str) -> Size:
    """The size of FRACTAL's `paper` preset."""
    model = preset(task, "paper", "fractal").model
    order = model.options["order"]
    assert isinstance(order, int)
    one = FractalSSM(1, order=order, bidirectional=True, key=jax.random.key(0))
    return Size(model.width, model.depth, one.C.shape[1])


def bytes_per_step(size: Size) -> float:
    """Memory of the gradient per step of a sequence, in float32 without `remat`."""
    kept = PER_CHANNEL * size.width + PER_STATE * size.states
    return _FLOAT * size.depth * kept


def steps_that_fit(size: Size, gigabytes: float, count: int) -> float:
    """Steps of one sequence that fit on `count` GPUs."""
    weights = size.depth * size.width * (2 * size.width + 2 * size.states)
    free = _USABLE * gigabytes * 1e9 - _COPIES * _FLOAT * weights
    return count * free / bytes_per_step(size)


def table() -> Table:
    """Steps of one sequence by preset and number of GPUs."""
    rows: list[tuple[Cell, ...]] = []
    for task in TASKS:
        size = size_of(task)
        fits = (steps_that_fit(size, each, count) for each in GIGABYTES for count in COUNTS)
        described = f"{size.width}, {size.depth}, {size.states}"
        each = f"{bytes_per_step(size) / 1e3:.0f} kB"
        rows.append((f"`{task}`", described, each, *(f"{n / 1e6:.1f} M" for n in fits)))
    gpus = (f"{count} × {each} GB" for each in GIGABYTES for count in COUNTS)
    header = ("preset", "width, depth, states", "per step", *gpus)
    return Table("", header, rows, "")
