"""The local page, asked without a browser: who gets in, what is shown, what is written."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from asking import Got, ask
from run_folders import held, played, write_run

from pytest_ltm._core.journal import amendments
from pytest_ltm._core.journal.result import QuestionResult, RunResult
from pytest_ltm._core.storage.sanitize import for_screen
from pytest_ltm.agents import _mailbox
from pytest_ltm.agents._mailbox import Box, HumanPrompt, NoReplyMessage, message_id
from pytest_ltm.commands import main
from pytest_ltm.reports.summary import summary_json, write_summary
from pytest_ltm.web.review import decisions

pytest.importorskip("starlette", reason="the page needs the extra web")

from pytest_ltm.web.app import make_app
from pytest_ltm.web.guard import ENTRANCE, MOST_BYTES, MOST_STRANGERS, Strangers
from pytest_ltm.web.human_test import LONG, TWICE

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOSTILE = "<script>alert(1)</script>\x1b[31m'\"&\u202eTeal"
REVIEW = "/review/run"


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    """Return a server with one run: three verdicts, of which one is unsure."""
    rows = [
        played(
            "colours",
            score,
            example=str(i),
            cause="" if score is not None else "unscored",
            evidence="Teal",
            questions=(
                QuestionResult(number=3, text=f"Which {HOSTILE}?", answer=HOSTILE),
            ),
        )
        for i, score in enumerate([None, 1.0, 0.0])
    ]
    (tmp_path / "runs").mkdir()
    write_run(tmp_path / "runs" / "run", held(rows))
    return make_app(
        ltm_dir=tmp_path,
        baselines=tmp_path,
        secret="k",
        hosts=["127.0.0.1:1", "localhost:1"],
        port=1,
    )


@pytest.fixture
def run(app: Starlette) -> Path:
    """Return the run's folder."""
    found: Path = app.state.ltm_dir / "runs" / "run"
    return found


# --- who gets in


def test_the_link_lets_in_and_the_key_leaves_the_address(app: Starlette) -> None:
    got = ask(app, "/open/k", cookie=None)
    assert (got.status, got.headers["location"]) == (303, "/")
    assert "ltm_1=k; HttpOnly; Path=/; SameSite=lax" in got.headers["set-cookie"]
    assert "Review" in ask(app, "/").text


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    ["/", "/people", REVIEW, f"{REVIEW}/look?reviewer=ann", "/open/wrong", "/nowhere"],
)
@pytest.mark.parametrize("cookie", [None, "ltm_1=wrong", "ltm_2=k"])
def test_without_the_key_nobody_sees_anything(
    app: Starlette, path: str, cookie: str | None
) -> None:
    got = ask(app, path, cookie=cookie)
    assert got.status == 403
    assert "colours" not in got.text


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:2", "127.0.0.1:1.evil.example", ""]
)
def test_another_host_is_refused(app: Starlette, host: str) -> None:
    assert ask(app, "/", host=host).status == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1:2", None],
)
def test_a_form_of_another_page_is_refused(
    app: Starlette, run: Path, origin: str | None
) -> None:
    ann = _mailbox.invite_person(run, "ann")
    for path in (f"{REVIEW}/decide", f"/sit/{ann.link}/consent"):
        assert ask(app, path, {"csrf": "x"}, origin=origin).status == 403


def test_a_reader_of_another_origin_is_refused(app: Starlette) -> None:
    assert ask(app, "/", origin="http://evil.example").status == 403


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_a_wrong_token_is_refused(app: Starlette, run: Path, token: str) -> None:
    ann = _mailbox.invite_person(run, "ann")
    got = ask(app, f"/sit/{ann.link}/consent", {"csrf": token, "nickname": "x"})
    assert got.status == 403
    assert "Load it again" in got.text
    assert ann.consent is None


def test_the_token_of_one_person_is_not_that_of_another_or_of_the_reviewer(
    app: Starlette, run: Path
) -> None:
    ann, bob = _mailbox.invite_person(run, "ann"), _mailbox.invite_person(run, "bob")
    tokens = {
        ask(app, f"/sit/{ann.link}").csrf,
        ask(app, f"/sit/{bob.link}").csrf,
        look(app).csrf,
    }
    assert len(tokens) == 3


