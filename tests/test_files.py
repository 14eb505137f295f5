import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import safetensors.numpy

from fractal._files import read_tensors, write_tensors

WRITE = """
import sys
import numpy as np
from fractal._files import write_tensors
tensors = {name: np.full(i + 1, i, t) for i, (name, t) in enumerate(
    [("b", "float32"), ("a", "float64"), ("é", "int8"), ("c", "bool")])}
write_tensors(sys.argv[1], tensors, {k: k * 3 for k in ("structure", "format", "more", "and")})
"""


def test_equal_tensors_give_equal_bytes_in_every_process(tmp_path):
    found = set()
    for seed in range(4):
        path = tmp_path / f"{seed}"
        subprocess.run(
            [sys.executable, "-c", WRITE, str(path)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        found.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(found) == 1


@pytest.mark.parametrize("count", [0, 1, 3])
def test_safetensors_reads_the_file_back(tmp_path, count):
    tensors = {f"{i}": np.arange(i, dtype=np.float64) / 7 for i in range(count)}
    write_tensors(tmp_path / "file", tensors, {"format": "f", "version": "1", "text": 'ü"\n' * 5})
    for found in (
        safetensors.numpy.load_file(tmp_path / "file"),
        read_tensors(tmp_path / "file", "f", 1)[0],
    ):
        assert set(found) == set(tensors)
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(found[name], tensor)
    assert read_tensors(tmp_path / "file", "f", 1)[1]["text"] == 'ü"\n' * 5
    data = (tmp_path / "file").read_bytes()
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0
    header = json.loads(data[8 : 8 + size])
    assert list(header) == sorted(header)


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_tensors(tmp_path / "file", {"a": np.zeros(1)}, {"format": "f", "version": "1"})

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_tensors(tmp_path / "file", {"a": np.ones(1)}, {"format": "f", "version": "1"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert read_tensors(tmp_path / "file", "f", 1)[0]["a"] == 0
