"""Sequences sharded along time over 8 virtual devices, compared with one device.

The cases run in processes of their own, since the number of devices is set when JAX starts. Two
processes with 4 devices each exchange the ends of their parts over the loopback network.
"""

import functools
import json
import os
import socket
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from fractal.baselines import S4D, S5
from fractal.nn import FractalSSM, SequenceModel
from fractal.tasks import Batches, from_arrays
from fractal.train import Devices, make_objective

DEVICES, WIDTH, LENGTH = 8, 3, 40  # parts of 5 steps, not a multiple of a chunk
REAL = 23  # of 40 steps: the padding begins within the fifth part


def _layers():
    options = {"order": 2, "alphas": (0.2, 0.6), "key": jax.random.key(0)}
    invariant = {"clock": "scale-invariant", **options}
    return {
        "uniform": FractalSSM(WIDTH, **options),
        "uniform-both": FractalSSM(WIDTH, bidirectional=True, **options),
        "invariant": FractalSSM(WIDTH, **invariant),
        "invariant-both": FractalSSM(WIDTH, bidirectional=True, **invariant),
        "bilinear": FractalSSM(WIDTH, discretization="bilinear", **options),
        "selective-both": FractalSSM(WIDTH, bidirectional=True, selective=True, **invariant),
        "path": FractalSSM(WIDTH, selective=True, rate="path", **invariant),
        "path-both": FractalSSM(WIDTH, bidirectional=True, rate="path", **options),
        "s5": S5(WIDTH, order=4, blocks=1, bidirectional=True, key=jax.random.key(0)),
    }


# Per case: layer, whether steps are irregular (None: no dt), padding, whether it is resumed.
LAYER_CASES = {
    "constant steps": ("uniform", False, None, True),
    "irregular steps": ("uniform", True, "lengths", True),
    "masked steps": ("uniform", True, "mask", False),
    "both directions": ("uniform-both", False, "lengths", False),
    "scale-invariant": ("invariant", False, None, False),
    "scale-invariant, resumed": ("invariant", True, "mask", True),
    "scale-invariant, both directions": ("invariant-both", True, "lengths", False),
    "bilinear": ("bilinear", True, "lengths", True),
    "selective, both directions": ("selective-both", True, "lengths", False),
    "path, resumed": ("path", None, "mask", True),
    "path, both directions": ("path-both", None, "mask", False),
    "S5": ("s5", True, "mask", False),
    "no real step": ("uniform", False, "none", True),
}

# Per case: options of the model, padding, number of devices that share the batch.
MODEL_CASES = {
    "mean": ({"pooling": "mean", "positions": "sinusoid"}, "lengths", 1),
    "mean, all steps": ({"pooling": "mean"}, None, 1),
    "last": ({"pooling": "last", "positions": "learned", "length": LENGTH}, "mask", 1),
    "last, all steps": ({"pooling": "last"}, None, 1),
    "none": ({"pooling": "none"}, "lengths", 1),
    "retrieval": ({"task": "retrieval"}, "lengths", 1),
    "batch norm": ({"norm": "batch", "dropout": 0.3, "remat": True}, "lengths", 1),
    "data parallel": ({"norm": "batch"}, "lengths", 2),
}


