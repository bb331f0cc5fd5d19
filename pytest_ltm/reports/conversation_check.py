"""Checks that a conversation's files follow from its journal: plan, definitions, results, times, tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    TIMINGS,
    Began,
    ConversationName,
    ConversationRecord,
    ConversationResult,
    ReplyTime,
    Resumed,
    TellTime,
    Timing,
    events,
    iter_timings,
    load_all_timings,
    read_results,
)
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.scenarios import Plan, plan_differences
from pytest_ltm.api.scenarios import to_json as definition_json
from pytest_ltm.api.storage import (
    DefinitionError,
    LtmError,
    describe_error,
    first_and_rest,
    parse_record,
    pluralize,
    read_regular,
)
from pytest_ltm.reports.discrepancies import (
    MALFORMED,
    MOST_DIFFERENCES,
    Discrepancy,
    find_damaged_lines,
)
from pytest_ltm.reports.result_check import result_differences


def check_conversation(
    folder: Path,
    result: ConversationResult | None,
    *,
    imported: bool,
    record: ConversationRecord | None = None,
) -> list[Discrepancy]:
    """Return the discrepancies in a conversation's folder.

    `result` holds its results, if they could be read, and `record` its journal, if it was read already. `imported` runs
    were not played here and need no journals.
    """
    place = f"{folder.name}/{RESULTS}"
    if not (folder / RESULTS).exists():
        problem = f"it has no {RESULTS}: the conversation is not finished, or they were removed"
        return [Discrepancy(folder.name, problem, unfinished=True)]
    try:
        result = result or read_results(folder / RESULTS)
    except LtmError as error:
        return [Discrepancy(place, str(error))]
    name = ConversationName.of_folder(folder.name)
    if name is not None and result.name != name.whole:
        problem = f"these are the results of {result.name.folder}"
        return [Discrepancy(place, problem)]
    try:
        return _check_journal(folder, result, record, imported=imported)
    except (LtmError, *MALFORMED) as error:
        return [Discrepancy(f"{folder.name}/{JOURNAL}", describe_error(error))]


def _check_journal(
    folder: Path,
    result: ConversationResult,
    record: ConversationRecord | None,
    *,
    imported: bool,
) -> list[Discrepancy]:
    """Return where a conversation's other files contradict its journal; LtmError if it cannot be read."""
    place = f"{folder.name}/{JOURNAL}"
    path = folder / JOURNAL
    if not path.exists():
        return _check_missing_journal(place, result, imported=imported)
    if record is None:
        with suppress(LtmError):
            record = ConversationRecord.read_record(path)
    try:
        head = record.head if record else events.last_checksum(path)
    except LtmError:
        return find_damaged_lines(path)
    # Empty or imported results have no journal to be derived from.
    if not result.journal:
        return []
    if result.journal != head:
        problem = (
            f"it ended in {result.journal} when {RESULTS} was written, and now in {head or 'nothing'}: "
            "lines are missing at its end, or it is another journal"
        )
        return [Discrepancy(place, problem)]
    # An undamaged journal that could not be read above raises its error here.
    record = record or ConversationRecord.read_record(path)
    if record.header is None:
        return [Discrepancy(place, "it is empty")]
    return _check_files(folder, result, record, record.header)


def _check_missing_journal(
    place: str, result: ConversationResult, *, imported: bool
) -> list[Discrepancy]:
    has_scores = any(row.score is not None for row in result.scenarios)
    if not result.journal and (imported or not has_scores):
        return []
    name = f" ({result.journal})" if result.journal else ", which they do not name,"
    problem = f"the journal that its results are made from{name} is missing"
    return [Discrepancy(place, problem)]


def _check_files(
    folder: Path,
    result: ConversationResult,
    record: ConversationRecord,
    header: events.Header,
) -> list[Discrepancy]:
    """Return how the other files differ from what an undamaged journal implies."""
    plan = Plan.from_json(header.plan, where="the recorded plan")
    differences: dict[str, Sequence[str]] = {
        JOURNAL: _fingerprint_differences(header, plan),
        "plan.json": _plan_file_differences(folder, header, plan),
        RESULTS: list(result_differences(result, record, plan)),
        f"{JOURNAL}, tokens": list(_token_differences(record, plan)),
        TIMINGS: _attempt_differences(folder / TIMINGS, record),
    }
    discrepancies = []
    for name, texts in differences.items():
        for text in first_and_rest(texts, MOST_DIFFERENCES, "and {:,} more"):
            discrepancies.append(Discrepancy(f"{folder.name}/{name}", text))
    if result.ended == "interrupted":
        place = f"{folder.name}/{RESULTS}"
        problem = "the conversation was interrupted"
        discrepancies.append(Discrepancy(place, problem, unfinished=True))
    return discrepancies + _check_definitions(folder, plan)


def _fingerprint_differences(header: events.Header, plan: Plan) -> list[str]:
    if plan.fingerprint == header.plan_fingerprint:
        return []
    text = (
        f"the plan in its header has the fingerprint {plan.fingerprint}, and it says "
        f"{header.plan_fingerprint}"
    )
    return [text]


