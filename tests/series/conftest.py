"""Files to read."""

import pytest


@pytest.fixture
def write(tmp_path):
    def one(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return one
