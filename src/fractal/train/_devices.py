"""All devices of all processes, each with its share of every batch and a copy of the model."""

import os
import sys
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._errors import UserError

T = TypeVar("T")

_COORDINATOR, _PROCESSES, _PROCESS = (
    f"FRACTAL_{name}" for name in ("COORDINATOR", "PROCESSES", "PROCESS")
)


def join_processes(coordinator: str | None, processes: int | None, process: int | None) -> bool:
    """Make one program of the processes on several hosts, when any of these is asked for.

    Whether this is the first of them, the one that speaks.

    What is not given is read from the environment (`FRACTAL_COORDINATOR`, `FRACTAL_PROCESSES`,
    `FRACTAL_PROCESS`). The coordinator `"auto"` leaves all to JAX, which knows Slurm, MPI and
    Kubernetes. It must come before anything is computed.
    """
    coordinator = coordinator or os.environ.get(_COORDINATOR)
    if coordinator is None:
        if processes is not None or process is not None:
            raise UserError("--processes and --process need --coordinator HOST:PORT")
        return True
    try:
        if coordinator == "auto":
            jax.distributed.initialize()
        else:
            jax.distributed.initialize(
                coordinator,
                _number(processes, _PROCESSES, "--processes"),
                _number(process, _PROCESS, "--process"),
            )
    except (RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"cannot join the other processes at {coordinator}: {why}") from None
    return jax.process_index() == 0


def _number(given: int | None, variable: str, option: str) -> int:
    text = os.environ.get(variable) if given is None else str(given)
    if text is None or not text.isdigit():
        raise UserError(f"--coordinator needs {option} N (or {variable}) as well")
    return int(text)


class Devices:
    """Data parallelism: batches are split over the devices, everything else is on all of them."""

    def __init__(self):
        self._mesh = Mesh(np.array(jax.devices()), ("data",))
        self._split = NamedSharding(self._mesh, PartitionSpec("data"))
        self._copied = NamedSharding(self._mesh, PartitionSpec())
        self.process, self.processes = jax.process_index(), jax.process_count()

    def check_batch(self, size: int) -> None:
        """Every device gets the same number of examples."""
        if size % self._mesh.size:
            raise UserError(
                f"a batch of {size} cannot be shared by {self._mesh.size} devices: "
                "choose a multiple with --data.batch"
            )

    def share(self, batch: T) -> T:
        """A batch, of which this process holds its share."""
        return jax.tree.map(lambda x: jax.make_array_from_process_local_data(self._split, x), batch)

    def copy(self, tree: T) -> T:
        """The same arrays on all devices."""
        return jax.device_put(tree, self._copied)

    def any_process(self, flag: bool) -> bool:
        """Whether the flag is up anywhere: all processes must stop together."""
        if self.processes == 1:
            return flag
        return bool(np.any(multihost_utils.process_allgather(np.array(flag))))

    def say(self, text: str) -> None:
        """A line on stderr, once for all processes."""
        if self.process == 0:
            print(text, file=sys.stderr, flush=True)
