"""The diagonal linear recurrence of `fractal.nn` and `fractal.baselines` (JAX, internal).

- `pair`: complex numbers as pairs of real arrays.
- `solvers`: the methods of computing a recurrence; `sharding`: over devices along time.
- `recurrence`: the recurrences of the layers and their derivatives; `scan`: `linear_scan`.
- `discretize`, `step_size`: gates from eigenvalues and step sizes Δ.
- `inputs`: validation of the arguments of mixers.
"""
