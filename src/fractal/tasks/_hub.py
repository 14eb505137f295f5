"""Data from the Hugging Face Hub, for those who have its `datasets` package."""

import importlib
import pathlib
from collections.abc import Callable
from typing import Any

from ._errors import DataError
from ._folders import cache_folder, staged


def hub_folder(repository: str) -> pathlib.Path:
    """Where we keep what was fetched, in the layout that our readers know."""
    return cache_folder() / "fetched" / f"hub-{repository.replace('/', '-')}"


def fetch_from_hub(repository: str, write: Callable[[Any, pathlib.Path], None]) -> None:
    """Load a dataset by the `datasets` package, and `write` it into the cache, where not there."""
    folder = hub_folder(repository)
    if folder.is_dir():
        return
    try:
        datasets = importlib.import_module("datasets")
    except ImportError:
        raise DataError("this source needs the package: pip install datasets") from None
    try:
        dataset = datasets.load_dataset(repository)
    except Exception as error:  # of the network, the hub or the package: many kinds
        why = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"cannot load {repository} from the Hugging Face Hub: {why}") from None
    with staged(folder, replaceable=True) as temporary:
        write(dataset, temporary)
