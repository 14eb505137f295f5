"""The online memory compared with the dense update: blocks, single samples, several orders."""

import numpy as np

from .. import theory
from .._memory import OnlineMemory
from .._provenance import provenance
from .timing import interleaved

ALPHA, ORDER, BLOCK, STEPS = 0.9, 64, 10_000, 500
ORDERS = (16, 32, 64, 128, 256)


def bench_memory() -> dict:
    """Microseconds per sample, and ratios.

    The dense update is HiPPO's: x ← (I + hA/2)⁻¹ ((I − hA/2) x + hB u) with h = 1/k. It is timed
    with the solve in each step, as a stream needs it, and with all matrices precomputed, which
    needs the length of the stream in advance.
    """
    rng = np.random.default_rng(0)
    block, single = rng.standard_normal((BLOCK, 1)), rng.standard_normal(1)
    blocks, singles, legs = (OnlineMemory(alpha, ORDER) for alpha in (ALPHA, ALPHA, 0.0))
    for memory in (blocks, singles, legs):
        memory.push(block)
    dense = _Dense(ORDER, block[:STEPS, 0])
    candidates = {
        "block": (BLOCK, lambda: blocks.push(block)),
        "block, LegS": (BLOCK, lambda: legs.push(block)),
        "single samples": (STEPS, lambda: [singles.push(single) for _ in range(STEPS)]),
        "dense, solved": (STEPS, dense.solved),
        "dense, precomputed": (STEPS, dense.precomputed),
    }
    by_order = {}
    for order in ORDERS:
        by_order[order] = OnlineMemory(ALPHA, order).push(block)
        candidates[f"block, N = {order}"] = (
            BLOCK,
            lambda memory=by_order[order]: memory.push(block),
        )
    timings = interleaved({name: call for name, (_, call) in candidates.items()})
    per_sample = {
        name: timings[name].scaled(1e6 / samples) for name, (samples, _) in candidates.items()
    }
    ours = per_sample["block"]["median"]
    return {
        "provenance": provenance(),
        "setting": {"alpha": ALPHA, "order": ORDER, "channels": 1, "block": BLOCK},
        "microseconds_per_sample": per_sample,
        "samples_per_second": 1e6 / ours,
        "times_faster_than_dense_solved": per_sample["dense, solved"]["median"] / ours,
        "times_faster_than_dense_precomputed": per_sample["dense, precomputed"]["median"] / ours,
        "cost_of_order_256_over_64": per_sample["block, N = 256"]["median"]
        / per_sample["block, N = 64"]["median"],
    }


class _Dense:
    """The bilinear update with dense matrices."""

    def __init__(self, order: int, u: np.ndarray):
        op = theory.operator(theory.Fractional(ALPHA), order)
        self.A, self.B, self.u, self.eye = op.A, op.B, u, np.eye(order)
        steps = 1 / np.arange(1, len(u) + 1)
        self.halves = steps / 2
        self.transitions = np.stack(
            [np.linalg.solve(self.eye + h * self.A, self.eye - h * self.A) for h in self.halves]
        )
        self.inputs = np.stack(
            [2 * h * np.linalg.solve(self.eye + h * self.A, self.B) for h in self.halves]
        )

    def solved(self) -> np.ndarray:
        x = np.zeros(len(self.B))
        for h, u in zip(self.halves, self.u, strict=True):
            x = np.linalg.solve(self.eye + h * self.A, x - h * (self.A @ x) + 2 * h * u * self.B)
        return x

    def precomputed(self) -> np.ndarray:
        x = np.zeros(len(self.B))
        for transition, gain, u in zip(self.transitions, self.inputs, self.u, strict=True):
            x = transition @ x + gain * u
        return x
