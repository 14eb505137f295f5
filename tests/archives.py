"""Archives made in tests."""

import io
import tarfile


def archive(files, kinds=()):
    """A .tar.gz of named contents, and of members of other kinds."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, kind, target in kinds:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return out.getvalue()
