"""Checkpoints of a run by Orbax: the last few, and the best one.

Each checkpoint has a manifest with the shape of every array and a checksum of every file. It
distinguishes a corrupted checkpoint (a checksum differs) from a mismatched one (intact, but of
another model or optimizer) before anything is restored.
"""

import hashlib
import json
import pathlib
import shutil
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax
import orbax.checkpoint as ocp

from .._errors import UserError
from .._files import write_whole

T = TypeVar("T")

_MARGIN = 2  # disk space per byte of a checkpoint
_MANIFEST = "fractal.json"


class CheckpointMismatch(UserError):
    """An intact checkpoint of another model or optimizer."""


class Checkpoints:
    """The checkpoints in a run's folder.

    They contain arrays by their path in the tree, and no code; the tree comes from the run's
    settings.
    `writer` is whether this process writes manifests: one of several does.
    """

    def __init__(self, folder: pathlib.Path, keep: int, *, writer: bool = True):
        self.folder, self._writer = folder, writer
        self._last = _manager(folder / "last", keep)
        self._best = _manager(folder / "best", 1)

    def save(self, step: int, state: object, *, best: bool) -> None:
        """Write the state after `step` steps, also as the best one if `best`."""
        arrays = _by_path(state)
        for manager in (self._best, self._last) if best else (self._last,):
            folder = _step_folder(manager, step)
            if step in manager.all_steps():
                if (folder / _MANIFEST).exists():
                    continue  # a resumed run passes here again
                manager.delete(step)  # interrupted before its manifest was written
            self._check_disk(arrays)
            try:
                manager.save(step, args=ocp.args.StandardSave(arrays))
                if self._writer:
                    manifest = {"arrays": _shapes(arrays), "files": _checksums(folder)}
                    write_whole(folder / _MANIFEST, json.dumps(manifest).encode())
            except (OSError, ValueError) as error:  # TensorStore reports a full disk as ValueError
                why = " ".join(str(error).split())[:200]
                raise UserError(f"cannot write a checkpoint in {self.folder}: {why}") from None

    def _check_disk(self, arrays: Mapping[str, jax.Array]) -> None:
        """Raise `UserError` before Orbax runs out of space, which it reports at length."""
        needed = _MARGIN * sum(leaf.nbytes for leaf in arrays.values())
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise UserError(
                f"no space for a checkpoint in {self.folder}: {needed / 1e6:.1f} MB needed, "
                f"{free / 1e6:.1f} MB free; make room and resume the run"
            )

    def last(self, like: T, say: Callable[[str], None]) -> tuple[int, T]:
        """The step and the state of the newest intact checkpoint; 0 and `like` if there is none.

        `like` is a state of the run's settings. Corrupted checkpoints are skipped, with a message
        by `say`.
        """
        if not self._last.all_steps():
            return 0, like
        return self._newest(self._last, like, say)

    def best(self, like: T, say: Callable[[str], None]) -> tuple[int, T]:
        """The best checkpoint; the newest one where the best is corrupted."""
        try:
            return self._newest(self._best, like, say)
        except CheckpointMismatch:
            raise
        except UserError:
            return self.last(like, say)

    def _newest(
        self, manager: ocp.CheckpointManager, like: T, say: Callable[[str], None]
    ) -> tuple[int, T]:
        arrays = _by_path(like)
        for step in sorted(manager.all_steps(), reverse=True):
            folder = _step_folder(manager, step)
            found = _intact_shapes(folder)
            if found is None:
                say(f"checkpoint {folder} is corrupted and skipped")
                continue
            _check_match(folder, found, _shapes(arrays))
            wanted = jax.tree.map(_abstract, arrays)
            restored: Any = manager.restore(step, args=ocp.args.StandardRestore(wanted))
            return step, _in_tree(like, restored)
        raise UserError(f"{self.folder} contains no intact checkpoint")


def _manager(folder: pathlib.Path, keep: int) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(
        max_to_keep=keep, enable_async_checkpointing=False, cleanup_tmp_directories=True
    )
    return ocp.CheckpointManager(folder.absolute(), options=options)


def _step_folder(manager: ocp.CheckpointManager, step: int) -> pathlib.Path:
    return pathlib.Path(manager.directory) / str(step)


def _intact_shapes(folder: pathlib.Path) -> dict[str, Any] | None:
    """The shapes in the manifest; None where a file is missing or differs from its checksum."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        intact = manifest["files"] == _checksums(folder)
        return manifest["arrays"] if intact else None
    except (OSError, ValueError, TypeError, KeyError):  # the manifest itself is corrupted
        return None


def _check_match(folder: pathlib.Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in sorted({*found, *wanted}):
        if found.get(name) != wanted.get(name):
            raise CheckpointMismatch(
                f"checkpoint mismatch: {folder} has {_shown(found.get(name))} for {name}, the "
                f"settings and code need {_shown(wanted.get(name))}: one of them has changed"
            )


def _shown(array: list | None) -> str:
    return "no array" if array is None else f"{array[1]}{array[0]}"


def _checksums(folder: pathlib.Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != _MANIFEST:
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[path.relative_to(folder).as_posix()] = digest
    return found


def _shapes(arrays: Mapping[str, jax.Array]) -> dict[str, Any]:
    return {name: [list(x.shape), x.dtype.name] for name, x in arrays.items()}


def _by_path(tree: object) -> dict[str, jax.Array]:
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves if eqx.is_array(leaf)}


def _in_tree(like: T, found: Mapping[str, jax.Array]) -> T:
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: found.get(jax.tree_util.keystr(path), leaf), like
    )


def _abstract(x: jax.Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)
