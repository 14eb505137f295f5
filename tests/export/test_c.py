"""The C header, compiled with sanitizers, against JAX and NumPy."""

import contextlib
import pathlib
import shutil
import subprocess

import jax
import numpy as np
import pytest

import fractal
from export_models import small
from fractal.export import to_c

FIRMWARE = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "firmware.c"
CC = shutil.which("cc")
pytestmark = pytest.mark.skipif(CC is None, reason="there is no C compiler")
FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined")
STEPS = 10_000
REAL = {"float32": "float", "float64": "double"}
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}

PROGRAM = """
#include <stdio.h>
#include "net.h"

typedef REAL real;
static INPUT x[STEPS * SIZE];
static real dt[STEPS], y[STEPS * net_OUTPUTS];

static void get(const char *name, void *buffer, size_t size)
{
    FILE *file = fopen(name, "rb");
    if (fread(buffer, 1, size, file) != size) _Exit(9);
    fclose(file);
}

int main(void)
{
    static net_state s;
    WEIGHTS
    get("x", x, sizeof x);
    get("dt", dt, sizeof dt);
    net_init(&s);
    for (size_t k = 0; k < STEPS / 2; k++)
        if (net_step(w, &s, SAMPLEDURATION, y + k * net_OUTPUTS) != 0) return 1;
    if (net_extend(w, &s, x + STEPS / 2 * SIZEDURATIONS, STEPS / 4,
                   y + STEPS / 2 * net_OUTPUTS) != 0) return 2;
    if (net_extend(w, &s, x + 3 * STEPS / 4 * SIZEREGULAR, STEPS / 4,
                   y + 3 * STEPS / 4 * net_OUTPUTS) != 0) return 3;
    FILE *file = fopen("y", "wb");
    fwrite(y, sizeof y, 1, file);
    fclose(file);
    /* Refused arguments leave the state alone. */
    net_state before = s;
    const size_t k = 0;
    (void)k;
    REFUSED
    return memcmp(&before, &s, sizeof s) == 0 ? 0 : 6;
}
"""
FROM_FILE = """
    static net_file loaded;
    get("net.weights", &loaded, sizeof loaded);
    if (net_check(&loaded, sizeof loaded - 1) != -1) return 10;
    loaded.magic[0] ^= 1;
    if (net_check(&loaded, sizeof loaded) != -2) return 11;
    loaded.magic[0] ^= 1;
    loaded.version += 1;
    if (net_check(&loaded, sizeof loaded) != -3) return 12;
    loaded.version -= 1;
    loaded.layout += 1;
    if (net_check(&loaded, sizeof loaded) != -4) return 13;
    loaded.layout -= 1;
    if (net_check(&loaded, sizeof loaded) != 0) return 14;
    const net_weights *w = &loaded.weights;
"""

DURATION_REFUSED = """
    if (net_step(w, &s, SAMPLE, -1, y) != -1 || net_step(w, &s, SAMPLE, NAN, y) != -1) return 4;
"""
TOKEN_REFUSED = "    if (net_step(w, &s, net_INPUTSONE, y) != -1) return 5;"

CASES = {
    "values, mean, sinusoids": (
        "float32",
        "constants",
        {"tokens": False, "positions": "sinusoid"},
    ),
    "tokens, scale-invariant, S5's block, learned positions, weights in a file": (
        "float64",
        "file",
        {"clock": "scale-invariant", "gate": "half_glu1", "norm": "batch", "final_norm": True,
         "pooling": "last", "positions": "learned", "length": 50},
    ),
    "one-hot tokens, next token, bilinear": (
        "float64",
        "constants",
        {"encoder": "one-hot", "task": "next-token", "gate": "full_glu",
         "discretization": "bilinear"},
    ),
    "values, scale-invariant, learned alpha": (
        "float32",
        "file",
        {"tokens": False, "clock": "scale-invariant", "learn_alpha": True, "gate": "half_glu2"},
    ),
    "values, selective": ("float32", "constants", {"tokens": False, "selective": True}),
    "tokens, selective, scale-invariant, clocks of different sizes": (
        "float64",
        "file",
        {"selective": True, "clock": "scale-invariant", "init": "fractional",
         "alphas": (0.0, 0.8)},
    ),
    "values, path": ("float64", "constants", {"tokens": False, "rate": "path"}),
    "tokens, path, scale-invariant": (
        "float32",
        "constants",
        {"rate": "path", "clock": "scale-invariant", "pooling": "last"},
    ),
    "values, selective path, scale-invariant": (
        "float64",
        "file",
        {"tokens": False, "rate": "path", "selective": True, "clock": "scale-invariant"},
    ),
    "tokens, S5": ("float64", "constants", {"s5": True, "gate": "half_glu1", "norm": "batch"}),
}  # fmt: skip