@pytest.mark.parametrize(("size", "status"), [(300, 404), (5_000, 414)])
def test_a_long_name_in_an_address_is_refused(
    app: Starlette, size: int, status: int
) -> None:
    for path in ("/compare?before=run&after=", "/report/", "/live?run="):
        assert ask(app, path + "a" * size).status == status


def test_who_leaves_while_posting_breaks_nothing(app: Starlette, run: Path) -> None:
    person = _mailbox.invite_person(run, "ann")
    sent: list[object] = []

    async def leave() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def send(message: object) -> None:
        sent.append(message)

    headers = [
        (b"host", b"127.0.0.1:1"),
        (b"origin", b"http://127.0.0.1:1"),
        (b"content-length", b"1000"),
    ]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": f"/sit/{person.link}/consent",
        "raw_path": b"",
        "query_string": b"",
        "scheme": "http",
        "root_path": "",
        "server": ("127.0.0.1", 1),
        "client": ("127.0.0.1", 2),
        "headers": headers,
    }
    asyncio.run(app(scope, leave, send))
    assert not sent


class Transport:
    """A connection that notes that it was ended."""

    is_open = True

    def abort(self) -> None:
        self.is_open = False


def test_connections_without_a_key_are_few_and_the_oldest_goes_first() -> None:
    strangers, connections = (
        Strangers(),
        [Transport() for _ in range(MOST_STRANGERS + 3)],
    )

    async def connect() -> None:
        for port, transport in enumerate(connections):
            strangers.welcome(("127.0.0.1", port), cast("asyncio.Transport", transport))
            if not port:
                strangers.admit(("127.0.0.1", port))

    asyncio.run(connect())
    assert [number for number, one in enumerate(connections) if not one.is_open] == [
        1,
        2,
    ]


def test_too_much_is_refused_before_it_is_read(app: Starlette, run: Path) -> None:
    ann = _mailbox.invite_person(run, "ann")
    assert (
        ask(
            app, f"/sit/{ann.link}/consent", {}, content_length=str(MOST_BYTES + 1)
        ).status
        == 413
    )
    assert ask(app, f"/sit/{ann.link}/consent", {}, content_length="-1").status == 413


def test_every_answer_says_what_a_browser_may_do(app: Starlette) -> None:
    for got in (
        ask(app, "/"),
        ask(app, "/", host="evil.example"),
        ask(app, "/static/page.css"),
        ask(app, "/nowhere"),
    ):
        assert (
            "default-src 'none'; script-src 'self'"
            in got.headers["content-security-policy"]
        )
        assert "unsafe" not in got.headers["content-security-policy"]
        assert got.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("name", ["page.css", "pages.css", "review.js", "sitting.js"])
def test_styles_and_scripts_come_from_here(app: Starlette, name: str) -> None:
    got = ask(app, f"/static/{name}")
    assert got.status == 200
    assert ("javascript" in got.headers["content-type"]) == name.endswith(".js")
    assert "http://" not in got.text
    assert "https://" not in got.text


@pytest.mark.parametrize(
    "path",
    ["/static/..%2fapp.py", "/static/app.py", "/review/run/summary.json", "/nowhere"],
)
def test_other_files_are_not_sent(app: Starlette, path: str) -> None:
    assert ask(app, path).status == 404


@pytest.mark.parametrize("name", ["none", "..", "%2e%2e", "latest"])
def test_a_run_that_is_not_there_is_refused(app: Starlette, name: str) -> None:
    assert ask(app, f"/review/{name}").status == 404


# --- review


def look(app: Starlette, **more: str) -> Got:
    query = "&".join(
        f"{name}={value}" for name, value in ({"reviewer": "ann"} | more).items()
    )
    return ask(app, f"{REVIEW}/look?{query}")


def decided(app: Starlette, grade: str, *, reviewer: str = "ann", **more: str) -> Got:
    """Decide the first answer of the list."""
    place = {"reviewer": reviewer, "which": more.pop("which", "queue")}
    shown = look(app, **place)
    fields = {
        "csrf": shown.csrf,
        "grade": grade,
        "seen": hidden(shown, "seen"),
        "nodeid": hidden(shown, "nodeid"),
    }
    return ask(app, f"{REVIEW}/decide", place | fields | more)


