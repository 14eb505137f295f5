"""Files of this package: safetensors with a format in the header, written atomically.

The file of a model also has its structure in the header, in JSON: classes and field values.
"""

import json
import os
import pathlib
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

_MODEL = "fractal.model"
_VERSION = 1  # of the JSON layout; files of later versions are rejected
# What reading a malformed header of a file from elsewhere may raise.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def write_tensors(
    path: str | os.PathLike, tensors: dict[str, np.ndarray], metadata: dict[str, str]
) -> None:
    """Write tensors and metadata atomically; equal contents give equal bytes."""
    write_whole(path, _sorted_header(safetensors.numpy.save(tensors, metadata=metadata)))


def _sorted_header(data: bytes) -> bytes:
    """The same safetensors file with the keys of its header sorted.

    safetensors writes the metadata in the order of a randomly seeded hash map. The file is the
    length of the header in 8 bytes, the header in JSON, and the tensors at offsets relative to the
    end of the header, which is padded with spaces to a multiple of 8 bytes.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[end:]


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Write a file atomically: an interruption leaves the old one."""
    path = pathlib.Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_tensors(
    path: str | os.PathLike, expected: str, version: int
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and metadata of a file of the format `expected`; ValueError for any other file.

    `version` is the newest version of the format that the caller reads.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError("it is a folder")
    try:
        tensors, metadata = _content(path)
    except safetensors.SafetensorError as error:
        raise ValueError(str(error)) from None
    if metadata.get("format") != expected:
        raise ValueError(f"its format is {metadata.get('format')!r}, not {expected!r}")
    found = metadata.get("version", "")
    if not (found.isdecimal() and 1 <= int(found) <= version):
        raise ValueError(f"its version is {found!r}; this version of fractal reads 1 to {version}")
    return tensors, metadata


def write_model(
    path: str | os.PathLike,
    tensors: dict[str, np.ndarray],
    structure: Any,
    extra: dict[str, str] | None = None,
) -> None:
    """Write the file of a model; `extra` is added to the metadata of its header."""
    metadata = {**(extra or {}), "format": _MODEL, "version": str(_VERSION)}
    metadata["structure"] = json.dumps(structure, sort_keys=True)
    write_tensors(path, {name: np.asarray(x, order="C") for name, x in tensors.items()}, metadata)


def read_metadata(path: str | os.PathLike) -> dict[str, str]:
    """The metadata in the header of a safetensors file."""
    with safetensors.safe_open(path, framework="numpy") as file:
        return file.metadata() or {}


def add_metadata(path: str | os.PathLike, extra: dict[str, str]) -> None:
    """Add entries to the header of a safetensors file."""
    tensors, metadata = _content(path)
    write_tensors(path, tensors, {**metadata, **extra})


def _content(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Tensors and metadata of a safetensors file."""
    with safetensors.safe_open(path, framework="numpy") as file:
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, file.metadata() or {}


def read_model(path: str | os.PathLike) -> tuple[dict[str, np.ndarray], dict]:
    """Tensors and structure of the file of a model; ValueError for any other file."""
    tensors, metadata = read_tensors(path, _MODEL, _VERSION)
    structure = json.loads(metadata.get("structure", "null"))
    if not (isinstance(structure, dict) and "class" in structure):
        raise ValueError("it contains no module")
    return tensors, structure
