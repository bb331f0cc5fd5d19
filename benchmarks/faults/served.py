"""`ltm serve` with clients that have no key, disconnect halfway, or ask for impossible pages."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one

HOST = "127.0.0.1"
STRANGERS = 3_000
"""Connections without a key, each with a POST that never ends."""
LONG = (
    "/compare?before={0}&after=b",
    "/report/{0}",
    "/live?run={0}",
    "/compare?before=a%00&after=b",
)


def served(setting: Setting) -> Iterator[Case]:
    """Yield servers with odd requests; afterwards each must still show its page."""
    runs.undisturbed(runs.prepared(setting.folder / "calm"), runs.words("drilled:Told"))
    for name in setting.some([*_TROUBLES]):
        yield Case(name, _play, (setting.folder / "calm", name))


def _play(folder: Path, calm: Path, name: str) -> Outcome:
    command = [
        sys.executable,
        "-m",
        "pytest_ltm",
        "serve",
        "--port=0",
        f"--ltm-dir={calm / '.ltm'}",
    ]
    with (
        (folder / "screen.txt").open("wb") as errors,
        subprocess.Popen(
            command,
            cwd=folder,
            env=runs.environment(folder),
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        try:
            place = re.match(
                r"http://[\d.]+:(\d+)(/open/\w+)", server.stdout.readline()
            )
            assert place is not None
            port = int(place[1])
            cookie = _ask(port, place[2])[1].partition(";")[0]
            trouble = _TROUBLES[name](port, cookie)
            status = _ask(port, "/", cookie)[0]
        finally:
            server.terminate()
    if "Traceback" in (folder / "screen.txt").read_text():
        return one("a traceback")
    return one(
        trouble
        or (
            None
            if status == http.client.OK
            else f"afterwards its page has status {status}"
        )
    )


def _ask(port: int, path: str, cookie: str = "") -> tuple[int, str]:
    connection = http.client.HTTPConnection(HOST, port, timeout=30)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("set-cookie") or ""


def _post(port: int, path: str = "/nobody") -> socket.socket:
    """Begin a POST whose body never arrives."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
        f"Origin: http://{HOST}:{port}\r\nContent-Length: 99999\r\n\r\n"
    )
    connection = socket.create_connection((HOST, port), timeout=30)
    connection.sendall(head.encode())
    return connection


def _long(port: int, cookie: str) -> str | None:
    asked = []
    for path in LONG:
        for size in (300, 5_000):
            asked.append(_ask(port, path.format("a" * size), cookie)[0])
    return (
        None if all(status in {404, 414} for status in asked) else f"it answers {asked}"
    )


def _leave(port: int, _: str) -> None:
    for path in ("/nobody", "/", "/compare") * 20:
        _post(port, path).close()


def _crowd(port: int, _: str) -> None:
    with ExitStack() as stack:
        for _number in range(STRANGERS):
            with suppress(OSError):  # the server may have closed the connection
                stack.enter_context(_post(port))


_TROUBLES: dict[str, Callable[[int, str], str | None]] = {
    "long": _long,
    "leaves": _leave,
    "crowd": _crowd,
}
