"""The live view and the list of runs: growing journals, whatever they contain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asking import ask
from run_folders import held, played, write_run

from pytest_ltm.api.journal import FILE, SUMMARY, Journal, events
from pytest_ltm.api.storage import START

pytest.importorskip("starlette", reason="the page needs the extra web")

from pytest_ltm.web import live_page
from pytest_ltm.web.app import make_app
from pytest_ltm.web.live_page import FollowedRun

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
NAME = "bot~2k~0"


def header() -> events.Header:
    plan = {
        "span": 100,
        "examples": [
            {"scenario": "colours", "example": str(number)} for number in range(3)
        ],
    }
    return events.Header(
        plan=plan, plan_fingerprint="p", agent_fingerprint="a", now=START
    )


def exchange(
    number: int, text: str = "Teal", by: str = "colours/0"
) -> list[events.Event]:
    asked = events.MessageSent(
        exchange=number,
        by=by,
        kind="say",
        text=f"message {number}",
        tokens=5,
        position=10 * number,
        now=START,
    )
    return [
        asked,
        events.ReplyReceived(exchange=number, text=text, tokens=5, cost_usd=0.25),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a run in progress."""
    found = tmp_path / "runs" / "run"
    (found / NAME).mkdir(parents=True)
    return found


@pytest.fixture
def journal(folder: Path) -> Iterator[Journal]:
    """Return the journal of its only conversation: one scenario speaks, one waits, one has not begun."""
    made = Journal.at(folder / NAME / "journal.jsonl")
    for event in (
        header(),
        events.Begin(example="colours/0", position=0, now=START),
        *exchange(0),
        events.Begin(example="colours/1", position=10, now=START),
        events.WaitBegan(example="colours/1", tokens=50, time=START),
    ):
        made.write(event)
    yield made
    made.close()


def state(run: FollowedRun) -> dict[str, Any]:
    [found], _ = run.read_on()
    return found.state()


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    return make_app(ltm_dir=tmp_path, secret="k", hosts=["127.0.0.1:1"], port=1)


def pushed(
    app: Starlette, address: str = "/live/events?run=run"
) -> dict[str, list[Any]]:
    """Return the events pushed to a page once its runs are over, by event name."""
    found: dict[str, list[Any]] = {}
    for part in ask(app, address).text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in part.splitlines())
        if "event" in lines:
            found.setdefault(lines["event"], []).append(json.loads(lines["data"]))
    return found


# --- following


def test_scenarios_are_speaking_waiting_and_to_come(
    folder: Path, journal: Journal
) -> None:
    del journal
    told = state(FollowedRun(folder))
    assert [line[:3] for line in told["lines"]] == [
        ["colours/0", "open", 0],
        ["colours/1", "waiting", 10],
        ["colours/2", "to come", 0],
    ]
    assert (told["n_open"], told["n_waiting"], told["n_to"], told["n_done"]) == (
        1,
        1,
        1,
        0,
    )
    assert (told["position"], told["target"], told["usd"], told["ended"]) == (
        10,
        100,
        0.25,
        "",
    )


def test_what_is_written_later_is_read_without_what_came_before(
    folder: Path, journal: Journal
) -> None:
    run = FollowedRun(folder)
    before = state(run)
    for event in (
        *exchange(1, by="colours/1"),
        events.Fault(exchange=1, text=HOSTILE),
        events.End(example="colours/0"),
        events.VerdictRecorded(
            example="colours/0", score=0.5, reason="", rule="", evidence="", checks=()
        ),
    ):
        journal.write(event)
    after = state(run)
    assert (before["exchanges"], after["exchanges"], after["position"]) == (1, 2, 20)
    assert [line[1] for line in after["lines"]] == ["done", "open", "to come"]
    assert (after["sum"], after["scored"], after["faults"]) == (0.5, 1, 1)
    assert "\x1b" not in after["fault"]


def test_half_a_line_waits_for_its_other_half(folder: Path, journal: Journal) -> None:
    del journal
    path = folder / NAME / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    run = FollowedRun(folder)
    assert state(run)["n_waiting"] == 0
    with path.open("ab") as file:
        file.write(whole[-7:])
    told = state(run)
    assert (told["n_waiting"], told["trouble"]) == (1, "")


