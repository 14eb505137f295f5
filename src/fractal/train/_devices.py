"""All devices of all processes, each with its share of the data and a copy of the model."""

import os
import sys
from typing import Any, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._checks import check_count
from .._errors import UserError

T = TypeVar("T")

DATA, TIME = "data", "time"
_MOST_DEVICES = 1024
_COORDINATOR, _PROCESSES, _PROCESS = (
    f"FRACTAL_{name}" for name in ("COORDINATOR", "PROCESSES", "PROCESS")
)


def join_processes(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
    *,
    devices: int | None = None,
) -> bool:
    """Join the processes on several hosts into one program, where any of these is given.

    Arguments that are not given are read from the environment (`FRACTAL_COORDINATOR`,
    `FRACTAL_PROCESSES`, `FRACTAL_PROCESS`). The coordinator `"auto"` leaves all to JAX, which
    supports Slurm, MPI and Kubernetes. `devices` splits the CPU of each process into virtual
    devices. It must be called before any computation.

    **Returns:** whether this is the first process, which writes and prints.
    """
    if devices is not None:
        _split_cpu(check_count("devices", devices, 1, _MOST_DEVICES))
    is_first = _join(coordinator, processes, process)
    if devices is not None:
        backend, count = jax.default_backend(), jax.local_device_count()
        if (backend, count) != ("cpu", devices):
            message = f"is for CPUs, and not with XLA's flag for it: JAX uses {count} × {backend}"
            raise UserError(message, argument="devices")
    return is_first


def _split_cpu(devices: int) -> None:
    try:
        jax.config.update("jax_num_cpu_devices", devices)
    except RuntimeError:  # where the backend has been used with another number
        raise UserError("cannot be changed after a computation", argument="devices") from None


def _join(coordinator: str | None, processes: int | None, process: int | None) -> bool:
    coordinator = coordinator or os.environ.get(_COORDINATOR)
    if coordinator is None:
        if processes is not None or process is not None:
            raise UserError("must be given with processes or process", argument="coordinator")
        return True
    try:
        if coordinator == "auto":
            jax.distributed.initialize()
        else:
            jax.distributed.initialize(
                coordinator,
                _number("processes", processes, _PROCESSES),
                _number("process", process, _PROCESS),
            )
    except UserError:
        raise
    except (RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"cannot join the other processes at {coordinator}: {why}") from None
    return jax.process_index() == 0


def _number(argument: str, given: int | None, variable: str) -> int:
    text = os.environ.get(variable) if given is None else str(given)
    if text is None or not text.isdigit():
        message = f"must be given with a coordinator (or as {variable}), got {text!r}"
        raise UserError(message, argument=argument)
    return int(text)


class Devices:
    """A mesh of all devices: batches are split over its axis `data`, sequences over `time`.

    Everything else is on all devices. A process reads the examples of its devices; processes that
    share sequences read the same ones: `reader` of `readers`.
    """

    def __init__(self, sequence_shards: int = 1):
        self.shards = check_count("sequence_shards", sequence_shards, 1, _MOST_DEVICES)
        self.process, self.processes = jax.process_index(), jax.process_count()
        local, total = jax.local_device_count(), jax.device_count()
        if total % self.shards or (self.shards % local and local % self.shards):
            hint = ": on CPUs set devices" if jax.default_backend() == "cpu" else ""
            raise UserError(
                f"must divide the number of devices, {total} ({local} per process), "
                f"got {self.shards}{hint}",
                argument="sequence_shards",
            )
        self.mesh = Mesh(np.array(jax.devices()).reshape(-1, self.shards), (DATA, TIME))
        # Inputs are small next to activations: each device has all steps of its sequences.
        self._split = NamedSharding(self.mesh, PartitionSpec(DATA))
        self._copied = NamedSharding(self.mesh, PartitionSpec())
        self.count = self.mesh.shape[DATA]
        sharing = max(1, self.shards // local)
        self.reader, self.readers = self.process // sharing, self.processes // sharing

    def check_batch(self, size: int) -> None:
        """Raise `UserError` if a batch cannot be shared equally."""
        if size % self.count:
            groups = "devices" if self.shards == 1 else f"groups of {self.shards} devices"
            raise UserError(
                f"a batch of {size} cannot be shared by {self.count} {groups}: choose a multiple",
                argument="data.batch",
            )

    def share(self, batch: T) -> T:
        """A batch on all devices, of which this process has its share."""
        return jax.tree.map(lambda x: jax.make_array_from_process_local_data(self._split, x), batch)

    def copy(self, tree: T) -> T:
        """The same arrays on all devices; other leaves as they are."""
        arrays, rest = eqx.partition(tree, _is_array)
        return eqx.combine(jax.device_put(arrays, self._copied), rest)

    def copy_first(self, value: np.float32) -> Any:
        """The value of the first process on all devices."""
        if self.processes > 1:
            value = multihost_utils.broadcast_one_to_all(value)
        return self.copy(value)

    def gather(self, tree: object) -> Any:
        """Arrays of all devices as NumPy arrays, on every process."""
        if self.processes == 1:
            return jax.tree.map(np.asarray, tree)
        return multihost_utils.process_allgather(tree, tiled=True)

    def any_process(self, flag: bool) -> bool:
        """Whether the flag is set in any process: all of them must stop together."""
        if self.processes == 1:
            return flag
        return bool(np.any(multihost_utils.process_allgather(np.array(flag))))

    def say(self, text: str) -> None:
        """Print a line on stderr, from the first process only."""
        if self.process == 0:
            print(text, file=sys.stderr, flush=True)


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)
