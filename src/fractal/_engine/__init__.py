"""The diagonal linear recurrence of `fractal.nn` and `fractal.baselines` (JAX, internal).

- `parts`: complex numbers as real arrays.
- `implicit`: derivatives of the recurrence.
- `chunked`, `scan`: implementations of the recurrence.
- `discretize`, `step_size`: gates from eigenvalues and step sizes Δ.
- `inputs`: validation of the arguments of mixers.
"""
