"""The data of a report: numbered conversations and examples of its runs; a series per agent and span."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from math import inf
from typing import Any, NamedTuple

from pytest_ltm.api.journal import ScenarioResult, at_span
from pytest_ltm.api.storage import join_words
from pytest_ltm.figures.columns import Column, result_columns
from pytest_ltm.figures.run_loading import ConversationFolder, LoadedRun
from pytest_ltm.figures.sentences import precheck_sentences
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import text_of
from pytest_ltm.reports.agent_sentences import rank_at_largest_span, rank_sides


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleEntry:
    """One example in the report."""

    key: int
    """The example's number in the report."""
    series: int
    conversation: int
    result: ScenarioResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationEntry:
    """One conversation in the report."""

    key: int
    series: int
    label: str
    """Such as `full at 32k`, with the trial if there are several."""
    folder: ConversationFolder
    rows: tuple[ExampleEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSeries:
    """One agent at one memory span in one run."""

    key: int
    run: int
    agent: str
    """The agent's label, qualified by the run if several runs have an agent of this label."""
    column: Column
    rows: tuple[ExampleEntry, ...]

    @property
    def label(self) -> str:
        """The series' name, such as `full at 32k`."""
        return at_span(self.agent, self.column.span_label)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All data that a report may show."""

    runs: tuple[LoadedRun, ...]
    series: tuple[ResultSeries, ...]
    conversations: tuple[ConversationEntry, ...]

    @property
    def suites(self) -> str:
        """The suites of the runs with their versions; "" if none is known."""
        names = dict.fromkeys(run.result.suite for run in self.runs if run.result.suite)
        if names:
            return f"suite{'s' if len(names) > 1 else ''} {join_words(list(names))}"
        return ""

    @property
    def rows(self) -> tuple[ExampleEntry, ...]:
        """Every example, in the order of the series."""
        return tuple(chain.from_iterable(series.rows for series in self.series))

    @property
    def results(self) -> list[ScenarioResult]:
        """The result of every example, in the order of the series."""
        return [row.result for row in self.rows]

    @property
    def columns(self) -> list[Column]:
        """The column of each series."""
        return [series.column for series in self.series]

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names, in the order of the runs."""
        return tuple(dict.fromkeys(series.agent for series in self.series))

    @property
    def spans(self) -> tuple[str, ...]:
        """The labels of the memory spans, shortest first, isolated last."""
        lengths = {column.span_label: column.span or inf for column in self.columns}
        return tuple(sorted(lengths, key=lambda label: (lengths[label], label)))

    def series_at(self, span_label: str) -> tuple[ResultSeries, ...]:
        """Return the series at one memory span."""
        return tuple(
            series for series in self.series if series.column.span_label == span_label
        )

    def ranked_at(self, span_label: str) -> list[ResultSeries]:
        """Return the series under test at one memory span, the best first."""
        return rank_sides(self.series_at(span_label))

    @property
    def ranked(self) -> list[ResultSeries]:
        """The series at the largest memory span, where agents differ most, ranked."""
        return rank_at_largest_span(self.series)

    def comparison(self, run: int) -> dict[str, Any]:
        """Return the comparison recorded in a run's summary; empty if there is none."""
        return _as_mapping(self.runs[run].summary.get("comparison"))


def report_material(runs: Sequence[LoadedRun]) -> Material:
    """Collect the report data of some runs."""
    run_counts: Counter[str] = Counter()
    for run in runs:
        run_counts.update({folder.result.agent for folder in run.conversations})
    all_series: list[ResultSeries] = []
    conversations: list[ConversationEntry] = []
    # One counter for the whole page: links, parcels and the page's address name
    # examples by it.
    keys = count()
    for number, run in enumerate(runs):
        for column in result_columns(run.result):
            folders = run.conversations_of(column.agent, column.span_label)
            series = len(all_series)
            entries = list[ExampleEntry]()
            for key, folder in enumerate(folders, start=len(conversations)):
                rows: list[ExampleEntry] = []
                for result in folder.result.scenarios:
                    entry = ExampleEntry(
                        key=next(keys), series=series, conversation=key, result=result
                    )
                    rows.append(entry)
                entries += rows
                label = column.label
                if len(folders) > 1:
                    label += f", trial {folder.result.trial}"
                conversation = ConversationEntry(
                    key=key,
                    series=series,
                    label=label,
                    folder=folder,
                    rows=tuple(rows),
                )
                conversations.append(conversation)
            name = column.name
            if run_counts[column.agent] > 1:
                name += f" · {run.result.run_id}"
            all_series.append(
                ResultSeries(
                    key=series,
                    run=number,
                    agent=name,
                    column=column,
                    rows=tuple(entries),
                )
            )
    return Material(
        runs=tuple(runs), series=tuple(all_series), conversations=tuple(conversations)
    )


# --- The deciding rules, the origin of a run, and the command that repeats it.

_OPTIONS = (
    "suite",
    "examples",
    "trials",
    "definitions",
    "filler",
    "tokenizer",
    "scoring",
    "judge",
    "time",
)
_DEFAULTS = {
    "suite": "standard",
    "trials": 1,
    "filler": "varied",
    "tokenizer": "cl100k_base",
    "scoring": "current",
    "judge": "none",
    "time": "simulated",
}
# Settings recorded only in a conversation's plan.
_OF_THE_PLAN = ("filler", "judge", "judge_votes", "opening")
# The prefix of node ids in the built-in suite.
BUILT_IN = "ltm/"


class Decider(NamedTuple):
    """One rule that decided verdicts."""

    name: str
    """Name and version, such as `colours/1`."""
    scenarios: str
    verdicts: int
    unscored: int
    amended: int


class Origin(NamedTuple):
    """The settings and versions behind one run."""

    run_id: str
    command: str
    facts: Sequence[tuple[str, str]]
    notices: Sequence[str]


def deciding_rules(material: Material) -> list[Decider]:
    """Return the deciding rules by name; rows without a rule are checks in the scenario itself."""
    results: list[ScenarioResult] = []
    for row in material.rows:
        if row.result.rule or row.result.scored:
            results.append(row.result)
    deciders = []
    for name, group in sorted(group_by(results, lambda result: result.rule).items()):
        scenarios = {result.scenario for result in group}
        decider = Decider(
            name or "checks in the scenario",
            ", ".join(sorted(scenarios)),
            len(group),
            unscored=sum(not result.scored for result in group),
            amended=sum(result.automatic is not None for result in group),
        )
        deciders.append(decider)
    return deciders


def run_origin(run: LoadedRun) -> Origin:
    """Return a run's settings and versions from its summary."""
    summary = run.summary
    first = run.conversations[0].plan()
    plan = _as_mapping(summary.get("plan"))
    wall = summary.get("wall_seconds")
    facts = {
        "run folder": run.result.folder,
        "pytest-ltm": _text_or_nothing(summary.get("pytest_ltm_version")),
    }
    facts["seed"] = _text_or_nothing(summary.get("seed"))
    for name, value in plan.items():
        facts[name] = _text_or_nothing(value)
    for name in _OF_THE_PLAN:
        if name in first:
            facts[name.replace("_", " ")] = _text_or_nothing(first.get(name))
    facts["wall time"] = f"{wall:,.1f} s" if isinstance(wall, int | float) else ""
    command = ""
    if plan:
        command = repeat_command_of(run.result.scenarios, plan, summary.get("seed"))
    known_facts = [(name, text) for name, text in facts.items() if text]
    notices = [f"trust: {run.result.trust}"] if run.result.trust else []
    notices += [*run.result.notices, *precheck_sentences(run.result)]
    for conversation in run.result.conversations:
        place = at_span(conversation.agent, conversation.span_label)
        for note in conversation.notes:
            notices.append(f"{place}, trial {conversation.trial}: {note}")
    return Origin(run.result.run_id, command, known_facts, notices)


def repeat_command_of(
    rows: Sequence[ScenarioResult], plan: Mapping[str, Any], seed: object
) -> str:
    """Return the command that repeats the run, without options that have their defaults."""
    words = ["pytest"]
    for label, spec in _as_mapping(plan.get("agents")).items():
        plain = re.sub(r"[^\w.]", "_", str(spec))
        words.append(f"--ltm-agent={spec if plain == label else f'{label}={spec}'}")
    if plan.get("spans"):
        words.append(f"--ltm-span={','.join(map(str, plan['spans']))}")
    files = sorted({row.nodeid.partition("::")[0] for row in rows} - {""})
    own_files = [file for file in files if not file.startswith(BUILT_IN)]
    for name in _OPTIONS:
        value = plan.get(name)
        if value not in (None, _DEFAULTS.get(name)):
            words.append(f"--ltm-{name}={value}")
    # Files on the command line disable the default suite, so a run that had both must
    # name it.
    if (
        own_files
        and plan.get("suite") == _DEFAULTS["suite"]
        and len(own_files) < len(files)
    ):
        words.append(f"--ltm-suite={plan['suite']}")
    # A seed that is not a number was derived from a text, which the command must
    # repeat.
    if seed not in (None, 0):
        words.append(
            f"--ltm-seed={seed if isinstance(seed, int) else plan.get('seed_source')}"
        )
    return shlex.join([*words, *own_files])


def unscored_reasons(material: Material) -> list[tuple[str, str, int]]:
    """Return why examples have no score, as cause, reason and count, most frequent first."""
    counts = Counter[tuple[str, str]]()
    for row in material.rows:
        result = row.result
        if not result.scored:
            counts[result.cause or result.outcome, result.reason] += 1
    return [(cause, reason, number) for (cause, reason), number in counts.most_common()]


def _as_mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text_or_nothing(value: object) -> str:
    if isinstance(value, dict):
        texts = []
        for name, part in value.items():
            texts.append(name if part in (name, None) else f"{name} ({part})")
        return ", ".join(texts)
    return "" if value is None else text_of(value)