def _plan_file_differences(
    folder: Path, header: events.Header, plan: Plan
) -> list[str]:
    try:
        filed = parse_record(read_regular(folder / "plan.json").decode())
        filed_plan = plan if filed == header.plan else Plan.from_json(filed)
    except (OSError, ValueError, RecursionError, DefinitionError) as error:
        return [f"it cannot be read: {error}"]
    if filed == header.plan:
        return []
    differences = plan_differences(
        filed_plan,
        plan,
        names=("in the file", "in the journal"),
        plans=("the file", "the journal"),
    )
    return differences or ["it is not the plan in the journal"]


def _check_definitions(folder: Path, plan: Plan) -> list[Discrepancy]:
    """Return the definition files that differ from the plan, of which they are copies for readers."""
    planned = {}
    for example in plan.examples:
        if example.definition is not None:
            planned[f"{example.scenario}/{example.example}"] = example.definition
    filed: dict[str, Path] = {}
    for path in (folder / "definitions").glob("*/*.def.json"):
        name = path.name.removesuffix(".def.json")
        filed[f"{path.parent.name}/{name}"] = path
    # A run without definition files is complete; a single missing one was removed.
    if not filed:
        return []
    discrepancies = []
    settings = folder / "definitions" / "config.yml"
    told = f"memory_span: {plan.span}\n"
    if settings.exists() and read_regular(settings) != told.encode():
        place = f"{folder.name}/definitions/{settings.name}"
        problem = f"it does not have the memory span {plan.span}"
        discrepancies.append(Discrepancy(place, problem))
    for key in sorted(planned.keys() | filed.keys()):
        if key not in filed:
            problem = "it is missing"
        elif key not in planned:
            problem = "no example of the plan has it"
        elif not _has_record(filed[key], definition_json(planned[key])):
            problem = "it is not the definition that was played"
        else:
            continue
        place = f"{folder.name}/definitions/{key}.def.json"
        discrepancies.append(Discrepancy(place, problem))
    return discrepancies


def _has_record(path: Path, record: object) -> bool:
    """Return whether a file is readable and contains this record."""
    try:
        return bool(parse_record(read_regular(path).decode()) == record)
    except (OSError, ValueError, RecursionError):
        return False


def _attempt_differences(path: Path, record: ConversationRecord) -> list[str]:
    """Return the replies that have no timing or were retried: a reply is timed once it is recorded."""
    if not path.is_file():
        return []
    timings, problem = load_all_timings(path)
    texts = [problem.partition(": ")[2]] if problem else []
    counts = Counter[int]()
    for timing in timings:
        if isinstance(timing, ReplyTime):
            counts[timing.exchange] += 1
    repeated: list[str] = []
    for number, count in sorted(counts.items()):
        if count > 1:
            repeated.append(f"{number} ({count} times)")
    if repeated:
        numbers = ", ".join(repeated[:MOST_DIFFERENCES])
        texts.append(
            f"asked again: the agent's replies were written down more than once for exchanges {numbers}"
        )
    cuts = [timing.cut for timing in timings if isinstance(timing, Resumed)]
    if any('"event":"reply"' in cut for cut in cuts):
        texts.append(
            "asked again: a reply that was there was cut off when the conversation was resumed"
        )
    unknown = counts.keys() - record.replies.keys()
    if unknown:
        replies = pluralize(len(unknown), "reply")
        texts.append(f"it times {replies} that the journal does not have")
    # If a run was killed and resumed, the last reply may have no timing.
    began_once = len(list(iter_timings(path.parents[1] / TIMINGS, Began))) == 1
    if began_once and record.reason is not None:
        texts += _disorder_of_times(timings, record)
    return texts


def _disorder_of_times(
    timings: Sequence[Timing], record: ConversationRecord
) -> Iterator[str]:
    """Yield errors in the timings of a conversation played in one go, where exchanges must be in order."""
    timed: list[int] = []
    for timing in timings:
        if isinstance(timing, (ReplyTime, TellTime)):
            timed.append(timing.exchange)
    untimed = record.replies.keys() - timed
    if timed and untimed:
        yield f"it does not time {pluralize(len(untimed), 'reply')} of the journal"
    if timed != sorted(set(timed)):
        yield "its lines are not in the order of the exchanges, or some are there twice"


def _token_differences(record: ConversationRecord, plan: Plan) -> Iterator[str]:
    """Yield texts whose token count differs from the journal's, from which spans and gaps are computed."""
    try:
        counter = token_counter(plan.tokenizer)
    except LtmError:  # unknown encoding: scoring again reports it
        return
    for exchange in (*record.transcript, *record.unanswered.values()):
        sides = [("message", exchange.message, exchange.message_tokens)]
        if exchange.number in record.replies or exchange.told:
            sides.append(("reply", exchange.raw_reply, exchange.reply_tokens))
        for side, text, tokens in sides:
            count = counter.count(text)
            if count != tokens:
                yield (
                    f"the {side} of exchange {exchange.number} has {count:,} tokens by {plan.tokenizer}, "
                    f"but {tokens:,} are recorded"
                )
