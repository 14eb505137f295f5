"""The default tests compile without XLA's costly passes; these numerics are checked with them."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
FEW = (
    "tests/nn/test_ssm.py::test_step_by_step_equals_the_scan[normal-uniform-False]",
    "tests/nn/test_scan.py::test_gradients_equal_autodiff_of_the_loop"
    "[complex128-reverse-varying-chunked]",
)
MORE = (
    "tests/nn/test_ssm.py",
    "tests/nn/test_ssm_derivatives.py",
    "tests/nn/test_scan.py::test_gradients_equal_autodiff_of_the_loop",
    "tests/nn/test_streaming.py::test_a_scale_invariant_stream_after_many_steps_equals_float64",
    "tests/baselines/test_s5.py::test_outputs_equal_the_published_formulas_in_a_loop",
)


@pytest.mark.parametrize("numerics", [FEW, pytest.param(MORE, marks=pytest.mark.slow)])
def test_layers_and_scans_are_right_at_the_default_optimization_level(numerics):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *numerics],
        cwd=ROOT,
        env=os.environ | {"XLA_FLAGS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