def _mesh(data=1):
    auto = jax.sharding.AxisType.Auto
    return jax.make_mesh((data, DEVICES // data), ("data", "time"), axis_types=(auto, auto))


def _shard(call, in_specs, out_specs, mesh=None, **options):
    mesh = _mesh() if mesh is None else mesh
    return jax.shard_map(call, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def _difference(one, two) -> float:
    """The largest difference of two pytrees, relative to the largest element of each array."""
    found = [0.0]
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape
        assert np.isfinite(a).all()
        found.append(np.abs(a - b).max(initial=0) / max(1.0, np.abs(a).max(initial=0)))
    return float(max(found))


def _padding(kind):
    """`lengths` or `mask`, and their specs."""
    if kind == "mask":  # also at the border of two parts
        mask = (np.arange(LENGTH) < REAL) & ~np.isin(np.arange(LENGTH), [3, 9, 10, 11])
        return {"mask": jnp.asarray(mask)}, {"mask": P("time")}
    if kind is None:
        return {}, {}
    return {"lengths": jnp.asarray(REAL if kind == "lengths" else 0)}, {"lengths": P()}


def _layer_case(layer, irregular, padding, resumed) -> dict[str, float]:
    rng = np.random.default_rng(0)
    u = jnp.asarray(rng.standard_normal((LENGTH, WIDTH)))
    weights = jnp.asarray(rng.standard_normal((LENGTH, WIDTH)))
    dt = jnp.asarray(rng.uniform(0.3, 2.0, LENGTH)) if irregular else jnp.asarray(0.7)
    dt = None if irregular is None else dt
    state = layer(jnp.asarray(rng.standard_normal((6, WIDTH))))[1] if resumed else None
    keywords, specs = _padding(padding)

    def call(layer, u, state, dt, keywords, axis_name=None):
        return layer(u, state, dt, **keywords, axis_name=axis_name)

    sharded = _shard(
        functools.partial(call, axis_name="time"),
        (P(), P("time"), P(), P("time") if irregular else P(), specs),
        (P("time"), P()),
    )

    def loss(run, layer, u, state, dt):
        y, final = run(layer, u, state, dt, keywords)
        ends = sum(jnp.sum(jnp.abs(x) ** 2) for x in jax.tree.leaves(final))
        return jnp.sum(y * weights) + ends, (y, final)

    def run(call):
        # NumPy arrays are on all devices of all processes.
        arguments = jax.tree.map(np.asarray, (layer, u, state, dt))
        (_, found), gradient = jax.jit(
            jax.value_and_grad(functools.partial(loss, call), argnums=(0, 1, 2, 3), has_aux=True)
        )(*arguments)
        if call is sharded and jax.process_count() > 1:
            return multihost_utils.process_allgather((*found, gradient), tiled=True)
        return *found, gradient

    names = ("output", "state", "gradient")
    return {
        name: _difference(a, b) for name, a, b in zip(names, run(call), run(sharded), strict=True)
    }


def _model_case(options, padding, data) -> dict[str, float]:
    rng = np.random.default_rng(0)
    pair = (2,) if options.get("task") == "retrieval" else ()
    mixer = functools.partial(FractalSSM, order=2, alphas=0.5, bidirectional=True)
    options = {"dtype": "float64", "mixer": mixer, "key": jax.random.key(0), **options}
    model = SequenceModel(7, 2, width=WIDTH, depth=1, **options)
    x = jnp.asarray(rng.integers(0, 7, (2, *pair, LENGTH)))
    keywords, specs = _padding(padding)
    share = P(*[None] * (x.ndim - 1), "time")
    keywords = {k: jnp.broadcast_to(v, (2, *pair, *v.shape)) for k, v in keywords.items()}
    specs = {k: share if k == "mask" else P() for k in specs}
    keys = jax.random.split(jax.random.key(1), 2)
    split = jax.device_put(x, NamedSharding(_mesh(data), P("data", *share[1:])))

    def call(model, x, keywords, axis_name=None):
        def one(x, keywords, key):
            answers = model(x, **keywords, axis_name=axis_name)
            return (answers, model.training(x, **keywords, key=key, axis_name=axis_name))

        out_axes = (0, (0, None))
        return jax.vmap(one, out_axes=out_axes, axis_name="batch")(x, keywords, keys)

    steps = P(None, "time") if model.pooling == "none" else P()
    sharded = _shard(
        functools.partial(call, axis_name="time"),
        (P(), share, specs),
        (steps, (steps, P())),
        mesh=_mesh(data),
        axis_names={"data", "time"} if data == 1 else {"time"},
        check_vma=options.get("norm") != "batch",
    )

    def loss(run, x, model):
        answers, (trained, statistics) = run(model, x, keywords)
        return jnp.sum(answers[..., 0]) + jnp.sum(trained**2), (answers, trained, statistics)

    def run(call, x):
        objective = functools.partial(loss, call, x)
        return jax.jit(jax.value_and_grad(objective, has_aux=True))(model)

    (_, one), gradient = run(call, x)
    (_, two), other = run(sharded, split)
    return {"output": _difference(one, two), "gradient": _difference(gradient, other)}


def _objective_case() -> dict[str, float]:
    """Loss and gradients of training with 2 × 4 devices; the length is no multiple of 4."""
    rng = np.random.default_rng(0)
    sequences, labels = rng.integers(0, 7, (8, 21)), rng.integers(0, 2, 8)
    few = (sequences[:1], labels[:1])
    task = from_arrays(
        sequences,
        labels,
        validation=few,
        test=few,
        kind="classification",
        inputs=7,
        outputs=2,
    )
    mixer = functools.partial(FractalSSM, order=2, alphas=0.5, bidirectional=True)
    options = {"dtype": "float64", "norm": "batch", "dropout": 0.3}
    key = jax.random.key(0)
    model = SequenceModel(7, 2, width=WIDTH, depth=1, mixer=mixer, **options, key=key)
    batch = Batches(task, task.splits.train, 4, training=True)[0]
    batch = batch._replace(labels=batch.labels.astype(int))  # as indices have in 64 bits

    def run(devices, batch):
        trained, rest = eqx.partition(model, eqx.is_inexact_array)
        differentiate = jax.value_and_grad(make_objective(task, devices), has_aux=True)
        call = jax.jit(lambda *arguments: differentiate(arguments[0], rest, *arguments[1:]))
        (loss, statistics), gradient = call(trained, batch, key)
        return loss, statistics, gradient

    devices, names = Devices(4), ("loss", "statistics", "gradient")
    found = run(None, batch), run(devices, devices.share(batch))
    return {name: _difference(a, b) for name, a, b in zip(names, *found, strict=True)}


def _gathers(layer) -> dict[str, int]:
    """All-gathers in the compiled forward pass, and in forward and backward pass."""
    u = jnp.ones((LENGTH, WIDTH))
    call = _shard(lambda layer, u: layer(u, axis_name="time")[0], (P(), P("time")), P("time"))
    gradient = jax.grad(lambda layer, u: jnp.sum(call(layer, u) ** 2))
    found = []
    for f in (call, gradient):
        text = str(jax.jit(f).lower(layer, u).compile().as_text())
        found.append(text.count(" all-gather(") + text.count(" all-gather-start("))
    return {"forward": found[0], "both": found[1]}


def _message(call, *arguments) -> str:
    specs = (P(), P("time"))
    try:
        _shard(call, specs, P())(*arguments)
    except ValueError as error:
        return str(error)
    return "no error"


def _errors() -> dict[str, str]:
    u, key = jnp.ones((LENGTH, WIDTH)), jax.random.key(0)
    s4d, ssm = S4D(WIDTH, order=2, key=key), _layers()["uniform"]
    options = {"tokens": False, "width": WIDTH, "depth": 1, "key": key}
    model = SequenceModel(WIDTH, 2, mixer=functools.partial(S4D, order=2), **options)
    normed = SequenceModel(WIDTH, 2, norm="batch", **options)

    def train(model, u):
        one = functools.partial(model.training, key=key, axis_name="time")
        return jax.vmap(one, axis_name="batch", out_axes=(0, None))(u[None])[0]

    return {
        "mixer": _message(lambda layer, u: layer(u, axis_name="time")[0], s4d, u),
        "model": _message(lambda model, u: model(u, axis_name="time"), model, u),
        "axis": _message(lambda layer, u: layer(u, axis_name="space")[0], ssm, u),
        "lengths": _message(lambda layer, u: layer(u, lengths=41, axis_name="time")[1], ssm, u),
        "norm": _message(train, normed, u),
    }


def _main(names: list[str]) -> None:
    """Print the findings of the named cases as JSON."""
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    layers, found = _layers(), {}
    for name in names:
        if name in LAYER_CASES:
            layer, *rest = LAYER_CASES[name]
            found[name] = _layer_case(layers[layer], *rest)
        elif name in MODEL_CASES:
            found[name] = _model_case(*MODEL_CASES[name])
        elif name == "errors":
            found[name] = _errors()
        elif name == "objective":
            found[name] = _objective_case()
        else:
            found[name] = _gathers(layers[name.removeprefix("gathers of ")])
    print(json.dumps(found))


def _started(devices: int, *arguments: str) -> subprocess.Popen:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, "-m", "tests.nn.test_sharding", *arguments],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finished(process: subprocess.Popen) -> dict:
    with process:  # closes its pipes
        try:
            out, err = process.communicate(timeout=1200)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@functools.cache
def _run(*names: str) -> dict:
    return _finished(_started(DEVICES, *names))


@functools.cache
def _run_in_two_processes(*names: str) -> dict:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    both = [_started(DEVICES // 2, f"{address}/{number}", *names) for number in range(2)]
    one, two = (_finished(process) for process in both)
    assert one == two
    return one


# Compilation takes seconds per case: by default one layer and one model that combine most of it.
DEFAULT = (
    "scale-invariant, both directions",
    "mean",
    "objective",
    "gathers of uniform-both",
    "errors",
)
SLOW = tuple(
    name for name in (*LAYER_CASES, *MODEL_CASES, "gathers of uniform") if name not in DEFAULT
)


def _found(name):
    return _run(*(DEFAULT if name in DEFAULT else SLOW))[name]


def _params(names):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in names]


@pytest.mark.parametrize("case", _params(LAYER_CASES))
def test_a_sharded_layer_has_the_output_state_and_gradients_of_one_device(case):
    assert max(_found(case).values()) < 1e-11, _found(case)


@pytest.mark.parametrize("case", _params(MODEL_CASES))
def test_a_sharded_model_has_the_output_and_gradients_of_one_device(case):
    assert max(_found(case).values()) < 1e-11, _found(case)


def test_the_training_objective_with_sequence_shards_is_that_of_one_device():
    assert max(_found("objective").values()) < 1e-11, _found("objective")


@pytest.mark.slow
@pytest.mark.parametrize("case", ["constant steps", "scale-invariant, both directions"])
def test_two_processes_have_the_output_state_and_gradients_of_one_device(case):
    found = _run_in_two_processes("constant steps", "scale-invariant, both directions")[case]
    assert max(found.values()) < 1e-11, found


@pytest.mark.parametrize("case", _params(["gathers of uniform", "gathers of uniform-both"]))
def test_each_direction_and_pass_gathers_once(case):
    directions = 2 if case.endswith("both") else 1
    assert _found(case) == {"forward": directions, "both": 2 * directions}


def test_what_cannot_be_sharded_raises_one_line():
    cannot = "S4D cannot process a sequence sharded along time: axis_name must be None"
    assert _found("errors") == {
        "mixer": cannot,
        "model": cannot,
        "axis": "axis_name must be a mesh axis of an enclosing jax.shard_map, got 'space'",
        "lengths": "lengths must lie in [0, 40], the number of steps",
        "norm": "norm='batch' with axis_name needs jax.shard_map(…, check_vma=False)",
    }


if __name__ == "__main__":
    if "/" in sys.argv[1]:
        coordinator, number = sys.argv.pop(1).split("/")
        # A busy machine may delay one of the two for minutes.
        patience = {"heartbeat_timeout_seconds": 900, "initialization_timeout": 900}
        jax.distributed.initialize(coordinator, 2, int(number), **patience)
    _main(sys.argv[1:])
