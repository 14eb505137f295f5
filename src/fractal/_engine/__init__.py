"""The diagonal recurrence that `fractal.nn` and `fractal.baselines` run on (JAX, internal).

`parts` (complex numbers as real arrays) → `implicit` (derivatives) → `chunked` and `scan` (the
recurrence), with `discretize` (gates from step sizes) and `inputs` (what a layer is given) beside.
"""
