"""The script `fractal`: the command line, or the extra that it needs in one line."""

import sys

from ._extras import MissingExtra, require


def main() -> int:
    """Run the command line; exit code 2 if a package of an extra is missing."""
    try:
        require("cli", "tyro", "rich", package="the command line")
        from .cli import main as run

        return run()
    except MissingExtra as error:
        print(f"fractal: {error}", file=sys.stderr)
        return 2
