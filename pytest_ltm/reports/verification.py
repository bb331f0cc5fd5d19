"""Verification: whether results, summary and definitions follow from the journals beside them, and those are whole.

Nothing is played here: `ltm verify` scores a run again as well. Who writes a journal
wholly anew can compute its checksums, too, so what passes is consistent, not proven.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import islice, product
from math import isclose
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from pytest_ltm._core.engine.lane import CreditedQuestion
from pytest_ltm._core.engine.recording_folder import JOURNAL, RESULTS, TIMINGS
from pytest_ltm._core.engine.scoring import question_result
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.codec import find_damages
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import (
    ConversationName,
    ConversationResult,
    ScenarioResult,
    outcome_of,
    read_results,
)
from pytest_ltm._core.journal.run_file import FILE as RUN_FILE
from pytest_ltm._core.journal.run_file import SUMMARY, run_parts
from pytest_ltm._core.journal.timings import ReplyTime, Resumed, load_all_timings
from pytest_ltm._core.model.plan import Plan, plan_differences
from pytest_ltm._core.model.scenario import to_json as definition_json
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.errors import DefinitionError, LtmError, describe_error
from pytest_ltm._core.storage.sanitize import for_file
from pytest_ltm._core.storage.schema import parse_record, show_value, to_record
from pytest_ltm._core.storage.wording import first_and_rest, pluralize
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.summary import (
    VERDICTS_FILE,
    rewrite_summary,
    summary_checksum,
    verdicts_csv,
)

# How the notice of a run begins that does not hold.
DIFFERS = "does not hold"
_SHOWN = 2  # of one file, beside other things
_MOST = 20  # more differences of one file help nobody


class Discrepancy(Struct, frozen=True):
    """One thing that does not hold."""

    place: str
    """The file below the run's folder."""
    what: str
    line: int = 0
    """The damaged line of a journal, from 1; 0: not a single line."""
    unfinished: bool = False
    """The run has not come to its end, or what it came to was removed."""

    def __str__(self) -> str:
        return f"{self.place}{f', line {self.line}' * bool(self.line)}: {self.what}"


def find_discrepancies(run: LoadedRun) -> list[Discrepancy]:
    """Return what does not hold in a run folder, by what `read_run` has read of it."""
    recorded = {
        conversation.path: conversation.recorded for conversation in run.conversations
    }
    folders = sorted(
        {
            path.parent
            for name in (JOURNAL, RESULTS, "plan.json")
            for path in run.path.glob(f"*/{name}")
        }
    )
    result: list[Discrepancy] = []
    for folder in folders:
        check = partial(
            _conversation_discrepancies,
            folder,
            recorded.get(folder),
            imported=run.result.is_imported,
        )
        result += _checked(folder.name, check)
    result += _checked(RUN_FILE, partial(_run_file_discrepancies, run.path / RUN_FILE))
    parts = list(
        run_parts(
            run.path, [conversation.path.name for conversation in run.conversations]
        )
    )
    for part in parts:
        result += _checked(RUN_FILE, partial(_setting_discrepancies, run, part))
    for name in (judge_checks.JOURNAL, judge_checks.CHECKS):
        result += _checked(name, partial(_damaged_lines, run.path / name))
    result += _checked(judge_checks.FILE, partial(_judge_discrepancies, run.path))
    if run.summary:
        result += _checked(SUMMARY, partial(_listing_discrepancies, run))
        result += _checked(SUMMARY, partial(_summary_discrepancies, run, parts))
    elif (run.path / RUN_FILE).is_file():
        missing = "it is missing or cannot be read: the run has not come to its end"
        result.append(Discrepancy(SUMMARY, missing, unfinished=True))
    return result


MALFORMED = (
    *(TypeError, ValueError, LookupError, AttributeError),
    *(OSError, RecursionError, OverflowError, MemoryError, csv.Error),
)
"""What reading a file raises that has another form than it should."""


def _checked(
    place: str, check: Callable[[], Iterable[Discrepancy]]
) -> list[Discrepancy]:
    """Return what a check finds; a file that has another form than it should is found, too."""
    result: list[Discrepancy] = []
    try:
        result.extend(check())
    except LtmError as error:
        result.append(Discrepancy(place, str(error)))
    except MALFORMED as error:
        what = f"it does not have the form that it should: {describe_error(error)}"
        result.append(Discrepancy(place, what))
    return result


