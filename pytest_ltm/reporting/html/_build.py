"""The report file: everything is read, worded and escaped here; the page only folds, sorts, filters and draws."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import LtmError
from pytest_ltm.reporting._measures import measured
from pytest_ltm.reporting._summary import METRICS
from pytest_ltm.reporting._text import amount, printable, score_text
from pytest_ltm.reporting.html import _charts, _headline, _provenance, _tables
from pytest_ltm.reporting.html._difference import difference
from pytest_ltm.reporting.html._listed import LINES, MOST, listed
from pytest_ltm.reporting.html._maps import heat_maps
from pytest_ltm.reporting.html._material import Material, material
from pytest_ltm.reporting.html._packs import script_json
from pytest_ltm.reporting.html._parcels import TOGETHER, parcels
from pytest_ltm.reporting.html._shades import shade

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jinja2 import Environment

STYLES = ("page.css", "tables.css", "timeline.css", "print.css")
SCRIPTS = ("page.js", "details.js", "examples.js", "timeline.js", "compare.js", "start.js")
FIRST_ROWS = 300
"""So many examples are shown at first: browsers lay longer tables out slowly."""
ALL_PAIRS = 12
"""With more series, only those against the best of their span are tested."""


def build_report(runs: Sequence[Path], out: Path, *, most: int = MOST, lines: int = LINES) -> None:
    """Write one self-contained HTML file about the runs in these folders.

    `most`: so many examples are listed at most; `lines`: bytes of time lines.
    Raises LtmError if a folder holds no results, or if the file cannot be written.
    """
    page = render(material(runs), most, lines)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LtmError(f"cannot write the report {str(out)!r}: {error.strerror or error}") from error


def render(found: Material, most: int, lines: int) -> str:
    """Return the page."""
    style, script = _asset(STYLES), _asset(SCRIPTS)
    shown = listed(found, most)
    packed = parcels(found, shown, lines)
    return _environment().get_template("report.html.j2").render(
        title=f"Long-term memory: {', '.join(found.agents)}",
        found=found,
        answers=_headline.headline(found),
        largest=_headline.largest(found),
        scoreboard=_tables.scoreboard(found),
        losses={series.agent: _tables.forgets(series) for series in found.at(_headline.largest(found))},
        figures=_tables.figure_table(found),
        against=_against_best(found),
        charts=[chart for chart in (_charts.score_by_span(found), _charts.score_by_cost(found)) if chart],
        size=(_charts.WIDTH, _charts.HEIGHT, _charts.LEFT, _charts.RIGHT, _charts.TOP, _charts.BOTTOM),
        heat_maps=heat_maps(found, shown),
        gaps=_tables.by_gap(found),
        measures=[one for run in found.runs for one in measured(run.result)],
        skills=_tables.by_skill(found),
        first_rows=FIRST_ROWS,
        rules=_provenance.rules(found),
        origins=[_provenance.origin(run) for run in found.runs],
        reasons=_provenance.reasons(found),
        metrics=METRICS,
        index=_index(found),
        shown=shown,
        parcels=packed,
        style=style,
        script=script,
        policy=_policy(style, script),
    )  # fmt: skip


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only who builds a report pays
    from markupsafe import Markup, escape  # noqa: PLC0415 - only who builds a report pays

    def finalize(value: object) -> object:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        loader=PackageLoader("pytest_ltm.reporting.html"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shade": shade, "score": score_text, "amount": amount}
    environment.filters["script_json"] = lambda value: Markup(script_json(value))  # noqa: S704 - escaped there
    environment.filters["breakable"] = lambda text: Markup(escape(printable(text)).replace("_", "_\u200b"))  # noqa: S704
    environment.filters["own"] = Markup
    return environment


def _asset(names: Sequence[str]) -> str:
    folder = files("pytest_ltm.reporting.html") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _policy(style: str, script: str) -> str:
    """Return a policy under which the page's own style and script work, nothing else, and no request is made."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _index(found: Material) -> dict[str, Any]:
    """Return what the page's script must know at once."""
    return {
        "series": [series.label for series in found.series],
        "conversations": [
            {"label": held.label, "first": held.rows[0].key if held.rows else 0} for held in found.conversations
        ],
        "together": TOGETHER,
        "tests": _tests(found),
        "first_rows": FIRST_ROWS,
    }


def _tests(found: Material) -> dict[str, list[float | None]]:
    """Return gain, probability and pairs for pairs of series, by `<one>|<other>`."""
    if len(found.series) <= ALL_PAIRS:
        pairs = list(combinations(found.series, 2))
    else:
        ranked = [_headline.rank(found.at(span)) for span in found.spans]
        pairs = [(each[0], other) for each in ranked for other in each[1:]]
    tested = {f"{one.key}|{other.key}": difference(one, other) for one, other in pairs}
    return {key: [test.gain, test.p, test.pairs] for key, test in tested.items() if test}


def _p(p: float | None) -> str:
    if p is None:
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"  # noqa: PLR2004 - what three decimals can tell


def _against_best(found: Material) -> dict[int, str]:
    """Return for each series how probable its distance to the best of its span is by chance."""
    against: dict[int, str] = {}
    for span in found.spans:
        ranked = _headline.rank(found.at(span))
        for each in ranked[1:]:
            test = difference(ranked[0], each)
            if test is not None:
                against[each.key] = f"{-test.gain:+.2f}, {_p(test.p)}" if test.better or test.worse else "equal"
        if ranked:
            against[ranked[0].key] = "best" if len(ranked) > 1 else ""
    return against
