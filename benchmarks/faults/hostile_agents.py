"""Agents that do what no agent should: each misbehaves at one point of a conversation and behaves well otherwise.

Copied into the folder of a case, so it uses the standard library only. With
LTM_FAULTS_TAME set all of them behave well. As a script, `hostile.py NAME`, it is an
agent process that speaks JSON lines.
"""

# mypy: disable-error-code="func-returns-value"

from __future__ import annotations

import asyncio
import base64
import ctypes
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any, NoReturn

SECRET = os.environ.get("LTM_FAULTS_TOKEN", "")
TAME = "LTM_FAULTS_TAME" in os.environ
AT = 3
"""Number of the message at which it misbehaves."""
ESCAPES = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x85\u202e\u2066\x08\x7f"
"""Overwrites the clipboard, clears the screen, and colours and reverses the text that follows."""


class Tame:
    """Behaves well."""

    stateless = True
    asked = 0

    def reply(self, message: str) -> Any:
        """Return the end of the message."""
        self.asked += 1
        return f"{self.asked} {message[-60:]}"


class Unspeakable(Exception):
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError(ESCAPES)

    __repr__ = __str__


class UnspeakableValue(Unspeakable, ValueError):
    """The same, of a type whose texts are inspected."""


class Foreign(BaseException):
    """A BaseException, like pytest's own outcomes."""


class Text(str):
    """A text whose methods lie or fail."""

    __slots__ = ()

    def __len__(self) -> int:
        """Return a false length."""
        return -1  # noqa: PLE0303 - hostile

    def encode(self, *_: Any) -> NoReturn:
        """Fail."""
        raise Unspeakable

    __str__ = __repr__ = strip = lower = splitlines = encode  # type: ignore[assignment]


class Odd:
    """An object that cannot be inspected."""

    def __getattr__(self, _: str) -> Any:
        """Never return."""
        return hang()

    def __str__(self) -> str:
        """Never return."""
        return str(hang())


def then(said: str, *_: Any) -> str:
    """Return `said`, after the other arguments were evaluated."""
    return said


def raising(error: BaseException) -> Any:
    """Raise."""
    raise error


def hang() -> Any:
    """Never return, suppressing all exceptions."""
    while True:
        with suppress(BaseException):
            while True:
                time.sleep(0.01)


def in_c() -> None:
    """Wait like C code that never checks signals."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    try:
        time.sleep(600)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


def recursion() -> Any:
    """Recurse without end."""
    return recursion()


def eat() -> list[bytearray]:
    """Allocate memory until none is left, which is soon."""
    import resource

    resource.setrlimit(
        resource.RLIMIT_AS, (2**30, resource.getrlimit(resource.RLIMIT_AS)[1])
    )
    kept = []
    while True:
        kept.append(bytearray(2**26))


def forked() -> str:
    """Return twice, in parent and child."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return "twice"


def offspring() -> str:
    """Start a process that survives, in its own session."""
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(9999)"],
        start_new_session=True,
        stdin=-3,
        stdout=-3,
        stderr=-3,
    )
    return "a child"


