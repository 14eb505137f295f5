"""Writing files whole or not at all."""

import os
import pathlib


def write_whole(path: str | os.PathLike, data: bytes) -> None:
    """Write beside the file and then take its place: an interruption leaves the old one."""
    path = pathlib.Path(path)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
