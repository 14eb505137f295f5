"""`python -m fractal.cli`, the same as the command `fractal`."""

import sys

from . import main

sys.exit(main())
