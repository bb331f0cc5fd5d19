"""The report file: everything is read, worded and escaped here; the page only folds, sorts, filters and draws."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from io import BytesIO
from itertools import combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._core.journal.section import sections_of
from pytest_ltm._core.model.transcript import TextFile
from pytest_ltm._core.storage.disk import write_output
from pytest_ltm._core.storage.sanitize import escape_unprintable, for_screen
from pytest_ltm._core.storage.secrets import dump_json_redacted
from pytest_ltm.figures.figures import read_definitions
from pytest_ltm.figures.memory_measures import needle_rows
from pytest_ltm.figures.metrics import agent_metrics
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_percent, score_text, short_count
from pytest_ltm.reports.agent_sentences import largest_span_label
from pytest_ltm.reports.html.charts import score_by_cost, score_by_span, shade_class
from pytest_ltm.reports.html.details import (
    example_details,
    expected_answers,
    plan_definitions,
    timeline_json,
)
from pytest_ltm.reports.html.headline import (
    agent_sentences,
    gate_answers,
    headline_answers,
    leading_metric_answers,
    series_difference,
    trust_line,
)
from pytest_ltm.reports.html.report_data import (
    ConversationEntry,
    ExampleEntry,
    Material,
    ResultSeries,
    deciding_rules,
    report_material,
    run_origin,
    unscored_reasons,
)
from pytest_ltm.reports.html.score_tables import (
    asked_at,
    breaking_points,
    by_gap,
    comparable_columns,
    depth_maps,
    figure_table,
    score_grid,
    worst_scenarios,
)
from pytest_ltm.reports.verification import DIFFERS, read_marked_run

if TYPE_CHECKING:
    from jinja2 import Environment


_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def script_json(value: object) -> str:
    r"""Return JSON that is safe inside a script element: ASCII without `<`, `>` and `&`; texts are harmless."""
    # A `</script>` inside a text would end the element.
    return _dump_redacted(value).translate(_ESCAPES)


def pack_json(value: object) -> str:
    """Return the JSON value compressed, in base64; equal values give equal parcels."""
    # mtime=0: equal runs give equal files. 5: 9 takes more than twice the time for one
    # percent.
    return base64.b64encode(
        gzip.compress(_dump_redacted(value).encode(), 5, mtime=0)
    ).decode()


def escape_controls(value: Any) -> Any:
    """Return the JSON value with control characters in its texts as visible escapes."""
    if isinstance(value, str):
        return escape_unprintable(value)
    if isinstance(value, dict):
        return {
            escape_unprintable(str(key)): escape_controls(part)
            for key, part in value.items()
        }
    return (
        [escape_controls(part) for part in value]
        if isinstance(value, list | tuple)
        else value
    )


def _dump_redacted(value: object) -> str:
    dump = partial(json.dumps, separators=(",", ":"), allow_nan=False)
    # Nearly all texts are harmless as they are, and JSON tells it faster than a walk
    # through its values.
    text = dump(value, ensure_ascii=False)
    is_harmless = text.isprintable() and not _CONTROL.search(text)
    return dump_json_redacted(value if is_harmless else escape_controls(value), dump)


# The escapes of JSON for control characters other than line feeds.
_CONTROL = re.compile(r"\\[bfrtu]")


# --- What of a large run stands in the file: all of it counts, but a page of a hundred
# thousand examples opens nowhere.

# The most examples listed, as long as each scenario has one: Chromium opens them in
# about a second.
MOST_EXAMPLES = 10_000
# The most bytes of time lines in the file; the first is always there.
LINES = 12_000_000


def worst_examples(material: Material, most: int = MOST_EXAMPLES) -> frozenset[int]:
    """Return the keys of the examples that are listed.

    Where they are too many: of each scenario equally many, those that went worst in any
    column, in all columns, so that columns can be compared.
    """
    if len(material.rows) <= most:
        return frozenset(row.key for row in material.rows)
    # The examples of each scenario, worst first; an example is its rows in all columns.
    by_name = group_by(material.rows, lambda row: row.result.scenario).values()
    examples = [
        group_by(rows, lambda row: (row.result.trial, row.result.example)).values()
        for rows in by_name
    ]

    def lowest(rows: Sequence[ExampleEntry]) -> float:
        return min(
            (row.result.score for row in rows if row.result.score is not None),
            default=0.0,
        )

    scenarios = [sorted(of, key=lowest) for of in examples]
    numbers = range(1, max(map(len, scenarios)) + 1)
    fitting = bisect(
        numbers,
        most,
        key=lambda n: sum(len(rows) for examples in scenarios for rows in examples[:n]),
    )
    return frozenset(
        row.key
        for examples in scenarios
        for rows in examples[: max(fitting, 1)]
        for row in rows
    )


def list_failures_first(
    material: Material, shown: AbstractSet[int]
) -> list[tuple[ResultSeries, ExampleEntry]]:
    """Return the examples that are listed: what failed, what has no score, what passed, each by column."""
    rows = [
        (series, row)
        for series in material.series
        for row in series.rows
        if row.key in shown
    ]
    return sorted(rows, key=lambda listed: _urgency(listed[1]))


def _urgency(row: ExampleEntry) -> int:
    if not row.result.scored:
        return 1
    return 0 if row.result.outcome == "failed" else 2


# --- Parcels: what stays compressed in the page until it is opened: examples, and the
# time lines of conversations.

# Examples packed into one parcel: they have much in common, so they compress well.
TOGETHER = 16


@dataclass(slots=True)
class Parcels:
    """What stays compressed until it is opened."""

    shown: frozenset[int]
    """The examples that are listed."""
    room: int
    """Bytes for further time lines."""
    ids: list[str] = field(default_factory=list)
    """Of elements: `e<conversation>.<number>` has TOGETHER examples, by key, `c<conversation>` a time line."""
    texts: TextFile = field(default_factory=TextFile)
    """What is packed, an element each: on disk, because it is most of the page."""
    fingerprints: dict[int, str] = field(default_factory=dict)
    """Of each example's definition, short: equal texts have equal ones."""
    lines: set[int] = field(default_factory=set)
    """The conversations whose time line is in the file."""
    left_out: set[int] = field(default_factory=set)
    """Those for whose time line there was no room."""
    asked: dict[int, int] = field(default_factory=dict)
    """How many tokens came before the last question of examples, by key."""

    def add(self, held: ConversationEntry) -> None:
        """Pack a conversation."""
        defined, record = plan_definitions(held.folder.plan()), held.folder.record()
        damage = "" if record else held.folder.damage()
        unanswered = list(record.unanswered.values()) if record else []
        said = expected_answers(defined)
        canonical = {
            name: json.dumps(text, sort_keys=True).encode()
            for name, text in defined.items()
        }
        digests = {
            name: hashlib.sha256(text).hexdigest()[:8]
            for name, text in canonical.items()
        }
        self.fingerprints |= {
            row.key: digests.get(row.result.id, "") for row in held.rows
        }
        for number in range(0, len(held.rows), TOGETHER):
            rows = [
                row
                for row in held.rows[number : number + TOGETHER]
                if row.key in self.shown
            ]
            if rows:
                entries = {
                    str(row.key): example_details(
                        row.result,
                        record,
                        said.get(row.result.id, ""),
                        damage,
                        unanswered,
                    )
                    for row in rows
                }
                self.ids.append(f"e{held.key}.{number // TOGETHER}")
                self.texts.append(pack_json(entries))
        if record is None:
            return
        self.asked |= asked_at(held.rows, record)
        packed = "" if self.left_out else pack_json(timeline_json(held.rows, record))
        self.room -= len(packed)
        if packed and (self.room >= 0 or not self.lines):
            self.ids.append(f"c{held.key}")
            self.texts.append(packed)
            self.lines.add(held.key)
        else:
            self.left_out.add(held.key)

    def packed(self) -> Iterator[tuple[str, str]]:
        """Return what is packed, each after its element's id."""
        return zip(self.ids, self.texts, strict=True)


