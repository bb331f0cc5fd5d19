"""The server: its pages, and what answers where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pytest_ltm._storage.errors import LtmError
from pytest_ltm.web import human_test, live_page, page_parts, run_pages
from pytest_ltm.web.guard import Guard, Strangers
from pytest_ltm.web.review import pages

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from starlette.requests import Request


def make_app(
    *,
    ltm_dir: Path,
    baselines: Path,
    secret: str,
    hosts: Collection[str],
    port: int,
    live: str = "",
    strangers: Strangers | None = None,
) -> Starlette:
    """Return the server's pages behind their guard; `live` is a run that the link leads to, begun or not."""
    home = f"/live?run={quote(live)}" if live else "/"
    guard = Middleware(
        Guard, secret=secret, hosts=hosts, cookie=f"ltm_{port}", home=home, strangers=strangers or Strangers()
    )
    rooms = (run_pages, live_page, pages, human_test)
    routes = [*(route for room in rooms for route in room.ROUTES), Route("/static/{name}", serve_static)]
    app = Starlette(routes=routes, middleware=[guard], exception_handlers={LtmError: refused_page, 404: missing_page})
    app.state.ltm_dir, app.state.baselines, app.state.secret = ltm_dir, baselines, secret
    app.state.followed, app.state.ending, app.state.awaited = {}, lambda: False, live
    return app


async def serve_static(request: Request) -> Response:
    """Send a script or a style."""
    name = request.path_params["name"]
    if name not in page_parts.static_files():
        return await missing_page(request, LtmError())
    kind = "text/javascript" if name.endswith(".js") else "text/css"
    return Response(page_parts.static_files()[name], media_type=kind)


async def refused_page(request: Request, error: Exception) -> Response:
    """Say what was wrong with a request."""
    status = error.status if isinstance(error, page_parts.PageError) else 400
    return page_parts.render_template(
        request, "refused.html.j2", status=status, title="That did not work", text=str(error)
    )


async def missing_page(_request: Request, _error: Exception) -> Response:
    """Say that there is no such page."""
    return PlainTextResponse("There is no such page.", 404)