def flood(stream: Any, size: int = 5_000_000) -> str:
    """Write more than anyone reads."""
    for _ in range(size // 1_000):
        stream.write(f"{SECRET} {ESCAPES} ".ljust(999, ".") + "\n")
    return "all written"


def endless_thread() -> str:
    """Leave a thread that never ends."""
    threading.Thread(target=lambda: time.sleep(9999), daemon=True).start()
    return "a thread"


def lasting_thread() -> str:
    """Leave a thread that Python waits for at exit."""
    threading.Thread(target=time.sleep, args=(9999,)).start()
    return "a thread"


def exit_in_thread() -> NoReturn:
    """End the process from a thread."""
    threading.Thread(target=os._exit, args=(0,)).start()
    raise SystemExit(time.sleep(600))


def delete_records() -> str:
    """Delete all recorded data."""
    shutil.rmtree(".ltm")
    return "nothing is left"


def replaced(name: str, value: Any) -> str:
    """Replace an attribute of `sys`."""
    setattr(sys, name, value)
    return f"replaced {name}"


def forgetting() -> str:
    """Remove modules from `sys.modules`."""
    for name in [name for name in sys.modules if name.startswith("json")]:
        del sys.modules[name]
    return "forgotten"


def blind() -> str:
    """Ignore the alarm signal, and do not return in time."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(600)
    return "late"


def end_session() -> NoReturn:
    """End the pytest session with the exit status of success."""
    import pytest

    pytest.exit("enough", returncode=0)


REPLIES: dict[str, Any] = {
    "raises": lambda: raising(ValueError(f"no: {SECRET} {ESCAPES}")),
    "raises_unspeakable": lambda: raising(Unspeakable()),
    "raises_unspeakable_value": lambda: raising(UnspeakableValue()),
    "ends_session": end_session,
    "raises_foreign": lambda: raising(Foreign(ESCAPES)),
    "raises_generator_exit": lambda: raising(GeneratorExit("end")),
    "raises_system_exit": lambda: sys.exit(0),
    "raises_stop_iteration": lambda: raising(StopIteration("end")),
    "raises_memory_error": lambda: raising(MemoryError()),
    "raises_cancelled": lambda: raising(asyncio.CancelledError()),
    "raises_group": lambda: raising(BaseExceptionGroup("many", [GeneratorExit()])),  # type: ignore[name-defined,unused-ignore]  # noqa: F821
    "raises_megabytes": lambda: raising(ValueError("x" * 5_000_000)),
    "recurses": recursion,
    "returns_none": lambda: None,
    "returns_bytes": lambda: "café".encode("latin-1"),
    "returns_number": lambda: float("nan"),
    "returns_nothing_known": Odd,
    "returns_false_text": lambda: Text("false"),
    "returns_too_much": lambda: "word " * 500_000,
    "returns_surrogates": lambda: "half \ud83d and \udcff",
    "returns_controls": lambda: f"\0{ESCAPES}\r\n\x0b\x0c\u2028\u2029",
    "returns_secret": lambda: f"it is {SECRET}",
    "returns_secret_hidden": lambda: (
        f"{base64.b64encode(SECRET.encode()).decode()} {SECRET.encode().hex()}"
    ),
    "returns_markup": lambda: (
        "</script><script>alert(1)</script> ]]> &#27; =cmd|' /C calc'!A0"
    ),
    "sleeps": lambda: time.sleep(600),
    "waits_in_c": in_c,
    "hangs": hang,
    "ignores_alarm": blind,
    "eats_memory": eat,
    "exits": lambda: os._exit(0),
    "aborts": os.abort,
    "segfaults": lambda: ctypes.string_at(0),
    "kills_itself": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "forks": forked,
    "has_offspring": offspring,
    "floods_stdout": lambda: flood(sys.stdout),
    "floods_stderr": lambda: flood(sys.stderr),
    "floods_descriptor": lambda: then(
        "all written", os.write(1, f"{SECRET} {ESCAPES}\n".encode() * 1_000)
    ),
    "closes_stdout": lambda: then("closed", sys.stdout.close()),
    "closes_descriptors": lambda: then("closed", os.closerange(0, 256)),
    "replaces_stdout": lambda: replaced("stdout", None),
    "replaces_excepthook": lambda: replaced("excepthook", None),
    "forgets_modules": forgetting,
    "limits_recursion": lambda: then("shallow", sys.setrecursionlimit(60)),
    "clears_environment": lambda: then("cleared", os.environ.clear()),
    "goes_elsewhere": lambda: then("elsewhere", os.chdir("/")),
    "stops_collecting": lambda: then("no more", gc.disable(), gc.set_threshold(0)),
    "leaves_a_thread": endless_thread,
    "leaves_a_lasting_thread": lasting_thread,
    "exits_in_thread": exit_in_thread,
    "deletes_records": delete_records,
    "stops_itself": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "terminates_itself": lambda: os.kill(os.getpid(), signal.SIGTERM),
}
"""The actions in place of a reply."""

MAKING = (
    "raises",
    "raises_system_exit",
    "raises_generator_exit",
    "sleeps",
    "hangs",
    "exits",
    "segfaults",
    "recurses",
)
"""Those that also occur in the constructor, as `made_NAME`."""
CLOSING = ("raises", "raises_system_exit", "sleeps", "hangs", "exits")
"""Those that also occur in `close`, as `closed_NAME`."""


class Hostile(Tame):
    """Misbehaves in one reply."""

    how = ""

    def reply(self, message: str) -> Any:
        """Reply, or misbehave."""
        said = super().reply(message)
        return REPLIES[self.how]() if self.asked == AT and not TAME else said


class Made(Tame):
    """Misbehaves in the constructor."""

    how = ""

    def __init__(self) -> None:
        super().__init__()
        if not TAME:
            REPLIES[self.how]()


class Closed(Tame):
    """Misbehaves in `close`."""

    how = ""

    def close(self) -> None:
        """Misbehave."""
        if not TAME:
            REPLIES[self.how]()


class Asynchronous(Tame):
    """Never returns to its event loop."""

    async def reply(self, message: str) -> Any:
        """Reply, or wait forever, suppressing all exceptions."""
        said = super().reply(message)
        while self.asked == AT and not TAME:
            with suppress(BaseException):
                await asyncio.Event().wait()
        return said


class Stopping(Tame):
    """Stops the event loop that it runs in."""

    async def reply(self, message: str) -> Any:
        """Reply, or stop the loop."""
        said = super().reply(message)
        if self.asked == AT and not TAME:
            asyncio.get_running_loop().stop()
            await asyncio.sleep(600)
        return said


class Boasting(Tame):
    """Reports impossible usage and retrieved texts."""

    def usage(self) -> Any:
        """Return an invalid usage."""
        return {"input_tokens": float("nan")} if not TAME else None

    def retrieved(self) -> Any:
        """Return values that are not texts."""
        return [object(), None, SECRET, ESCAPES]


class Unsaved(Tame):
    """An agent whose state cannot be saved."""

    def save(self) -> Any:
        """Return a text instead of bytes."""
        return SECRET if not TAME else b""

    def load(self, state: bytes) -> None:  # noqa: ARG002 - the protocol's signature
        """Fail."""
        raise Unspeakable


class Unclear(Tame):
    """An agent whose configuration is not JSON."""

    def configuration(self) -> Any:
        """Return an object that cannot be serialized."""
        return {SECRET: object()} if not TAME else {}


class Cyclic(Tame):
    """An agent whose configuration contains itself."""

    def configuration(self) -> Any:
        """Return a cyclic value."""
        endless: dict[str, Any] = {}
        endless["self"] = endless
        return endless if not TAME else {}


CLASSES: dict[str, type] = {
    "awaits": Asynchronous,
    "stops_loop": Stopping,
    "boasts": Boasting,
    "is_unsaved": Unsaved,
    "is_unclear": Unclear,
    "is_cyclic": Cyclic,
    **{name: type(name, (Hostile,), {"how": name}) for name in REPLIES},
    **{f"made_{name}": type(f"made_{name}", (Made,), {"how": name}) for name in MAKING},
    **{
        f"closed_{name}": type(f"closed_{name}", (Closed,), {"how": name})
        for name in CLOSING
    },
}
globals().update(CLASSES)


# --- in a process


def say(text: str) -> str:
    """Write text to stdout unchanged."""
    sys.stdout.write(text)
    sys.stdout.flush()
    return ""


def slowly() -> str:
    """Write a letter every tenth of a second."""
    for letter in '{"reply": "' + "a" * 1_000:
        say(letter)
        time.sleep(0.1)
    return ""


def multiply() -> None:
    """Start children that fork further ones, all ignoring SIGTERM, in their own sessions."""
    code = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.fork(); os.setsid(); os.fork(); "
    code += "time.sleep(9999)"
    for _ in range(5):
        subprocess.Popen([sys.executable, "-c", code], start_new_session=True)


LINES: dict[str, Any] = {
    "garbage": lambda: say(f"Loading weights {SECRET} {ESCAPES}\n"),
    "list": lambda: say("[1]\n"),
    "null": lambda: say('{"reply": null}\n'),
    "number": lambda: say('{"reply": 1e999}\n'),
    "nan": lambda: say('{"reply": NaN}\n'),
    "empty_lines": lambda: say("\n" * 10_000),
    "two_at_once": lambda: say('{"reply": "one"}\n{"reply": "two"}\n'),
    "surrogates": lambda: say('{"reply": "\\ud83d"}\n'),
    "not_utf8": lambda: then(
        "", sys.stdout.buffer.write(b'{"reply": "\xff\xfe"}\n'), sys.stdout.flush()
    ),
    "deep": lambda: say("[" * 1_000_000 + "\n"),
    "long_line": lambda: say('{"reply": "' + "a" * 20_000_000 + '"}\n'),
    "endless_line": lambda: [say("a" * 1_000_000) for _ in range(100_000)],
    "endless_lines": lambda: [say("{}\n" * 100_000) for _ in range(100_000)],
    "false_usage": lambda: say(
        '{"reply": "a", "usage": {"input_tokens": -5, "output_tokens": "many"}}\n'
    ),
    "false_cost": lambda: say('{"reply": "a", "cost_usd": -1e308}\n'),
    "error": lambda: say(json.dumps({"error": f"no: {SECRET} {ESCAPES}"}) + "\n"),
    "secret": lambda: say(json.dumps({"reply": SECRET}) + "\n"),
    "controls": lambda: say(json.dumps({"reply": ESCAPES}) + "\n"),
    "slow_drip": slowly,
    "family": lambda: then("", multiply(), say('{"reply": "many"}\n')),
    "closed_stdout": lambda: then("", os.close(1), time.sleep(600)),
    "closed_stdin": lambda: then("", os.close(0), time.sleep(600)),
    "deaf": lambda: then("", signal.signal(signal.SIGTERM, signal.SIG_IGN), hang()),
    "floods_stderr": lambda: then(
        "", flood(sys.stderr, 50_000_000), say('{"reply": "a"}\n')
    ),
    "kills_parent": lambda: then("", os.kill(os.getppid(), signal.SIGKILL), hang()),
    "stops": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "exits": lambda: os._exit(0),
    "segfaults": lambda: ctypes.string_at(0),
}
"""The actions in place of a line of JSON."""


SERVERS: dict[str, Any] = {
    "mcp_family": lambda: then(
        "", multiply(), signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ),
    "mcp_floods": lambda: flood(sys.stdout, 50_000_000),
    "mcp_exits": lambda: os._exit(0),
    "mcp_deaf": lambda: then("", signal.signal(signal.SIGTERM, signal.SIG_IGN), hang()),
}
"""The actions of a memory behind MCP when it stores its third text."""


def serve(trouble: Any) -> None:
    """Run a memory server on stdio."""
    from mcp.server import MCPServer

    notes: list[str] = []

    def add(text: str) -> str:
        notes.append(text)
        if len(notes) == AT and not TAME:
            trouble()
        return "kept"

    def search(query: str, k: int) -> list[str]:
        return [note for note in notes if query][:k]

    server = MCPServer("notes")
    for tool in (add, search):
        server.add_tool(tool)
    server.run()


def main() -> None:
    """Run the named agent as a process."""
    if trouble := SERVERS.get(sys.argv[1]):
        serve(trouble)
        return
    agent = Tame()
    for line in sys.stdin:
        said = agent.reply(json.loads(line)["message"])
        if agent.asked == AT and not TAME:
            LINES[sys.argv[1]]()
        else:
            print(json.dumps({"reply": said}), flush=True)


if __name__ == "__main__":
    main()
