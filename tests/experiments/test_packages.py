import zipfile

import pytest

from experiments import packages
from fractal.tasks import DataError


def wheel(folder, name):
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("one/data.csv", "1,2\n")


def test_a_file_is_read_from_the_wheel_of_its_package(tmp_path):
    wheel(tmp_path, "one-1.0-py3-none-any.whl")
    wheel(tmp_path, "another-1.0-py3-none-any.whl")
    assert packages.member(tmp_path, "one", "one/data.csv") == b"1,2\n"


def test_two_versions_of_a_package_are_rejected(tmp_path):
    for version in ("1.0", "1.1"):
        wheel(tmp_path, f"one-{version}-py3-none-any.whl")
    with pytest.raises(DataError, match="must contain one wheel of one: pip download"):
        packages.member(tmp_path, "one", "one/data.csv")
