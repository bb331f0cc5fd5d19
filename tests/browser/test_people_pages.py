"""The local page in a real Chromium: a person sits a test, two people review; the server is killed meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from _chromium import Chromium
from alone import alone
from run_folders import held, latest_run, played, write_run

from pytest_ltm._core.journal import amendments
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import QuestionResult
from pytest_ltm.agents import _mailbox
from pytest_ltm.web.review import decisions
from pytest_ltm.web.review.findings import reviewer_agreements

pytest.importorskip("starlette", reason="the page needs the extra web")
pytest.importorskip("uvicorn", reason="the page needs the extra web")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.nightly("minutes of keys and clicks", every=2),
]

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> Teal"
PATIENCE = 60.0


@contextmanager
def serving(
    project: Path, port: int = 0
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `ltm serve`; return its process and the link that it prints."""
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
    """Wait until a page is there, with this text."""
    browser.wait_for(
        "location.href !== 'about:blank' && document.readyState === 'complete' && "
        f"document.body.innerText.includes({json.dumps(text)})"
    )


def types(browser: Chromium, text: str) -> None:
    browser.call("Input.insertText", text=text)


def sends(browser: Chromium) -> None:
    """Press Ctrl+Enter."""
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            windowsVirtualKeyCode=13,
            modifiers=2,
        )


# --- a person


SCENARIO = """
import pytest

@pytest.mark.parametrize("platform", range(1, 11))
def test_train(ltm, platform):
    ltm.say(f"My train to town {platform} leaves from platform {platform}.")
    ltm.wait(span=0.3)
    ltm.check("names it", ltm.ask(f"From which platform does the train to town {platform} leave?") == str(platform))
"""