def hidden(got: Got, name: str) -> str:
    return got.text.split(f'name="{name}" value="')[1].split('"')[0]


def test_an_answer_is_shown_inert_with_what_decided_it(app: Starlette) -> None:
    got = look(app)
    assert "<script>alert" not in got.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in got.text
    assert "\\x1b[31m" in got.text
    assert "\u202e" not in got.text
    assert "<mark>Teal</mark>" in got.text


def test_a_decision_is_written_and_leads_on(app: Starlette, run: Path) -> None:
    got = decided(app, "right", reason="clear")
    assert got.status == 303
    assert got.headers["location"].startswith(f"{REVIEW}/look?reviewer=ann")
    nodeid = played().nodeid
    assert amendments.read_amendments(run)[nodeid].reason == "clear (reviewed by ann)"
    assert json.loads((run / "summary.json").read_text())
    assert "Nothing left to review" in look(app).text


def test_a_second_tab_changes_nothing_and_says_so(app: Starlette, run: Path) -> None:
    shown = look(app)
    fields = {
        "reviewer": "ann",
        "csrf": shown.csrf,
        "seen": "0",
        "nodeid": hidden(shown, "nodeid"),
    }
    ask(app, f"{REVIEW}/decide", fields | {"grade": "right"})
    got = ask(app, f"{REVIEW}/decide", fields | {"grade": "wrong"})
    assert "notice=twice" in got.headers["location"]
    assert [one.credit for one in decisions.read_decisions(run)["ann"]] == [1.0]
    assert "decided in another tab" in ask(app, got.headers["location"]).text


def test_reviewers_do_not_see_each_other_until_it_is_to_be_settled(
    app: Starlette, run: Path
) -> None:
    decided(app, "right", reason="ann's reason")
    assert "ann's reason" not in look(app, reviewer="bob").text.replace("&#39;", "'")
    decided(app, "partly", credit="0.25", reviewer="bob")
    assert not amendments.read_amendments(run)
    settling = look(app, which="disputes", reviewer="bob")
    assert "ann's reason" in settling.text.replace("&#39;", "'")
    decided(app, "right", reviewer="bob", which="disputes")
    assert amendments.read_amendments(run)[played().nodeid].score == 1.0


@pytest.mark.parametrize(
    "fields",
    [
        {"grade": "skip"},
        {"grade": "partly", "credit": "2"},
        {"grade": "partly", "credit": "nan"},
        {"grade": "?"},
    ],
)
def test_what_cannot_be_decided_is_refused(
    app: Starlette, run: Path, fields: dict[str, str]
) -> None:
    got = decided(app, **fields)
    assert got.status == 400
    assert not decisions.read_decisions(run)


@pytest.mark.parametrize(
    "query",
    [
        "reviewer=../x",
        "reviewer=ann&which=all",
        "reviewer=ann&sample=0",
        "reviewer=ann&item=x",
        "compare=x",
        "compare=../x",
    ],
)
def test_an_address_that_means_nothing_is_refused(app: Starlette, query: str) -> None:
    path = REVIEW if query.startswith("compare") else f"{REVIEW}/look"
    assert ask(app, f"{path}?{query}").status == 400


@pytest.mark.slow
def test_the_overview_counts_and_the_rows_are_sent(app: Starlette) -> None:
    for reviewer in ("ann", "bob"):
        for grade, which in (
            ("right", "queue"),
            ("wrong", "sample"),
            ("wrong", "sample"),
        ):
            decided(app, grade, reviewer=reviewer, which=which)
        assert (
            "Nothing left to review"
            in look(app, reviewer=reviewer, which="sample").text
        )
    text = ask(app, f"{REVIEW}?reviewer=ann").text
    assert "ann and bob" in text
    assert "1.00 (" in text
    rows = ask(app, f"{REVIEW}/rows.jsonl")
    assert len(rows.text.splitlines()) == 3
    assert "attachment" in rows.headers["content-disposition"]
    assert ask(app, f"{REVIEW}/judge.yml").text.startswith("version: 1")


