"""A page in a headless chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from typing_extensions import Self

BROWSER = (
    shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
PATIENCE = 30.0


class Chromium:
    """A browser with one page at a time."""

    def __init__(self, profile: Path) -> None:
        assert BROWSER is not None
        self._open = ExitStack()
        self._process = subprocess.Popen(
            [BROWSER, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = profile / "DevToolsActivePort"
        until = time.monotonic() + PATIENCE
        while not (port_file.exists() and port_file.read_text().count("\n")):
            assert time.monotonic() < until, "chromium did not start"
            time.sleep(0.05)
        port = port_file.read_text().splitlines()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
            target = next(each for each in json.load(answer) if each["type"] == "page")
        # No keepalive: its thread draws from the module-level `random`, which belongs
        # to the running test.
        self._socket = self._open.enter_context(
            connect(target["webSocketDebuggerUrl"], max_size=None, ping_interval=None)
        )
        self._sent = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._open.close()
        self._process.terminate()
        self._process.wait(PATIENCE)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Execute a command of the protocol; messages that arrive before its result become events."""
        self._sent += 1
        self._socket.send(
            json.dumps({"id": self._sent, "method": method, "params": params})
        )
        while True:
            message = self._receive()
            if message.get("id") == self._sent:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file, wait until it is ready, and discard earlier events."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri() + fragment)
        self.wait_for("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Return the value of an expression (promises are awaited)."""
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < until, f"never true: {condition}"
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{element}.scrollIntoView({{block: 'center'}})")
        x, y, width, height = self.run(
            f"(() => {{ const r = {element}.getClientRects()[0]; return [r.x, r.y, r.width, r.height]; }})()"
        )
        place = (x + width / 2, y + height / 2)
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, *keys: str) -> None:
        """Press keys in sequence."""
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            more = {"text": text} if text else {}
            code = {"Enter": 13, " ": 32, "Tab": 9}.get(key, 0)
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown",
                key=key,
                windowsVirtualKeyCode=code,
                **more,
            )
            self.call(
                "Input.dispatchKeyEvent",
                type="keyUp",
                key=key,
                windowsVirtualKeyCode=code,
            )

    def screen(
        self, width: int, height: int, *, dark: bool = False, media: str = ""
    ) -> None:
        """Set the window's size and the reader's preferences."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        ]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def shot(self, path: Path, *, whole: bool = False) -> None:
        """Save a screenshot as PNG."""
        data = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole
        )["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self) -> bytes:
        """Return the page as printed."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    @property
    def complaints(self) -> list[str]:
        """Errors, warnings and dialogs since the page was opened."""
        found = []
        for event in self.events:
            kind, params = event["method"], event["params"]
            if kind == "Runtime.exceptionThrown":
                found.append(
                    str(
                        params["exceptionDetails"].get(
                            "exception", params["exceptionDetails"]
                        )
                    )
                )
            elif (
                kind == "Runtime.consoleAPICalled"
                and params["type"] in ("error", "warning", "assert")
            ) or kind in (
                "Log.entryAdded",
                "Page.javascriptDialogOpening",
            ):
                found.append(str(params))
        return found

    @property
    def requests(self) -> list[str]:
        """Requests to the network or the disk since the page was opened, except for the page itself."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls[1:] if not url.startswith("data:,")]

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._socket.recv(PATIENCE))
        if "method" in message:
            self.events.append(message)
            if message["method"] == "Page.javascriptDialogOpening":
                self._sent += 1
                accept = {
                    "id": self._sent,
                    "method": "Page.handleJavaScriptDialog",
                    "params": {"accept": True},
                }
                self._socket.send(json.dumps(accept))
        return message
