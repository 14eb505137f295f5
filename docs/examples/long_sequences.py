"""Train on sequences of 1,048,576 steps, sharded along time over 8 virtual devices of a CPU.

    python long_sequences.py [STEPS_PER_SEQUENCE]

The classes differ in the frequency of a token. The model is small. On real devices leave out
`join_processes`: the mesh then has all GPUs or TPUs.
"""

import resource
import sys
import time

import numpy as np

import fractal
from fractal import tasks, train

DEVICES, LENGTH, TRAIN_STEPS = 8, 1_048_576, 5


def make_task(length):
    """Four sequences of bits per class, of which 30 % or 60 % are ones."""
    rng, labels = np.random.default_rng(0), np.tile([0, 1], 4)
    bits = rng.random((8, length)) < np.where(labels, 0.6, 0.3)[:, None]
    few = (bits[:2].astype(int), labels[:2])
    return tasks.from_arrays(
        bits.astype(int),
        labels,
        validation=few,
        test=few,
        kind="classification",
        inputs=2,
        outputs=2,
    )


def make_config():
    """Two blocks of width 16 with 2 × 8 modes in each direction; sequences one by one."""
    return train.Config(
        data=train.DataConfig("bits", batch=1),
        model=train.ModelConfig(width=16, depth=2, options={"order": 4, "alphas": [0.0, 0.9]}),
        optimizer=train.OptimizerConfig(lr=0.003, warmup=0),
        steps=TRAIN_STEPS,
        log_every=1,
    )


def main(length=LENGTH):
    """Train for a few steps, and print losses, times and the peak of the memory."""
    fractal.keep_freed_memory()
    train.join_processes(devices=DEVICES)
    config, task, devices = make_config(), make_task(length), train.Devices(DEVICES)
    state = devices.copy(train.initial_state(config, task))
    batches = tasks.Batches(task, task.splits.train, config.data.batch, training=True)
    train_step, losses = train.make_train_step(config, task, devices), []
    for step in range(1, TRAIN_STEPS + 1):
        start = time.perf_counter()
        state = train_step(state, devices.share(batches[step]), np.int32(step))
        losses.append(float(state.loss))
        print(f"step {step}: loss {losses[-1]:.3f}, {time.perf_counter() - start:.1f} s")
    gigabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{length:,} steps on {DEVICES} devices, {gigabytes:.1f} GiB in all")
    return losses


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