def _run_file_discrepancies(path: Path) -> Iterator[Discrepancy]:
    """Yield what keeps `run.json` from being read, where there is one."""
    if path.is_file() and not isinstance(json.loads(read_regular(path)), dict):
        yield Discrepancy(path.name, "it is not a JSON object")


def _judge_discrepancies(run: Path) -> Iterator[Discrepancy]:
    """Yield what known answers say against a judge."""
    for check in judge_checks.judge_prechecks(run):
        if check.verdict == "wrong":
            what = f"the judge misjudged known answers: {check.why}"
            yield Discrepancy(judge_checks.FILE, what)


def _listing_discrepancies(run: LoadedRun) -> Iterator[Discrepancy]:
    """Yield the conversations that the summary lists, found by their places, and that are not there."""
    names = {conversation.path.name for conversation in run.conversations}
    for listed in run.summary.get("conversations", ()):
        name = "~".join(
            str(listed.get(part)) for part in ("agent", "span_label", "trial")
        )
        if not any(one == name or one.startswith(f"{name}~") for one in names):
            what = f"it lists the conversation {name}, which is not there"
            yield Discrepancy(SUMMARY, what)


def read_marked_run(run: Path | LoadedRun) -> LoadedRun:
    """Return what stands in a run folder, with a notice for each thing that does not hold; LtmError as `read_run`."""
    run = run if isinstance(run, LoadedRun) else read_run(run)
    marked = _with_marks(run, discrepancy_sentences(run))
    # All examples once more: nothing but the comparison reads them there, and they take
    # as much room as the results.
    return structs.replace(
        marked,
        summary={
            name: one for name, one in run.summary.items() if name != "conversations"
        },
    )


def mark_discrepancies(run: LoadedRun) -> LoadedRun:
    """Return a run with a notice for each file in its folder that does not hold."""
    # Read again: a run that goes on was given results that are in none of its files.
    return _with_marks(run, discrepancy_sentences(read_run(run.path)))


def _with_marks(run: LoadedRun, sentences: Iterable[str]) -> LoadedRun:
    marks = tuple(f"{DIFFERS}: {text}" for text in sentences)
    notices = tuple(
        notice for notice in run.result.notices if not notice.startswith(DIFFERS)
    )
    return (
        structs.replace(
            run, result=structs.replace(run.result, notices=(*marks, *notices))
        )
        if marks
        else run
    )


def discrepancy_sentences(run: LoadedRun) -> Iterator[str]:
    """Yield the first things that do not hold of each file of a run, and how many more: one change has many effects."""
    by_place = group_by(
        (
            discrepancy
            for discrepancy in find_discrepancies(run)
            if not discrepancy.unfinished
        ),
        lambda each: each.place,
    )
    for discrepancies in by_place.values():
        more = (
            f" (and {len(discrepancies) - _SHOWN:,} more: see ltm verify)"
            if len(discrepancies) > _SHOWN
            else ""
        )
        yield from (
            f"{discrepancy}{more * (discrepancy is discrepancies[:_SHOWN][-1])}"
            for discrepancy in discrepancies[:_SHOWN]
        )


# --- one conversation


def _conversation_discrepancies(
    folder: Path, result: ConversationResult | None, *, imported: bool
) -> list[Discrepancy]:
    here = folder.name
    if not (folder / RESULTS).exists():
        gone = f"it has no {RESULTS}: the conversation has not come to its end, or they were removed"
        return [Discrepancy(here, gone, unfinished=True)]
    try:
        result = result or read_results(folder / RESULTS)
    except LtmError as error:
        return [Discrepancy(f"{here}/{RESULTS}", str(error))]
    name = ConversationName.of_folder(here)
    if name is not None and result.name != name.whole:
        return [
            Discrepancy(
                f"{here}/{RESULTS}", f"these are the results of {result.name.folder}"
            )
        ]
    try:
        return _journal_discrepancies(folder, result, imported=imported)
    except (LtmError, *MALFORMED) as error:
        return [Discrepancy(f"{here}/{JOURNAL}", describe_error(error))]


