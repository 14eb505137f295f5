"""Errors of training whose remedy is another command."""

import contextlib
from collections.abc import Iterator

from .._errors import UserError
from ..tasks import MissingData
from ..train import Interrupted, RunExists


@contextlib.contextmanager
def command_hints() -> Iterator[None]:
    """Name the command that helps in the errors of the library."""
    try:
        yield
    except Interrupted as error:
        hint = UserError(
            f"interrupted after step {error.step}; resume with: "
            f"fractal train --resume {error.folder}"
        )
        hint.exit_code = error.exit_code
        raise hint from None
    except RunExists as error:
        raise UserError(
            f"{error.folder} already contains a run: resume it with --resume {error.folder}, "
            "or choose another --out"
        ) from None
    except MissingData as error:
        how = {
            "fetch": f"download it with: fractal data {error.task}",
            "generate": f"generate it with: fractal data {error.task} --out DIR; then --data DIR",
            "release": "unpack the Long Range Arena release, then --data DIR",
        }
        message = f"the data of task {error.task} is missing: {how[error.remedy]}"
        raise UserError(message) from None
