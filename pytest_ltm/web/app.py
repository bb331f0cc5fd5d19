"""The server: its list of runs, reports and comparisons, the other pages, and what answers where none does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from pytest_ltm._core.journal.result import span_place
from pytest_ltm._core.journal.run_file import newest_first, read_run_file
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.wording import one_line
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_dollars, format_percent
from pytest_ltm.gate.change_report import change_lines
from pytest_ltm.gate.changes import (
    CompareHints,
    GateSide,
    compare_sides,
    one_agent,
)
from pytest_ltm.gate.sides import side_of_run
from pytest_ltm.reports.agent_sentences import run_sentences
from pytest_ltm.reports.history import HistoricalScore, Past, read_past
from pytest_ltm.reports.html.page import build_report
from pytest_ltm.web import live_page, page_parts
from pytest_ltm.web.guard import Guard, Strangers

if TYPE_CHECKING:
    from starlette.requests import Request


MOST_RUNS = 200
WIDTH = 80
WAYS = CompareHints(common="the box below", choose_agent="Write RUN@AGENT to name one")
# The report has a policy of its own in its text, and no part in this server.
SEALED = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'; base-uri 'none'"


def runs_page(request: Request) -> Response:
    """List the runs."""
    words = request.query_params.get("find", "").lower().split()
    newest = newest_first(request.app.state.ltm_dir)
    pasts = list(map(read_past, newest[:MOST_RUNS]))
    rows = []
    for past in pasts:
        path, settings = past.path, dict[str, Any]()
        with suppress(LtmError):  # merged and imported runs have none
            settings = dict(read_run_file(path).settings)
        agents, suite = settings.get("agents"), settings.get("suite")
        best = max(
            past.standings, key=lambda each: (each.own, each.span or 0), default=None
        )
        costs = [
            standing.cost_usd
            for standing in past.standings
            if standing.cost_usd is not None
        ]
        row: dict[str, Any] = {
            "name": past.name,
            "began": past.at.strftime("%Y-%m-%d %H:%M") if past.at else "",
            "agents": ", ".join(
                past.agents or (agents if isinstance(agents, dict) else ())
            ),
            "suite": suite if isinstance(suite, str) else "",
            "score": f"{_score_text(best)} {span_place(best.span_label)}"
            if best and best.share is not None
            else "",
            "verdict": past.gate,
            "cost": f"${format_dollars(sum(costs))}" if costs else "",
            "state": "running" if past.state == "in progress" else past.state,
            "has_results": any(path.glob("*/results.json")),
            "has_journals": any(path.glob("*/journal.jsonl")),
        }
        # Whatever a row shows can be looked for, also the state.
        text = " ".join(map(str, row.values())).lower()
        rows += [row] * all(word in text for word in words)
    return page_parts.render_template(
        "runs.html.j2",
        title="Runs",
        runs=rows,
        find=" ".join(words),
        more=max(0, len(newest) - MOST_RUNS),
        standings=[] if words else _standings(pasts),
    )


def _score_text(score: HistoricalScore) -> str:
    """Return the share of full marks with its interval."""
    inside = score.interval
    between = (
        f" [{format_percent(inside.low)} to {format_percent(inside.high)}]"
        if inside
        else ""
    )
    return f"{format_percent(score.share or 0.0)}{between}"


# --- What the page opens on: each agent's newest score, its verdict, a line over runs,
# one sentence.

LINE_WIDTH, LINE_HEIGHT = 300, 60


def _standings(pasts: Sequence[Past]) -> list[dict[str, Any]]:
    """Return what is shown of each agent, of those under test where there are any; the newest first."""
    finished = [past for past in pasts if past.state == "finished"]
    measured = [
        (past, standing)
        for past in finished
        for standing in past.standings
        if not standing.unmeasured
    ]
    owned = [(past, each) for past, each in measured if each.own] or measured
    by_agent = group_by(owned, lambda pair: pair[1].agent)
    rows = []
    for agent, of in list(by_agent.items())[:6]:
        newest, head, sentence = of[0][0], f"{one_line(agent)}: ", ""
        score = max(
            (each for past, each in of if past is newest),
            key=lambda each: each.span or 0,
        )
        line = [
            (past, each) for past, each in of if each.span_label == score.span_label
        ][:40][::-1]
        with suppress(LtmError):  # the summary may outlive the results
            run = read_run(newest.path)
            said = run_sentences(
                result_columns(run.result), run.summary.get("comparison")
            )
            sentence = next(
                (text.removeprefix(head) for text in said if text.startswith(head)), ""
            )
        rows.append(
            {
                "agent": agent,
                "place": span_place(score.span_label),
                "score": _score_text(score),
                "run": newest.name,
                "gate": newest.gate,
                "sentence": sentence,
                "marks": _line_marks(line),
                "width": LINE_WIDTH,
                "height": LINE_HEIGHT,
            }
        )
    return rows


def _line_marks(points: Sequence[tuple[Past, HistoricalScore]]) -> list[dict[str, Any]]:
    """Return the places of a line's marks; one of another plan than the mark before begins another line."""
    step = (LINE_WIDTH - 20) / max(len(points) - 1, 1)
    plans = [each.plan for _, each in points]
    return [
        {
            "x": round(10 + step * number, 1),
            "y": round(10 + (LINE_HEIGHT - 20) * (1 - (each.share or 0.0)), 1),
            "joined": number > 0 and plans[number - 1] == each.plan,
            "title": f"{past.name}{f', commit {past.source.commit[:7]}' if past.source else ''}: {_score_text(each)}",
        }
        for number, (past, each) in enumerate(points)
    ]


