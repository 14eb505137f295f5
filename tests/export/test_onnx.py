"""The graphs of ONNX in onnxruntime against JAX."""

import jax
import numpy as np
import pytest

from export_models import small
from fractal.export import to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
BATCH, LENGTH = 3, 45
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64}


def session(path):
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


def zeros(found, batch=BATCH):
    """The inputs of a graph, all zero."""
    return {
        one.name: np.zeros([batch if d == "batch" else d for d in one.shape], TYPES[one.type])
        for one in found.get_inputs()
    }


def step(found, feeds):
    """The output of a step; the state within `feeds` is replaced by the next one."""
    names = [one.name for one in found.get_outputs()]
    after = dict(zip(names, found.run(None, feeds), strict=True))
    feeds |= {name.removeprefix("next_"): x for name, x in after.items() if name != "output"}
    return after["output"]


def samples(rng, tokens, shape=(BATCH, LENGTH)):
    return rng.integers(0, 3, shape) if tokens else rng.normal(size=(*shape, 3)).astype(np.float32)


CAUSAL = [
    {"tokens": False, "positions": "sinusoid", "clock": "scale-invariant", "gate": "half_glu2"},
    {"pooling": "last", "norm": "batch", "gate": "full_glu", "positions": "learned", "length": 50,
     "final_norm": True, "discretization": "bilinear"},
    {"selective": True},
    {"tokens": False, "selective": True, "clock": "scale-invariant", "init": "fractional",
     "alphas": (0.0, 0.8)},
    {"tokens": False, "rate": "path", "pooling": "last"},
    {"rate": "path", "selective": True, "clock": "scale-invariant"},
    {"s5": True, "gate": "half_glu1"},
]  # fmt: skip
NAMES = ("scale-invariant", "uniform", "selective", "selective, scale-invariant", "path",
         "selective path, scale-invariant", "S5")  # fmt: skip


@pytest.mark.parametrize("options", CAUSAL, ids=NAMES)
def test_steps_and_whole_sequences_in_onnx_are_those_of_jax(options, tmp_path, rng):
    model, tokens = small(**options), options.get("tokens", True)
    timed = options.get("rate") != "path"
    steps, sequence = map(session, to_onnx(model, tmp_path, length=LENGTH, durations=timed))
    x, dt = samples(rng, tokens), rng.uniform(0.5, 2.0, (BATCH, LENGTH)).astype(np.float32)
    x[:, 5:9] = x[:, 5:6]  # a pause
    dt = dt if timed else None
    extend = jax.jit(jax.vmap(lambda x, dt: model.extend(x, model.initial_state(), dt)[0]))
    expected, feeds, found = np.asarray(extend(x, dt)), zeros(steps), []
    for k in range(LENGTH):
        feeds |= {"token" if tokens else "x": x[:, k]} | ({} if dt is None else {"dt": dt[:, k]})
        found.append(step(steps, feeds))
    assert np.abs(np.stack(found, axis=1) - expected).max() < 1e-5
    lengths = np.array([LENGTH, 20, 1])
    inputs = {"tokens" if tokens else "x": x, "lengths": lengths}
    inputs |= {} if dt is None else {"dt": dt}
    last = expected[np.arange(BATCH), lengths - 1]
    assert np.abs(sequence.run(None, inputs)[0] - last).max() < 1e-5


WHOLE = [
    {"tokens": False, "clock": "scale-invariant", "bidirectional": True},
    {"task": "retrieval", "bidirectional": True, "gate": "half_glu1", "pooling": "last"},
    {"bidirectional": True, "masking": "pooling", "positions": "sinusoid"},
    {"bidirectional": True, "selective": True, "clock": "scale-invariant"},
    {"tokens": False, "bidirectional": True, "rate": "path", "selective": True},
    {"bidirectional": True, "s5": True},
]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, marks=pytest.mark.slow if 0 < i < 4 else [])
        for i, options in enumerate(WHOLE)
    ],
    ids=["scale-invariant", "retrieval", "masking", "selective", "path", "S5"],
)
def test_bidirectional_models_in_onnx_are_those_of_jax(options, tmp_path, rng):
    model, tokens = small(**options), options.get("tokens", True)
    pair = (2,) if options.get("task") == "retrieval" else ()
    (path,) = to_onnx(model, tmp_path, length=LENGTH)
    x = samples(rng, tokens, (BATCH, *pair, LENGTH))
    lengths = rng.integers(1, LENGTH + 1, (BATCH, *pair))
    if not tokens:
        x[np.arange(LENGTH) >= lengths[:, None]] = np.nan  # padding has no effect
    expected = jax.jit(jax.vmap(lambda x, length: model(x, lengths=length)))(x, lengths)
    found = session(path).run(None, {"tokens" if tokens else "x": x, "lengths": lengths})[0]
    assert np.abs(found - expected).max() < 1e-5


def test_a_stream_in_onnx_still_changes_after_a_trillion_steps(tmp_path):
    """The change is far below the rounding of the state; its closed form is in float64."""
    model = small(tokens=False, depth=1, clock="scale-invariant", positions="sinusoid")
    found = session(to_onnx(model, tmp_path)[0])
    feeds, count, time = zeros(found, 1), 100, np.float32(1e12)
    feeds["dt"][:] = feeds["modes"][:] = 1.0
    feeds["time"][:, 0] = time
    one = step(found, feeds.copy() | {"steps": np.array([10**12])})
    two = step(found, feeds.copy() | {"steps": np.array([0])})
    assert np.abs(one - two).max() > 1e-4  # positions differ
    # Without positions and with constant input the steady states are constant.
    model = small(tokens=False, depth=1, clock="scale-invariant")
    found = session(to_onnx(model, tmp_path)[0])
    for _ in range(count):
        step(found, feeds := {name: feeds[name] for name in zeros(found)})
    mixer, norm = model.blocks[0].mixer, model.blocks[0].norm
    decay, frequency, _ = (np.asarray(part, float) for part in mixer.bank())
    rates = (decay + 1j * frequency) * np.exp(np.asarray(mixer.log_dt, float))
    real, imag = np.split(np.asarray(mixer.B, float), 2)
    u = np.asarray(norm(model.encoder.bias), float)
    steady = ((real + 1j * imag) / (decay + 1j * frequency)[:, None]) @ u
    expected = -np.expm1(-rates * np.log1p(count / float(time))) * (steady - (1 + 1j))
    change = (feeds["modes"][0, 0].astype(float) - 1) + feeds["modes_lost"][0, 0].sum(axis=0)
    expected = np.concatenate([expected.real, expected.imag])
    assert np.abs(change - expected).max() < 1e-4 * np.abs(expected).max()


def test_the_graphs_have_no_loops_and_readable_names(tmp_path):
    model = small(bidirectional=True)
    (path,) = to_onnx(model, tmp_path, length=LENGTH)
    graph = onnx.load(path).graph
    assert not {"Loop", "Scan", "If"} & {node.op_type for node in graph.node}
    assert "block1/mixer/backward/pass0/gate_real" in {one.name for one in graph.initializer}
    assert [one.name for one in graph.output] == ["output"]
