"""The default tests compile without XLA's costly passes; these numerics are checked with them."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent
NUMERICS = (
    "tests/nn/test_ssm.py::test_outputs_equal_a_loop_of_matrix_exponentials"
    "[fractional-scale-invariant-zoh]",
    "tests/nn/test_ssm_derivatives.py::test_first_and_second_derivatives_equal_autodiff_of_a_loop",
    "tests/nn/test_scan.py::test_gradients_equal_autodiff_of_the_loop"
    "[complex128-reverse-varying-chunked]",
    "tests/baselines/test_s5.py::test_outputs_equal_the_published_formulas_in_a_loop",
)


def test_layers_and_scans_are_right_at_the_default_optimization_level():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *NUMERICS],
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