def _journal_discrepancies(
    folder: Path, result: ConversationResult, *, imported: bool
) -> list[Discrepancy]:
    """Return what differs between a conversation's journal and the files beside it; LtmError if it cannot be read."""
    here = folder.name
    if not (folder / JOURNAL).exists():
        named = (
            f" ({result.journal})" if result.journal else ", which they do not name,"
        )
        gone = f"the journal that its results are made from{named} is missing"
        scored = any(row.score is not None for row in result.scenarios)
        return [Discrepancy(f"{here}/{JOURNAL}", gone)] * bool(
            result.journal or (scored and not imported)
        )
    try:
        head = events.last_checksum(folder / JOURNAL)
    except LtmError:
        return _damaged_lines(folder / JOURNAL)
    if (
        not result.journal
    ):  # results of nothing, or imported ones, do not say what they are made from
        return []
    if result.journal != head:
        then = f"it ended in {result.journal} when {RESULTS} was written, and now in {head or 'nothing'}"
        what = f"{then}: lines are missing at its end, or it is another journal"
        return [Discrepancy(f"{here}/{JOURNAL}", what)]
    record = ConversationRecord.read_record(folder / JOURNAL)
    if record.header is None:
        return [Discrepancy(f"{here}/{JOURNAL}", "it is empty")]
    plan = Plan.from_json(record.header.plan, where="the recorded plan")
    says = record.header.plan_fingerprint
    forged = f"the plan in its header has the fingerprint {plan.fingerprint}, and it says {says}"
    texts = {
        JOURNAL: [forged] * (plan.fingerprint != says),
        "plan.json": _plan_file_differences(folder, record.header, plan),
        RESULTS: list(_result_differences(result, record, plan)),
        f"{JOURNAL}, tokens": list(_token_differences(record, plan)),
        TIMINGS: _attempt_differences(folder / TIMINGS, record),
    }
    discrepancies = [
        Discrepancy(f"{here}/{name}", text)
        for name, mine in texts.items()
        for text in first_and_rest(mine, _MOST, "and {:,} more")
    ]
    if result.ended == "interrupted":
        discrepancies.append(
            Discrepancy(
                f"{here}/{RESULTS}", "the conversation was interrupted", unfinished=True
            )
        )
    return discrepancies + _definition_discrepancies(folder, plan)


def _damaged_lines(path: Path) -> list[Discrepancy]:
    if not path.is_file():
        return []
    place = path.name if path.name != JOURNAL else f"{path.parent.name}/{JOURNAL}"
    damages = list(islice(find_damages(read_regular(path)), _MOST))
    return [Discrepancy(place, damage.what, damage.line) for damage in damages]


def _plan_file_differences(
    folder: Path, header: events.Header, plan: Plan
) -> list[str]:
    try:
        beside = parse_record(read_regular(folder / "plan.json").decode())
        if beside == header.plan:
            return []
        sides = {
            "names": ("in the file", "in the journal"),
            "plans": ("the file", "the journal"),
        }
        return plan_differences(Plan.from_json(beside), plan, **sides) or [
            "it is not the plan in the journal"
        ]
    except (OSError, ValueError, RecursionError, DefinitionError) as error:
        return [f"it cannot be read: {error}"]


def _definition_discrepancies(folder: Path, plan: Plan) -> list[Discrepancy]:
    known = {
        f"{example.scenario}/{example.example}": example.definition
        for example in plan.examples
        if example.definition is not None
    }
    paths = (folder / "definitions").glob("*/*.def.json")
    there = {
        f"{path.parent.name}/{path.name.removesuffix('.def.json')}": path
        for path in paths
    }
    differences: dict[str, str] = {}
    # They repeat the plan for readers: a run without any is whole, but one that is
    # missing among others was removed.
    for key in sorted(known.keys() | there.keys()) if there else ():
        if key not in there:
            differences[key] = "it is missing"
        elif key not in known:
            differences[key] = "no example of the plan has it"
        else:
            differences[key] = "it is not the definition that was played"
            with suppress(OSError, ValueError, RecursionError):
                if parse_record(read_regular(there[key]).decode()) == definition_json(
                    known[key]
                ):
                    del differences[key]
    return [
        Discrepancy(f"{folder.name}/definitions/{key}.def.json", what)
        for key, what in differences.items()
    ]