def test_a_run_that_is_deleted_while_it_is_shown_is_refused(
    app: Starlette, run: Path
) -> None:
    shown = look(app)
    (run / "0~talk" / "results.json").unlink()
    fields = {
        "reviewer": "ann",
        "csrf": shown.csrf,
        "seen": "0",
        "nodeid": hidden(shown, "nodeid"),
        "grade": "right",
    }
    assert ask(app, f"{REVIEW}/decide", fields).status == 400


# --- sitting


class Sitter:
    """Ann, and a message that waits for her."""

    def __init__(self, app: Starlette, run: Path, **message: object) -> None:
        self.app, self.person = app, _mailbox.invite_person(run, "ann")
        self.box = Box(run / "ann~2k~0" / "person")
        self.person.record_consent("Annie")
        self.asked(1, HOSTILE, **message)

    def asked(self, number: int, text: str, **more: object) -> None:
        self.message = HumanPrompt(
            id=message_id(number, text),
            number=number,
            text=text,
            now=None,
            **more,  # type: ignore[arg-type]
        )
        self.box.ask(self.message)

    def sees(self) -> Got:
        return ask(self.app, f"/sit/{self.person.link}", cookie=None)

    def does(self, what: str, **given: str) -> Got:
        fields = {"csrf": self.sees().csrf, "id": self.message.id, **given}
        return ask(self.app, f"/sit/{self.person.link}/{what}", fields, cookie=None)

    @property
    def answer(self) -> str | None:
        found = self.box.answer(self.message)
        return None if found is None else found.text


def test_consent_and_a_nickname_come_first(app: Starlette, run: Path) -> None:
    ann = _mailbox.invite_person(run, "ann")
    first = ask(app, f"/sit/{ann.link}", cookie=None)
    assert "take a memory test" in first.text
    ask(
        app,
        f"/sit/{ann.link}/consent",
        {"csrf": first.csrf, "nickname": "Annie"},
        cookie=None,
    )
    assert (
        "Finished" in ask(app, f"/sit/{ann.link}", cookie=None).text
    )  # the run has ended
    assert ann.consent is not None


def test_a_link_opens_nothing_else(app: Starlette, run: Path) -> None:
    assert ask(app, "/sit/wrong", cookie=None).status == 404
    sitter = Sitter(app, run)
    assert 'href="/people"' not in sitter.sees().text
    assert "0.00" not in sitter.sees().text  # no score


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "Ochre.",
        "",
        "x" * 1_000_000,
        "ü" * 400_000,
        "a\x00b\x1b[31m\u202e",
        "<b>&amp;",
        "1\n2\n",
    ],
)
def test_any_answer_is_taken_as_it_is(app: Starlette, run: Path, text: str) -> None:
    sitter = Sitter(app, run)
    assert sitter.does("answer", text=text).status == 303
    assert sitter.answer == text


def test_a_longer_answer_than_any_agent_may_give_is_refused_with_the_limit(
    app: Starlette, run: Path
) -> None:
    sitter = Sitter(app, run)
    assert LONG in sitter.does("answer", text="x" * 1_000_001).text
    assert sitter.answer is None


def test_the_second_tab_is_told_that_its_answer_was_not_taken(
    app: Starlette, run: Path
) -> None:
    sitter = Sitter(app, run)
    csrf = sitter.sees().csrf
    sitter.does("answer", text="first")
    fields = {"csrf": csrf, "id": sitter.message.id, "text": "second"}
    assert TWICE in ask(app, f"/sit/{sitter.person.link}/answer", fields).text
    assert sitter.answer == "first"


def test_an_old_tab_does_not_answer_the_next_message(app: Starlette, run: Path) -> None:
    sitter = Sitter(app, run)
    old = sitter.message.id
    sitter.does("answer", text="first")
    sitter.asked(2, "And now?")
    assert TWICE in sitter.does("answer", id=old, text="second").text
    assert sitter.answer is None


def test_the_message_is_shown_inert_and_earlier_ones_are_not_there(
    app: Starlette, run: Path
) -> None:
    sitter = Sitter(app, run)
    assert "<script>alert" not in sitter.sees().text
    sitter.does("answer", text=HOSTILE)
    sitter.asked(2, "And now?")
    text = sitter.sees().text
    assert "alert(1)" not in text
    assert "Earlier messages" not in text


