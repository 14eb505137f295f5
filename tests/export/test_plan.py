"""What a plan for C and ONNX contains."""

import dataclasses

from fractal.baselines import S5
from fractal.nn import FractalSSM, PathRate, SelectiveRate


def test_every_field_of_the_exported_layers_is_known_to_their_plan():
    """A new field would otherwise be left out without an error: add it to the plan, then here."""
    fields = {kind: {one.name for one in dataclasses.fields(kind)}
              for kind in (FractalSSM, S5, SelectiveRate, PathRate)}  # fmt: skip
    assert fields == {
        FractalSSM: {"bank", "log_dt", "B", "C", "D", "sizes", "clock", "discretization",
                     "bidirectional", "scan", "rate"},
        S5: {"Lambda_re", "Lambda_im", "B", "C", "D", "log_step", "discretization", "clip_eigs",
             "bidirectional", "scan"},
        SelectiveRate: {"weight", "bias"},
        PathRate: {"weight"},
    }  # fmt: skip
