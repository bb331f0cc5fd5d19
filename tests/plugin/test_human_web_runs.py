"""People in the browser sit a test: whole runs, with hands in the place of the page."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import Project
from run_folders import latest_run

from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm.agents import _mailbox

SCENARIO = """
def test_train(ltm):
    ltm.say("My train leaves from platform 14.")
    ltm.wait(span=0.5, time="2h")
    ltm.check("names it", "14" in ltm.ask("From which platform does it leave?"))
"""


@contextmanager
def hands(project: Path, *, most: int = 1_000) -> Iterator[list[str]]:
    """Answer what anybody is asked, up to so many messages; return who answered."""
    answered: list[str] = []
    over = threading.Event()

    def answer() -> None:
        while not over.is_set() and len(answered) < most:
            for run in project.glob(".ltm/runs/*"):
                for person in _mailbox.list_people(run):
                    box = person.waiting_box()
                    asked = None if box is None else box.open()
                    if box is not None and asked is not None and len(answered) < most:
                        box.show(asked)
                        box.reply(asked, f"{person.label}: platform 14")
                        answered.append(person.label)
            time.sleep(0.01)

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield answered
    finally:
        over.set()
        thread.join()


def test_two_people_are_two_columns_and_are_asked_at_the_same_time(
    project: Project,
) -> None:
    project.file(SCENARIO)
    with hands(project.path) as answered:
        result = project.ltm(
            "--ltm-concurrency=2", agent="ann=human:web,bob=human:web?notes=allowed"
        )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["ltm: ann is a person: *ltm serve*"])
    assert set(answered[:2]) == {"ann", "bob"}
    for path in latest_run(project.path).glob("*/journal.jsonl"):
        said = [
            each.reply
            for each in ConversationRecord.read_record(path).transcript
            if each.by
        ]
        label = path.parent.name.partition("~")[0]
        assert set(said) == {f"{label}: platform 14"}
        boxes = path.parent / "person"
        kept = [
            json.loads(file.read_text())["text"]
            for file in sorted(boxes.glob("*.answer.json"))
        ]
        assert kept[-len(said) :] == said


def test_a_run_that_was_stopped_goes_on_with_what_was_answered_meanwhile(
    project: Project,
) -> None:
    project.file(SCENARIO)
    project.conftest(
        """
        import threading, _thread, time, pathlib, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where the tests run in the background
        def stop():
            while not list(pathlib.Path(".ltm").glob("runs/*/*/person/*2.message.json")):
                time.sleep(0.01)
            _thread.interrupt_main()
        if not pathlib.Path("stopped").exists():
            pathlib.Path("stopped").touch()
            threading.Thread(target=stop, daemon=True).start()
        """
    )
    with hands(project.path, most=1):
        stopped = project.pytest(
            "--ltm-agent=ann=human:web",
            "--ltm-span=300",
            "--ltm-suite=none",
            subprocess=True,
        )
    assert stopped.ret == 2
    run = latest_run(project.path)
    [ann] = _mailbox.list_people(run)
    box = ann.waiting_box()
    assert box is not None
    asked = box.open()
    assert asked is not None
    box.reply(asked, "noted while nobody waited")
    with hands(project.path):
        resumed = project.pytest(f"--ltm-resume={run.name}", subprocess=True)
    resumed.assert_outcomes(passed=1)
    [path] = run.glob("*/journal.jsonl")
    assert "noted while nobody waited" in [
        each.reply for each in ConversationRecord.read_record(path).transcript
    ]
    assert _mailbox.list_people(run) == [ann]
