"""A task: does the frequency of a noisy tone rise or fall?"""

import numpy as np

import fractal


def load(request):
    """Recordings of different lengths with one channel, and a class for each."""
    rng = np.random.default_rng(0)
    count = 400 if request.preset == "mini" else 40_000
    labels = rng.integers(0, 2, count)
    recordings = []
    for label in labels:
        time = np.linspace(0, 1, rng.integers(48, 65))
        sweep = time**2 if label else 2 * time - time**2
        tone = np.sin(2 * np.pi * (rng.uniform(4, 8) * sweep + rng.uniform()))
        recordings.append((tone + 0.3 * rng.normal(size=time.size))[:, None])
    return fractal.tasks.from_arrays(recordings, labels, name="sweeps")


fractal.train.register_task("sweeps", load)
