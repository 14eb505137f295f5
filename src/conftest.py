"""Doctests of a package whose extra is not installed are not collected."""

import importlib.util

collect_ignore = [] if importlib.util.find_spec("torch") else ["fractal/torch"]
