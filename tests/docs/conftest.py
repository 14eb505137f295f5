import jax
import pytest


@pytest.fixture(autouse=True)
def standard_promotion():
    """Examples call optax as users do; its Adam mixes floats and integers."""
    with jax.numpy_dtype_promotion("standard"):
        yield
