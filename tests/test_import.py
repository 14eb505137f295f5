import operator
import subprocess
import sys


def test_import_loads_nothing_heavy_until_it_is_used():
    code = (
        "import sys, fractal; "
        "assert not {'numpy', 'jax', 'matplotlib', 'scipy'} & set(sys.modules), 'import fractal'; "
        "fractal.theory.Fractional(0.5); fractal.OnlineMemory(0.5, 4); "
        "assert not {'jax', 'matplotlib', 'scipy'} & set(sys.modules), 'theory and memory'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error():
    import pytest

    import fractal

    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        operator.attrgetter("nonsense")(fractal)
    assert "OnlineMemory" in dir(fractal)
