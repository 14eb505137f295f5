"""Test signals, and the error under the fractional measure that memories are compared by."""

import numpy as np


def signals(length: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    t = (np.arange(length) + 0.5) / length
    return {
        "brownian": rng.standard_normal(length).cumsum() / np.sqrt(length),
        "sine": np.sin(6 * np.pi * t),
        "steps": np.repeat(rng.standard_normal(20), -(-length // 20))[:length],
        "chirp": np.sin(40 * np.pi * t**3),
    }


def relative_error(alpha: float, u: np.ndarray, x: np.ndarray) -> float:
    """‖u − Σ x_n p_n‖ / ‖u‖ in L2(μ), by Gauss-Legendre in the variable in which μ is uniform.

    Independent of the library: SciPy's Jacobi polynomials at the quadrature nodes.
    """
    from scipy.special import eval_jacobi

    length, order = len(u), len(x)
    # With age = v^(1/(1−α)), dμ = dv: integrate over each sample with three nodes.
    edges = ((length - np.arange(length + 1)) / length) ** (1 - alpha)
    nodes, weights = np.polynomial.legendre.leggauss(3)
    width = (edges[:-1] - edges[1:]) / 2
    v = (edges[:-1] + edges[1:])[:, None] / 2 + width[:, None] * nodes
    eta = 1 - 2 * v ** (1 / (1 - alpha))
    n = np.arange(order)
    scaled = x * np.sqrt((2 * n + 1 - alpha) / (1 - alpha))
    stored = sum(scaled[k] * eval_jacobi(k, -alpha, 0.0, eta) for k in n)
    mass = width[:, None] * weights
    return float(
        np.sqrt(np.sum(mass * (u[:, None] - stored) ** 2) / np.sum(mass * u[:, None] ** 2))
    )
