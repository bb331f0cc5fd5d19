"""Files for others: `report`, an HTML file; `export`, formats of other tools; `badge`, a score in a few words."""

from __future__ import annotations

import json
import re
import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct, structs

from pytest_ltm.api.calls import OutOfTime, call_within, settle_error
from pytest_ltm.api.features import feature_hooks
from pytest_ltm.api.journal import LATEST, at_span, find_run
from pytest_ltm.api.storage import (
    ConfigurationError,
    LtmError,
    describe_error,
    escape_unprintable,
    for_file,
    one_line,
    pluralize,
    redact_secrets,
    write_output,
)
from pytest_ltm.commands.arguments import (
    RUN,
    add_flags,
    add_ltm_dir,
    add_option,
    add_output,
    add_runs,
)
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.text import clip_text, columns_of
from pytest_ltm.gate.baseline import load_baseline
from pytest_ltm.records.amendments import read_amendments
from pytest_ltm.reports.exports import table_files
from pytest_ltm.reports.exports.column_list import column_lines
from pytest_ltm.reports.exports.loaded import Results, load
from pytest_ltm.reports.exports.output import ExportTarget, write_all
from pytest_ltm.reports.history import (
    HistoricalScore,
    Past,
    read_past,
    result_standings,
)
from pytest_ltm.reports.html.page import build_report
from pytest_ltm.reports.verification import discrepancy_notices, mark_discrepancies

T = TypeVar("T")
UNMEASURABLE = "unmeasurable"
INCOMPLETE = "incomplete"
GREY = "grey"
# Mostly named as in endpoint badges: white text on each has a contrast of at least
# 4.5:1.
COLOURS = {
    "green": "#1e7b34",
    "olive": "#6a7000",
    "amber": "#9a5b00",
    "red": "#b3261e",
    GREY: "#5f6368",
}
_LABEL = "#3d4247"
# The names in endpoint badges that differ from ours.
_NAMES = {"olive": "yellowgreen", "amber": "orange", GREY: "lightgrey"}
# Columns of a label.
_LONGEST = 60


class Badge(Struct, frozen=True, kw_only=True):
    """The contents of a badge."""

    label: str
    message: str
    colour: str
    """One of COLOURS."""
    title: str
    """The tooltip."""


def badge_of(past: Past, standing: HistoricalScore | None, label: str) -> Badge:
    """Return the badge of an agent's score in a run; None for an unknown one.

    It has a score only if the run was finished and lost nothing.
    """
    where = at_span(standing.agent, standing.span_label) if standing else past.name
    shard = next((note for note in past.notes if note.startswith("shard")), "")
    if shard or past.state in ("interrupted", "in progress"):
        message = INCOMPLETE
        colour = GREY
        reason = shard or past.why
    elif past.state != "finished" or standing is None:
        message = UNMEASURABLE
        colour = GREY
        reason = past.why or past.state
    elif standing.unmeasured or past.gate == "unmeasurable":
        message = UNMEASURABLE
        colour = GREY
        reason = standing.unmeasured or "the gate could not be measured"
    else:
        message, colour = _score_message(past, standing)
        reason = ""
    facts = [f"{past.name}, {past.at:%Y-%m-%d}" if past.at else past.name]
    if past.source:
        facts.append(f"commit {past.source.commit[:7]}")
    if reason:
        facts.append(reason)
    title = f"{where}: {message} ({'; '.join(facts)})"
    name = clip_text(_xml_text(label or f"memory of {where}"), _LONGEST)
    return Badge(label=name, message=message, colour=colour, title=_xml_text(title))


def _score_message(past: Past, standing: HistoricalScore) -> tuple[str, str]:
    """Return the total with its uncertainty, and its colour."""
    message = f"{standing.points} of {standing.full}"
    interval = standing.interval
    # A badge is shown without context, so it includes the uncertainty.
    if not interval:
        message += ", one conversation"
    elif standing.low == standing.high:
        message += f" ({interval.low * standing.full:.2f} to {interval.high * standing.full:.2f})"
    # a label may hide its name
    if not standing.own:
        message += ", bundled agent"
    share = standing.share or 0.0
    colour = next(colour for least, colour in _SCALE if share >= least)
    if not standing.shows_memory:
        message += ", not above guessing"
        colour = "red"
    if past.gate in ("regressed", "failed"):
        message += f", {past.gate}"
        colour = "red"
    return message, colour


# The colour of a share of full marks, by its lower bound.
_SCALE = ((0.8, "green"), (0.6, "olive"), (0.3, "amber"), (0.0, "red"))
_NO_XML = re.compile("[\ufffe\uffff]")


def _xml_text(text: str) -> str:
    """Return a text of one line that is valid in any XML file."""
    return _NO_XML.sub("?", escape_unprintable(redact_secrets(" ".join(text.split()))))


def endpoint_json(badge: Badge) -> str:
    """Return the badge in the JSON format of endpoint badges."""
    colour = _NAMES.get(badge.colour, badge.colour)
    values = {
        "schemaVersion": 1,
        "label": badge.label,
        "message": badge.message,
        "color": colour,
    }
    return json.dumps(values, indent=1) + "\n"


