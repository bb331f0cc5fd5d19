"""`pytest_ltm.load`: reads runs into tables of rows, pandas frames and the slices used by exports."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, overload

from msgspec import structs

from pytest_ltm.api.engine import (
    CreditedQuestion,
    classify_ending,
    ending_told,
    question_result,
)
from pytest_ltm.api.journal import (
    JOURNAL,
    LATEST,
    RESULTS,
    TIMINGS,
    Began,
    ConversationName,
    ConversationRecord,
    ConversationResult,
    RunResult,
    ScenarioResult,
    at_span,
    find_run,
    iter_timings,
)
from pytest_ltm.api.model import Check
from pytest_ltm.api.scenarios import Plan, PlannedExample
from pytest_ltm.api.storage import (
    DefinitionError,
    LtmError,
    fields_of,
    for_library,
    read_regular,
)
from pytest_ltm.figures.columns import Column, result_columns
from pytest_ltm.figures.figures import figure_numbers
from pytest_ltm.figures.metrics import metrics_json
from pytest_ltm.figures.run_loading import ConversationFolder, LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.reports.exports.output import import_library
from pytest_ltm.reports.exports.result_rows import (
    CallRow,
    ExampleRow,
    ExchangeRow,
    PlacedRow,
    QuestionRow,
    VerdictRow,
    attributes_of,
    of_journal,
    of_results,
)

AnyRow = TypeVar("AnyRow", bound=PlacedRow)


class ResultTable(Sequence[AnyRow], Generic[AnyRow]):
    """Rows of one kind, in planned or spoken order."""

    def __init__(self, kind: type[AnyRow], rows: Iterable[AnyRow]) -> None:
        self._kind = kind
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> AnyRow: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[AnyRow, ...]: ...

    def __getitem__(self, index: int | slice) -> AnyRow | tuple[AnyRow, ...]:
        """Return one row, or a tuple for a slice."""
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows: {', '.join(self.columns)}>"

    @cached_property
    def columns(self) -> Mapping[str, type]:
        """The columns of frames and files, with the type of their non-empty cells."""
        types: dict[str, type] = {}
        for field in structs.fields(self._kind):
            if field.name == METRICS:
                continue
            # Literals are stored as strings, and any cell may be empty.
            if get_origin(field.type) is Literal:
                types[field.name] = str
            else:
                kinds = get_args(field.type) or (field.type,)
                [types[field.name]] = {*kinds} - {NoneType}
        for row in self._rows:
            for name in getattr(row, METRICS, ()):
                types[f"{METRIC}{name}"] = float
        return types

    def records(self) -> list[dict[str, Any]]:
        """Return each row as a dictionary with every column; texts contain no secrets and are valid UTF-8."""
        clean = cache(for_library)  # many cells hold the same text
        rows = []
        for row in self._rows:
            fields = structs.asdict(row)
            for name, value in fields.pop(METRICS, {}).items():
                fields[f"{METRIC}{name}"] = value
            cells = {}
            for name in self.columns:
                value = fields.get(name)
                cells[name] = clean(value) if isinstance(value, str) else value
            rows.append(cells)
        return rows

    def frame(self) -> Any:
        """Return a pandas.DataFrame with one row per record.

        Integers that may be missing have the type `Int64`, times `datetime64[ns, UTC]`.

        Raises:
            LtmError: pandas is not installed: `pip install 'pytest-ltm[data]'`.
        """
        pandas = import_library("pandas", extra="data", user="frame()")
        types: dict[str, str] = {}
        for name, kind in self.columns.items():
            if kind in _OF_PANDAS:
                types[name] = _OF_PANDAS[kind]
        frame = pandas.DataFrame(self.records(), columns=list(self.columns))
        return frame.astype(types)


METRICS = "metrics"
METRIC = "metric_"


_OF_PANDAS: Mapping[type, str] = {
    int: "Int64",
    float: "float64",
    bool: "bool",
    datetime: "datetime64[ns, UTC]",
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Results:
    """The result of `load`: five tables of rows, each with a method `frame` for a pandas.DataFrame."""

    runs: tuple[LoadedRun, ...]
    """The runs, including their unfinished conversations; used by this package's exports."""
    lost: tuple[str, ...] = ()
    """Why conversations or whole runs are missing or incomplete."""

    def __repr__(self) -> str:
        return f"<results of {', '.join(run.result.run_id for run in self.runs)}: {len(self.examples):,} examples>"

    @property
    def examples(self) -> ResultTable[ExampleRow]:
        """One row per example: score, outcome, distances, cost."""
        return self._results[0]

    @property
    def questions(self) -> ResultTable[QuestionRow]:
        """One row per question asked for credit, with its answer and the nearest needle."""
        return self._results[1]

    @property
    def verdicts(self) -> ResultTable[VerdictRow]:
        """One row per verdict, and one for each correction by a person."""
        return self._results[2]

    @property
    def exchanges(self) -> ResultTable[ExchangeRow]:
        """One row per message and reply, filler included; the journals are read on first access."""
        return self._journals[0]

    @property
    def calls(self) -> ResultTable[CallRow]:
        """One row per call of a tool that a scenario offered; also read from the journals."""
        return self._journals[1]

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences about missing data: unfinished conversations and unreadable files."""
        return self.lost + self._journals[2]

    @cached_property
    def _results(
        self,
    ) -> tuple[
        ResultTable[ExampleRow], ResultTable[QuestionRow], ResultTable[VerdictRow]
    ]:
        rows: list[PlacedRow] = []
        for run, folder in self._conversations:
            rows += of_results(folder.result, run, folder.path.name)
        return (
            _result_table(ExampleRow, rows),
            _result_table(QuestionRow, rows),
            _result_table(VerdictRow, rows),
        )

    @cached_property
    def _journals(
        self,
    ) -> tuple[ResultTable[ExchangeRow], ResultTable[CallRow], tuple[str, ...]]:
        rows: list[ExchangeRow | CallRow] = []
        problems: list[str] = []
        for run, folder in self._conversations:
            place = attributes_of(folder.result, "agent", "span_label", "span", "trial")
            journal_rows, problem = of_journal(
                folder.path, {"run": run, "conversation": folder.path.name, **place}
            )
            rows += journal_rows
            problems += [problem] if problem else []
        return (
            _result_table(ExchangeRow, rows),
            _result_table(CallRow, rows),
            tuple(problems),
        )

    @property
    def _conversations(self) -> Iterator[tuple[str, ConversationFolder]]:
        for run in self.runs:
            for folder in run.conversations:
                yield run.result.run_id, folder


def _result_table(kind: type[AnyRow], rows: Iterable[PlacedRow]) -> ResultTable[AnyRow]:
    return ResultTable(kind, (row for row in rows if isinstance(row, kind)))


def load(*runs: str | Path, ltm_dir: str | Path = ".ltm") -> Results:
    """Load runs as tables of plain rows that convert to pandas frames.

    Conversations of an interrupted or ongoing run are included as far as they got.

    Args:
        runs: run folders, folders of runs (`.ltm/runs`), ids of runs, or `latest`, the
            default.
        ltm_dir: the folder in which ids are looked up.

    Returns:
        An object with the tables `examples`, `questions`, `exchanges`, `verdicts` and `calls`. Amended verdicts
        replace the automatic ones.

    Raises:
        LtmError: there is no such run, or nothing of it can be read. Of a folder of
            runs, those that cannot be read are listed in `missing`.
    """
    loaded_runs: dict[Path, LoadedRun] = {}
    problems: list[str] = []
    for name in runs or (LATEST,):
        folder = find_run(str(name), Path(ltm_dir))
        inside = [] if _is_run(folder) else _runs_within(folder)
        for path in inside or [folder]:
            try:
                if path.resolve() not in loaded_runs:
                    loaded_runs[path.resolve()], open_ = _read_loaded_run(path)
                    problems += open_
            except LtmError as error:
                if not inside:  # only one of many may be bad
                    raise
                problems.append(str(error))
    id_counts = Counter(run.result.run_id for run in loaded_runs.values())
    for path, run in loaded_runs.items():
        # If two runs share an id, each goes by its path.
        if id_counts[run.result.run_id] > 1:
            result = structs.replace(run.result, run_id=str(run.path))
            loaded_runs[path] = structs.replace(run, result=result)
    return Results(runs=tuple(loaded_runs.values()), lost=tuple(problems))


def _runs_within(folder: Path) -> list[Path]:
    """Return the runs in a folder such as `.ltm` or `.ltm/runs`, sorted by id."""
    above = folder / "runs" if (folder / "runs").is_dir() else folder
    return [path for path in sorted(above.iterdir()) if path.is_dir() and _is_run(path)]


def _is_run(folder: Path) -> bool:
    return any(next(folder.glob(f"*/{name}"), None) for name in (RESULTS, JOURNAL))


def _read_loaded_run(path: Path) -> tuple[LoadedRun, list[str]]:
    """Read a run with its unfinished conversations, and list what is missing; LtmError if unreadable."""
    unfinished: list[ConversationFolder] = []
    problems: list[str] = []
    for journal in sorted(path.glob(f"*/{JOURNAL}")):
        folder = journal.parent
        if (folder / RESULTS).is_file():
            continue
        try:
            unfinished.append(
                ConversationFolder(result=results_so_far(folder), path=folder)
            )
            problems.append(f"{folder}: {NOT_OVER}")
        except LtmError as error:
            problems.append(str(error))
    if unfinished and not any(path.glob(f"*/{RESULTS}")):
        nothing = RunResult(
            run_id=path.resolve().name, conversations=(), folder=str(path)
        )
        run = LoadedRun(path=path, result=nothing, conversations=(), summary={})
    else:
        run = read_run(path)
    folders = (*run.conversations, *unfinished)
    result = structs.replace(
        run.result, conversations=tuple(folder.result for folder in folders)
    )
    return structs.replace(run, result=result, conversations=folders), problems


# --- Conversations without results, such as those of a killed run.


NOT_OVER = "the conversation is not finished"


def results_so_far(folder: Path) -> ConversationResult:
    """Return the results of a conversation's examples so far, including verdicts already given.

    LtmError if plan or journal is unreadable.
    """
    name = ConversationName.of_folder(folder.name)
    if name is None:
        raise LtmError(f"{folder}: its name is not that of a conversation")
    # The plan comes from its own file: the journal of a run killed early may have no
    # header.
    record = ConversationRecord.read_record(folder / JOURNAL)
    path = folder / "plan.json"
    try:
        plan = Plan.from_json(json.loads(read_regular(path)), where=str(path))
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror})") from error
    except (DefinitionError, ValueError, RecursionError) as error:
        raise LtmError(f"{path}: not a plan: {error}") from error
    header = record.header
    scenarios: list[ScenarioResult] = []
    for example in plan.examples:
        scenarios.append(_example(example, name, plan.span, record))
    return ConversationResult(
        agent=name.agent,
        agent_spec=header.agent.spec if header and header.agent else "",
        span_label=name.span,
        span=plan.span,
        trial=name.trial,
        plan_fingerprint=header.plan_fingerprint if header else "",
        agent_fingerprint=header.agent_fingerprint if header else "",
        scenarios=tuple(scenarios),
        tokens=record.position,
        exchanges=len(record.transcript),
        simulated_seconds=record.seconds,
        count=plan.count,
        notices=(NOT_OVER,),
        ended="interrupted",
    )


def _example(
    planned: PlannedExample,
    name: ConversationName,
    span: int | None,
    record: ConversationRecord,
) -> ScenarioResult:
    verdict = record.example(planned.key).verdict
    verdict_fields: dict[str, Any] = {"score": None, "reason": NOT_OVER}
    if verdict is not None:
        verdict_fields = attributes_of(
            verdict, "score", "reason", "upper", "rule", "evidence"
        )
        checks = [Check(label, bool(ok), ok is None) for label, ok in verdict.checks]
        verdict_fields["checks"] = tuple(checks)
    questions = []
    for message in record.messages.values():
        is_question = message.by == planned.key and message.kind == "ask"
        # Distances need the replies to the question and to its needles.
        if is_question and {message.exchange, *message.about} <= record.replies.keys():
            credited = CreditedQuestion(message.exchange, message.about)
            questions.append(question_result(credited, record.transcript))
    tokens = 0
    for exchange in record.transcript.exchanges_of(planned.key):
        tokens += exchange.message_tokens + exchange.reply_tokens
    outcome, cause, _ = classify_ending(ending_told(verdict), planned.threshold)
    return ScenarioResult(
        scenario=planned.scenario,
        example=planned.example,
        agent=name.agent,
        span_label=name.span,
        span=planned.span or span,
        trial=name.trial,
        nodeid="",
        outcome=outcome,
        cause=cause,
        **verdict_fields,
        threshold=planned.threshold,
        skills=planned.skills,
        gap=questions[-1].gap if questions else None,
        tokens=tokens,
        judge_calls=len(record.example(planned.key).judged),
        questions=tuple(questions),
    )


# --- Slices of runs that other tools show side by side: one agent at one memory span,
# with its figures.


@dataclass(frozen=True, kw_only=True)
class RunSlice:
    """One agent at one memory span in one run."""

    run: LoadedRun
    column: Column
    conversations: tuple[ConversationFolder, ...]

    @property
    def name(self) -> str:
        """The slice's name, such as `full at 32k`."""
        return at_span(self.column.agent, self.column.span_label)

    @property
    def id(self) -> str:
        """A stable id for this run, agent and span: 22 letters and digits."""
        names = (self.run.result.run_id, self.column.agent, self.column.span_label)
        # Other tools use it to recognize a run that is exported again, on any machine.
        return hashlib.sha256(
            "\n".join(names).encode(errors="backslashreplace")
        ).hexdigest()[:22]

    @property
    def begin_time(self) -> datetime:
        """When the run began, or when its folder was written if there are no timings."""
        for timing in iter_timings(self.run.path / TIMINGS, Began):
            if timing.at:
                return timing.at
        written_at = int(self.run.path.stat().st_mtime)
        return datetime.fromtimestamp(written_at, timezone.utc)

    @property
    def end_time(self) -> datetime:
        """When the run ended, by its recorded duration; the begin time if that is unknown."""
        seconds = self.run.summary.get("wall_seconds")
        return self.begin_time + timedelta(
            seconds=seconds if isinstance(seconds, int | float) else 0
        )

    @property
    def complete(self) -> bool:
        """Whether every conversation was finished."""
        ends = {conversation.result.ended for conversation in self.conversations}
        return ends <= {"complete"}

    def facts(self) -> dict[str, Any]:
        """Return the slice's provenance as JSON values: names and plan of the run, agent spec, fingerprints."""
        first = self.conversations[0].result
        summary = self.run.summary
        plan = dict(summary["plan"]) if isinstance(summary.get("plan"), dict) else {}
        # They have fields of their own.
        for name in ("agents", "spans", "suite"):
            plan.pop(name, None)
        names = [folder.result.name.planned_name for folder in self.conversations]
        trials = {name.trial for name in names}
        return {
            "run": self.run.result.run_id,
            "began": self.begin_time.isoformat(),
            "agent": self.column.agent,
            "agent_spec": first.agent_spec,
            "span_label": self.column.span_label,
            "span": self.column.span,
            "trials": len(trials),
            "suite": self.run.result.suite,
            "seed": summary.get("seed"),
            "pytest_ltm_version": summary.get("pytest_ltm_version"),
            "plan": plan,
            **fields_of(first, "plan_fingerprint", "agent_fingerprint"),
        }

    def figures(self) -> dict[str, float]:
        """Return the slice's figures under their names in `summary.json`, without unknown ones.

        Means of scenarios are named `scenario/NAME`, those of additional metrics `metric/NAME`.
        """
        column = self.column
        scenarios: dict[str, float] = {}
        for name, cell in column.cells.items():
            if cell.mean is not None:
                scenarios[f"scenario/{name}"] = cell.mean
        means = metrics_json(self.run.result, column.agent, column.span_label)
        return {
            **figure_numbers(column),
            **scenarios,
            **{f"metric/{name}": mean["mean"] for name, mean in means.items()},
        }


def examples_of(results: Results) -> Callable[[RunSlice], dict[str, list[Any]]]:
    """Return a function that maps a slice to its examples by column."""
    records = group_by(
        results.examples.records(), itemgetter("run", "agent", "span_label")
    )

    def examples(part: RunSlice) -> dict[str, list[Any]]:
        place = for_library(
            (part.run.result.run_id, part.column.agent, part.column.span_label)
        )
        rows = records.get(tuple(place), [])
        columns: dict[str, list[Any]] = {}
        for name in results.examples.columns:
            columns[name] = [row[name] for row in rows]
        return columns

    return examples


def run_slices(results: Results) -> Iterator[RunSlice]:
    """Yield the slices of all runs, in the order of their tables."""
    for run in results.runs:
        for column in result_columns(run.result):
            folders = run.conversations_of(column.agent, column.span_label)
            yield RunSlice(run=run, column=column, conversations=folders)
