"""The time to prepare a batch, and the time of the train step that uses it."""

import jax
import jax.numpy as jnp

from .._provenance import provenance
from ..tasks import Batches
from ..train import Devices, initial_state, load_task, make_train_step, preset
from .timing import interleaved

_TASKS = ("listops", "retrieval", "pathfinder")  # those without a download
_TURN = 20  # batches per timing: a single one is too short


def bench_data() -> dict:
    """Milliseconds per batch and per train step, for the mini presets of FRACTAL."""
    times, ahead = {}, {}
    for name in _TASKS:
        config, devices = preset(name, "mini", "fractal"), Devices()
        task = load_task(config)
        batches = Batches(task, task.splits.train, config.data.batch, training=True)
        train_step, state = make_train_step(config, task), devices.copy(initial_state(config, task))
        batch, count = devices.share(batches[0]), 0

        def step(train_step=train_step, batch=batch):
            nonlocal state, count
            count += 1
            state = jax.block_until_ready(train_step(state, batch, jnp.int32(count)))

        def read(batches=batches):
            for number in range(_TURN):
                batches[number]

        taken = interleaved({"batch": read, "step": step})
        batch_time, step_time = taken["batch"].scaled(1e3 / _TURN), taken["step"].scaled(1e3)
        times[name] = {"batch": batch_time, "step": step_time}
        ahead[name] = step_time["median"] / batch_time["median"]
    return {
        "provenance": provenance(),
        "setting": {"model": "fractal", "preset": "mini"},
        "milliseconds": times,
        "batches_prepared_per_step": ahead,
    }