def test_a_journal_that_is_damaged_says_so_and_shows_what_came_before(
    folder: Path, journal: Journal
) -> None:
    for event in exchange(1):
        journal.write(event)
    path = folder / NAME / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b"message 1", b"massage 1"))
    told = state(FollowedRun(folder))
    assert (told["exchanges"], told["trouble"].partition(":")[0]) == (
        1,
        "line 7 of the journal is damaged",
    )


def test_a_journal_of_a_later_version_says_so(folder: Path) -> None:
    text = events.encode_event(header()).replace(
        f'"format":{events.FORMAT}', '"format":99'
    )
    (folder / NAME / "journal.jsonl").write_text(text)
    assert "format 99" in state(FollowedRun(folder))["trouble"]


def test_a_journal_that_is_deleted_and_comes_back_is_read_anew(
    folder: Path, journal: Journal
) -> None:
    del journal
    run, path = FollowedRun(folder), folder / NAME / "journal.jsonl"
    state(run)
    kept = path.read_bytes()
    path.unlink()
    found = run.read_on()[0]
    assert [each.trouble for each in found] == ["the journal was deleted"]
    path.write_bytes(kept)
    told = state(run)
    assert (told["trouble"], told["exchanges"]) == ("", 1)


def test_a_journal_that_was_cut_is_read_anew(folder: Path, journal: Journal) -> None:
    run, path = FollowedRun(folder), folder / NAME / "journal.jsonl"
    for event in exchange(1):
        journal.write(event)
    assert state(run)["exchanges"] == 2
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    assert state(run)["exchanges"] == 1


def test_no_journal_keeps_the_others_waiting(
    folder: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_page, "AT_ONCE", 1_000)
    for number in range(1, 50):
        for event in exchange(number):
            journal.write(event)
    run = FollowedRun(folder)
    looks = 1
    while run.read_on()[1]:
        looks += 1
    assert looks > 3
    assert state(run)["exchanges"] == 50


def test_a_message_without_reply_is_shown_and_replaced(
    folder: Path, journal: Journal
) -> None:
    run = FollowedRun(folder)
    asked, given = exchange(1)
    journal.write(asked)
    [found], _ = run.read_on()
    assert [(row[0], row[4]) for row in found.last_exchanges()] == [
        (0, "Teal"),
        (1, None),
    ]
    journal.write(given)
    run.read_on()
    assert [(row[0], row[4]) for row in found.last_exchanges(after=0)] == [(1, "Teal")]
    assert [row[0] for row in found.last_exchanges(before=1)] == [0]


def test_the_budget_of_a_run_is_told(folder: Path, journal: Journal) -> None:
    del journal
    options = {"ltm_max_cost": "2.5"}
    text = {
        "format": "pytest-ltm run 1",
        "run": "run",
        "options": options,
        "paths": [],
        "folder": "",
        "settings": {},
    }
    (folder / FILE).write_text(json.dumps(text | {"versions": {}}))
    (folder / "budget.json").write_text('{"agent": {"bot~2k~0": [0.25, 100, 2]}}')
    run = FollowedRun(folder)
    run.read_on()
    assert (
        run.state()["budget"] == "$0.2500, 100 tokens, 2 replies spent of 2.5 dollars"
    )
    (folder / "budget.json").write_text('{"agent": 7}')
    assert run.state()["budget"] == ""


# --- pushing


def test_a_page_that_is_opened_later_is_told_all(
    app: Starlette, folder: Path, journal: Journal
) -> None:
    journal.write(events.Fault(exchange=0, text=HOSTILE))
    journal.write(events.End(reason="complete"))
    (folder / SUMMARY).write_text("{}")
    told = pushed(app, f"/live/events?run=run&open=run/{NAME}")
    assert list(told) == ["begin", "runs", "conversations", "said", "over"]
    assert told["runs"][0][0]["over"] is True
    assert told["conversations"][0][0]["ended"] == "complete"
    assert told["said"][0][0][3:5] == ["message 0", "Teal"]
    assert told["over"] == [False]


def test_earlier_exchanges_can_be_had(
    app: Starlette, folder: Path, journal: Journal
) -> None:
    del journal
    (folder / SUMMARY).write_text("{}")
    assert ask(app, f"/live/run/{NAME}/9").status == 404
    pushed(app)
    assert json.loads(ask(app, f"/live/run/{NAME}/9").text)[0][3] == "message 0"


