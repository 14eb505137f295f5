"""`python -m fractal.cli`, the same as the command `fractal`."""

import sys

from .._main import main

sys.exit(main())