def compiled(folder, program):
    """The program of a C source, compiled with warnings as errors and sanitizers."""
    (folder / "main.c").write_text(program)
    command = [CC, *FLAGS, "main.c", "-o", "main", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


def run(folder):
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[:2000])


# Compiled by default; together they have most of the options.
FEW = (
    "values, mean, sinusoids",
    "tokens, scale-invariant, S5's block, learned positions, weights in a file",
    "values, selective path, scale-invariant",
)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=[] if case in FEW else pytest.mark.slow) for case in CASES],
)
def test_ten_thousand_steps_in_c_are_those_of_jax(case, tmp_path, rng):
    dtype, weights, options = CASES[case]
    tokens, path = options.get("tokens", True), options.get("rate") == "path"
    x = rng.integers(0, 3, STEPS) if tokens else rng.standard_normal((STEPS, 3)).astype(dtype)
    x[100:200] = x[100]  # a pause
    dt = rng.uniform(0.5, 2.0, STEPS).astype(dtype)
    dt[3 * STEPS // 4 :] = 1.0
    wide = jax.enable_x64(True) if dtype == "float64" else contextlib.nullcontext()
    with wide:
        model = small(dtype=dtype, **options)
        to_c(model, tmp_path, prefix="net", weights=weights)
        initial = model.initial_state()
        expected = np.asarray(
            jax.jit(type(model).extend)(model, x, initial, None if path else dt)[0]
        )
    program = PROGRAM.replace("INPUT", "uint32_t" if tokens else "real")
    changes = {
        "REAL": REAL[dtype],
        "STEPS": str(STEPS),
        "SIZE": "1" if tokens else "net_INPUTS",
        "SAMPLE": "x[k]" if tokens else "x + k * SIZE",
        "WEIGHTS": FROM_FILE if weights == "file" else "const net_weights *w = &net_trained;",
        "DURATIONS": "" if path else ", dt + STEPS / 2",
        "DURATION": "" if path else ", dt[k]",
        "REGULAR": "" if path else ", NULL",
        "REFUSED": ("" if path else DURATION_REFUSED) + (TOKEN_REFUSED if tokens else ""),
        "ONE": "" if path else ", 1",
    }
    for name in ("REFUSED", "DURATIONS", "DURATION", "REGULAR", "SAMPLE", "SIZE", "REAL", "STEPS",
                 "WEIGHTS", "ONE"):  # fmt: skip
        program = program.replace(name, changes[name])
    (tmp_path / "x").write_bytes(x.astype(np.uint32).tobytes() if tokens else x.tobytes())
    (tmp_path / "dt").write_bytes(dt.tobytes())
    compiled(tmp_path, program)
    run(tmp_path)
    found = np.frombuffer((tmp_path / "y").read_bytes(), dtype).reshape(expected.shape)
    assert np.abs(found - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max()


MEMORY = """
#include <stdio.h>
#include "mem.h"

int main(void)
{
    static REAL u[COUNT * mem_CHANNELS], dt[COUNT], values[5 * mem_CHANNELS];
    const REAL ages[5] = {0, 0.01f, 0.25f, 0.5f, 1};
    mem_state s;
    FILE *file = fopen("u", "rb");
    if (fread(u, sizeof u, 1, file) != 1 || fread(dt, sizeof dt, 1, file) != 1) return 1;
    fclose(file);
    mem_init(&s);
    for (size_t k = 0; k < COUNT; k++)
        if (mem_push(&s, u + k * mem_CHANNELS, dt[k]) != 0) return 2;
    if (mem_push(&s, u, 0) != -1 || mem_push(&s, u, NAN) != -1) return 3;
    mem_recall(&s, ages, 5, values);
    file = fopen("values", "wb");
    fwrite(values, sizeof values, 1, file);
    fwrite(s.modes, sizeof s.modes, 1, file);
    fwrite(s.modes_lost, sizeof s.modes_lost, 1, file);
    return fclose(file) | (s.count != START + COUNT);
}
"""


def pushed(folder, memory, dtype, u, dt):
    """Recalled values, modes and what rounding removed from them after pushing u in C."""
    to_c(memory, folder, prefix="mem", dtype=dtype)
    program = MEMORY.replace("REAL", REAL[dtype]).replace("COUNT", str(len(u)))
    compiled(folder, program.replace("START", str(memory.count)))
    (folder / "u").write_bytes(u.astype(dtype).tobytes() + dt.astype(dtype).tobytes())
    run(folder)
    data = np.frombuffer((folder / "values").read_bytes(), dtype).astype(float)
    channels = memory.channels
    values, rest = data[: 5 * channels].reshape(5, channels), data[5 * channels :]
    modes, lost = np.split(rest, [len(rest) // 3])
    return values, modes.reshape(channels, -1), lost.reshape(channels, 2, -1)


@pytest.mark.parametrize(("dtype", "alpha"), [("float64", 0.0), ("float32", 0.6)])
def test_a_memory_in_c_recalls_what_the_memory_recalls(dtype, alpha, tmp_path, rng):
    u, dt = rng.standard_normal((STEPS, 2)).cumsum(axis=0), rng.uniform(0.5, 2.0, STEPS)
    dt = dt.astype(np.float32).astype(float)
    memory = fractal.OnlineMemory(alpha, 16, channels=2)
    memory.push(u[:100], np.cumsum(dt[:100]))  # the exported state
    values, _, _ = pushed(tmp_path, memory, dtype, u[100:], dt[100:])
    memory.push(u[100:], np.cumsum(dt)[100:])
    ages = np.array([0, 0.01, 0.25, 0.5, 1], np.float32).astype(float)
    expected = memory.recall(ages)
    assert np.abs(values - expected).max() <= TOLERANCE[dtype] * np.abs(expected).max()


def test_a_float32_memory_in_c_still_changes_after_a_trillion_samples(tmp_path):
    """The change is far below the rounding of the state; its closed form is in float64."""
    time, count = 1e12, 1000
    memory = fractal.OnlineMemory(0.6, 8).push([[1.0]], [time])
    _, modes, lost = pushed(tmp_path, memory, "float32", np.zeros((count, 1)), np.ones(count))
    change = (modes - np.repeat([1.0, 0.0], modes.shape[1] // 2)) + lost.sum(axis=1)
    rates = memory._modes.rates
    expected = np.expm1(-rates * np.log1p(count / np.float32(time)))
    expected = np.concatenate([expected.real, expected.imag])
    assert np.abs(change[0] - expected).max() < 1e-5 * np.abs(expected).max()


def test_the_firmware_of_the_documentation_computes_the_outputs_of_jax(tmp_path):
    model = small(tokens=False, pooling="last", depth=1)
    to_c(model, tmp_path, prefix="net")
    compiled(tmp_path, FIRMWARE.read_text(encoding="utf-8"))
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    k = np.arange(1000)
    x = ((7 * k[:, None] + 3 * np.arange(3)) % 11).astype(np.float32) / 11
    dt = (900 + 37 * (k % 7)).astype(np.float32) / 1000
    expected = np.asarray(model(x, dt=dt))
    found = np.array(done.stdout.split(), float)
    assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()
