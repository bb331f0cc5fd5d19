"""The local web app, called without a browser: access, contents, and writes."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from asking import ask
from run_folders import held, played, write_run

from pytest_ltm.api.journal import ConversationResult, QuestionResult, RunResult
from pytest_ltm.api.storage import for_screen
from pytest_ltm.commands import main
from pytest_ltm.reports.summary import summary_json, write_summary

pytest.importorskip("starlette", reason="the page needs the extra web")

from pytest_ltm.web.app import make_app
from pytest_ltm.web.guard import ENTRANCE, MOST_STRANGERS, Strangers

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOSTILE = "<script>alert(1)</script>\x1b[31m'\"&\u202eTeal"


@pytest.fixture
def app(tmp_path: Path) -> Starlette:
    """Return a server with one run: three verdicts, one of them unsure."""
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
        secret="k",
        hosts=["127.0.0.1:1", "localhost:1"],
        port=1,
    )


@pytest.fixture
def run(app: Starlette) -> Path:
    """Return the run's folder."""
    found: Path = app.state.ltm_dir / "runs" / "run"
    return found


# --- access


def test_the_link_lets_in_and_the_key_leaves_the_address(app: Starlette) -> None:
    got = ask(app, "/open/k", cookie=None)
    assert (got.status, got.headers["location"]) == (303, "/")
    assert "ltm_1=k; HttpOnly; Path=/; SameSite=lax" in got.headers["set-cookie"]
    assert "Report" in ask(app, "/").text


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    ["/", "/report/run", "/live?run=run", "/open/wrong", "/nowhere"],
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
    ["http://evil.example", "null", "https://127.0.0.1:1", "http://127.0.0.1:2"],
)
def test_another_page_is_refused(app: Starlette, origin: str) -> None:
    assert ask(app, "/", origin=origin).status == 403
    assert ask(app, "/", {"any": "form"}, origin=origin).status == 403


def test_nothing_can_be_posted(app: Starlette) -> None:
    for path in ("/", "/compare", "/nowhere"):
        assert ask(app, path, {"any": "form"}).status == 405


@pytest.mark.parametrize(("size", "status"), [(300, 404), (5_000, 414)])
def test_a_long_name_in_an_address_is_refused(
    app: Starlette, size: int, status: int
) -> None:
    for path in ("/compare?before=run&after=", "/report/", "/live?run="):
        assert ask(app, path + "a" * size).status == status


class Transport:
    """A connection that records being closed."""

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


@pytest.mark.parametrize(
    "name",
    ["colours.css", "page.css", "charts.css", "pages.css", "live.js", "theme.js"],
)
def test_styles_and_scripts_come_from_here(app: Starlette, name: str) -> None:
    got = ask(app, f"/static/{name}")
    assert got.status == 200
    assert ("javascript" in got.headers["content-type"]) == name.endswith(".js")
    text = got.text.replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize(
    "path",
    ["/static/..%2fapp.py", "/static/app.py", "/report/run/summary.json", "/nowhere"],
)
def test_other_files_are_not_sent(app: Starlette, path: str) -> None:
    assert ask(app, path).status == 404


@pytest.mark.parametrize("name", ["none", "..", "%2e%2e", "latest"])
def test_a_run_that_is_not_there_is_refused(app: Starlette, name: str) -> None:
    assert ask(app, f"/report/{name}").status == 404


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
    assert main(["serve", "--port", "99999"]) == 2
    assert "a port is at most 65535" in capsys.readouterr().err


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


# --- the start page


def write_finished_run(
    folder: Path, *talks: ConversationResult, gate: dict[str, Any] | None = None
) -> None:
    """Write a run with results and a summary."""
    run = RunResult(run_id="r", conversations=talks)
    summary = summary_json(
        run, pytest_ltm_version="0", seed=0, plan={}, added={"gate": gate}
    )
    write_summary(write_run(folder, *talks) / "summary.json", summary)


def example_of(agent: str, label: str, score: float) -> ConversationResult:
    """Return a conversation of a user's agent with one example."""
    row = played(
        agent=agent,
        span=int(label.removesuffix("k")) * 1_000,
        span_label=label,
        score=score,
        nodeid=f"{agent}-{label}",
    )
    return held([row], agent_spec=f"{agent}:Bot")


def server_over(ltm_dir: Path) -> Starlette:
    """Return the pages of a folder of runs."""
    return make_app(ltm_dir=ltm_dir, secret="k", hosts=["127.0.0.1:1"], port=1)


def test_the_page_opens_on_what_each_agent_remembers(tmp_path: Path) -> None:
    passed = {"state": "passed", "sentence": "gate: passed", "findings": []}
    for number, score in enumerate((0.25, 1.0)):
        write_finished_run(
            tmp_path / "runs" / f"2026010{number + 1}-101500-aaaa",
            example_of("bot", "120k", score),
            example_of("bot", "2k", 1.0),
            gate=passed if number else None,
        )

    text = " ".join(ask(server_over(tmp_path), "/").text.split())

    assert (
        '<strong class="score">100%</strong> at 120k <span class="gate passed">gate passed</span>'
        in text
    )
    assert "100% at 2k, not shown to be above guessing; full marks everywhere." in text
    assert text.count("<circle") == 2
    assert text.index("20260102-101500-aaaa</th>") < text.index(
        "20260101-101500-aaaa</th>"
    )


@pytest.fixture
def two_agents(tmp_path: Path) -> Starlette:
    """Return the server over two runs of two agents at two spans."""
    for name, shares in (("aaaa", (1.0, 0.5)), ("bbbb", (0.25, 0.0))):
        talks = [
            example_of(agent, label, share)
            for agent, share in zip(("first", "second"), shares, strict=True)
            for label in ("32k", "2k")
        ]
        write_finished_run(tmp_path / "runs" / f"20260103-000000-{name}", *talks)
    return server_over(tmp_path)


def test_the_list_has_every_agent_s_score_at_every_span(two_agents: Starlette) -> None:
    text = ask(two_agents, "/").text

    for agent, share in (("first", "100%"), ("second", "50%"), ("first", "25%")):
        scores = f'<span class="figure">{share} at 2k</span> <span class="figure">{share} at 32k</span>'
        assert f"<div>{agent} {scores}</div>" in text


def test_a_column_sorts_the_list_and_once_more_the_other_way(
    two_agents: Starlette,
) -> None:
    best_first = ask(two_agents, "/?sort=-Scores").text
    assert best_first.index("aaaa</th>") < best_first.index("bbbb</th>")
    assert 'aria-sort="descending"><a href="/?sort=Scores">' in best_first

    worst_first = ask(two_agents, "/?sort=Scores").text
    assert worst_first.index("bbbb</th>") < worst_first.index("aaaa</th>")
    assert "aaaa</th>" in ask(two_agents, "/?sort=nothing").text


def test_the_list_shows_what_is_chosen(two_agents: Starlette) -> None:
    assert "aaaa</th>" in ask(two_agents, "/?agent=first&state=finished").text
    assert "No run matches this" in ask(two_agents, "/?agent=nobody").text
    assert 'value="first" selected' in ask(two_agents, "/?agent=first").text
