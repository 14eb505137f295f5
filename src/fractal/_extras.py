"""Optional dependencies: which extra of the package installs them."""

import importlib.util

_DISTRIBUTIONS = {
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "orbax.checkpoint": "orbax-checkpoint",
}


class MissingExtra(ImportError):
    """A package that an extra installs is missing."""


def require(extra: str, *modules: str, package: str | None = None) -> None:
    """Check that `modules`, which `extra` installs, can be imported; nothing is imported.

    `package` is what needs them, by default `fractal.EXTRA`. Call it before the imports it guards.
    """
    missing = [_DISTRIBUTIONS.get(name, name) for name in modules if not _exists(name)]
    if missing:
        needs = package or f"fractal.{extra}"
        raise MissingExtra(
            f"{needs} needs {', '.join(missing)}: pip install 'fractal-ssm[{extra}]'",
            name=missing[0],
        )


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent of a submodule
        return False
