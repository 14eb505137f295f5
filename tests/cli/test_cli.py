import json
import subprocess
import sys

import pytest

from commands import run


@pytest.fixture
def series(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("a\n1\n2\n3\n")
    return path


def test_verify_prints_a_verdict_for_each_claim(capsys):
    code, out, _ = run(capsys, "verify")
    assert code == 0
    assert "refuted" in out
    assert "confirmed" in out
    assert "10 holds, 0 fails" in out


@pytest.mark.slow
def test_verify_json_is_one_object_and_lists_the_figures(capsys, tmp_path):
    code, out, err = run(capsys, "verify", "--json", "--figures", tmp_path / "figures")
    found = json.loads(out)
    assert code == 0
    assert found["own_properties_hold"] is True
    assert {"source", "statement", "published", "measured", "value", "verdict"} == set(
        found["claims"][0]
    )
    assert len(found["condition_numbers"]) == 24
    assert all((tmp_path / "figures" / f"{name}.png").exists() for name in ("measures", "recall"))
    assert len(found["figures"]) == 5
    assert "drew" in err


def test_verify_exits_1_when_a_property_of_ours_fails(capsys, monkeypatch):
    from fractal.cli import verify
    from fractal.report.claims import of_ours

    monkeypatch.setattr(verify, "verify", lambda: [of_ours("here", "x", "1", "2", 2.0, False)])
    code, out, _ = run(capsys, "verify")
    assert code == 1
    assert "1 fails" in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "verify, memory, bench"),
        (["verfy"], "verify"),
        (["verify", "--figurs", "x"], "--figures"),
        (["memory"], "FILE must be given"),
        (["memory", "absent.csv"], "cannot read absent.csv"),
        (["memory", "."], "cannot read"),
        (["memory", "{series}", "--alpha", "much"], "--alpha"),
        (["memory", "{series}", "--alpha", "0.99"], "alpha must lie in [0, 0.95]"),
        (["memory", "{series}", "--alpha", "nan"], "alpha must lie in [0, 0.95]"),
        (["memory", "{series}", "--order", "7"], "order must be even"),
        (["memory", "{series}", "--plot", "x.gif"], ".png, .pdf or .svg"),
        (["memory", "{series}", "--plot", "absent/x.png"], "cannot write absent/x.png"),
        (["verify", "--figures", "{series}"], "cannot write figures"),
        (["bench", "everything"], "memory"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(capsys, series, arguments, complaint):
    code, out, err = run(capsys, *(a.replace("{series}", str(series)) for a in arguments))
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", ["verify", pytest.param("verify --json", marks=pytest.mark.slow)]
)
def test_a_closed_pipe_is_not_a_failure(arguments):
    command = f"{sys.executable} -m fractal.cli {arguments} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [["verify"], ["memory"], ["bench"]])
def test_help_fits_a_screen_and_shows_an_example(command):
    done = subprocess.run(
        [sys.executable, "-m", "fractal.cli", *command, "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "Example: fractal" in done.stdout
    assert len(done.stdout.splitlines()) <= 40