def test_with_notes_allowed_earlier_ones_are_there_inert(
    app: Starlette, run: Path
) -> None:
    sitter = Sitter(app, run, notes="allowed")
    sitter.does("answer", text=HOSTILE)
    sitter.asked(2, "And now?", notes="allowed")
    text = sitter.sees().text
    assert "Earlier messages" in text
    assert "<script>alert" not in text


def test_filler_in_full_is_read_one_by_one_and_shortened_at_once(
    app: Starlette, run: Path
) -> None:
    told = tuple(NoReplyMessage(f"Quiz {i}?", "Yes.") for i in range(3))
    sitter = Sitter(app, run, told=told, filler="full")
    for i in range(3):
        text = sitter.sees().text
        assert f"Quiz {i}?" in text
        assert f"Quiz {i + 1}?" not in text
        sitter.does("read", read=str(i))
    assert "Message 1" in sitter.sees().text
    sitter.asked(2, "And now?", told=told, more=7)
    assert "7 exchanges are left out" in sitter.sees().text
    sitter.does("read", read="0")
    assert "Message 2" in sitter.sees().text


def test_a_break_hides_the_message(app: Starlette, run: Path) -> None:
    sitter = Sitter(app, run)
    before = ask(app, f"/sit/{sitter.person.link}/state").text
    sitter.does("pause")
    assert "A break" in sitter.sees().text
    assert "alert(1)" not in sitter.sees().text
    assert ask(app, f"/sit/{sitter.person.link}/state").text != before
    sitter.does("go-on")
    assert "Message 1" in sitter.sees().text


def test_the_organiser_sees_links_and_how_far_people_are(
    app: Starlette, run: Path
) -> None:
    sitter = Sitter(app, run)
    sitter.does("answer", text="x")
    text = ask(app, "/people").text
    assert f"http://127.0.0.1:1/sit/{sitter.person.link}" in text
    assert "Annie" in text


# --- the command


def test_an_address_that_others_reach_needs_to_be_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for host in ("192.0.2.1", "example.org"):
        assert main(["serve", "--host", host, "--ltm-dir", str(tmp_path)]) == 2
        assert "--i-know" in capsys.readouterr().err
    assert main(["serve", "--host", "0.0.0.0", "--i-know"]) == 2
    assert "name one address" in capsys.readouterr().err


def test_a_port_in_use_is_said_with_what_helps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert main(["serve", "--port", str(other.getsockname()[1])]) == 2
    assert "give another --port" in capsys.readouterr().err


def test_the_link_that_is_printed_is_whole() -> None:
    link = f"http://127.0.0.1:8642{ENTRANCE}{secrets.token_hex(16)}"
    assert for_screen(link) == link


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    assert (
        "ltm serve needs uvicorn: pip install 'pytest-ltm[web]'"
        in capsys.readouterr().err
    )


# --- what the page opens on


def test_the_page_opens_on_what_each_agent_remembers(tmp_path: Path) -> None:
    for number, score in enumerate((0.25, 1.0)):
        near = held([played(agent="bot", score=1.0)], agent_spec="bot:Bot")
        far = held(
            [
                played(
                    agent="bot",
                    span=120_000,
                    span_label="120k",
                    score=score,
                    nodeid="far",
                )
            ],
            agent_spec="bot:Bot",
        )
        gate = (
            {"state": "passed", "sentence": "gate: passed", "findings": []}
            if number
            else None
        )
        run = RunResult(run_id="r", conversations=(far, near))
        summary = summary_json(run, pytest_ltm_version="0", seed=0, plan={}, gate=gate)
        folder = write_run(
            tmp_path / "runs" / f"2026010{number + 1}-101500-aaaa", far, near
        )
        write_summary(folder / "summary.json", summary)
    app = make_app(
        ltm_dir=tmp_path, baselines=tmp_path, secret="k", hosts=["127.0.0.1:1"], port=1
    )

    text = " ".join(ask(app, "/").text.split())

    assert (
        '<strong class="score">100%</strong> at 120k <span class="gate passed">gate passed</span>'
        in text
    )
    assert "Remembers to 120k tokens or more (100%); full marks everywhere." in text
    assert text.count("<circle") == 2
    assert text.index("20260102-101500-aaaa</th>") < text.index(
        "20260101-101500-aaaa</th>"
    )
    assert '<td data-of="Score">25% at 120k</td>' in text
