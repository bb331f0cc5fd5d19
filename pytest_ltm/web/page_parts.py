"""What pages share: templates, forms whose token is checked, where runs are."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from markupsafe import Markup
from starlette.responses import HTMLResponse

from pytest_ltm._core.journal.run_file import find_run
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.sanitize import for_screen
from pytest_ltm.web.guard import MOST_BYTES, form_token

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response


class PageError(LtmError):
    """A page that cannot be had, with the status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def render_template(
    request: Request, template: str, *, status: int = 200, **shown: Any
) -> Response:
    """Return a page: a template that extends `layout.html.j2`, with what it shows.

    Whatever was said in a run passes the filter `harmless`, which shows control
    characters as escapes.
    """
    csrf = Markup('<input type="hidden" name="csrf" value="{}">').format(
        form_token(_viewer_secret(request))
    )
    text = _template_environment().get_template(template).render(csrf=csrf, **shown)
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)


async def posted_form(request: Request) -> Mapping[str, str]:
    """Return what was posted; Refused if it does not hold the token of this page, or is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise PageError(413, "That is too much to send at once.")
    try:
        qsl = parse_qsl(
            body.decode("utf-8", "replace"),
            keep_blank_values=True,
            max_num_fields=100,
            errors="replace",
        )
    except ValueError as error:
        raise PageError(400, "That is not a form of this page.") from error
    given = dict(qsl)
    if not hmac.compare_digest(
        given.get("csrf", "").encode(), form_token(_viewer_secret(request)).encode()
    ):
        raise PageError(
            403,
            "This page is older than the server. Load it again; what you typed is still there.",
        )
    return given


def _viewer_secret(request: Request) -> str:
    """Return what only those know who may see this page: a person's link, which outlives the server, or its secret."""
    secret: str = request.path_params.get("link") or request.app.state.secret
    return secret


def run_folder(request: Request, name: str) -> Path:
    """Return the folder of a run below the server's own; Refused if there is none."""
    ltm_dir: Path = request.app.state.ltm_dir
    if name == request.app.state.awaited:
        return ltm_dir / "runs" / name  # it may not have begun
    # Compared with what is there, not joined to a path: a name cannot climb out of the
    # folder.
    if name not in {path.name for path in (ltm_dir / "runs").glob("*")}:
        raise PageError(404, f"There is no run {name!r} here.")
    return find_run(name, ltm_dir)


@cache
def _template_environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pytest_ltm.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["harmless"] = for_screen
    return made


@cache
def static_files() -> Mapping[str, bytes]:
    """Return scripts and styles by name; the report's page has the same base."""
    own = files("pytest_ltm.web") / "static"
    report = files("pytest_ltm.reports.html") / "assets"
    return {
        "page.css": (report / "page.css").read_bytes(),
        **{each.name: each.read_bytes() for each in own.iterdir()},
    }
