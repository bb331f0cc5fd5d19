"""Builds the HTML report: reads, words and escapes everything; the page only folds, sorts and draws."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from io import BytesIO
from itertools import chain, combinations, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm.api.journal import ConversationRecord, Section, sections_of
from pytest_ltm.api.model import TextFile
from pytest_ltm.api.storage import (
    dump_json_redacted,
    escape_unprintable,
    for_screen,
    write_output,
)
from pytest_ltm.figures.figures import read_definitions
from pytest_ltm.figures.memory_measures import needle_rows
from pytest_ltm.figures.metrics import AgentMetrics, agent_metrics
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_percent, score_text, short_count
from pytest_ltm.reports.agent_sentences import largest_span_label
from pytest_ltm.reports.discrepancies import Discrepancy
from pytest_ltm.reports.html.charts import (
    score_by_cost,
    score_by_span,
    section_charts,
    shade_class,
)
from pytest_ltm.reports.html.details import (
    example_details,
    expected_answers,
    plan_definitions,
    timeline_json,
)
from pytest_ltm.reports.html.headline import (
    Differences,
    agent_sentences,
    gate_answers,
    headline_answers,
    leading_metric_answers,
    series_differences,
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
from pytest_ltm.reports.section_tables import section_tables
from pytest_ltm.reports.verification import (
    add_marks,
    check_conversations,
    check_folder,
    check_run_files,
    discrepancy_notices,
    without_examples,
)

if TYPE_CHECKING:
    from jinja2 import Environment


_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def script_json(value: object) -> str:
    r"""Return JSON that is safe in a script element: ASCII without `<`, `>` and `&`; texts are sanitized."""
    # A `</script>` inside a text would end the element.
    return _dump_redacted(value).translate(_ESCAPES)


def pack_json(value: object) -> str:
    """Return the JSON value compressed and in base64; equal values give equal strings."""
    # mtime=0 keeps the output reproducible. Level 9 takes more than twice as long as 5
    # and saves one percent.
    packed = gzip.compress(_dump_redacted(value).encode(), 5, mtime=0)
    return base64.b64encode(packed).decode()


def escape_controls(value: Any) -> Any:
    """Return the JSON value with control characters in its texts as visible escapes."""
    if isinstance(value, str):
        return escape_unprintable(value)
    if isinstance(value, dict):
        escaped: dict[str, Any] = {}
        for key, part in value.items():
            escaped[escape_unprintable(str(key))] = escape_controls(part)
        return escaped
    if isinstance(value, list | tuple):
        return [escape_controls(part) for part in value]
    return value


def _dump_redacted(value: object) -> str:
    """Return JSON without secrets and with sanitized texts."""
    dump = partial(json.dumps, separators=(",", ":"), allow_nan=False)
    text = dump_json_redacted(value, dump)
    # Nearly all texts are harmless, and looking at the JSON takes less time than
    # walking through its values.
    if not _CONTROL.search(text):
        return text
    plain = dump(value, ensure_ascii=False)
    if plain.isprintable() and not _CONTROL.search(plain):
        return text
    return dump_json_redacted(escape_controls(value), dump)


# The escapes of JSON for characters beyond ASCII, and for control characters other than
# line feeds.
_CONTROL = re.compile(r"\\[bfrtu]")


# --- What the file contains of a large run: every example counts, but browsers cannot
# open a page that lists a hundred thousand.

# The most examples listed, if each scenario has at least one: Chromium opens them in
# about a second.
MOST_EXAMPLES = 10_000
# The most bytes of time lines in the file; the first is always included.
LINES = 12_000_000


def worst_examples(material: Material, most: int) -> frozenset[int]:
    """Return the keys of the listed examples.

    If there are too many: equally many per scenario, the ones with the lowest score in any column, listed for all
    columns so that columns can be compared.
    """
    if len(material.rows) <= most:
        return frozenset(row.key for row in material.rows)
    by_scenario = group_by(material.rows, lambda row: row.result.scenario)
    scenarios = list(map(_worst_first, by_scenario.values()))

    def first_examples(number: int) -> Iterator[list[ExampleEntry]]:
        return chain.from_iterable(scenario[:number] for scenario in scenarios)

    def count_rows(number: int) -> int:
        return sum(map(len, first_examples(number)))

    numbers = range(1, max(map(len, scenarios)) + 1)
    fitting = bisect(numbers, most, key=count_rows)
    rows = chain.from_iterable(first_examples(max(fitting, 1)))
    return frozenset(row.key for row in rows)


def _worst_first(rows: Sequence[ExampleEntry]) -> list[list[ExampleEntry]]:
    """Return the examples of a scenario, worst first, each as its rows in all columns."""
    examples = group_by(rows, lambda row: (row.result.trial, row.result.example))
    return sorted(examples.values(), key=_lowest_score)


def _lowest_score(rows: Sequence[ExampleEntry]) -> float:
    """Return the lowest score of an example in any column, or 0 without any."""
    scores = [row.result.score for row in rows if row.result.score is not None]
    return min(scores, default=0.0)


def list_failures_first(
    material: Material, shown_keys: AbstractSet[int]
) -> list[tuple[ResultSeries, ExampleEntry]]:
    """Return the listed examples, failures first, then those without a score, then passes, each by column."""
    rows: list[tuple[ResultSeries, ExampleEntry]] = []
    for row in material.rows:
        if row.key in shown_keys:
            rows.append((material.series[row.series], row))
    return sorted(rows, key=lambda listed: _urgency(listed[1]))


def _urgency(row: ExampleEntry) -> int:
    """Return the sort key of an example in the list, 0 for its top."""
    if not row.result.scored:
        return 1
    return 0 if row.result.outcome == "failed" else 2


# --- Parcels: examples and time lines that stay compressed in the page until they are
# opened.

# Examples per parcel: they have much in common, so they compress well together.
TOGETHER = 16


@dataclass(slots=True)
class Parcels:
    """The compressed parts of the page."""

    shown: frozenset[int]
    """The keys of the listed examples."""
    room: int
    """Bytes left for further time lines."""
    ids: list[str] = field(default_factory=list)
    """Element ids: `e<conversation>.<number>` holds TOGETHER examples, by key, `c<conversation>` a time line."""
    texts: TextFile = field(default_factory=TextFile)
    """The packed elements, on disk because they are most of the page."""
    fingerprints: dict[int, str] = field(default_factory=dict)
    """Short fingerprints of the examples' definitions: equal texts have equal ones."""
    lines: set[int] = field(default_factory=set)
    """The conversations whose time line is in the file."""
    left_out: set[int] = field(default_factory=set)
    """The conversations whose time line did not fit."""
    asked: dict[int, int] = field(default_factory=dict)
    """Tokens before the last question of each example, by key."""
    damages: list[str] = field(default_factory=list)
    """What is wrong with the journals that are left out."""
    discrepancies: dict[Path, list[Discrepancy]] = field(default_factory=dict)
    """The discrepancies in each conversation's folder."""

    def add(self, run: LoadedRun, conversation: ConversationEntry) -> None:
        """Pack a conversation of a run, and check it, as its journal is read only once."""
        folder = conversation.folder
        record = folder.record()
        self._pack(conversation, record)
        self.discrepancies[folder.path] = check_folder(
            run, folder.path, folder.recorded, record
        )

    def _pack(
        self, conversation: ConversationEntry, record: ConversationRecord | None
    ) -> None:
        definitions = plan_definitions(conversation.folder.plan())
        self._add_fingerprints(conversation, definitions)
        self._add_examples(conversation, definitions, record)
        if record is None:
            return
        self.asked |= asked_at(conversation.rows, record)
        self._add_timeline(conversation, record)

    def _add_fingerprints(
        self, conversation: ConversationEntry, definitions: Mapping[str, Any]
    ) -> None:
        """Record fingerprints that identify the same example in other conversations."""
        digests: dict[str, str] = {}
        for name, definition in definitions.items():
            text = json.dumps(definition, sort_keys=True)
            digests[name] = hashlib.sha256(text.encode()).hexdigest()[:8]
        for row in conversation.rows:
            self.fingerprints[row.key] = digests.get(row.result.id, "")

    def _add_examples(
        self,
        conversation: ConversationEntry,
        definitions: Mapping[str, Any],
        record: ConversationRecord | None,
    ) -> None:
        """Pack the listed examples, TOGETHER at a time."""
        damage = "" if record else conversation.folder.damage()
        if damage:
            self.damages.append(damage)
        unanswered = list(record.unanswered.values()) if record else []
        expected = expected_answers(definitions)
        for first in range(0, len(conversation.rows), TOGETHER):
            entries = {}
            for row in conversation.rows[first : first + TOGETHER]:
                if row.key in self.shown:
                    entries[str(row.key)] = example_details(
                        row.result,
                        record,
                        expected.get(row.result.id, ""),
                        damage,
                        unanswered,
                    )
            if entries:
                self.ids.append(f"e{conversation.key}.{first // TOGETHER}")
                self.texts.append(pack_json(entries))

    def _add_timeline(
        self, conversation: ConversationEntry, record: ConversationRecord
    ) -> None:
        """Pack a time line if there is room; the first always fits."""
        packed = ""
        if not self.left_out:
            packed = pack_json(timeline_json(conversation.rows, record))
        self.room -= len(packed)
        if packed and (self.room >= 0 or not self.lines):
            self.ids.append(f"c{conversation.key}")
            self.texts.append(packed)
            self.lines.add(conversation.key)
        else:
            self.left_out.add(conversation.key)

    def packed(self) -> Iterator[tuple[str, str]]:
        """Yield the packed elements, each with its id."""
        return zip(self.ids, self.texts, strict=True)


