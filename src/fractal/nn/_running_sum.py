"""Sums over a stream of any length, in the precision of the device.

A float32 sum stops growing when its terms fall below half a unit in its last place: after 2²⁴ terms
of equal size. Here a sum is kept in three words: its rounded value, and two words for what rounding
removed. The value has a relative error of one rounding as long as a term is above 2⁻⁴⁸ of the sum.
"""

import jax.numpy as jnp
from jaxtyping import Array, Inexact


def accumulate(
    total: Inexact[Array, "*shape"],
    lost: Inexact[Array, "2 *shape"],
    term: Inexact[Array, "*shape"],
) -> tuple[Inexact[Array, "*shape"], Inexact[Array, "2 *shape"]]:
    """Add a term to a sum.

    Additions run from the smallest word to the largest. Each passes on its rounding error, so that
    only that of the smallest word is dropped.

    **Arguments:**

    - `total`: the sum so far, rounded.
    - `lost`: the remainder of the sum, in two words of decreasing size; zero at first.

    **Returns:** the new `total` and `lost`.
    """
    carry, smallest = _two_sum(term, lost[1])
    carry, middle = _two_sum(carry, lost[0])
    total, largest = _two_sum(carry, total)
    return total, jnp.stack([largest, middle + smallest])


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum, and its rounding error, which is exact."""
    total = a + b
    rounded_b = total - a
    return total, (a - (total - rounded_b)) + (b - rounded_b)