def _attempt_differences(path: Path, record: ConversationRecord) -> list[str]:
    """Return which replies were asked for until they were kept: a reply is timed once it is in the journal."""
    if not path.is_file():
        return []
    timed, why = load_all_timings(path)
    counts = Counter(one.exchange for one in timed if isinstance(one, ReplyTime))
    texts = [why.partition(": ")[2]] * bool(why)
    again = {number: count for number, count in counts.items() if count > 1}
    if again:
        shown = ", ".join(
            f"{number} ({count} times)"
            for number, count in sorted(again.items())[:_MOST]
        )
        texts.append(
            f"asked again: the agent's replies were written down more than once for exchanges {shown}"
        )
    if any('"event":"reply"' in one.cut for one in timed if isinstance(one, Resumed)):
        texts.append(
            "asked again: a reply that was there was cut off when the conversation was resumed"
        )
    unknown = sorted(counts.keys() - record.replies.keys())
    if unknown:
        texts.append(
            f"it times {pluralize(len(unknown), 'reply')} that the journal does not have"
        )
    return texts


def _token_differences(record: ConversationRecord, plan: Plan) -> Iterator[str]:
    """Yield which texts do not have the tokens that the journal gives them: spans and gaps are made of those."""
    try:
        counter = token_counter(plan.tokenizer)
    except LtmError:  # an encoding that is not here: scoring again says so
        return
    for exchange in (*record.transcript, *record.unanswered.values()):
        reply = exchange.raw_reply
        sides = [("message", exchange.message, exchange.message_tokens)]
        if exchange.number in record.replies or exchange.told:
            sides.append(("reply", reply, exchange.reply_tokens))
        for what, text, tokens in sides:
            if (count := counter.count(text)) != tokens:
                yield (
                    f"the {what} of exchange {exchange.number} has {count:,} tokens by {plan.tokenizer}, "
                    f"and is said to have {tokens:,}"
                )


# --- its results


def _result_differences(
    result: ConversationResult, record: ConversationRecord, plan: Plan
) -> Iterator[str]:
    header, transcript = record.header, record.transcript
    recorded: Mapping[str, Any] = {
        "plan_fingerprint": header and header.plan_fingerprint,
        "agent_fingerprint": header and header.agent_fingerprint,
        "tokens": transcript.position,
        "exchanges": len(transcript),
        "reply_tokens": sum(one.reply_tokens for one in transcript if not one.told),
    }
    for name, value in recorded.items():
        if getattr(result, name) != value:
            yield f"{name} is {getattr(result, name)!r}, and the journal says {value!r}"
    if result.ended == "complete" and record.reason != "complete":
        yield f"it is said to be complete, and the journal ends with {record.reason!r}"
    rows = {row.id: row for row in result.scenarios}
    planned = {example.key for example in plan.examples}
    if result.ended != "interrupted":
        yield from (
            f"{key} was planned, and has no result"
            for key in sorted(planned - rows.keys())
        )
    yield from (
        f"{key} has a result, and was not planned"
        for key in sorted(rows.keys() - planned)
    )
    if len(rows) < len(result.scenarios):
        yield "an example has two results"
    for example in plan.examples:
        if example.key in rows:
            row = rows[example.key]
            texts = _row_differences(row, record)
            if row.threshold != example.threshold:
                texts.append(
                    f"its threshold is {row.threshold:g}, and that of the plan is {example.threshold:g}"
                )
            yield from (f"{example.key}: {text}" for text in texts)


def _row_differences(row: ScenarioResult, record: ConversationRecord) -> list[str]:
    verdict = record.example(row.id).verdict
    # what is scored once the conversation was interrupted is no longer written down;
    # scoring it again shows it
    unwritten = (
        verdict is None and row.score is not None and record.reason != "interrupted"
    )
    texts = ["it has a score, and the journal has no verdict"] * unwritten
    if verdict is not None:
        checks = tuple(
            (check.label, None if check.open else check.ok) for check in row.checks
        )
        pairs: dict[str, tuple[object, object]] = {
            name: (getattr(row, name), getattr(verdict, name)) for name in _OF_VERDICT
        }
        pairs["checks"] = checks, verdict.checks
        texts += [
            f"its {name} is {show_value(ours)}, and the journal says {show_value(theirs)}"
            for name, (ours, theirs) in pairs.items()
            if ours != theirs
        ]
    if (
        row.score is not None
        and not row.is_open
        and row.outcome != outcome_of(row.score, row.threshold)
    ):
        texts.append(
            f"it is {row.outcome} with a score of {row.score:g} and a threshold of {row.threshold:g}"
        )
    for question in row.questions:
        needles = tuple(needle.number for needle in question.needles)
        try:
            played = question_result(
                CreditedQuestion(question.number, needles), record.transcript
            )
        except KeyError:
            texts.append(f"question {question.number} is not in the journal")
            continue
        if played != question:
            texts += [
                f"question {question.number}: its {name} is not the one in the journal"
                for name in ("text", "answer", "gap", "needles", "retrieved")
                if getattr(played, name) != getattr(question, name)
            ]
    return texts


