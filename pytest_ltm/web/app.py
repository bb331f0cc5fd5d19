"""The server: reports, comparisons, the other pages, and the responses for everything else."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from pytest_ltm.api.storage import LtmError
from pytest_ltm.gate.change_report import change_lines
from pytest_ltm.gate.changes import CompareHints, GateSide, compare_sides, one_agent
from pytest_ltm.gate.sides import side_of_run
from pytest_ltm.reports.html.page import build_report
from pytest_ltm.web import live_page, page_parts, runs_page
from pytest_ltm.web.guard import Guard, Strangers

if TYPE_CHECKING:
    from starlette.requests import Request


WIDTH = 80
WAYS = CompareHints(common="the box below", choose_agent="Write RUN@AGENT to name one")
# The report has its own policy in its text, and is isolated from this server.
SEALED = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'; base-uri 'none'"


def report_page(request: Request) -> Response:
    """Show the HTML report of a run."""
    # Viewing a run must not write into its folder.
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        build_report([page_parts.run_folder(request, request.path_params["run"])], file)
        return HTMLResponse(
            file.read_bytes(), headers={"Content-Security-Policy": SEALED}
        )


def compare_page(request: Request) -> Response:
    """Show the changes from one run to another."""

    def read_side(parameter: str) -> GateSide:
        """Return a run, or one agent of it for `RUN@AGENT`."""
        text = request.query_params.get(parameter, "").strip()
        name, _, agent = text.partition("@")
        side = side_of_run(page_parts.run_folder(request, name))
        return one_agent(side, agent) if agent else side

    common = request.query_params.get("plans") == "overlapping"
    before = one_agent(read_side("before"), how=WAYS.choose_agent)
    after = read_side("after")
    changes = compare_sides(before, after, WAYS, common=common)
    lines = [f"{after.name} against {changes.before}", *change_lines(changes, WIDTH)]
    return page_parts.render_template(
        "compare.html.j2", title="Two runs compared", text="\n".join(lines)
    )


ROUTES = [Route("/report/{run}", report_page), Route("/compare", compare_page)]


def make_app(
    *,
    ltm_dir: Path,
    secret: str,
    hosts: Collection[str],
    port: int,
    live: str = "",
    strangers: Strangers | None = None,
) -> Starlette:
    """Return the app with its pages behind the guard; `live` is the run that the link leads to, if any."""
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
        *runs_page.ROUTES,
        *live_page.ROUTES,
        Route("/static/{name}", serve_static),
    ]
    app = Starlette(
        routes=routes,
        middleware=[guard],
        exception_handlers={LtmError: refused_page, 404: missing_page},
    )
    app.state.ltm_dir = ltm_dir
    app.state.followed = {}
    app.state.ending = lambda: False
    app.state.awaited = live
    return app


def serve_static(request: Request) -> Response:
    """Send a script or a style."""
    name = request.path_params["name"]
    if name not in page_parts.static_files():
        return missing_page(request, LtmError())
    kind = "text/javascript" if name.endswith(".js") else "text/css"
    return Response(page_parts.static_files()[name], media_type=kind)


def refused_page(_request: Request, error: Exception) -> Response:
    """Show why a request was refused."""
    status = error.status if isinstance(error, page_parts.PageError) else 400
    return page_parts.render_template(
        "refused.html.j2", status=status, title="That did not work", text=str(error)
    )


def missing_page(_request: Request, _error: Exception) -> Response:
    """Report a missing page."""
    return PlainTextResponse("There is no such page.", 404)
