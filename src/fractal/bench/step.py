"""The gradient of one batch compared with its matrix products alone, for whole models.

Lower bound: all matrix products of the blocks, forward and backward, and nothing else. Data is
random, with the shapes of the tasks.

Most of the time is compilation, minutes per case. Cases may therefore be measured one by one, and
`merge` joins the results. With JAX's compilation cache a second measurement takes seconds; it keeps
the compile time of the first.
"""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._allocator import keep_freed_memory
from .._provenance import provenance
from ..nn import SequenceModel
from ..tasks import Batch, Batches, Task, from_arrays
from ..train import build, make_objective, preset
from .timing import interleaved


class Case(NamedTuple):
    """A preset, the shapes of its task, and the batch: for `paper` not the preset's 50."""

    task: str
    preset: str
    length: int
    inputs: int  # number of token ids; 1 for gray levels
    outputs: int
    batch: int


CASES = {
    f"{case.task}-{case.preset}": case
    for case in (
        Case("listops", "mini", 96, 20, 10, batch=50),
        Case("text", "mini", 512, 135, 2, batch=32),
        Case("image", "mini", 256, 1, 10, batch=50),
        Case("listops", "paper", 2048, 20, 10, batch=4),
        Case("text", "paper", 4096, 135, 2, batch=1),
        Case("image", "paper", 1024, 1, 10, batch=1),
    )
}
ROUNDS, SECONDS = 5, 1.0
_ASSOCIATIVE = "s5, associative"
MODELS = ("fractal", "s5", _ASSOCIATIVE)
_COSTS = ("gigaflop_per_second", "megabytes", "compile_seconds", "busy_cores")


def bench_step(cases: Mapping[str, Case] | None = None) -> dict:
    """Milliseconds of the gradient of one batch and of its matrix products, and ratios."""
    kept = keep_freed_memory()
    cases = CASES if cases is None else cases
    measured = {name: _measure(case) for name, case in cases.items()}

    def column(read: Callable[[dict], Any]) -> dict[str, dict[str, Any]]:
        return {
            case: {name: read(row) for name, row in rows.items()} for case, rows in measured.items()
        }

    times = {
        case: {
            label: row[key].scaled(1e3)
            for name, row in rows.items()
            for label, key in ((name, "time"), (f"{name}, matrix products", "bound"))
        }
        for case, rows in measured.items()
    }
    source = provenance()
    return {
        "provenance": source,
        "setting": {
            "backend": jax.default_backend(),
            "keeps freed memory": kept,
            "dtype": "float32",
            "rounds": ROUNDS,
        },
        "sources": {case: {key: source[key] for key in ("commit", "date")} for case in cases},
        "batch": {name: case.batch for name, case in cases.items()},
        "milliseconds": times,
        "times_the_lower_bound": column(lambda row: row["time"].median / row["bound"].median),
        "times_faster_than_associative": {
            case: {
                name: rows[_ASSOCIATIVE]["time"].median / row["time"].median
                for name, row in rows.items()
            }
            for case, rows in measured.items()
        },
        **{name: column(lambda row, name=name: row[name]) for name in _COSTS},
    }


def merge(earlier: dict, found: dict) -> dict:
    """The cases of two results of `bench_step`; where both have one, that of the second.

    `sources` has the commit and the date of each case, `provenance` those of the second result.
    Compile times that the second one did not measure are those of the first.

    **Raises:** `ValueError` if they differ in machine, versions or settings.
    """

    def setting(result: dict) -> list:
        made = result["provenance"]
        return [made["machine"], made["versions"], result["setting"]]

    if setting(earlier) != setting(found):
        raise ValueError("measured on another machine, or with other versions or settings")
    merged = dict(found)
    for name in found.keys() - {"provenance", "setting"}:
        both = {**earlier[name], **found[name]}
        merged[name] = {case: both[case] for case in CASES if case in both}
    seconds = earlier["compile_seconds"]
    for case, row in found["compile_seconds"].items():
        known = {model: time for model, time in row.items() if time is not None}
        merged["compile_seconds"][case] = {**row, **seconds.get(case, {}), **known}
    return merged


def _measure(case: Case) -> dict[str, dict[str, Any]]:
    """Interleaved times of all models and of their products, and the cost of each model."""
    calls, found = {}, {}
    for name in MODELS:
        model, task = _model(case, name)
        step = _gradient(model, task, _batch(case, task))
        shapes = products(model)
        bound = _compiled(_products, *_operands(shapes, case.batch * case.length))
        calls[name], calls[f"{name}, bound"] = step.run, bound.run
        found[name] = {
            "flop": sum(6 * case.batch * case.length * rows * columns for rows, columns in shapes),
            "compile_seconds": step.seconds,
            "megabytes": step.megabytes,
        }
    timings = interleaved(calls, ROUNDS)
    for name, row in found.items():
        row["time"], row["bound"] = timings[name], timings[f"{name}, bound"]
        row["gigaflop_per_second"] = row["flop"] / row["time"].median / 1e9
        row["busy_cores"] = _busy_cores(calls[name])
    return found


