"""Checkpoints of a run by Orbax: the last few, and the best. Each is there whole or not at all."""

import logging
import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import TypeVar

import jax
import orbax.checkpoint as ocp

from .._errors import UserError

T = TypeVar("T")

_MARGIN = 2  # more room than a checkpoint takes
logging.getLogger("absl").setLevel(logging.CRITICAL)  # Orbax tells at length what it does


class Checkpoints:
    """The checkpoints in a run's folder.

    They hold arrays by their path in the tree, and so no code; the tree itself comes from the run's
    settings.
    """

    def __init__(self, folder: pathlib.Path, keep: int):
        self.folder = folder
        self._last = _manager(folder / "last", keep)
        self._best = _manager(folder / "best", 1)

    def save(self, step: int, state: object, best: bool) -> None:
        """Keep the state after `step` steps, also as the best one if it is."""
        for manager in (self._best, self._last) if best else (self._last,):
            if step in manager.all_steps():
                continue  # a run that goes on from an earlier checkpoint comes by here again
            self._check_room(state)
            try:
                manager.save(step, args=ocp.args.StandardSave(_by_path(state)))
            except (OSError, ValueError) as error:
                why = " ".join(str(error).split())
                raise UserError(f"cannot write a checkpoint in {self.folder}: {why}") from None

    def _check_room(self, state: object) -> None:
        """Say so before Orbax runs out of space, at which it says very much."""
        needed = _MARGIN * sum(leaf.nbytes for leaf in jax.tree.leaves(state))
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise UserError(
                f"no space for a checkpoint in {self.folder}: it needs {needed / 1e6:.1f} MB, "
                f"{free / 1e6:.1f} MB are free; make room and go on with --resume"
            )

    def last(self, like: T, say: Callable[[str], None]) -> tuple[int, T]:
        """The newest checkpoint that can be read, as a tree like the given one, and its step.

        The given one, and 0, where no checkpoint has been written yet.
        """
        if not self._last.all_steps():
            return 0, like
        return self._newest(self._last, like, say)

    def best(self, like: T, say: Callable[[str], None]) -> tuple[int, T]:
        """The best one; the newest where that cannot be read."""
        try:
            return self._newest(self._best, like, say)
        except UserError:
            return self.last(like, say)

    def _newest(
        self, manager: ocp.CheckpointManager, like: T, say: Callable[[str], None]
    ) -> tuple[int, T]:
        wanted = jax.tree.map(_abstract, _by_path(like))
        for step in sorted(manager.all_steps(), reverse=True):
            try:
                found = manager.restore(step, args=ocp.args.StandardRestore(wanted))
            except Exception as error:  # whatever damage does to Orbax and its storage
                why = " ".join(str(error).split())[:200]
                say(f"checkpoint {manager.directory / str(step)} is damaged, left out: {why}")
                continue
            return step, _in_tree(like, found)
        raise UserError(f"{self.folder} holds no checkpoint that can be read")


def _manager(folder: pathlib.Path, keep: int) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(
        max_to_keep=keep, enable_async_checkpointing=False, cleanup_tmp_directories=True
    )
    return ocp.CheckpointManager(folder.absolute(), options=options)


def _by_path(tree: object) -> dict[str, jax.Array]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def _in_tree(like: T, found: Mapping[str, jax.Array]) -> T:
    return jax.tree_util.tree_map_with_path(lambda path, _: found[jax.tree_util.keystr(path)], like)


def _abstract(x: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
