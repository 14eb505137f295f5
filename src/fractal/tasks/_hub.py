"""Data from the Hugging Face Hub, by the `datasets` package."""

import importlib
import pathlib
import sys
from collections.abc import Callable
from typing import Any

from ._errors import Unavailable
from ._folders import cache_folder, staged
from ._network import reason, require_answer


def hub_folder(repository: str) -> pathlib.Path:
    """The folder in the cache with the data of a repository."""
    return cache_folder() / "fetched" / f"hub-{repository.replace('/', '-')}"


def fetch_from_hub(repository: str, write: Callable[[Any, pathlib.Path], None]) -> None:
    """Load a dataset and `write` it into the cache in a layout that its task reads."""
    try:
        datasets: Any = importlib.import_module("datasets")
    except ImportError:
        message = "the package datasets is not installed: pip install 'fractal-ssm[hub]'"
        raise Unavailable(message) from None
    if not datasets.config.HF_HUB_OFFLINE:
        require_answer(datasets.config.HF_ENDPOINT)
    try:
        dataset = datasets.load_dataset(repository)
    except (OSError, ValueError, RuntimeError, *_client_errors(datasets)) as error:
        raise Unavailable(f"cannot load {repository} ({reason(error)})") from None
    with staged(hub_folder(repository), replaceable=True) as temporary:
        write(dataset, temporary)


def _client_errors(datasets: Any) -> tuple[type[Exception], ...]:
    """Errors of the package and of its HTTP client that derive from `Exception` only."""
    errors = (
        getattr(getattr(datasets, "exceptions", None), "DatasetsError", None),
        getattr(sys.modules.get("httpx"), "HTTPError", None),
    )
    return tuple(error for error in errors if error is not None)