STYLES = (
    "page.css",
    "tables.css",
    "breaks.css",
    "search.css",
    "timeline.css",
    "print.css",
)
SCRIPTS = (
    "theme.js",
    "page.js",
    "details.js",
    "examples.js",
    "timeline.js",
    "compare.js",
    "beside.js",
    "breaks.js",
    "search.js",
    "address.js",
    "start.js",
)
# Examples shown at first: browsers lay out longer tables slowly.
FIRST_ROWS = 300


def build_report(
    runs: Sequence[Path | LoadedRun],
    out: Path,
    *,
    most: int = MOST_EXAMPLES,
    lines: int = LINES,
) -> None:
    """Write one self-contained HTML file about the runs in these folders, of which some may have been read already.

    `most`: the most examples listed; `lines`: the most bytes of time lines.
    What does not hold is noted at the head of the page.
    Raises LtmError if a folder holds no results, or if the file cannot be written.
    """
    write_output(
        out,
        render_page(
            report_material([read_marked_run(run) for run in runs]), most, lines
        ),
    )


def render_page(material: Material, most: int, lines: int) -> bytes:
    """Return the page."""
    style, script = read_assets(STYLES), read_assets(SCRIPTS)
    shown = worst_examples(material, most)
    parcels = Parcels(shown, lines)
    # The first of each column, then the second: where time lines are left out, each
    # column still shows one.
    for row in zip_longest(
        *group_by(material.conversations, lambda held: held.series).values()
    ):
        for held in filter(None, row):
            parcels.add(held)
    last = largest_span_label(material.series)
    broken, ranked = breaking_points(material, shown), material.ranked
    # What is compared at first: the best two at the largest span, else two spans of one
    # agent.
    first, *others = (
        ranked
        if len(ranked) > 1
        else sorted(material.series, key=lambda series: series not in ranked)
    )
    same = [
        series for series in others if series.agent == first.agent and len(ranked) < 2
    ]
    versus = first.key, next(iter([*same, *others]), first).key
    best = (
        conversation.key
        for conversation in material.conversations
        if conversation.series == versus[0] and conversation.key in parcels.lines
    )
    _show_text.cache_clear()
    parts = (
        template_environment()
        .get_template("report.html.j2")
        .stream(
            title=f"Long-term memory: {', '.join(material.agents)}",
            found=material,
            gates=[*gate_answers(material), *leading_metric_answers(material)],
            sections=[
                section for run in material.runs for section in sections_of(run.summary)
            ],
            standings=agent_sentences(material),
            curve=score_by_span(material),
            trust=trust_line(material),
            answers=headline_answers(material),
            largest=last,
            scoreboard=score_grid(material),
            losses={
                series.agent: worst_scenarios(series)
                for series in material.series_at(last)
            },
            figures=figure_table(material),
            against=_against_best(material),
            versus=versus,
            talk=next(best, None),
            costs=score_by_cost(material),
            breaks=broken,
            depths=depth_maps(material, parcels.asked, broken, shown),
            gaps=by_gap(material),
            averages=[
                metric for run in material.runs for metric in agent_metrics(run.result)
            ],
            # The first facts alone: results.json has what a memory made of each.
            needles=needle_rows(row.result for row in material.rows)[:2_000],
            first_rows=FIRST_ROWS,
            rules=deciding_rules(material),
            origins=[run_origin(run) for run in material.runs],
            marks=[
                text
                for run in material.runs
                for text in run.result.notices
                if text.startswith(DIFFERS)
            ],
            graded=[row.result for row in material.rows if row.result.is_contested],
            # The first contested answers alone: the run's folder has all.
            most_graded=200,
            reasons=unscored_reasons(material),
            metrics=read_definitions(),
            index=_page_index(material),
            shown=shown,
            listed=list_failures_first(material, shown),
            parcels=parcels,
            style=style,
            script=script,
            policy=content_policy(style, script),
        )
    )
    # A large page has half a million parts, each of which takes more room than its
    # text.
    parts.enable_buffering(100)
    page = BytesIO()
    parts.dump(page, "utf-8")
    return page.getvalue()