_LETTER, _PAD, _HEIGHT = 6.2, 7, 20
"""In pixels: the width per column of text, the margins, and the height."""


def badge_svg(badge: Badge) -> str:
    """Return the badge as a self-contained SVG file."""
    label_width = round(columns_of(badge.label) * _LETTER)
    message_width = round(columns_of(badge.message) * _LETTER)
    border = label_width + 2 * _PAD
    width = label_width + message_width + 4 * _PAD
    reply = f"{badge.label}: {badge.message}"
    words = (
        (_PAD, label_width, badge.label),
        (border + _PAD, message_width, badge.message),
    )
    texts = ""
    for x, room, text in words:
        texts += f'<text x="{x}" y="14" textLength="{room}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" '
        f'role="img" aria-label={quoteattr(reply)}>'
        f"<title>{escape(badge.title)}</title>"
        f'<path fill="{_LABEL}" d="M{border} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3H{border}z"/>'
        f'<path fill="{COLOURS[badge.colour]}" d="M{border} 0H{width - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{border}z"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


# The formats with a file per table.
TABLES = ("csv", "jsonl", "parquet")
# The suffixes of formats of a single file.
SUFFIXES = {"junit": ".xml", "markdown": ".md", "latex": ".tex"}


@cache
def export_writers() -> Mapping[str, Callable[[Results, Path], Sequence[ExportTarget]]]:
    """Return the writers of all formats that features register, those of reports first."""
    writers: dict[str, Callable[[Results, Path], Sequence[ExportTarget]]] = {}
    feature_hooks().pytest_ltm_exporters(register=writers.setdefault)
    return writers


# The formats of a badge by file suffix.
WRITTEN = {".svg": badge_svg, ".json": endpoint_json}


# --- report


def add_write_arguments(parser: ArgumentParser) -> None:
    """Add the runs and the file."""
    add_output(parser, "FILE", "the file to write", default="ltm-report.html")
    add_runs(parser)


def write_report(arguments: Namespace) -> int:
    """Write one self-contained HTML file about one or more runs. It opens offline."""
    folders = [find_run(text, arguments.ltm_dir) for text in arguments.runs or [LATEST]]
    damages = build_report(folders, arguments.output)
    print(f"{arguments.output} ({arguments.output.stat().st_size / 1_000_000:.1f} MB)")
    for damage in damages:
        print(redact_secrets(f"left out of the report: {damage}"), file=sys.stderr)
    return 1 if damages else 0


# --- export


class _PrintColumns(Action):
    """Prints the columns and ends the command, like `--help`: neither run nor format is needed."""

    def __call__(self, parser: ArgumentParser, *_: object) -> None:
        print("\n".join(column_lines()))
        parser.exit()


def add_export_arguments(parser: ArgumentParser) -> None:
    """Add the runs, the format and the destination."""
    formats = list(dict.fromkeys((*TABLES, *export_writers())))
    parser.add_argument("--to", required=True, choices=formats, help="the format")
    add_output(
        parser,
        "PATH",
        "the file or folder (default: ltm-FORMAT, with a suffix if it is a file)",
    )
    table = f"with {', '.join(TABLES)}: this table only"
    parser.add_argument(
        "--table",
        default="",
        choices=["examples", "questions", "exchanges", "verdicts", "calls"],
        help=table,
    )
    add_option(
        parser,
        "--timeout",
        "SECONDS",
        "time limit for what the format's exporter does; 0: none (default: 600)",
        default=600.0,
    )
    parser.add_argument(
        "--columns",
        action=_PrintColumns,
        nargs=0,
        default=SUPPRESS,
        help="print the columns of all tables with their meaning, and nothing else",
    )
    add_flags(parser, force="overwrite what exists")
    add_runs(parser, kinds=f"{RUN}, or a folder of runs")


def export_runs(arguments: Namespace) -> int:
    """Write one or more runs in the format of another tool.

    csv, jsonl and parquet are a folder with a file per table, or one file with --table; inspect, mlflow and eee (Every
    Eval Ever) are a folder with an entry per agent and span. Nothing is overwritten without --force. Exit status 1 if
    data is missing because a run was killed or a journal is damaged, or if results do not follow from the record.
    """
    if arguments.table and arguments.to not in TABLES:
        raise ConfigurationError(
            f"--table goes with {', '.join(TABLES)}, not with {arguments.to}"
        )
    loaded = load(*arguments.runs, ltm_dir=arguments.ltm_dir)
    results = replace(loaded, runs=tuple(map(mark_discrepancies, loaded.runs)))
    if arguments.table:
        suffix = f".{arguments.to}"
    else:
        suffix = SUFFIXES.get(arguments.to, "")
    to = arguments.output or Path(f"ltm-{arguments.table or arguments.to}{suffix}")
    if arguments.to in TABLES:
        written = table_files.outputs(results, to, arguments.to, arguments.table)
    else:
        write = export_writers()[arguments.to]
        written = ask_exporter(
            arguments.to, lambda: list(write(results, to)), arguments.timeout
        )
    ask_exporter(
        arguments.to,
        lambda: write_all(written, force=arguments.force),
        arguments.timeout,
    )
    with _exporting(arguments.to):
        for target in written:
            print(target)
    differs = discrepancy_notices(results.runs)
    for text in [
        *(f"missing: {text}" for text in results.missing),
        *map(one_line, differs),
    ]:
        print(redact_secrets(text), file=sys.stderr)
    return 1 if results.missing or differs else 0