_OF_VERDICT = ("score", "upper", "reason", "rule", "evidence")


# --- the run


def _setting_discrepancies(
    run: LoadedRun, part: Mapping[str, Any]
) -> Iterator[Discrepancy]:
    """Yield which settings of a part of the run are not those that its conversations were played with."""
    settings, options = part["run"].get("settings", {}), part["run"].get("options", {})
    # A command that chose some did not ask for the others.
    chosen = part["run"].get("paths") or options.keys() & {
        "keyword",
        "markexpr",
        "deselect",
        "ltm_shard",
    }
    played = {
        conversation.result.name.planned_name for conversation in run.conversations
    }
    asked = product(
        settings.get("agents", {}),
        settings.get("spans", {}),
        range(settings.get("trials") or 1),
    )
    for agent, span, trial in () if chosen else asked:
        if (name := ConversationName(agent, span, str(trial))) not in played:
            what = f"it asks for the conversation {name.folder}, which was not played, or was removed"
            yield Discrepancy(RUN_FILE, what, unfinished=True)
    for conversation in run.conversations:
        plan, name = conversation.plan(), conversation.result.name.planned_name
        if conversation.path.name not in part["conversations"] or not plan:
            continue
        pairs = {
            one: (settings.get(one), plan.get(one))
            for one in ("seed", "tokenizer", "scoring", "time")
        }
        # a plan adds the versions of the judge's questions
        pairs["judge"] = (
            settings.get("judge"),
            str(plan.get("judge")).partition(" (")[0],
        )
        pairs["trial"] = (name.trial, str(plan.get("trial")))
        pairs["spans"] = (settings.get("spans", {}).get(name.span), plan.get("span"))
        pairs["agents"] = (
            settings.get("agents", {}).get(name.agent),
            conversation.result.agent_spec,
        )
        for one, (ours, theirs) in pairs.items():
            if ours != theirs:
                what = f"{one} is {show_value(ours)}, and {conversation.path.name} was played with {show_value(theirs)}"
                yield Discrepancy(RUN_FILE, what)


# What every summary has, whatever version wrote it.
_OF_SUMMARY = (
    "run_id",
    "pytest_ltm_version",
    "plan",
    "results",
    "conversations",
    "notices",
)


def _summary_discrepancies(
    run: LoadedRun, parts: Sequence[Mapping[str, Any]]
) -> Iterator[Discrepancy]:
    """Yield what summary and table of verdicts say that does not follow from results and `run.json`."""
    summary, run_id, began = run.summary, run.summary.get("run_id"), ""
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        began = str(json.loads(read_regular(run.path / RUN_FILE)).get("run", ""))
    if run_id not in (
        began or run_id,
        run.path.resolve().name,
    ):  # a copy that was amended has the name of its folder
        yield Discrepancy(
            SUMMARY, f"it is that of run {run_id}, and {RUN_FILE} began run {began}"
        )
    plan = summary.get("plan")
    planned = {**(plan if isinstance(plan, dict) else {}), "seed": summary.get("seed")}
    started = [
        setting for part in parts for setting in part["run"].get("settings", {}).items()
    ]
    for name, value in started if (run.path / RUN_FILE).is_file() else ():
        if name in planned and planned[name] != value:
            what = f"its {name} is {show_value(planned[name])}, and {RUN_FILE} says {show_value(value)}"
            yield Discrepancy(SUMMARY, what)
    for part in parts:
        recorded_by = part["run"].get("versions", {}).get("pytest-ltm")
        said = summary.get("pytest_ltm_version")
        if recorded_by is not None and len(parts) == 1 and recorded_by != said:
            what = f"it says that pytest-ltm {said} wrote it, and {RUN_FILE} says {recorded_by}"
            yield Discrepancy(SUMMARY, what)
    if "sum" in summary and summary["sum"] != summary_checksum(summary):
        yield Discrepancy(SUMMARY, "it was changed after it was written")
    now = json.loads(json.dumps(rewrite_summary(run.result, summary)))
    for name in (name for name in _OF_SUMMARY if name not in summary):
        yield Discrepancy(SUMMARY, f"it has no {name}")
    # Results have the id of the folder, which may have been renamed: it is compared above.
    for name in now.keys() & summary.keys() - {"metrics", "run_id"}:
        texts = list(islice(_value_differences(summary[name], now[name], name), _MOST))
        yield from (Discrepancy(SUMMARY, text) for text in texts)
    path = run.path / VERDICTS_FILE
    sides = (
        (read_regular(path), for_file(verdicts_csv(run.result)))
        if path.is_file()
        else (b"", b"")
    )
    if sides[0] != sides[1] and not _agree_in_columns(*map(_csv_rows, sides)):
        yield Discrepancy(VERDICTS_FILE, "it does not have the verdicts of the results")


