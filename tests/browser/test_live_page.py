"""The live view in a real Chromium: three agents grow, while the server is killed and restarted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _chromium import Chromium
from alone import alone
from run_folders import latest_run

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytest.importorskip("starlette", reason="the page needs the extra web")
pytest.importorskip("uvicorn", reason="the page needs the extra web")
pytestmark = pytest.mark.slow

BOTS = """
import time
from pathlib import Path

class Slow:
    def reply(self, message):
        if len(list(Path().glob("go*"))) == 0:
            time.sleep(0.05)
        return f"<script>alert(1)</script> {message[:20]}"
"""
POSITIONS = "[...document.querySelectorAll('.card progress')].map((each) => each.value)"
PATIENCE = 60.0


@contextmanager
def serving(
    project: Path, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `ltm serve`; return its process and the link it prints."""
    command = [sys.executable, "-m", "pytest_ltm", "serve", "--port", str(port)]
    process = subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def go(browser: Chromium, url: str) -> None:
    browser.call("Page.navigate", url="about:blank")
    browser.events.clear()
    browser.call("Page.navigate", url=url)
    shows(browser, "")


def shows(browser: Chromium, text: str) -> None:
    """Wait until the page shows this text."""
    browser.wait_for(
        "location.href !== 'about:blank' && document.readyState === 'complete' && "
        f"document.body.innerText.includes({json.dumps(text)})"
    )


@contextmanager
def playing(project: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run in a separate process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=project,
        stdout=subprocess.DEVNULL,
        env={**os.environ, **alone(), "PYTEST_ADDOPTS": ""},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@WHOLE_RUN
def test_three_agents_are_seen_growing_and_a_killed_page_changes_nothing(
    browser: Chromium, tmp_path: Path
) -> None:
    (tmp_path / "bots.py").write_text(BOTS)
    agents = ",".join(f"{name}=bots:Slow" for name in "abc")
    (tmp_path / ".ltm").mkdir()
    options = [
        f"--ltm-agent={agents}",
        "--ltm-span=2k",
        "--ltm-concurrency=3",
        "--ltm-suite=hygiene",
    ]
    browser.screen(1440, 1000)
    with serving(tmp_path) as (server, link), playing(tmp_path, *options) as process:
        base = link.partition("/open")[0]
        browser.wait_for("true")
        go(browser, link)
        run = begun(browser, base)
        go(browser, f"{base}/live?run={run}")
        browser.wait_for(f"{POSITIONS}.length === 3")
        before = browser.run(POSITIONS)
        browser.wait_for(
            f"{POSITIONS}.every((value, at) => value > {json.dumps(before)}[at])"
        )
        browser.click(".card button")
        browser.wait_for("document.querySelectorAll('.exchange').length > 3")
        assert (
            browser.run(
                "document.querySelector('#transcript').getBoundingClientRect().top"
            )
            < 1000
        )
        assert browser.run("document.querySelectorAll('.exchange script').length") == 0
        assert browser.run("document.querySelectorAll('.card rect').length") > 3
        assert browser.complaints == []
        server.kill()
        server.wait()
        shows(browser, "The run continues without it")
        (tmp_path / "go").touch()
        assert process.wait(PATIENCE) == 1  # the agents remember nothing
    with serving(tmp_path) as (_, link):
        go(browser, link)
        go(browser, f"{link.partition('/open')[0]}/live#{run}%2Fb~2k~0")
        shows(browser, "Finished.")
        assert browser.run(POSITIONS) == positions(latest_run(tmp_path))
        assert (
            browser.run("document.querySelector('#said').innerText").count("<script>")
            > 3
        )
        browser.screen(390, 800)
        assert browser.run("document.documentElement.scrollWidth") == 390
        browser.click("[data-run] a")
        shows(browser, "forget_on_request")
        assert browser.complaints == []


def begun(browser: Chromium, base: str) -> str:
    """Return the run listed on the page, once it is there and its conversations have begun."""
    for _ in range(200):
        go(browser, f"{base}/")
        found: list[str] = browser.run(
            "[...document.querySelectorAll('a[href^=\"/live?\"]')].map((one) => one.href)"
        )
        if found:
            return found[0].partition("run=")[2]
    raise AssertionError("no run was listed")


def positions(run: Path) -> list[int]:
    """Return the tokens of each conversation, by folder."""
    found = [
        json.loads(path.read_text())["tokens"]
        for path in sorted(run.glob("*/results.json"))
    ]
    assert len(found) == 3
    return found


@WHOLE_RUN
def test_the_link_of_a_run_opens_its_live_view_and_ends_with_it(
    browser: Chromium, tmp_path: Path
) -> None:
    (tmp_path / "bots.py").write_text(BOTS)
    command = [
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--ltm-agent=bots:Slow",
        "--ltm-live",
        "--ltm-suite=hygiene",
    ]
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, **alone()},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = next(line for line in process.stdout if line.startswith("ltm: live at "))
        go(browser, said.split()[-1])
        browser.wait_for("document.querySelector('.card progress')?.value > 0")
        (tmp_path / "go").touch()
        process.stdout.read()
        assert process.wait(PATIENCE) == 1
        shows(browser, "ltm serve shows runs and their reports")
        assert (
            browser.run("document.querySelector('.card').innerText").count(
                "0 not played"
            )
            == 1
        )
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
