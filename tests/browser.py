"""A headless Chromium, driven through its DevTools pipe."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One page. `events` are all that the browser reported: requests, log entries, exceptions."""

    def __init__(self, commands: int, replies: int):
        self._commands, self._replies = os.fdopen(commands, "wb", 0), os.fdopen(replies, "rb")
        self._count, self._session, self._rest = 0, None, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._count:
                assert "error" not in reply, reply
                return reply["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._replies.fileno(), 1 << 16)
            if not read:
                pytest.fail("chromium ended unexpectedly")
            self._rest += read
        raw, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(raw)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path: pathlib.Path, width: int = 1280, height: int = 900) -> None:
        """Load a page and wait until it is complete."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._next()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def problems(self) -> list[str]:
        """Exceptions, console messages and log entries."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Addresses of all requests."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A new browser; the test is skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium on this machine: the script of the page was not run")
    down, up = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        # The browser reads commands from descriptor 3 and writes to 4. Copies above them come
        # first, since a pipe may have one of these numbers.
        redirected = (
            "import fcntl, os, sys; r, w = (fcntl.fcntl(int(x), fcntl.F_DUPFD, 10) for x in "
            "sys.argv[1:3]); os.dup2(r, 3); os.dup2(w, 4); os.execv(sys.argv[3], sys.argv[3:])"
        )
        arguments = [program, *_OPTIONS, f"--user-data-dir={profile}/profile"]
        process = subprocess.Popen(
            [sys.executable, "-c", redirected, str(down[0]), str(up[1]), *arguments],
            pass_fds=(down[0], up[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        for end in (down[0], up[1]):
            os.close(end)
        page = Browser(down[1], up[0])
        try:
            yield page
        finally:
            page._commands.close()
            page._replies.close()
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
