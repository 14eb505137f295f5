"""Commands of `fractal`, run in the process of the tests."""

import pathlib

from fractal.cli import main


def run(capture, *arguments):
    """Exit code, stdout and stderr of a command; `capture` is capsys or capfd."""
    code = main([str(argument) for argument in arguments])
    return code, *capture.readouterr()


def check_mistake(capture, *arguments, complaint):
    """A user's mistake: exit code 2, one line on stderr, and no file in the current folder."""
    code, out, err = run(capture, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert list(pathlib.Path().iterdir()) == []
