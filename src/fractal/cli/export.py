"""`fractal export`: a model as C, ONNX or StableHLO."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import safetensors
import tyro

from .._errors import UserError
from .._memory import OnlineMemory
from .._run_folder import WEIGHTS
from .parse import NO_HINT
from .plugins import import_plugins


@dataclasses.dataclass(frozen=True)
class Export:
    """Write a model for use without this library.

    Example: fractal export runs/listops --to c --out exported

    Args:
        model: a file of fractal.save or OnlineMemory.save, or the folder of a run.
        to: c, one C99 header; onnx; or stablehlo, for JAX on CPU, CUDA and TPU.
        out: folder for the files.
        prefix: start of the names of files and, in C, of functions.
        length: also write whole sequences of this many steps; onnx and stablehlo only.
        durations: whole sequences take one duration per step; with --length.
        dtype: precision in C; by default that of the file.
        weights: in C, as constants, or in a file that the program reads; by default constants.
        plugin: Python file or module that registers models.
    """

    model: Annotated[pathlib.Path, tyro.conf.Positional, tyro.conf.arg(metavar="MODEL")]
    to: Literal["c", "onnx", "stablehlo"]
    out: pathlib.Path
    prefix: str = "model"
    length: Annotated[int | None, NO_HINT] = None
    durations: bool = False
    dtype: Annotated[Literal["float32", "float64"] | None, NO_HINT] = None
    weights: Annotated[Literal["constants", "file"] | None, NO_HINT] = None
    plugin: tyro.conf.UseAppendAction[tuple[str, ...]] = ()

    def run(self) -> int:
        """Print the paths of the files."""
        options = self._options()
        import_plugins(self.plugin)
        with _loaded(self.model) as model:
            for path in self._write(model, options):
                print(path)
        return 0

    def _options(self) -> dict[str, Any]:
        """The options of the target; `UserError` for those of another one."""
        of_target = {"c": ("dtype", "weights")}.get(self.to, ("length", "durations"))
        given = {
            name: value
            for name in ("length", "durations", "dtype", "weights")
            if (value := getattr(self, name)) is not None and value is not False
        }
        for name in given:
            if name not in of_target:
                targets = "c" if name in ("dtype", "weights") else "onnx or stablehlo"
                raise UserError(f"must be left out unless --to is {targets}", argument=name)
        return {"prefix": self.prefix, **given}

    def _write(self, model: Any, options: dict[str, Any]) -> list[pathlib.Path]:
        from .. import export

        write = {"c": export.to_c, "onnx": export.to_onnx, "stablehlo": export.to_stablehlo}
        if isinstance(model, OnlineMemory) and self.to != "c":
            raise UserError("must be c for a memory", argument="to")
        try:
            return write[self.to](model, self.out, **options)
        except UserError as error:
            if error.argument == "model":  # the positional argument
                raise UserError(f"{self.model}: {error.message}") from None
            raise


@contextlib.contextmanager
def _loaded(path: pathlib.Path) -> Iterator[Any]:
    """The model or memory in a file or in the folder of a run."""
    file = path / WEIGHTS if path.is_dir() else path
    if not file.is_file():
        what = f"{path} contains no {WEIGHTS}" if path.is_dir() else f"there is no file {path}"
        raise UserError(f"MODEL: {what}")
    try:
        with safetensors.safe_open(file, framework="numpy") as found:
            metadata = found.metadata() or {}
            # The open file is not iterable: its names come from keys().
            wide = any(found.get_slice(name).get_dtype() == "F64" for name in found.keys())  # noqa: SIM118
    except (safetensors.SafetensorError, OSError) as error:
        raise UserError(f"{file} is not a model that fractal.save wrote: {error}") from None
    if metadata.get("format") == "fractal.memory":
        yield _checked(OnlineMemory.load, file)
        return
    import jax

    from .._weights import load

    with jax.enable_x64(wide or bool(jax.config.read("jax_enable_x64"))):
        yield _checked(load, file)


def _checked(load: Any, file: pathlib.Path) -> Any:
    try:
        return load(file)
    except ValueError as error:
        raise UserError(str(error)) from None