STYLES = (
    "colours.css",
    "page.css",
    "charts.css",
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
) -> list[str]:
    """Write one self-contained HTML file about these runs, given as folders or already loaded.

    `most`: the most examples listed; `lines`: the most bytes of time lines. Discrepancies found in a run folder are
    noted at the head of the page. Returns what is wrong with the journals that are left out. Raises LtmError if a
    folder holds no results, or if the file cannot be written.
    """
    checked_runs = list(map(_check_run, runs))
    material = report_material([checked.run for checked in checked_runs])
    parcels = pack_conversations(material, most, lines)
    marked: list[LoadedRun] = []
    for run, discrepancies in checked_runs:
        in_folders = check_conversations(run, parcels.discrepancies)
        marked.append(add_marks(run, [*in_folders, *discrepancies]))
    write_output(out, render_page(replace(material, runs=tuple(marked)), parcels))
    return parcels.damages


class _CheckedRun(NamedTuple):
    """A run of which all but the conversations is checked."""

    run: LoadedRun
    discrepancies: list[Discrepancy]


def _check_run(run: Path | LoadedRun) -> _CheckedRun:
    whole = run if isinstance(run, LoadedRun) else read_run(run)
    return _CheckedRun(without_examples(whole), check_run_files(whole))


def pack_conversations(material: Material, most: int, lines: int) -> Parcels:
    """Return all conversations, packed; `most` and `lines`: as in `build_report`."""
    parcels = Parcels(worst_examples(material, most), lines)
    # The first of each column, then the second: even if time lines are left out, each
    # column shows one.
    columns = group_by(material.conversations, lambda entry: entry.series).values()
    for entries in zip_longest(*columns):
        for entry in entries:
            if entry:
                run = material.runs[material.series[entry.series].run]
                parcels.add(run, entry)
    return parcels