def ask_exporter(name: str, call: Callable[[], T], seconds: float) -> T:
    """Return an exporter's result; ConfigurationError if it raises, or exceeds `seconds` (0: no limit)."""
    with _exporting(name):
        try:
            return call_within(seconds or None, call)
        except OutOfTime as error:
            raise ConfigurationError(
                f"the exporter {name!r} did not return within {seconds:g} s. If it may take longer, give "
                "--timeout=SECONDS"
            ) from error


@contextmanager
def _exporting(name: str) -> Iterator[None]:
    """Convert anything that a feature's exporter raises to an error with its name."""
    try:
        yield
    except (LtmError, OSError):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it becomes an error of ours
        settled = settle_error(error)
        raise ConfigurationError(
            f"the exporter {name!r} raised {describe_error(settled)}"
        ) from settled


# --- badge


def add_draw_arguments(parser: ArgumentParser) -> None:
    """Add the run, the selected score, and the file."""
    kinds = f"{RUN}, or a baseline file (default: latest)"
    parser.add_argument("run", nargs="?", default=LATEST, metavar="RUN", help=kinds)
    add_output(parser, "FILE", "a file .svg or .json", default="ltm-badge.svg")
    add_option(
        parser,
        "--agent",
        "LABEL",
        "the agent, if the run tests several, or bundled ones only",
    )
    add_option(
        parser, "--span", "LABEL", "the memory span's label (default: the longest)"
    )
    add_option(
        parser,
        "--label",
        "TEXT",
        "the text on the left (default: memory of AGENT at SPAN)",
    )
    add_ltm_dir(parser)


def _automatic_past(path: Path) -> tuple[Past, int]:
    """Return a run with the rules' scores, and the number of amended verdicts."""
    past = read_past(path)
    if not past.standings or not read_amendments(path):
        return past, 0
    run = read_run(path)
    complete = past.state == "finished"
    standings = result_standings(run.automatic, complete=complete)
    return structs.replace(past, standings=standings), run.amended


def draw_badge(arguments: Namespace) -> int:
    """Draw a badge: an agent's total at a memory span with its interval, and the gate's verdict.

    The badge has no score if the run is incomplete or could not be measured. Amended verdicts are replaced by those of
    the rules. Without --agent and --span it shows the agent under test at the longest span.
    """
    if arguments.output.suffix not in WRITTEN:
        raise ConfigurationError(
            f"-o: {str(arguments.output)!r}: a badge is a file {' or '.join(WRITTEN)}"
        )
    path = Path(arguments.run)
    if not path.is_file():
        past, amended = _automatic_past(find_run(arguments.run, arguments.ltm_dir))
    else:
        baseline = load_baseline(path).result
        standings = result_standings(baseline)
        amended = sum(row.automatic is not None for row in baseline.scenarios)
        past = Past(
            name=path.stem, path=path, at=None, state="finished", standings=standings
        )
    # The agent under test, at its longest span.
    own_standings = [standing for standing in past.standings if standing.own]
    candidates = own_standings or past.standings
    if arguments.agent:
        candidates = [
            standing for standing in past.standings if standing.agent == arguments.agent
        ]
    spans = {arguments.span} if arguments.span else set(past.spans)
    chosen = [candidate for candidate in candidates if candidate.span_label in spans]
    agents = {candidate.agent for candidate in chosen}
    if past.standings and len(agents) != 1:
        if agents:
            problem = "tests several agents"
        elif arguments.agent:
            problem = "has no such agent or span"
        else:
            problem = "tests no agent of yours"
        raise ConfigurationError(
            f"{past.name} {problem}. Choose with --agent and --span: agents "
            f"{', '.join(map(one_line, past.agents))}; spans {', '.join(map(one_line, past.spans))}"
        )
    badge = badge_of(
        past,
        max(chosen, key=lambda candidate: candidate.span or 0, default=None),
        arguments.label,
    )
    if amended and path.is_file():
        claim = f"{badge.message}, {amended:,} amended by hand"
        badge = structs.replace(
            badge, message=claim, title=f"{badge.title}, amended by hand"
        )
    elif amended:
        left_out = f"{pluralize(amended, 'amended verdict')} left out"
        badge = structs.replace(badge, title=f"{badge.title} ({left_out})")
    write_output(arguments.output, for_file(WRITTEN[arguments.output.suffix](badge)))
    # a script that reads stdout should not take a badge without a score for a result
    print(
        one_line(badge.title), file=sys.stderr if badge.colour == GREY else sys.stdout
    )
    return 0
