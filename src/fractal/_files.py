"""Our files: safetensors with a format in the header, written whole or not at all."""

import os
import pathlib

import numpy as np
import safetensors
import safetensors.numpy


def write_tensors(
    path: str | os.PathLike, tensors: dict[str, np.ndarray], metadata: dict[str, str]
) -> None:
    """Write a whole file of tensors."""
    write_whole(path, safetensors.numpy.save(tensors, metadata=metadata))


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Write beside the file and then take its place: an interruption leaves the old one."""
    path = pathlib.Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_tensors(
    path: str | os.PathLike, expected: str
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and metadata of a file of the format `expected`; ValueError for any other file."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError("it is a folder")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata, names = file.metadata() or {}, file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    if metadata.get("format") != expected:
        raise ValueError(f"its format is {metadata.get('format')!r}, not {expected!r}")
    return tensors, metadata
