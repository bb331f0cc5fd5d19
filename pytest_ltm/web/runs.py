"""The list of runs, their reports, and two of them compared."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse
from starlette.routing import Route

from pytest_ltm._journal.run_file import SUMMARY, newest_first, read_run_file, run_start_time
from pytest_ltm._results.change_report import change_lines
from pytest_ltm._results.gate.changes import CompareHints, GateSide, compare_sides, one_agent
from pytest_ltm._results.run_loading import side_of_run
from pytest_ltm._storage.errors import LtmError
from pytest_ltm.agents._mailbox import list_people
from pytest_ltm.reporting.html.page import build_report
from pytest_ltm.web import page_parts
from pytest_ltm.web.live import goes_on

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


MOST_RUNS = 200
WIDTH = 80
WAYS = CompareHints(common="the box below", choose_agent="Write RUN@AGENT to name one")
SEALED = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'; base-uri 'none'"
"""The report has a policy of its own in its text, and no part in this server."""


async def runs_page(request: Request) -> Response:
    """List the runs."""
    return await run_in_threadpool(_render_runs, request)


def _render_runs(request: Request) -> Response:
    words = request.query_params.get("find", "").lower().split()
    newest = newest_first(page_parts.ltm_dir(request))
    rows = [row for row in map(_run_row, newest[:MOST_RUNS]) if all(word in row["text"] for word in words)]
    return page_parts.render_template(
        request, "runs.html.j2", title="Runs", runs=rows, find=" ".join(words), more=max(0, len(newest) - MOST_RUNS)
    )


def _run_row(path: Path) -> dict[str, Any]:
    settings: Any = {}
    with suppress(LtmError):  # merged and imported runs have none
        settings = read_run_file(path).settings
    agents, suite = settings.get("agents"), settings.get("suite")
    moment = run_start_time(path)
    state = "ended" if (path / SUMMARY).exists() else "going on" if goes_on(path) else "not going on"
    row: dict[str, Any] = {
        "name": path.name,
        "began": moment.strftime("%Y-%m-%d %H:%M") if moment else "",
        "agents": ", ".join(agents) if isinstance(agents, dict) else "",
        "suite": suite if isinstance(suite, str) else "",
        "state": state,
        "has_results": any(path.glob("*/results.json")),
        "has_journals": any(path.glob("*/journal.jsonl")),
        "people": len(list_people(path)),
    }
    return row | {"text": " ".join(map(str, row.values())).lower()}


async def report_page(request: Request) -> Response:
    """Show the HTML report of a run."""
    return await run_in_threadpool(_build_report, page_parts.run_folder(request, request.path_params["run"]))


def _build_report(run: Path) -> Response:
    # Looking at a run must not write into its folder.
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        build_report([run], file)
        return HTMLResponse(file.read_bytes(), headers={"Content-Security-Policy": SEALED})


async def compare_page(request: Request) -> Response:
    """Show what moved from one run to another."""
    return await run_in_threadpool(_render_compare, request)


def _render_compare(request: Request) -> Response:
    before, after = (request.query_params.get(name, "").strip() for name in ("before", "after"))
    common = request.query_params.get("plans") == "overlapping"
    sides = [_side_from_text(request, text) for text in (before, after)]
    changes = compare_sides(one_agent(sides[0], how=WAYS.choose_agent), sides[1], WAYS, common=common)
    lines = [f"{sides[1].name} against {changes.before}", *change_lines(changes, WIDTH)]
    return page_parts.render_template(request, "compare.html.j2", title="Two runs compared", text="\n".join(lines))


def _side_from_text(request: Request, text: str) -> GateSide:
    """Return a run, or one agent of it where `RUN@AGENT` says which."""
    name, _, agent = text.partition("@")
    side = side_of_run(page_parts.run_folder(request, name))
    return one_agent(side, agent) if agent else side


ROUTES = [Route("/", runs_page), Route("/report/{run}", report_page), Route("/compare", compare_page)]
