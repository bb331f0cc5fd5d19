"""The server: its pages, and what answers where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_ltm._record.run_file import began, newest_first
from pytest_ltm._storage.errors import LtmError
from pytest_ltm.agents._mailbox import people
from pytest_ltm.web import review, shell, sitting
from pytest_ltm.web.guard import Guard

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from starlette.requests import Request


MOST_RUNS = 200


def make_app(*, ltm_dir: Path, baselines: Path, secret: str, hosts: Collection[str], port: int) -> Starlette:
    """Return the server's pages behind their guard."""
    guard = Middleware(Guard, secret=secret, hosts=hosts, cookie=f"ltm_{port}")
    routes = [Route("/", runs), Route("/static/{name}", static), *review.ROUTES, *sitting.ROUTES]
    app = Starlette(routes=routes, middleware=[guard], exception_handlers={LtmError: refused, 404: nowhere})
    app.state.ltm_dir, app.state.baselines, app.state.secret = ltm_dir, baselines, secret
    return app


async def runs(request: Request) -> Response:
    """List the runs."""
    return await run_in_threadpool(_runs, request)


def _runs(request: Request) -> Response:
    told = [
        {
            "name": path.name,
            "began": found.strftime("%Y-%m-%d %H:%M") if (found := began(path)) else "",
            "can_be_reviewed": any(path.glob("*/results.json")),
            "people": len(people(path)),
        }
        for path in newest_first(shell.ltm_dir(request))[:MOST_RUNS]
    ]
    return shell.page(request, "runs.html.j2", title="Runs", runs=told)


async def static(request: Request) -> Response:
    """Send a script or a style."""
    name = request.path_params["name"]
    if name not in shell.static():
        return await nowhere(request, LtmError())
    kind = "text/javascript" if name.endswith(".js") else "text/css"
    return Response(shell.static()[name], media_type=kind)


async def refused(request: Request, error: Exception) -> Response:
    """Say what was wrong with a request."""
    status = error.status if isinstance(error, shell.Refused) else 400
    return shell.page(request, "refused.html.j2", status=status, title="That did not work", text=str(error))


async def nowhere(_request: Request, _error: Exception) -> Response:
    """Say that there is no such page."""
    return PlainTextResponse("There is no such page.", 404)