@contextmanager
def playing(project: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run in a process of its own."""
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


def invited(project: Path) -> str:
    """Return the link of the person whom a run asks, once there is one."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        for run in project.glob(".ltm/runs/*"):
            for person in _mailbox.list_people(run):
                return person.link
        time.sleep(0.05)
    raise AssertionError("nobody was invited")


def answers(browser: Chromium, *, most: int = 1_000) -> int:
    """Sit the test with keys alone, up to so many answers; return how many there were."""
    given = 0
    while given < most:
        head, text = browser.run(
            "document.readyState !== 'complete' ? ['', ''] : "
            "['h1', '#text'].map((name) => document.querySelector(name)?.innerText ?? '')"
        )
        if head == "Finished":
            break
        if head.startswith("Message"):
            asked = re.search(r"From which platform does the train to town (\d+)", text)
            types(browser, asked[1] if asked else "")
            sends(browser)
            given += 1
            browser.wait_for(
                f"document.querySelector('#text')?.innerText !== {json.dumps(text)}"
            )
        elif head in ("Said meanwhile", "A break"):
            browser.press("Enter")
            browser.wait_for(
                f"document.querySelector('h1')?.innerText !== {json.dumps(head)}"
            )
        else:
            time.sleep(0.05)
    return given


def test_a_person_sits_ten_scenarios_and_goes_on_after_server_and_run_were_killed(
    browser: Chromium, tmp_path: Path
) -> None:
    (tmp_path / "test_trains.py").write_text(SCENARIO)
    run = [
        "--ltm-agent=ann=human:web",
        "--ltm-span=600",
        "--ltm-suite=none",
        "test_trains.py",
    ]
    with serving(tmp_path) as (server, link):
        port = int(link.split(":")[2].partition("/")[0])
        with playing(tmp_path, *run) as process:
            sit = f"{link.partition('/open')[0]}/sit/{invited(tmp_path)}"
            go(browser, sit)
            browser.press("Tab")
            browser.run("document.getElementById('nickname').focus()")
            types(browser, "Annie")
            for key in ("Tab", " ", "Tab", "Enter"):
                browser.press(key)
            shows(browser, "Message 1")
            assert answers(browser, most=3) == 3
            shows(browser, "Message 4")
            types(browser, "half an answer")
            process.send_signal(signal.SIGKILL)
        server.kill()
    with (
        serving(tmp_path, port) as (_, _),
        playing(tmp_path, f"--ltm-resume={latest_run(tmp_path).name}") as process,
    ):
        go(browser, sit)
        browser.wait_for("!!document.querySelector('h1')")
        if browser.run("document.querySelector('h1').innerText") == "A break":
            browser.press("Enter")
        shows(browser, "Message 4")
        browser.wait_for("document.querySelector('#reply').value === 'half an answer'")
        browser.run("document.querySelector('#reply').select()")
        answers(browser)
        assert process.wait(PATIENCE) == 0
    assert browser.run("document.body.innerText").count("Annie") == 1
    [path] = latest_run(tmp_path).glob("*/journal.jsonl")
    said = {
        each.message: each.reply
        for each in ConversationRecord.read_record(path).transcript
        if "From which" in each.message
    }
    assert {
        message: reply for message, reply in said.items() if reply not in message
    } == {}
    results = json.loads((path.parent / "results.json").read_text())["scenarios"]
    assert {
        row["questions"][0]["text"]: row["questions"][0]["answer"] for row in results
    } == said
    assert [row["score"] for row in results] == [1.0] * 10
    boxes = path.parent / "person"
    kept = [
        json.loads(file.read_text()) for file in sorted(boxes.glob("*.answer.json"))
    ]
    assert all(0 < answer["seconds"] < PATIENCE for answer in kept)


# --- review


def test_two_people_review_twenty_verdicts_with_keys_alone(
    page: Chromium, tmp_path: Path
) -> None:
    rows = [
        played(
            "colours",
            None,
            example=str(i),
            cause="unscored",
            evidence="Teal",
            reason=HOSTILE,
            questions=(
                QuestionResult(number=3, text=f"Which is it, {i}?", answer=HOSTILE),
            ),
        )
        for i in range(20)
    ]
    (tmp_path / ".ltm" / "runs").mkdir(parents=True)
    path = write_run(tmp_path / ".ltm" / "runs" / "run", held(rows))
    with serving(tmp_path) as (server, link):
        port = int(link.split(":")[2].partition("/")[0])
        base = link.partition("/open")[0]
        go(page, link)
        shows(page, "Runs")
        for reviewer, keys in (
            ("ann", "r" * 10 + "w" * 10),
            ("bob", "r" * 10 + "w" * 8 + "rr"),
        ):
            go(page, f"{base}/review/run/look?reviewer={reviewer}")
            for number, key in enumerate(keys):
                shows(page, f"{20 - number} of 20 left")
                assert (
                    page.run(
                        "document.querySelectorAll('.said script, .said img').length"
                    )
                    == 0
                )
                if number == 5 and reviewer == "bob":
                    server.kill()  # what was decided is on disk
                    server.wait()
                    break
                page.press(key)
            else:
                shows(page, "Nothing left to review")
    with serving(tmp_path, port) as (server, link):
        go(page, link)
        go(page, f"{base}/review/run/look?reviewer=bob")
        for number, key in enumerate("r" * 5 + "w" * 8 + "rr"):
            shows(page, f"{15 - number} of 20 left")
            page.press(key)
        shows(page, "Nothing left to review")
        go(page, f"{base}/review/run?reviewer=bob")
        shows(page, "0.80 (")
        shows(page, "Settle 2 disputed")
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE) == 0
    opinions = decisions.Opinions(decisions.read_decisions(path))
    [pair] = reviewer_agreements(opinions)
    assert pair.kappa.value == pytest.approx(
        0.8
    )  # 18 of 20 agree; by chance, 10 of 20 would
    assert len(amendments.read_amendments(path)) == 18
    page.events = [
        event for event in page.events if event["method"] != "Network.requestWillBeSent"
    ]
