"""Whether the data keeps ahead of training: a batch beside the step that consumes it."""

import jax

from .._provenance import provenance
from ..train._devices import Devices
from ..train._evaluation import batches_of
from ..train._loop import initial, load_task, updater
from ..train.presets import preset
from .timing import interleaved

_TASKS = ("listops", "retrieval", "pathfinder")  # those that need nothing fetched
_TURN = 20  # batches of a turn: one alone is too short to be timed


def bench_data() -> dict:
    """Milliseconds for a batch and for a training step, of FRACTAL's mini presets."""
    times, ahead = {}, {}
    for name in _TASKS:
        config, devices = preset(name, "mini", "fractal"), Devices()
        task = load_task(config)
        batches = batches_of(config, task, task.splits.train, devices, training=True)
        update, state = updater(config, task), devices.copy(initial(config, task))
        batch, done = devices.share(batches[0]), 0

        def step(update=update, batch=batch):
            nonlocal state, done
            done += 1
            state = jax.block_until_ready(update(state, batch, done))

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
