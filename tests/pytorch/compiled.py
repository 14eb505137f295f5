"""Programs of `torch.compile` and `torch.export`, compared with eager calls.

A script and not a test: the type checks that pytest adds to this package cannot be compiled.
"""

import sys

import torch

import fractal.torch as ft


def close(name, one, two, tolerance=1e-5):
    for a, b in zip(one, two, strict=True):
        error = (a - b).abs().max().item()
        assert error <= tolerance * max(1.0, b.abs().max().item()), (name, error)
    print(name)


def gradients(call, *inputs):
    outputs = call(*inputs)
    return outputs, *torch.autograd.grad((outputs**2).sum(), [x for x in inputs if x.requires_grad])


def compiled_layer(**options):
    layer = ft.FractalSSM(4, order=4, alphas=[0.2, 0.7], **options)
    u = torch.randn(2, 20, 4, requires_grad=True)
    compiled = torch.compile(lambda u: layer(u)[0], fullgraph=True)
    close(f"compile {options}", gradients(compiled, u), gradients(lambda u: layer(u)[0], u))


def exported_model():
    model = ft.SequenceModel(5, 3, width=4, depth=1, norm="batch").eval()
    tokens = torch.randint(5, (2, 20))
    program = torch.export.export(model, (tokens,))
    close("export", [program.module()(tokens)], [model(tokens)])


def exported_step():
    layer = ft.FractalSSM(4, order=4, clock="scale-invariant")

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def forward(self, u, modes, time, modes_lost, time_lost):
            return self.layer.step(u, ft.FractalState(modes, time, modes_lost, time_lost))

    with torch.no_grad():
        u, state = torch.randn(2, 4), layer(torch.randn(2, 9, 4))[1]
    program = torch.export.export(Step(), (u, *state[:4]))
    (y, new), (expected, after) = program.module()(u, *state[:4]), layer.step(u, state)
    close("export step", [y, new.modes, new.time], [expected, after.modes, after.time])


def main():
    assert "jax" not in sys.modules
    torch.manual_seed(0)
    exported_model()
    exported_step()
    compiled_layer()
    compiled_layer(clock="scale-invariant", bidirectional=True)


if __name__ == "__main__":
    main()