def test_a_run_that_is_deleted_while_it_is_shown_ends(
    app: Starlette, folder: Path, journal: Journal
) -> None:
    del journal
    app.state.ending = lambda: True
    pushed(app)
    app.state.ending = lambda: False
    folder.rename(folder.parent.parent / "elsewhere")
    app.state.awaited = (
        "run"  # an open page does not check again whether there is such a run
    )
    told = pushed(app)
    assert told["runs"][0][0]["gone"] is True
    assert told["conversations"][0][0]["trouble"] == "the journal was deleted"


def test_whatever_is_said_can_be_shown(
    app: Starlette, folder: Path, journal: Journal
) -> None:
    for event in exchange(1, text="\ud800\x00" + "a" * 1_000_000):
        journal.write(event)
    journal.write(
        events.Header(
            plan={"examples": {"odd": 1}}, plan_fingerprint="", agent_fingerprint=""
        )
    )
    (folder / SUMMARY).write_text("{}")
    [_, odd] = pushed(app, f"/live/events?run=run&open=run/{NAME}")["said"][0]
    assert (len(odd[4]) < 21_000, odd[4].endswith("(1,000,002 characters)")) == (
        True,
        True,
    )
    assert json.loads(ask(app, f"/live/run/{NAME}/9").text)[1] == odd


def test_the_stream_ends_with_the_server(
    app: Starlette, folder: Path, journal: Journal
) -> None:
    del journal, folder
    app.state.ending = lambda: True
    assert pushed(app)["over"] == [True]


def test_a_run_that_is_awaited_need_not_have_begun(tmp_path: Path) -> None:
    app = make_app(
        ltm_dir=tmp_path,
        secret="k",
        hosts=["127.0.0.1:1"],
        port=1,
        live="soon",
    )
    assert ask(app, "/open/k", cookie=None).headers["location"] == "/live?run=soon"
    assert "soon" in ask(app, "/live?run=soon").text
    app.state.ending = lambda: True
    assert pushed(app, "/live/events?run=soon")["runs"][0][0]["gone"] is False


@pytest.mark.parametrize(
    "address",
    ["/live?run=no", "/live/events?run=..", "/live/no/x/1", "/report/no", "/report/.."],
)
def test_there_is_no_other_run(app: Starlette, folder: Path, address: str) -> None:
    del folder
    assert ask(app, address).status == 404


@pytest.mark.parametrize(
    "address",
    ["/live", "/live/events?run=run", "/report/run", "/compare?before=run&after=run"],
)
def test_nothing_of_it_is_seen_without_the_key(
    app: Starlette, folder: Path, address: str
) -> None:
    del folder
    assert ask(app, address, cookie=None).status == 403
    assert ask(app, address, host="evil.example").status == 421
    assert ask(app, address, origin="http://evil.example").status == 403


# --- runs


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return the folder of two runs with results."""
    (tmp_path / "runs").mkdir()
    for name, score in (("20260101-000000-aaaa", 1.0), ("20260102-000000-bbbb", 0.0)):
        rows = [played(f"colours{i}", score, example="0") for i in range(5)]
        write_run(tmp_path / "runs" / name, held(rows))
    return tmp_path


def test_runs_can_be_found(app: Starlette, two: Path) -> None:
    del two
    page = ask(app, "/").text
    assert page.count('">Report<') == 2
    assert ask(app, "/?find=BBBB").text.count('">Report<') == 1
    assert "No run matches this" in ask(app, "/?find=%3Cb%3E").text
    assert "<b>" not in ask(app, "/?find=%3Cb%3E").text


def test_two_runs_are_compared(app: Starlette, two: Path) -> None:
    del two
    text = ask(
        app, "/compare?before=20260101-000000-aaaa&after=20260102-000000-bbbb"
    ).text
    assert "5 examples that passed before do not now" in text.replace(
        "\n", " "
    ).replace("  ", " ")
    assert (
        ask(app, "/compare?before=/etc/passwd&after=20260102-000000-bbbb").status == 404
    )
    assert (
        ask(
            app, "/compare?before=20260101-000000-aaaa@no&after=20260102-000000-bbbb"
        ).status
        == 400
    )


def test_the_report_has_no_part_in_the_server(app: Starlette, two: Path) -> None:
    del two
    got = ask(app, "/report/20260101-000000-aaaa")
    assert got.status == 200
    assert got.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "colours0" in got.text


def test_a_run_without_results_says_why_there_is_no_report(
    app: Starlette, folder: Path
) -> None:
    del folder
    got = ask(app, "/report/run")
    assert (got.status, "no results to report" in got.text) == (400, True)
    assert "none yet" in ask(app, "/").text