class _Compiled(NamedTuple):
    run: Callable[[], object]
    seconds: float | None  # of the processor, to compile; None from a cache
    megabytes: float  # temporaries and outputs


def _compiled(function: Callable, *arguments: Any) -> _Compiled:
    before = _cached()
    start = time.process_time()
    call = jax.jit(function).lower(*arguments).compile()
    seconds = time.process_time() - start
    loaded = before is not None and before == _cached()
    memory: Any = call.memory_analysis()
    size = memory.temp_size_in_bytes + memory.output_size_in_bytes
    seconds = None if loaded else seconds
    return _Compiled(lambda: jax.block_until_ready(call(*arguments)), seconds, size / 2**20)


def _cached() -> set[str] | None:
    """The files of JAX's compilation cache, to which a program of this benchmark adds one."""
    folder = cast(Any, jax.config).jax_compilation_cache_dir
    if folder is None:
        return None
    return set(os.listdir(folder)) if os.path.isdir(folder) else set()


def _gradient(model: SequenceModel, task: Task, batch: Batch) -> _Compiled:
    """Value and gradient of the training objective."""
    objective = make_objective(task)
    trained, rest = eqx.partition(model, eqx.is_inexact_array)

    def gradient(trained, batch, key):
        return jax.value_and_grad(objective, has_aux=True)(trained, rest, batch, key)

    return _compiled(gradient, trained, jax.tree.map(jnp.asarray, batch), jax.random.key(1))


def products(model: SequenceModel) -> list[tuple[int, int]]:
    """Inputs and outputs of the matrix products per step of a sequence, in the forward pass.

    A bidirectional layer projects its input once, and reads the states of both directions. The
    encoder of gray levels and the head, once per sequence, are negligible.
    """
    shapes, blocks = [], cast(Any, model.blocks)
    for block in blocks:
        mixer = block.mixer
        width = len(mixer.D)
        shapes += [(width, mixer.B.size // width), (mixer.C.size // width, width)]
        shapes += [(width, width)] * (1 if block.outer is None else 2)
    return shapes


def _operands(shapes: list[tuple[int, int]], steps: int) -> tuple[list, list, list]:
    """Inputs, weights and gradients of the outputs."""
    keys = iter(jax.random.split(jax.random.key(2), 3 * len(shapes)))
    sizes = (
        [(steps, inputs) for inputs, _ in shapes],
        [(outputs, inputs) for inputs, outputs in shapes],
        [(steps, outputs) for _, outputs in shapes],
    )
    x, w, g = ([jax.random.normal(next(keys), size) for size in group] for group in sizes)
    return x, w, g


def _products(inputs: list[Array], weights: list[Array], gradients: list[Array]) -> Any:
    """Each product, and the two products that propagate its gradient."""
    outputs, pull = jax.vjp(
        lambda x, w: [a @ b.T for a, b in zip(x, w, strict=True)], inputs, weights
    )
    return outputs, pull(gradients)


def _busy_cores(call: Callable[[], object]) -> float:
    """Processor time over wall time."""
    start, before = time.perf_counter(), time.process_time()
    while time.perf_counter() < start + SECONDS:
        call()
    return (time.process_time() - before) / (time.perf_counter() - start)


def _task(case: Case) -> Task:
    """Random sequences of the task's shape; those of tokens end in padding, as in the task."""
    rng = np.random.default_rng(0)
    lengths = [case.length - (i % 2) * (case.length // 4) for i in range(case.batch + 2)]
    if case.inputs == 1:
        sequences = [rng.normal(size=(case.length, 1)) for _ in lengths]
    else:
        sequences = [rng.integers(0, case.inputs, length) for length in lengths]
    labels = rng.integers(0, case.outputs, len(lengths))
    return from_arrays(
        sequences[2:],
        labels[2:],
        validation=(sequences[:1], labels[:1]),
        test=(sequences[1:2], labels[1:2]),
        kind="classification",
        length=case.length,
        inputs=None if case.inputs == 1 else case.inputs,
        outputs=case.outputs,
    )


def _batch(case: Case, task: Task) -> Batch:
    return Batches(task, task.splits.train, case.batch, training=True)[0]


def _model(case: Case, name: str) -> tuple[SequenceModel, Task]:
    task, (registered, *scan) = _task(case), name.split(", ")
    config = preset(case.task, case.preset, registered).model
    if scan:
        config = dataclasses.replace(config, options={**config.options, "scan": "associative"})
    return build(config, task, jax.random.key(0)), task
