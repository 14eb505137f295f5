"""Recordings at other speeds, and after a pause: the conditions of the experiment `speech`."""

import numpy as np
import scipy.signal
from jaxtyping import Float

_FRAME = 0.032  # seconds; two periods of the lowest voice
_SEARCH = 0.01  # seconds

Samples = Float[np.ndarray, " time"]


def resampled(samples: Samples, up: int, down: int) -> Samples:
    """up/down times as many samples, band-limited: another sampling rate, or another speed."""
    return scipy.signal.resample_poly(samples.astype(float), up, down)


def stretched(samples: Samples, speed: float, rate: int) -> Samples:
    """The recording at another speed with the same pitch, by overlapping frames (WSOLA).

    Each frame is taken from near its place in the recording, where it best continues the last one.
    """
    frame, search = 2 * int(_FRAME * rate / 2), int(_SEARCH * rate)
    hop, window = frame // 2, scipy.signal.windows.hann(frame, sym=False)
    count = int(np.ceil(len(samples) / speed / hop)) + 1
    padded = np.pad(samples.astype(float), (search + hop, frame + 2 * search + 2 * hop))
    out = np.zeros((count + 1) * hop)
    place = search
    for number in range(count):
        if number:
            expected = padded[place + hop : place + hop + frame]  # the frame that came next
            middle = min(round(number * hop * speed), len(samples)) + search
            region = padded[middle - search : middle + search + frame]
            fits = np.correlate(region, expected, "valid")
            energy = np.convolve(region**2, np.ones(frame), "valid")
            place = middle - search + int(np.argmax(fits / np.sqrt(energy + 1e-12)))
        out[number * hop : number * hop + frame] += window * padded[place : place + frame]
    return out[hop : hop + max(1, round(len(samples) / speed))]


def after(samples: Samples, seconds: float, rate: int, level: float, seed: int) -> Samples:
    """The recording after some seconds of silence, or of white noise of this level."""
    noise = np.random.default_rng(seed).standard_normal(round(seconds * rate))
    return np.concatenate([level * noise, samples])