def render_page(material: Material, parcels: Parcels) -> bytes:
    """Return the page as bytes."""
    style = read_assets(STYLES)
    script = read_assets(SCRIPTS)
    shown_keys = parcels.shown
    last = largest_span_label(material.series)
    broken = breaking_points(material, shown_keys)
    versus = _first_compared(material)
    tested = _tested_pairs(material)
    differences = series_differences([*tested, *_pairs_with_best(material)])
    sections: list[Section] = []
    averages: list[AgentMetrics] = []
    for run in material.runs:
        sections += sections_of(run.summary)
        averages += agent_metrics(run.result)
    losses = {}
    for series in material.series_at(last):
        losses[series.agent] = worst_scenarios(series)
    _show_text.cache_clear()
    parts = (
        template_environment()
        .get_template("report.html.j2")
        .stream(
            title=f"Long-term memory: {', '.join(material.agents)}",
            found=material,
            gates=[*gate_answers(material), *leading_metric_answers(material)],
            sections=sections,
            standings=agent_sentences(material),
            curve=score_by_span(material),
            trust=trust_line(material),
            answers=headline_answers(material, differences),
            largest=last,
            scoreboard=score_grid(material),
            losses=losses,
            figures=figure_table(material),
            against=_against_best(material, differences),
            versus=versus,
            talk=_first_shown(material, parcels, versus[0]),
            costs=score_by_cost(material),
            breaks=broken,
            depths=depth_maps(material, parcels.asked, broken, shown_keys),
            gaps=by_gap(material),
            averages=averages,
            # Only the first facts: results.json has the memory ledger of each.
            needles=needle_rows(material.results)[:2_000],
            first_rows=FIRST_ROWS,
            rules=deciding_rules(material),
            origins=[run_origin(run) for run in material.runs],
            marks=discrepancy_notices(material.runs),
            graded=[result for result in material.results if result.is_contested],
            # Only the first contested answers: the run's folder has all.
            most_graded=200,
            reasons=unscored_reasons(material),
            metrics=read_definitions(),
            index=_page_index(material, tested, differences),
            shown=shown_keys,
            listed=list_failures_first(material, shown_keys),
            parcels=parcels,
            style=style,
            script=script,
            policy=content_policy(style, script),
        )
    )
    # A large page has half a million parts, and each takes more memory than its text.
    parts.enable_buffering(100)
    page = BytesIO()
    parts.dump(page, "utf-8")
    return page.getvalue()


