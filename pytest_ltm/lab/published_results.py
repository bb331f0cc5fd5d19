"""Published results of the LTM Benchmark as conversations: parses files into results, plans and transcripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field, structs

from pytest_ltm.api.journal import (
    ISOLATED,
    Automatic,
    ConversationName,
    ConversationResult,
    Outcome,
    QuestionResult,
    ScenarioResult,
)
from pytest_ltm.api.model import Exchange, Kind
from pytest_ltm.api.scenarios import (
    Plan,
    PlannedExample,
    agent_fingerprint,
    natural_sort_key,
)
from pytest_ltm.api.storage import (
    DatasetError,
    describe_error,
    from_record,
    lazy_pattern,
)
from pytest_ltm.datasets.published import scenario_of
from pytest_ltm.datasets.rows import load_json, read_json_rows
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by

# The branch that others correct.
MAIN = "main"
# More tokens cannot have been measured.
_MOST_TOKENS = 10**12


class PublishedResult(Struct, frozen=True, kw_only=True):
    """One published result."""

    ref: str
    """The branch or version of its publication."""
    benchmark: str
    agent: str
    dataset: str
    example: str
    """With the repetition appended, unless it is the first."""
    score: float
    """The share of full marks, 0 to 1."""
    span: int | None
    """Tokens from its start to its end, as measured."""
    manual: bool = False
    """Whether it was corrected by hand."""
    automatic: Automatic | None = None
    """The verdict of the rules, if it was published along with the corrected one."""
    reason: str = ""
    code: str = ""
    """The version of the code that scored it, if known."""
    log: tuple[str, ...] = ()
    """Its transcript, `Test (time): …` and `Agent (time): …`; empty if not published."""
    questions: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    script: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the result, whatever the branch."""
        return self.benchmark, self.agent, self.dataset, self.example


def merge_branches(rows: Iterable[PublishedResult]) -> list[PublishedResult]:
    """Return one row per result: scores of other branches replace those of `main`, transcripts are kept.

    Sorted by key, so that the order of files does not matter.
    """
    entries: dict[tuple[str, str, str, str], PublishedResult] = {}
    for row in sorted(
        rows, key=lambda row: (*row.key, row.ref != MAIN, row.ref, bool(row.log))
    ):
        below = entries.get(row.key)
        fields: dict[str, Any] = {}
        if (
            below
            and row.manual
            and row.automatic is None
            and below.score != row.score
            and not below.manual
        ):
            fields["automatic"] = _automatic_verdict(below.score, below.reason)
        if below and below.log and not row.log:
            for name in ("log", "questions", "responses", "script"):
                fields[name] = getattr(below, name)
            # the reason of a different score would explain nothing
            if below.score == row.score:
                fields["reason"] = row.reason or below.reason
                fields["code"] = row.code or below.code
        entries[row.key] = structs.replace(row, **fields)
    return list(entries.values())


_Name = Annotated[str, Meta(min_length=1)]


class _AutomaticScore(Struct):
    """The verdict of the rules on a result that was corrected by hand."""

    auto_score: float | None = None
    auto_reasoning: Any = None


class _Scored(_AutomaticScore, kw_only=True):
    """The fields of a published record that name and score its result."""

    benchmark: _Name
    agent: _Name
    dataset: _Name
    example_id: _Name
    score: float
    max_score: float
    repetition: int | None = None
    auto: _AutomaticScore | None = None


def _parse_row(record: Mapping[str, Any], where: str) -> PublishedResult:
    """Parse a record into a result; LtmError names `where` and the field."""
    fields = from_record(_Scored, record, where)
    automatic = None
    auto = fields.auto or fields
    if auto.auto_score is not None:
        score = _share_of_full(auto.auto_score, fields.max_score, where)
        automatic = _automatic_verdict(
            score, "; ".join(_text_tuple(auto.auto_reasoning))
        )
    example = fields.example_id
    if fields.repetition:
        example += f".{fields.repetition}"
    span = record.get("tokens")
    return PublishedResult(
        ref=str(record.get("ref") or MAIN),
        benchmark=fields.benchmark,
        agent=fields.agent,
        dataset=fields.dataset,
        example=example,
        score=_share_of_full(fields.score, fields.max_score, where),
        span=span if isinstance(span, int) and span <= _MOST_TOKENS else None,
        manual=bool(record.get("manual")) or automatic is not None,
        automatic=automatic,
        reason="; ".join(_text_tuple(record.get("reasoning"))),
        code=str((record.get("orig_eval") or {}).get("code") or ""),
        log=_text_tuple(record.get("task_log")),
        questions=_text_tuple(record.get("questions")),
        script=_text_tuple(record.get("script")),
        responses=_text_tuple(record.get("responses", record.get("actual_responses"))),
    )


