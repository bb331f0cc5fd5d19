"""Shared parts of pages: templates, scripts, styles, and access to runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from pytest_ltm.api.journal import find_run
from pytest_ltm.api.storage import LtmError, for_screen

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response


class PageError(LtmError):
    """A page that cannot be shown, with its HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def render_template(template: str, *, status: int = 200, **shown: Any) -> Response:
    """Render a template that extends `layout.html.j2`.

    Texts from a run must pass the filter `harmless`, which shows control characters as escapes.
    """
    text = _template_environment().get_template(template).render(**shown)
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status)


def run_folder(request: Request, name: str) -> Path:
    """Return the folder of a run below the server's own; PageError if there is none."""
    ltm_dir: Path = request.app.state.ltm_dir
    if name == request.app.state.awaited:
        return ltm_dir / "runs" / name  # it may not have begun
    # Compared with existing names, not joined to a path, so a name cannot escape the
    # folder.
    if name not in {path.name for path in (ltm_dir / "runs").glob("*")}:
        raise PageError(404, f"There is no run {name!r} here.")
    return find_run(name, ltm_dir)


@cache
def _template_environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_ltm.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["harmless"] = for_screen
    return environment


@cache
def static_files() -> Mapping[str, bytes]:
    """Return scripts and styles by name, including those of the report page."""
    static_folder = files("pytest_ltm.web") / "static"
    report = files("pytest_ltm.reports.html") / "assets"
    shared = ("colours.css", "page.css", "charts.css", "theme.js")
    return {
        **{name: (report / name).read_bytes() for name in shared},
        **{file.name: file.read_bytes() for file in static_folder.iterdir()},
    }
