"""The report file: everything is read, worded and escaped here; the page only folds, sorts, filters and draws."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from bisect import bisect
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING, Any

from pytest_ltm._results.metrics import measured
from pytest_ltm._results.run_loading import read_run
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._results.text import amount, percent, score_text
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.sanitize import for_screen, printable
from pytest_ltm._storage.secrets import written
from pytest_ltm.reporting.agents import largest, rank
from pytest_ltm.reporting.html.breaking_points import asked_at, breaks, columns, depths
from pytest_ltm.reporting.html.charts import score_by_cost, score_by_span, shade
from pytest_ltm.reporting.html.details import definitions, details, timeline
from pytest_ltm.reporting.html.figures import by_gap, figure_table, forgets, scoreboard
from pytest_ltm.reporting.html.headline import answers, difference, gates, leads, said, trust
from pytest_ltm.reporting.html.report_data import Material, material, origin, reasons, rules
from pytest_ltm.reporting.summary import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from pytest_ltm.reporting.html.report_data import ConversationEntry, ExampleEntry


_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def script_json(value: object) -> str:
    r"""Return JSON that is safe inside a script element: ASCII without `<`, `>` and `&`; texts are harmless."""
    # A `</script>` inside a text would end the element.
    return _dump(value).translate(_ESCAPES)


def parcel(value: object) -> str:
    """Return the JSON value compressed, in base64; equal values give equal parcels."""
    # mtime=0: equal runs give equal files.
    return base64.b64encode(gzip.compress(_dump(value).encode(), 9, mtime=0)).decode()


def harmless(value: Any) -> Any:
    """Return the JSON value with control characters in its texts as visible escapes."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): harmless(part) for key, part in value.items()}
    return [harmless(part) for part in value] if isinstance(value, list | tuple) else value


def _dump(value: object) -> str:
    return written(harmless(value), partial(json.dumps, ensure_ascii=True, separators=(",", ":"), allow_nan=False))


# --- What of a large run stands in the file: all of it counts, but a page of a hundred thousand examples opens nowhere.

MOST_EXAMPLES = 10_000
"""The most examples listed, as long as each scenario has one: Chromium opens them in about a second."""
LINES = 12_000_000
"""The most bytes of time lines in the file; the first is always there."""


def worst(found: Material, most: int = MOST_EXAMPLES) -> frozenset[int]:
    """Return the keys of the examples that are listed.

    Where they are too many: of each scenario equally many, those that went worst in any column, in all columns, so
    that columns can be compared.
    """
    if len(found.rows) <= most:
        return frozenset(row.key for row in found.rows)
    scenarios = _scenarios(found)
    numbers = range(1, max(map(len, scenarios)) + 1)
    fitting = bisect(numbers, most, key=lambda n: sum(len(rows) for examples in scenarios for rows in examples[:n]))
    return frozenset(row.key for examples in scenarios for rows in examples[: max(fitting, 1)] for row in rows)


def _scenarios(found: Material) -> list[list[list[ExampleEntry]]]:
    """Return the examples of each scenario, worst first; an example is its rows in all columns."""
    by_name = grouped(found.rows, lambda row: row.result.scenario).values()
    examples = [grouped(rows, lambda row: (row.result.trial, row.result.example)).values() for rows in by_name]

    def lowest(rows: Sequence[ExampleEntry]) -> float:
        return min((row.result.score for row in rows if row.result.score is not None), default=0.0)

    return [sorted(of, key=lowest) for of in examples]


def in_turn(found: Material) -> Iterator[ConversationEntry]:
    """Yield the conversations in the order in which they are packed: the first of each column, then the second."""
    # Where time lines must be left out, each column should still show one.
    for row in zip_longest(*grouped(found.conversations, lambda held: held.series).values()):
        yield from filter(None, row)


# --- Parcels: what stays compressed in the page until it is opened: examples, and the time lines of conversations.

TOGETHER = 16
"""Examples packed into one parcel: they have much in common, so they compress well."""


@dataclass(slots=True)
class Parcels:
    """What stays compressed until it is opened."""

    shown: frozenset[int]
    """The examples that are listed."""
    room: int
    """Bytes for further time lines."""
    packed: dict[str, str] = field(default_factory=dict)
    """By element id: `e<conversation>.<number>` has TOGETHER examples, by key, `c<conversation>` a time line."""
    fingerprints: dict[int, str] = field(default_factory=dict)
    """Of each example's definition, short."""
    lines: set[int] = field(default_factory=set)
    """The conversations whose time line is in the file."""
    left_out: set[int] = field(default_factory=set)
    """Those for whose time line there was no room."""
    asked: dict[int, int] = field(default_factory=dict)
    """How many tokens came before the last question of examples, by key."""

    def add(self, held: ConversationEntry) -> None:
        """Pack a conversation."""
        defined, record = definitions(held.folder.plan()), held.folder.record()
        damage = "" if record else held.folder.damage()
        expected = {name: text.get("expected") for name, text in defined.items() if isinstance(text, dict)}
        texts = {name: _fingerprint(text) for name, text in defined.items()}
        self.fingerprints |= {row.key: texts.get(row.result.id, "") for row in held.rows}
        for number in range(0, len(held.rows), TOGETHER):
            rows = [row for row in held.rows[number : number + TOGETHER] if row.key in self.shown]
            if rows:
                told = {str(row.key): details(row.result, record, expected.get(row.result.id), damage) for row in rows}
                self.packed[f"e{held.key}.{number // TOGETHER}"] = parcel(told)
        if record is None:
            return
        self.asked |= asked_at(held.rows, record)
        packed = "" if self.left_out else parcel(timeline(held.rows, record))
        self.room -= len(packed)
        if packed and (self.room >= 0 or not self.lines):
            self.packed[f"c{held.key}"] = packed
            self.lines.add(held.key)
        else:
            self.left_out.add(held.key)