# Thousands of cells show the same few texts. Forgotten for each page, as other things
# may be secret by then.
_show_text = lru_cache(1 << 14)(for_screen)


@cache
def template_environment() -> Environment:
    """Return what renders our templates: everything is escaped, and made harmless where it is shown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def finalize(value: object) -> object:
        return (
            _show_text(value)
            if isinstance(value, str) and not isinstance(value, Markup)
            else value
        )

    made = Environment(
        loader=PackageLoader("pytest_ltm.reports.html"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shade": shade_class,
        "score": score_text,
        "amount": short_count,
        "percent": format_percent,
        "own": Markup,
    }
    made.filters["script_json"] = lambda value: Markup(script_json(value))  # noqa: S704 - escaped there
    made.filters["breakable"] = lambda text: Markup(  # noqa: S704
        escape(for_screen(text)).replace("_", "_\u200b")
    )
    return made


def read_assets(names: Sequence[str]) -> str:
    """Return the text of some assets, one after the other."""
    folder = files("pytest_ltm.reports.html") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def content_policy(style: str, script: str) -> str:
    """Return a policy under which the page's own style and script work, nothing else, and no request is made."""
    own = {"script": script, "style": style}
    digests = {
        kind: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for kind, text in own.items()
    }
    # By their hashes: a style or a script that somebody's answer smuggles in has
    # another one.
    sources = "".join(
        f"{kind}-src 'sha256-{digest}'; " for kind, digest in digests.items()
    )
    return (
        f"default-src 'none'; {sources}img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )


def _page_index(material: Material) -> dict[str, Any]:
    """Return what the page's script must know at once."""
    # Tests of all pairs grow with the square of the series.
    # With more series, only those against the best of their span are tested.
    if len(material.series) <= 12:
        pairs = list(combinations(material.series, 2))
    else:
        pairs = [
            (best, other)
            for best, *others in map(material.ranked_at, material.spans)
            for other in others
        ]
    tested = {
        f"{one.key}|{other.key}": series_difference(one, other) for one, other in pairs
    }
    return {
        "series": [series.label for series in material.series],
        "columns": comparable_columns(material),
        "conversations": [
            {
                "label": conversation.label,
                "series": conversation.series,
                "first": conversation.rows[0].key if conversation.rows else 0,
            }
            for conversation in material.conversations
        ],
        "together": TOGETHER,
        "tests": {key: test.told.text for key, test in tested.items() if test},
        "first_rows": FIRST_ROWS,
    }


def _against_best(material: Material) -> dict[int, str]:
    """Return for each series its distance to the best of its span, and how probable that is by chance."""
    against: dict[int, str] = {}
    for ranked in map(material.ranked_at, material.spans):
        for each in ranked[1:]:
            test = series_difference(ranked[0], each)
            if test is not None:
                against[each.key] = (
                    f"{-test.gain:+.2f}: {test.told.brief}"
                    if test.gain
                    else test.told.brief
                )
        if ranked:
            against[ranked[0].key] = "best" if len(ranked) > 1 else ""
    return against
