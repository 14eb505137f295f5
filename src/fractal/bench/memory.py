"""The online memory against the dense update, for blocks and single samples, by order."""

import numpy as np

from .. import theory
from .._memory import OnlineMemory
from .timing import interleaved, machine

ALPHA, ORDER, BLOCK, STEPS = 0.9, 64, 10_000, 500
ORDERS = (16, 32, 64, 128, 256)


def bench_memory() -> dict:
    """Times for one sample, in µs, and ratios.

    The dense update is HiPPO's: x ← (I + hA/2)⁻¹ ((I − hA/2) x + hB u) with h = 1/k. It is timed
    as a stream needs it, with the solve in each step, and with all of its matrices prepared
    beforehand, which a stream of unknown length cannot have.
    """
    rng = np.random.default_rng(0)
    block, single = rng.standard_normal((BLOCK, 1)), rng.standard_normal(1)
    blocks, singles, legs = (OnlineMemory(alpha, ORDER) for alpha in (ALPHA, ALPHA, 0.0))
    for memory in (blocks, singles, legs):
        memory.push(block)
    dense = _Dense(ORDER, block[:STEPS, 0])
    contestants = {
        "block": (BLOCK, lambda: blocks.push(block)),
        "block, LegS": (BLOCK, lambda: legs.push(block)),
        "one by one": (STEPS, lambda: [singles.push(single) for _ in range(STEPS)]),
        "dense, solving": (STEPS, dense.solving),
        "dense, prepared": (STEPS, dense.prepared),
    }
    by_order = {}
    for order in ORDERS:
        by_order[order] = OnlineMemory(ALPHA, order).push(block)
        contestants[f"block, N = {order}"] = (
            BLOCK,
            lambda memory=by_order[order]: memory.push(block),
        )
    timings = interleaved({name: call for name, (_, call) in contestants.items()})
    per_sample = {
        name: timings[name].scaled(1e6 / samples) for name, (samples, _) in contestants.items()
    }
    ours = per_sample["block"]["median"]
    return {
        "command": "fractal bench memory --json",
        "machine": machine(),
        "setting": {"alpha": ALPHA, "order": ORDER, "channels": 1, "block": BLOCK},
        "microseconds_per_sample": per_sample,
        "samples_per_second": 1e6 / ours,
        "times_faster_than_dense_solving": per_sample["dense, solving"]["median"] / ours,
        "times_faster_than_dense_prepared": per_sample["dense, prepared"]["median"] / ours,
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

    def solving(self) -> np.ndarray:
        x = np.zeros(len(self.B))
        for h, u in zip(self.halves, self.u, strict=True):
            x = np.linalg.solve(self.eye + h * self.A, x - h * (self.A @ x) + 2 * h * u * self.B)
        return x

    def prepared(self) -> np.ndarray:
        x = np.zeros(len(self.B))
        for transition, gain, u in zip(self.transitions, self.inputs, self.u, strict=True):
            x = transition @ x + gain * u
        return x