def _fingerprint(definition: object) -> str:
    """Return a short fingerprint of an example's definition: equal texts have equal ones."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:8]


STYLES = ("page.css", "tables.css", "breaks.css", "search.css", "timeline.css", "print.css")
SCRIPTS = (
    "page.js", "details.js", "examples.js", "timeline.js", "compare.js", "beside.js", "breaks.js",
    "search.js", "address.js", "start.js",
)  # fmt: skip
FIRST_ROWS = 300
"""Examples shown at first: browsers lay out longer tables slowly."""
ALL_PAIRS = 12
"""With more series, only those against the best of their span are tested."""


def build_report(runs: Sequence[Path], out: Path, *, most: int = MOST_EXAMPLES, lines: int = LINES) -> None:
    """Write one self-contained HTML file about the runs in these folders.

    `most`: the most examples listed; `lines`: the most bytes of time lines.
    Raises LtmError if a folder holds no results, or if the file cannot be written.
    """
    page = render(material([read_run(run) for run in runs]), most, lines)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LtmError(f"cannot write the report {str(out)!r}: {error.strerror or error}") from error


def render(found: Material, most: int, lines: int) -> str:
    """Return the page."""
    style, script = asset(STYLES), asset(SCRIPTS)
    shown = worst(found, most)
    parcels = Parcels(shown, lines)
    for held in in_turn(found):
        parcels.add(held)
    last = largest(found.series)
    versus, broken = _versus(found), breaks(found, shown)
    best = (held.key for held in found.conversations if held.series == versus[0] and held.key in parcels.lines)
    return environment().get_template("report.html.j2").render(
        title=f"Long-term memory: {', '.join(found.agents)}",
        found=found,
        gates=[*gates(found), *leads(found)],
        standings=said(found),
        curve=score_by_span(found),
        trust=trust(found),
        answers=answers(found),
        largest=last,
        scoreboard=scoreboard(found),
        losses={series.agent: forgets(series) for series in found.at(last)},
        figures=figure_table(found),
        against=_against_best(found),
        versus=versus,
        talk=next(best, None),
        costs=score_by_cost(found),
        breaks=broken,
        depths=depths(found, parcels.asked, broken, shown),
        gaps=by_gap(found),
        averages=[one for run in found.runs for one in measured(run.result)],
        first_rows=FIRST_ROWS,
        rules=rules(found),
        origins=[origin(run) for run in found.runs],
        reasons=reasons(found),
        metrics=METRICS,
        index=_index(found),
        shown=shown,
        parcels=parcels,
        style=style,
        script=script,
        policy=_policy(style, script),
    )  # fmt: skip


@cache
def environment() -> Environment:
    """Return what renders our templates: everything is escaped, and made harmless where it is shown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def finalize(value: object) -> object:
        return for_screen(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    made = Environment(
        loader=PackageLoader("pytest_ltm.reporting.html"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shade": shade, "score": score_text, "amount": amount, "percent": percent, "own": Markup}
    made.filters["script_json"] = lambda value: Markup(script_json(value))  # noqa: S704 - escaped there
    made.filters["breakable"] = lambda text: Markup(escape(for_screen(text)).replace("_", "_\u200b"))  # noqa: S704
    return made


def asset(names: Sequence[str]) -> str:
    """Return the text of some assets, one after the other."""
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
        "columns": columns(found),
        "conversations": [
            {"label": held.label, "series": held.series, "first": held.rows[0].key if held.rows else 0}
            for held in found.conversations
        ],
        "together": TOGETHER,
        "tests": _tests(found),
        "first_rows": FIRST_ROWS,
    }


def _tests(found: Material) -> dict[str, str]:
    """Return what is told of pairs of series, by `<one>|<other>`."""
    # Tests of all pairs grow with the square of the series.
    if len(found.series) <= ALL_PAIRS:
        pairs = list(combinations(found.series, 2))
    else:
        ranked = [rank(found.at(span)) for span in found.spans]
        pairs = [(each[0], other) for each in ranked for other in each[1:]]
    tested = {f"{one.key}|{other.key}": difference(one, other) for one, other in pairs}
    return {key: test.told.text for key, test in tested.items() if test}


def _versus(found: Material) -> tuple[int, int]:
    """The series that are compared at first: the best two at the largest span, else two spans of one agent."""
    ranked = rank(found.at(largest(found.series)))
    if len(ranked) > 1:
        return ranked[0].key, ranked[1].key
    first, *others = sorted(found.series, key=lambda series: series not in ranked)
    same = [series for series in others if series.agent == first.agent]
    other = next(iter([*same, *others]), first)
    return first.key, other.key


def _against_best(found: Material) -> dict[int, str]:
    """Return for each series its distance to the best of its span, and how probable that is by chance."""
    against: dict[int, str] = {}
    for span in found.spans:
        ranked = rank(found.at(span))
        for each in ranked[1:]:
            test = difference(ranked[0], each)
            if test is not None:
                against[each.key] = f"{-test.gain:+.2f}: {test.told.brief}" if test.gain else test.told.brief
        if ranked:
            against[ranked[0].key] = "best" if len(ranked) > 1 else ""
    return against