def _csv_rows(data: bytes) -> list[dict[str, str]]:
    text = io.StringIO(data.decode("utf-8", "replace"), newline="")
    return list(csv.DictReader(text, restkey="", restval=""))


def _agree_in_columns(
    said: Sequence[Mapping[str, str]], now: Sequence[Mapping[str, str]]
) -> bool:
    """Return whether two tables have the same rows, in the columns that both have: another version has others."""
    shared = (said[0].keys() if said else set()) & (now[0].keys() if now else set())
    columns = sorted(shared)

    def cells(rows: Sequence[Mapping[str, str]]) -> list[list[str]]:
        return sorted([row[column] for column in columns] for row in rows)

    return {"nodeid", "outcome", "ltm_score"} <= shared and cells(said) == cells(now)


def _value_differences(said: object, now: object, path: str) -> Iterator[str]:
    """Yield where two JSON values differ; what another version did not write yet does not count."""
    if said == now:  # nearly always, and told much faster than by looking through both
        return
    if isinstance(said, dict) and isinstance(now, dict):
        for key in said:
            yield from _value_differences(said.get(key), now.get(key), f"{path}.{key}")
    elif isinstance(said, list) and isinstance(now, list) and len(said) == len(now):
        # imported runs list their conversations in an order of their own
        def label(entry: object, number: int) -> str:
            names = ("agent", "span_label", "trial", "nodeid", "ltm_scenario")
            return " ".join(
                str(entry[name])
                for name in names
                if isinstance(entry, dict) and name in entry
            ) or str(number)

        before, after = (
            {label(one, number): one for number, one in enumerate(side)}
            for side in (said, now)
        )
        for place, one in after.items():
            yield from _value_differences(before.get(place), one, f"{path}[{place}]")
    elif not (
        isinstance(said, float) and isinstance(now, float) and isclose(said, now)
    ):
        # the order in which a mean is summed may change its last digit
        yield f"{path} is {show_value(said)}, and the results say {show_value(now)}"


def compare_results(
    recorded: Path, made_again: Path, *, same_version: bool
) -> Iterator[Discrepancy]:
    """Yield where the results of a run are not those of scoring it again; `made_again`: that run's folder.

    Of another version than the one that recorded it, scores must agree; reasons and
    fingerprints may change.
    """
    for path in sorted(made_again.glob(f"*/{RESULTS}")):
        try:
            then, now = (
                read_results(recorded / path.parent.name / RESULTS),
                read_results(path),
            )
        except LtmError:
            continue  # it is named by what stands in the folder
        place, rows = (
            f"{path.parent.name}/{RESULTS}",
            {row.id: row for row in then.scenarios},
        )
        for row in now.scenarios:
            if (recorded_row := rows.pop(row.id, None)) is not None:
                names = None if same_version else ("outcome", "score", "upper")
                texts = _field_differences(recorded_row, row, names, without={"nodeid"})
                yield from (
                    Discrepancy(place, f"{row.id}: its {text}") for text in texts
                )
        if same_version and not rows and now.kept == then.kept:
            texts = _field_differences(
                then, now, without={"scenarios", "notices", "kept", "agent_spec"}
            )
            yield from (Discrepancy(place, text) for text in texts)


def _field_differences(
    then: ScenarioResult | ConversationResult,
    now: ScenarioResult | ConversationResult,
    names: Iterable[str] | None = None,
    *,
    without: AbstractSet[str],
) -> Iterator[str]:
    one, other = to_record(then), to_record(now)
    for name in names or sorted({*one, *other} - without):
        if one.get(name) != other.get(name):
            yield f"{name} was {show_value(one.get(name))} and is {show_value(other.get(name))} scored again"