def report_page(request: Request) -> Response:
    """Show the HTML report of a run."""
    # Looking at a run must not write into its folder.
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        build_report([page_parts.run_folder(request, request.path_params["run"])], file)
        return HTMLResponse(
            file.read_bytes(), headers={"Content-Security-Policy": SEALED}
        )


def compare_page(request: Request) -> Response:
    """Show what moved from one run to another."""
    before, after = (
        request.query_params.get(name, "").strip() for name in ("before", "after")
    )
    common = request.query_params.get("plans") == "overlapping"

    def side_of(text: str) -> GateSide:
        """Return a run, or one agent of it where `RUN@AGENT` says which."""
        name, _, agent = text.partition("@")
        side = side_of_run(page_parts.run_folder(request, name))
        return one_agent(side, agent) if agent else side

    sides = [side_of(before), side_of(after)]
    changes = compare_sides(
        one_agent(sides[0], how=WAYS.choose_agent), sides[1], WAYS, common=common
    )
    lines = [f"{sides[1].name} against {changes.before}", *change_lines(changes, WIDTH)]
    return page_parts.render_template(
        "compare.html.j2", title="Two runs compared", text="\n".join(lines)
    )


ROUTES = [
    Route("/", runs_page),
    Route("/report/{run}", report_page),
    Route("/compare", compare_page),
]


def make_app(
    *,
    ltm_dir: Path,
    secret: str,
    hosts: Collection[str],
    port: int,
    live: str = "",
    strangers: Strangers | None = None,
) -> Starlette:
    """Return the server's pages behind their guard; `live` is a run that the link leads to, begun or not."""
    home = f"/live?run={quote(live)}" if live else "/"
    guard = Middleware(
        Guard,
        secret=secret,
        hosts=hosts,
        cookie=f"ltm_{port}",
        home=home,
        strangers=strangers or Strangers(),
    )
    routes = [
        *ROUTES,
        *live_page.ROUTES,
        Route("/static/{name}", serve_static),
    ]
    app = Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers={LtmError: refused_page, 404: missing_page},
    )
    app.state.ltm_dir = ltm_dir
    app.state.followed, app.state.ending, app.state.awaited = {}, lambda: False, live
    return app


def serve_static(request: Request) -> Response:
    """Send a script or a style."""
    name = request.path_params["name"]
    if name not in page_parts.static_files():
        return missing_page(request, LtmError())
    kind = "text/javascript" if name.endswith(".js") else "text/css"
    return Response(page_parts.static_files()[name], media_type=kind)


def refused_page(_request: Request, error: Exception) -> Response:
    """Say what was wrong with a request."""
    status = error.status if isinstance(error, page_parts.PageError) else 400
    return page_parts.render_template(
        "refused.html.j2",
        status=status,
        title="That did not work",
        text=str(error),
    )


def missing_page(_request: Request, _error: Exception) -> Response:
    """Say that there is no such page."""
    return PlainTextResponse("There is no such page.", 404)
