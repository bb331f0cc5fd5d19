"""The options of reports."""

from __future__ import annotations

from pytest_ltm.api.session import Option, OptionGroup

OPTIONS = (
    Option(
        "--ltm-report",
        "FILE.html",
        "write a self-contained HTML report of the run",
        group=OptionGroup.REPORTS,
        is_path=True,
        endings=(".html", ".htm"),
        writes=True,
    ),
    Option(
        "--ltm-summary",
        "FILE.md",
        "write a Markdown summary of the run; -: print it in place of the tables",
        group=OptionGroup.REPORTS,
        is_path=True,
        writes=True,
        repeats=False,
    ),
    Option(
        "--ltm-live",
        "",
        "print a link to a local page that shows the run while it happens; needs the extra web",
        group=OptionGroup.RUN,
        has_twin=False,
        repeats=False,
    ),
)