def render_sections(title: str, about: str, sections: Sequence[Section]) -> bytes:
    """Return the page of a suite without conversations, with the sections that features add."""
    style = read_assets(
        ("colours.css", "page.css", "charts.css", "tables.css", "print.css")
    )
    template = template_environment().get_template("sections.html.j2")
    _show_text.cache_clear()
    page = template.render(
        title=title,
        about=about,
        sections=sections,
        style=style,
        policy=content_policy(style, ""),
    )
    return page.encode()


def _first_shown(material: Material, parcels: Parcels, series: int) -> int | None:
    """Return the first conversation of a series whose course is on the page."""
    for conversation in material.conversations:
        if conversation.series == series and conversation.key in parcels.lines:
            return conversation.key
    return None


def _first_compared(material: Material) -> tuple[int, int]:
    """Return the series compared at first: the best two at the largest span, else two spans of one agent."""
    ranked = material.ranked
    if len(ranked) > 1:
        return ranked[0].key, ranked[1].key
    first, *other_series = sorted(
        material.series, key=lambda series: series not in ranked
    )
    same_agent = [series for series in other_series if series.agent == first.agent]
    second = next(iter([*same_agent, *other_series]), first)
    return first.key, second.key


# Thousands of cells show the same few texts. Cleared for each page, as the set of
# secrets may have changed.
_show_text = lru_cache(1 << 14)(for_screen)


@cache
def template_environment() -> Environment:
    """Return the template environment, which escapes everything and sanitizes the texts it shows."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    def finalize(value: object) -> object:
        if isinstance(value, str) and not isinstance(value, Markup):
            return _show_text(value)
        return value

    environment = Environment(
        loader=PackageLoader("pytest_ltm.reports.html"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shade": shade_class,
        "score": score_text,
        "amount": short_count,
        "percent": format_percent,
        "own": Markup,
        "charts": section_charts,
        "tables": section_tables,
    }
    environment.filters["script_json"] = lambda value: Markup(script_json(value))  # noqa: S704 - escaped there
    environment.filters["breakable"] = lambda text: Markup(  # noqa: S704
        escape(for_screen(text)).replace("_", "_\u200b")
    )
    return environment


def read_assets(names: Sequence[str]) -> str:
    """Return the concatenated text of some assets."""
    folder = files("pytest_ltm.reports.html") / "assets"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def content_policy(style: str, script: str) -> str:
    """Return a content security policy that allows only the page's own style and script, and no requests."""
    # Allowed by hash: a style or script smuggled in by an answer has a different one.
    sources = ""
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources += f"{kind}-src 'sha256-{digest}'; "
    return (
        f"default-src 'none'; {sources}img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )


def _tested_pairs(material: Material) -> list[tuple[ResultSeries, ResultSeries]]:
    """Return the pairs of series that a reader may compare with a test."""
    # The number of pairwise tests grows with the square of the series, so with many
    # series only those against the best of their span are run.
    if len(material.series) <= 12:
        return list(combinations(material.series, 2))
    return _pairs_with_best(material)


def _pairs_with_best(material: Material) -> list[tuple[ResultSeries, ResultSeries]]:
    """Return the best series of each memory span with each other one that is ranked there."""
    pairs: list[tuple[ResultSeries, ResultSeries]] = []
    for span_label in material.spans:
        ranked = material.ranked_at(span_label)
        pairs += [(ranked[0], rival) for rival in ranked[1:]]
    return pairs


def _page_index(
    material: Material,
    pairs: Iterable[tuple[ResultSeries, ResultSeries]],
    differences: Differences,
) -> dict[str, Any]:
    """Return the data that the page's script needs on load."""
    tests = {}
    for first, second in pairs:
        difference = differences[first.key, second.key]
        if difference:
            tests[f"{first.key}|{second.key}"] = difference.comparison.text
    conversations = []
    for conversation in material.conversations:
        first_key = conversation.rows[0].key if conversation.rows else 0
        conversations.append(
            {
                "label": conversation.label,
                "series": conversation.series,
                "first": first_key,
            }
        )
    return {
        "series": [series.label for series in material.series],
        "columns": comparable_columns(material),
        "conversations": conversations,
        "together": TOGETHER,
        "tests": tests,
        "first_rows": FIRST_ROWS,
    }


def _against_best(material: Material, differences: Differences) -> dict[int, str]:
    """Return for each series its difference from the best of its span, and the p-value of that difference."""
    distances: dict[int, str] = {}
    for span_label in material.spans:
        ranked = material.ranked_at(span_label)
        for series in ranked[1:]:
            difference = differences[ranked[0].key, series.key]
            if difference is not None:
                text = difference.comparison.brief
                if difference.gain:
                    text = f"{-difference.gain:+.2f}: {text}"
                distances[series.key] = text
        if ranked:
            distances[ranked[0].key] = "best" if len(ranked) > 1 else ""
    return distances
