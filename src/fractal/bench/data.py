"""Whether the data keeps ahead of training: a batch beside the step that consumes it."""

import jax
import jax.numpy as jnp

from ..tasks import Batches
from ..train import Devices, initial_state, load_task, make_train_step, preset
from .timing import interleaved, machine

_TASKS = ("listops", "retrieval", "pathfinder")  # those that need nothing fetched
_TURN = 20  # batches of a turn: one alone is too short to be timed


def bench_data() -> dict:
    """Milliseconds for a batch and for a training step, of FRACTAL's mini presets."""
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
        times[name] = {"a batch": batch_time, "a step": step_time}
        ahead[name] = step_time["median"] / batch_time["median"]
    return {
        "machine": {**machine(), "jax": jax.__version__},
        "setting": {"model": "fractal", "preset": "mini"},
        "milliseconds": times,
        "batches_ready_for_each_that_is_used": ahead,
    }