def _automatic_verdict(score: float, reason: str) -> Automatic:
    return Automatic(score=score, reason=reason, outcome=_score_outcome(score))


def _share_of_full(score: float, full: float, where: str) -> float:
    if not (full > 0 and 0 <= score <= full):
        raise DatasetError(f"{where}: a score of {score!r} out of {full!r}")
    return score / full


def _text_tuple(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = []
    for part in value if isinstance(value, list) else [value]:
        texts.append("" if part is None else str(part))
    return tuple(texts)


_NAMES = ("benchmark", "agent", "dataset", "example_id")
_RESULT = (*_NAMES, "score", "max_score")  # the fields of a line with a result
_DEFINITION = ("path", "script")  # the fields of a line with a definition
_FOLDERS = 4  # `results/<agent>/<data set>/<example>_<repetition>.json`, in a benchmark's folder
# Replaces a message in a collected transcript that is also in the definition.
_LEFT_OUT = lazy_pattern(r"((?:Test|System) \([^)]*\): )@script\[(\d+)\]")


_Record: TypeAlias = tuple[str, dict[str, Any]]  # the place of a result, and its fields


def read_published(paths: Iterable[Path]) -> list[PublishedResult]:
    """Read the results in files and folders; DatasetError names file, line and fault.

    Messages omitted by a collection are restored from definitions, if those are among the files.
    """
    records: list[_Record] = []
    scripts: dict[str, list[str]] = {}
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            is_collection = (
                file.name.endswith((".jsonl", ".jsonl.gz"))
                and _RESULTS not in file.parts
            )
            # a folder may contain other files; a file named explicitly must be valid
            if file.name == _STATS or (
                file != path and not is_collection and not _is_result(file)
            ):
                continue
            if file.suffix == ".json":
                records.append(_result_file(file))
            else:
                _read_collection(file, records, scripts, is_named=file == path)
    if not records:
        raise DatasetError(
            "no published results were found. Name .jsonl or .jsonl.gz files, or a folder of results"
        )
    rows = []
    for where, fields in records:
        try:
            rows.append(_parse_row(_complete_record(fields, scripts), where))
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            # a field has an unexpected type
            raise DatasetError(
                f"{where}: a field is not of its kind ({describe_error(error)})"
            ) from error
    return rows


# --- Collections: one JSON object per line


def _read_collection(
    file: Path, records: list[_Record], scripts: dict[str, list[str]], *, is_named: bool
) -> None:
    """Add the results and definitions of a file; one without either is an error only if it `is_named`."""
    for where, record in read_json_rows(file, ()):
        if all(name in record for name in _RESULT):
            records.append((where, record))
        elif all(name in record for name in _DEFINITION) and isinstance(
            record["script"], list
        ):
            scripts[str(record["path"])] = list(map(str, record["script"]))
        elif is_named:
            fields = ", ".join(name for name in _RESULT if name not in record)
            raise DatasetError(
                f"{where}: not a published result: no {fields} (fields: {', '.join(sorted(record))})"
            )
        else:
            return


def _complete_record(
    record: Mapping[str, Any], scripts: Mapping[str, Sequence[str]]
) -> Mapping[str, Any]:
    """Return a record with its omitted messages restored, or marked as missing."""
    script = record.get("script") or scripts.get(str(record.get("definition"))) or []

    def message(match: re.Match[str]) -> str:
        place = int(match[2])
        if place < len(script):
            return f"{match[1]}{script[place]}"
        return f"{match[1]}(message {place + 1} of its script is missing)"

    log = []
    for line in record.get("task_log") or []:
        log.append(_LEFT_OUT.sub(message, line) if isinstance(line, str) else line)
    return {**record, "task_log": log, "script": script}


# --- Folders: one file per example

_RESULTS = "results"


def _is_result(file: Path) -> bool:
    parts = file.resolve().parts
    return (
        file.suffix == ".json"
        and len(parts) > _FOLDERS
        and parts[-_FOLDERS] == _RESULTS
    )


def _result_file(file: Path) -> _Record:
    if not _is_result(file):
        raise DatasetError(
            f"{file}: a result is named by its path, <benchmark>/results/<agent>/<data set>/<example>_<repetition>.json"
        )
    benchmark, _, agent, dataset = file.resolve().parts[-_FOLDERS - 1 : -1]
    example, _, repetition = file.stem.rpartition("_")
    fields = load_json(file)
    if not isinstance(fields, dict):
        raise DatasetError(f"{file}: expected an object, not {str(fields)[:80]!r}")
    if not (example and repetition.isdecimal()):
        example = file.stem
        repetition = "0"
    names = {
        "benchmark": benchmark,
        "agent": agent,
        "dataset": dataset,
        "example_id": example,
        "ref": MAIN,
    }
    return str(file), {**fields, **names, "repetition": int(repetition)}


# --- Cost and duration of a run: `results/<agent>/runstats.json`

_STATS = "runstats.json"


_Amount = Annotated[float, Meta(ge=0, le=1e12)]


class RunStats(Struct, frozen=True):
    """Cost and duration of a published run."""

    cost_usd: _Amount = field(name="agent_costs_usd")
    """The agent's cost, without that of the benchmark's own models."""
    seconds: _Amount = field(name="duration")
    """From its first message to its last reply."""


def read_run_stats(paths: Iterable[Path]) -> dict[tuple[str, str], RunStats]:
    """Read cost and duration by benchmark and agent, if published; LtmError for a malformed file."""
    stats = {}
    for path in paths:
        for file in sorted(path.rglob(_STATS)) if path.is_dir() else [path]:
            if file.name != _STATS:
                continue
            parts = file.resolve().parts
            if len(parts) < _FOLDERS or parts[-3] != _RESULTS:
                raise DatasetError(
                    f"{file}: cost and time of a run stand in <benchmark>/results/<agent>/{_STATS}"
                )
            stats[parts[-4], parts[-2]] = from_record(
                RunStats, load_json(file), str(file)
            )
    return stats


# --- Labels: from `Benchmark 3 - 32k #2 (isolated)`, from `LTMAgentWrapper -
# gpt-4o-mini - 16384 - …`

# Earlier versions of the benchmark name the filler between two messages, not a memory
# span.
MEMORY_SPANS_SINCE = 3
# Memory spans that the paper (Castillo-Bolado et al., 2024) names differently from the
# published folder.
PAPERS_NAMES = {"1k": "2k"}

_BENCHMARK = lazy_pattern(
    r"Benchmark (?P<version>\d+) - (?P<thousands>\d+)k(?: Filler)?(?: #(?P<run>\d+))?(?P<isolated> \(isolated\))?"
)
# The published LTM agents, with their names in the benchmark's own tables.
_VARIANTS = {"QG_JSON_USER_INFO": "LTM1", "SEMANTIC_ONLY": "LTM2"}
_INTERFACE = lazy_pattern(r"(?:Chat)?(?:Session|Interface|AgentWrapper)$")
# interfaces that add nothing to the model named after them
_PLAIN = {"LLM", "GPT", "Claude", "HF"}
_PROVIDER = lazy_pattern(r"^(?:together_ai|huggingface)-(?:meta-llama|[^-]+)-")
_DATE = lazy_pattern(r"-(?:\d{4}-\d\d-\d\d|\d{8})(?=-|$)")


class Benchmark(Struct, frozen=True, kw_only=True):
    """The information in a published benchmark's name."""

    version: int
    span_label: str
    """As in a node id: `32k`, `isolated`, `v1.10k`."""
    span: int | None
    """In tokens; None for isolated examples, and if the name is not about a memory span."""
    trial: str
    """The run: `0` for the first, `1` for `#2`."""


def parse_benchmark(name: str) -> Benchmark | None:
    """Parse a benchmark's name; None if its form is unknown."""
    match = _BENCHMARK.fullmatch(name)
    if not match:
        return None
    version = int(match["version"])
    folder = f"{match['thousands']}k"
    label = PAPERS_NAMES.get(folder, folder)
    span = None if match["isolated"] else 1_000 * int(match["thousands"])
    if span is None:
        label = ISOLATED
    elif version < MEMORY_SPANS_SINCE:
        label = f"v{version}.{folder}"
    return Benchmark(
        version=version,
        span_label=label,
        span=span,
        trial=str(int(match["run"] or 1) - 1),
    )


def agent_labels(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return a label for each agent's published name, from pairs of benchmark and agent.

    Interface, provider and date are dropped; names that would become equal within one benchmark are kept whole.
    """
    pairs = set(names)
    labels = {name: _short_agent_name(name) for _, name in sorted(pairs)}
    namesakes = group_by(sorted(pairs), lambda pair: (pair[0], labels[pair[1]]))
    for group in namesakes.values():
        if len(group) > 1:
            labels.update((name, safe_label(name)) for _, name in group)
    return labels


def safe_label(text: str) -> str:
    """Return a text reduced to the characters allowed for labels in node ids."""
    return re.sub(r"[^A-Za-z0-9_.]+", "_", text).strip("_") or "_"


def _short_agent_name(name: str) -> str:
    interface, *more_parts = name.split(" - ")
    variant = next((_VARIANTS[part] for part in more_parts if part in _VARIANTS), "")
    kind = variant or _INTERFACE.sub("", interface)
    parts = []
    for part in more_parts:
        tokens = int(part) if part.isdecimal() else 0
        # both 32,768 and 32,000 tokens of context become 32k
        thousand = 1_000 if tokens % 1_000 == 0 else 1_024
        short = f"{tokens // thousand}k" if tokens % thousand == 0 else part
        if part not in _VARIANTS:
            parts.append(
                short if part.isdecimal() else _DATE.sub("", _PROVIDER.sub("", part))
            )
    if not parts or kind not in _PLAIN:
        parts.insert(0, kind)
    return ".".join(map(safe_label, parts))


# --- Merging the transcripts of one conversation: each exchange once, in the order of
# their times

_ENTRY = lazy_pattern(
    r"(?P<by>Test|Agent|System|SYSTEM) \((?P<at>[^)]*)\): ?(?P<text>.*)", re.DOTALL
)


class _LoggedExchange(Struct, frozen=True):
    """One message and its reply from a log."""

    moment: datetime
    filler: bool
    message: str
    reply: str


class PublishedTranscript(Struct, frozen=True, kw_only=True):
    """The published part of one conversation."""

    exchanges: tuple[Exchange, ...]
    """Their numbers count only published exchanges."""
    questions: Mapping[str, tuple[int, ...]]
    """Numbers of the questions by example (`colours/0`)."""

    def tokens_of(self, keep: Callable[[Exchange], bool]) -> int:
        """Return the tokens of some of the exchanges."""
        tokens = 0
        for exchange in self.exchanges:
            if keep(exchange):
                tokens += exchange.message_tokens + exchange.reply_tokens
        return tokens


def number_exchanges(
    rows: Iterable[tuple[str, Kind, str, str, datetime]], count: Callable[[str], int]
) -> tuple[Exchange, ...]:
    """Return numbered exchanges from rows of speaker, kind, message, reply and time; `count` counts tokens."""
    exchanges: list[Exchange] = []
    for number, (by, kind, message, reply, moment) in enumerate(rows):
        exchanges.append(
            Exchange(
                number=number,
                by=by,
                kind=kind,
                message=message,
                reply=reply,
                now=moment,
                start=exchanges[-1].end if exchanges else 0,
                message_tokens=count(message),
                reply_tokens=count(reply),
            )
        )
    return tuple(exchanges)


def build_transcript(
    rows: Mapping[str, PublishedResult], count: Callable[[str], int]
) -> PublishedTranscript:
    """Return the transcript of one conversation; `rows`: by example. `count` counts the tokens of a text."""
    logs = {name: _logged_exchanges(row.log) for name, row in rows.items() if row.log}

    def holds_others(name: str) -> bool:
        if script := rows[name].script:
            return any(exchange.message not in script for exchange in logs[name])
        return any(exchange.filler for exchange in logs[name])

    owners: dict[_LoggedExchange, str] = {}
    # logs that include others' exchanges come last: an exchange belongs to the log that
    # owns it
    for name in sorted(logs, key=lambda name: (holds_others(name), name)):
        for exchange in logs[name]:
            owners.setdefault(exchange, "" if exchange.filler else name)
    ordered = sorted(owners, key=lambda exchange: exchange.moment)
    numbers = {exchange: number for number, exchange in enumerate(ordered)}
    questions = {}
    for name, log in logs.items():
        scored = _scored_places(log, rows[name].responses)
        questions[name] = tuple(numbers[log[place]] for place in scored)
    parts: list[tuple[str, Kind, str, str, datetime]] = []
    for logged in ordered:
        kind: Kind = "filler" if logged.filler else "say"
        parts.append(
            (owners[logged], kind, logged.message, logged.reply, logged.moment)
        )
    return PublishedTranscript(
        exchanges=number_exchanges(parts, count), questions=questions
    )


def _scored_places(
    log: Sequence[_LoggedExchange], responses: Sequence[str]
) -> list[int]:
    """Return the places of the scored replies in a log, in order."""
    scored: list[int] = []
    # backwards from the end of the log: the scored question was asked last
    for reply in reversed(responses):
        for place in reversed(range(scored[-1] if scored else len(log))):
            if log[place].reply == reply:
                scored.append(place)
                break
    return scored[::-1]


def _logged_exchanges(log: Iterable[str]) -> list[_LoggedExchange]:
    logged: list[_LoggedExchange] = []
    for line in log:
        entry = _ENTRY.match(line)
        if entry and entry["by"] != "Agent":
            try:
                moment = datetime.fromisoformat(entry["at"])
            except ValueError:
                # some logs have no times; sorting keeps their order
                moment = datetime.fromtimestamp(0, timezone.utc)
            # no zone is ever named
            moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
            logged.append(
                _LoggedExchange(moment, entry["by"] != "Test", entry["text"], "")
            )
        elif entry and logged:
            logged[-1] = structs.replace(logged[-1], reply=entry["text"])
    return logged


# --- The rows of one benchmark and agent as result, plan and transcript

TOKENIZER = "cl100k_base"
# Replaces values unknown for a published run, such as its judge and rules.
PUBLISHED = "published"
# The memory skills of the paper's scenarios, equal to those of our scenarios with the
# same names.
SKILLS = {
    "chapter_break": ("R", "I"),
    "colours": ("R",),
    "jokes": ("E",),
    "locations_directions": ("S", "I"),
    "name_list": ("R", "C"),
    "prospective_memory": ("P",),
    "restaurant": ("C", "I"),
    "sally_anne": ("T",),
    "shopping_list": ("R", "C", "I"),
    "spy_meeting": ("R", "I"),
    "trigger_response": ("C", "P"),
}
NO_TRANSCRIPT = "its transcript is missing"
_SKIPPED = "the verdict of the rules is not published"


class PublishedConversation(Struct, frozen=True, kw_only=True):
    """One published conversation."""

    result: ConversationResult
    plan: Plan
    talk: PublishedTranscript
    seconds: float | None = None
    """The duration of the run; None if not published."""


def by_conversation(
    rows: Iterable[PublishedResult],
) -> dict[tuple[str, str], list[PublishedResult]]:
    """Return the rows by published benchmark and agent, sorted by name."""
    return dict(sorted(group_by(rows, lambda row: (row.benchmark, row.agent)).items()))


def published_conversation(
    rows: Sequence[PublishedResult],
    agent: str,
    count: Callable[[str], int],
    stats: RunStats | None = None,
) -> PublishedConversation:
    """Return one conversation; `agent`: its label, `count`: counts tokens, `stats`: cost and duration.

    DatasetError if its benchmark's name says neither span nor isolated.
    """
    first = rows[0]
    bench = parse_benchmark(first.benchmark)
    if bench is None:
        expected = "Expected a name such as 'Benchmark 3 - 32k'"
        raise DatasetError(
            f"benchmark {first.benchmark!r} names no memory span. {expected}"
        )
    ordered = sorted(
        rows, key=lambda row: (scenario_name(row), natural_sort_key(row.example))
    )
    examples = {}
    for row in ordered:
        examples[f"{scenario_name(row)}/{safe_label(row.example)}"] = row
    talk = build_transcript(examples, count)
    planned = []
    results = []
    for name, row in examples.items():
        planned.append(
            PlannedExample(
                scenario=scenario_name(row),
                example=safe_label(row.example),
                version=PUBLISHED,
            )
        )
        results.append(_example_result(agent, bench, name, row, talk))
    return conversation_of(
        ConversationName(agent, bench.span_label, bench.trial),
        first.agent,
        talk,
        span=bench.span,
        stats=stats,
        # equal for all agents of one benchmark, so that they are comparable
        plan={
            "filler": {PUBLISHED: first.benchmark},
            "judge": PUBLISHED,
            "examples": tuple(planned),
        },
        rows=results,
    )


def conversation_of(
    name: ConversationName,
    system: str,
    talk: PublishedTranscript,
    *,
    plan: Mapping[str, Any],
    rows: Iterable[ScenarioResult],
    span: int | None = None,
    stats: RunStats | None = None,
) -> PublishedConversation:
    """Return a conversation with its transcript; `plan`: the known fields, `system`: the tested system."""
    spec = f"{PUBLISHED}: {system}"
    exchanges = talk.exchanges
    duration = 0.0
    if exchanges:
        duration = (exchanges[-1].now - exchanges[0].now).total_seconds()
    trial = int(name.planned_name.trial)
    full_plan = Plan(
        seed=0,
        trial=trial,
        span=span,
        tokenizer=TOKENIZER,
        scoring=PUBLISHED,
        judge_votes=0,
        time=PUBLISHED,
        opening="",
        count="all",
        **plan,
    )
    result = ConversationResult(
        agent=name.agent,
        agent_spec=spec,
        span_label=name.span,
        count="all",
        span=span,
        trial=name.trial,
        plan_fingerprint=full_plan.fingerprint,
        agent_fingerprint=agent_fingerprint(spec, None),
        scenarios=tuple(rows),
        tokens=exchanges[-1].end if exchanges else 0,
        filler_tokens=talk.tokens_of(lambda exchange: exchange.kind == "filler"),
        reply_tokens=sum(exchange.reply_tokens for exchange in exchanges),
        exchanges=len(exchanges),
        simulated_seconds=duration,
        cost_usd=stats.cost_usd if stats else None,
    )
    return PublishedConversation(
        result=result,
        plan=full_plan,
        talk=talk,
        seconds=stats.seconds if stats else None,
    )


def scenario_name(row: PublishedResult) -> str:
    """Return our name of a row's data set."""
    return safe_label(scenario_of(row.dataset)).lower()


def _example_result(
    agent: str,
    bench: Benchmark,
    name: str,
    row: PublishedResult,
    talk: PublishedTranscript,
) -> ScenarioResult:
    place = ConversationName(agent, bench.span_label, bench.trial)
    ours = scenario_name(row)
    example = safe_label(row.example)
    exchanges = talk.exchanges
    spanned = (
        bench.version >= MEMORY_SPANS_SINCE
        and bench.span is not None
        and row.span is not None
    )
    # thirds do not add up to 1 exactly
    score = 1.0 if row.score >= FULL_MARKS else row.score
    reason = row.reason or "the published score has no reason"
    if not row.log:
        reason = f"{reason}; {NO_TRANSCRIPT}"
    if row.manual:
        reason = f"amended by hand: {reason}"
    ruled = row.automatic or Automatic(score=None, reason=_SKIPPED, outcome="skipped")
    questions = []
    for exchange_number in talk.questions.get(name, ()):
        exchange = exchanges[exchange_number]
        questions.append(
            QuestionResult(
                number=exchange_number, text=exchange.message, answer=exchange.reply
            )
        )
    return ScenarioResult(
        scenario=ours,
        example=example,
        agent=agent,
        span_label=bench.span_label,
        span=bench.span,
        trial=bench.trial,
        nodeid=f"ltm/{ours}.py::test_{ours}[{place}-{example}]",
        outcome=_score_outcome(score),
        score=score,
        reason=reason,
        rule=f"{PUBLISHED} {row.code or row.ref}".rstrip(),
        measured_span=row.span,
        overrun=spanned and (row.span or 0) > (bench.span or 0),
        tokens=talk.tokens_of(lambda exchange: exchange.by == name),
        skills=SKILLS.get(ours, ()),
        questions=tuple(questions),
        automatic=ruled if row.manual else None,
    )


def _score_outcome(score: float) -> Outcome:
    return "passed" if score >= 1 else "failed"
