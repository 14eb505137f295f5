import tarfile

import hypothesis
import hypothesis.strategies as st
import pytest

from archives import archive
from fractal.tasks import DataError
from fractal.tasks._archives import unpack


def keep_name(name):
    return name


@pytest.mark.parametrize("name", ["../out", "/etc/out", "package/../../out"])
def test_an_archive_with_an_unsafe_path_is_not_unpacked(tmp_path, name):
    (tmp_path / "a.tgz").write_bytes(archive({"package/one": b"1", name: b"2"}))
    (tmp_path / "inside").mkdir()
    with pytest.raises(DataError, match="unsafe path"):
        unpack(tmp_path / "a.tgz", keep_name, tmp_path / "inside")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tgz", "inside"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE,
                                  tarfile.FIFOTYPE])  # fmt: skip
def test_links_folders_and_pipes_are_not_extracted(tmp_path, kind):
    (tmp_path / "secret").write_text("secret")
    data = archive({}, [("package/one", kind, str(tmp_path / "secret"))])
    (tmp_path / "a.tgz").write_bytes(data)
    assert unpack(tmp_path / "a.tgz", keep_name, tmp_path / "out") == []
    assert not (tmp_path / "out").exists()


@hypothesis.given(st.binary(max_size=200), st.integers(0, 150))
def test_arbitrary_bytes_raise_data_errors_only(tmp_path_factory, data, keep):
    folder = tmp_path_factory.mktemp("any")
    good = archive({"package/one": b"1" * 50})
    (folder / "a.tgz").write_bytes(good[:keep] + data)
    try:
        names = unpack(folder / "a.tgz", keep_name, folder)
    except DataError:
        return
    if names:
        assert (folder / "package" / "one").read_bytes() == b"1" * 50
