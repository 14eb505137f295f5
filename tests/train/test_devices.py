"""Runs on several devices and in several processes, compared with the same run on one."""

import json
import os
import shutil
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

from fractal._errors import UserError
from fractal.train import join_processes

COMMAND = [sys.executable, "-m", "fractal.cli", "train", "listops", "--steps", "12"]
COMMAND += ["--data.batch", "16", "--model.width", "8", "--model.depth", "1"]
COMMAND += ["--model.norm", "batch", "--model.options.order", "2", "--log-every", "1"]


def started(out, folder, devices=1, *options):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [*COMMAND, "--out", str(out), "--data", str(folder), *options],
        env={**os.environ, "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 0, err
    return out


def losses(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return np.array([line["loss"] for line in lines if "loss" in line])


def remove_last_step(run):
    shutil.rmtree(run / "checkpoints" / "last" / "12")
    (run / "result.json").unlink()


@pytest.fixture(scope="module")
def alone(folder, tmp_path_factory):
    run = tmp_path_factory.mktemp("alone") / "run"
    finished(started(run, folder))
    return run


@pytest.mark.slow
def test_eight_devices_give_the_losses_of_one(folder, alone, tmp_path):
    finished(started(tmp_path / "run", folder, 8))
    np.testing.assert_allclose(losses(tmp_path / "run"), losses(alone), rtol=1e-4)


@pytest.mark.slow
def test_sequence_shards_give_the_losses_of_one_device_and_may_change(folder, alone, tmp_path):
    """Two groups of 4 devices; then one of 5, which pads the 96 steps of the task to 100."""
    run = tmp_path / "run"
    finished(started(run, folder, 8, "--sequence-shards", "4"))
    np.testing.assert_allclose(losses(run), losses(alone), rtol=1e-4)
    remove_last_step(run)
    command = [*COMMAND[:3], "train", "--resume", str(run), "--devices", "5"]
    done = subprocess.run(
        [*command, "--sequence-shards", "5"], capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr
    assert "resuming after step 11" in done.stderr
    assert len(losses(run)) == 12
    np.testing.assert_allclose(losses(run), losses(alone), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 4], ids=["whole sequences", "sequences across processes"])
def test_two_processes_give_the_losses_of_one_and_write_once(folder, alone, tmp_path, shards):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    joined = ("--sequence-shards", str(shards), "--coordinator", address, "--processes", "2")
    joined += ("--process",)
    both = [started(tmp_path / "run", folder, 2, *joined, str(number)) for number in range(2)]
    printed = [finished(process) for process in both]
    assert "test accuracy" in printed[0]
    assert printed[1] == ""
    assert len(losses(tmp_path / "run")) == 12
    np.testing.assert_allclose(losses(tmp_path / "run"), losses(alone), rtol=1e-4)
    one, two = (json.loads((run / "result.json").read_text()) for run in (alone, tmp_path / "run"))
    assert one["test_accuracy"] == two["test_accuracy"]


@pytest.mark.slow
def test_a_run_resumes_on_another_number_of_devices(alone, tmp_path):
    """The last step is repeated, on two virtual devices of the CPU."""
    run = tmp_path / "run"
    shutil.copytree(alone, run)
    remove_last_step(run)
    command = [*COMMAND[:3], "train", "--resume", str(run), "--devices", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert "resuming after step 11" in done.stderr
    assert len(losses(run)) == 12
    np.testing.assert_allclose(losses(run), losses(alone), rtol=1e-4)


def test_the_number_of_devices_is_fixed_by_the_first_computation():
    count = jax.device_count() + 1
    with pytest.raises(UserError, match="devices: cannot be changed after a computation"):
        join_processes(devices=count)
    with pytest.raises(UserError, match="devices must be an integer"):
        join_processes(devices=0)


def test_a_batch_that_the_devices_cannot_share_is_rejected(folder, tmp_path):
    process = started(tmp_path / "run", folder, 3)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "a batch of 16 cannot be shared by 3 devices" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_an_incomplete_description_of_the_processes_raises(monkeypatch):
    with pytest.raises(UserError, match="coordinator must be given"):
        join_processes(None, 2, 0)
    with pytest.raises(UserError, match="processes must be given"):
        join_processes("127.0.0.1:1234", None, 0)
    monkeypatch.setenv("FRACTAL_COORDINATOR", "127.0.0.1:1234")
    monkeypatch.setenv("FRACTAL_PROCESSES", "2")
    with pytest.raises(UserError, match="process must be given"):
        join_processes(None, None, None)
