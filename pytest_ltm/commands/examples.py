"""`show RUN [ITEM]`: the examples of a run, or one as a chat; `amend RUN ITEM`: one verdict corrected by hand."""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import RunResult, ScenarioResult, at_span
from pytest_ltm._core.journal.run_file import LATEST, find_run
from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.storage.errors import ConfigurationError, did_you_mean
from pytest_ltm._core.storage.sanitize import for_screen
from pytest_ltm._core.storage.schema import fields_of
from pytest_ltm._core.storage.wording import first_and_rest, one_line, pluralize
from pytest_ltm.commands.arguments import add_flags, add_place, add_run
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.table import Style, paint_text
from pytest_ltm.figures.text import (
    NOTHING,
    clip_text,
    format_distance,
    shorten_text,
    text_of,
    verdict_text,
    wrap_text,
)
from pytest_ltm.records import amendments
from pytest_ltm.reports.failure import (
    asker_of,
    check_lines,
    distance_lines,
    failure_headline,
    shown_message,
    speech_lines,
)
from pytest_ltm.reports.summary import refresh_summary
from pytest_ltm.reports.verification import DIFFERS, read_marked_run

# Characters of a text that are shown unless all are asked for.
LONGEST = 4_000


class ExampleChat(Struct, frozen=True, kw_only=True):
    """What is shown of an example."""

    result: ScenarioResult
    record: ConversationRecord | None
    """None where there is no readable journal."""
    expected: object = None
    """What its definition says of right answers; None where it says nothing."""
    damage: str = ""
    """What is wrong with the journal."""


def chat_lines(
    chat: ExampleChat, width: int, *, color: bool, full: bool = False
) -> list[str]:
    """Return the example as lines.

    `full`: texts of any length, and what others said from its first message to its
    last.
    """
    result = chat.result
    where = f"{at_span(result.agent, result.span_label)}, trial {result.trial}"
    lines = [
        paint_text(line, "strong", color=color)
        for line in wrap_text(one_line(result.nodeid), width)
    ]
    lines += [clip_text(one_line(where), width), ""]
    shown = _shown_exchanges(chat, full=full)
    for before, exchange in zip([None, *shown], shown, strict=False):
        if before is not None and chat.record is not None and not full:
            between = distance_lines(result, before, exchange, chat.record.transcript)
            lines += [paint_text(line, "dim", color=color) for line in between]
        lines += _exchange_lines(chat, exchange, width, color=color, full=full)
    if chat.record is None:
        missing = (
            f"The transcript is missing: the run has no readable journal. {chat.damage}"
        )
        lines += wrap_text(missing.rstrip(), width, "  ")
    elif not shown:
        lines.append("The journal has none of its exchanges.")
    return [
        line.rstrip()
        for line in [*lines, "", *_verdict_lines(chat, width, color=color)]
    ]


def _shown_exchanges(chat: ExampleChat, *, full: bool) -> list[Exchange]:
    """Return its own exchanges, its needles wherever they stand, and the one whose reply holds what decided."""
    record, result = chat.record, chat.result
    if record is None:
        return []
    exchanges = sorted(
        (*record.transcript, *record.unanswered.values()), key=lambda each: each.number
    )
    asked = {question.number for question in result.questions}
    asked |= {
        needle.number for question in result.questions for needle in question.needles
    }
    own = [
        exchange
        for exchange in exchanges
        if exchange.by == result.id or exchange.number in asked
    ]
    if (
        own
        and result.evidence
        and not any(result.evidence in each.reply for each in own)
    ):
        own += [
            exchange
            for exchange in exchanges
            if exchange.number > own[-1].number and result.evidence in exchange.reply
        ][-1:]
    return (
        [
            exchange
            for exchange in exchanges
            if own[0].number <= exchange.number <= own[-1].number
        ]
        if own and full
        else own
    )


def _exchange_lines(
    chat: ExampleChat, exchange: Exchange, width: int, *, color: bool, full: bool
) -> Iterator[str]:
    kind = _exchange_kind(chat.result, exchange)
    at = f"#{exchange.number}  {kind}, at {pluralize(exchange.start, 'token')}, {exchange.now:%Y-%m-%d %H:%M}"
    yield paint_text(
        clip_text(at, width),
        "strong" if exchange.by == chat.result.id else "dim",
        color=color,
    )
    asked = (
        question
        for question in chat.result.questions
        if question.number == exchange.number
    )
    for needle in (needle for question in asked for needle in question.needles):
        told = (
            f", {pluralize(needle.told_gap, 'token')} without the agent's replies"
            * (needle.told_gap < needle.gap)
        )
        distance = format_distance(needle.gap, timedelta(seconds=needle.seconds_passed))
        rank = (
            ""
            if needle.rank is None
            else f"; retrieved at rank {needle.rank}"
            if needle.rank
            else "; not retrieved"
        )
        for line in wrap_text(
            f"    needle #{needle.number}: {distance} before{told}{rank}",
            width,
            "      ",
        ):
            yield paint_text(line, "dim", color=color)
    yield from speech_lines(
        asker_of(exchange), _shorten_message(exchange.message, "", full=full), width
    )
    if fault := chat.record.fault(exchange.number) if chat.record else "":
        yield from speech_lines("fault:", one_line(fault), width)
    else:
        yield from speech_lines(
            "agent:",
            _shorten_message(exchange.acted_reply, chat.result.evidence, full=full),
            width,
        )


def _exchange_kind(result: ScenarioResult, exchange: Exchange) -> str:
    if any(question.number == exchange.number for question in result.questions):
        return "question"
    if any(
        needle.number == exchange.number
        for question in result.questions
        for needle in question.needles
    ):
        return "needle"
    kind = {"say": "message", "ask": "question"}.get(exchange.kind, exchange.kind)
    return (
        kind
        if exchange.by == result.id
        else f"{one_line(exchange.by)}: {kind}"
        if exchange.by
        else kind
    )


def _shorten_message(text: str, keep: str, *, full: bool) -> str:
    """Return a text, of a long one its beginning and what decided."""
    if full or len(text) <= LONGEST:
        return shown_message(text)
    at, rest = text.find(keep) if keep else -1, len(text) - LONGEST
    decided = f"\n… {for_screen(text[at : at + LONGEST])}" if at >= LONGEST else ""
    return f"{shown_message(text[:LONGEST])}\n[{rest:,} characters more: --full shows them]{decided}"


def _verdict_lines(chat: ExampleChat, width: int, *, color: bool) -> Iterator[str]:
    result, before = chat.result, chat.result.automatic
    lines = wrap_text(failure_headline(result), width, "  ")
    yield from (paint_text(line, style_of(result), color=color) for line in lines)
    yield from check_lines(result)
    for name, text in (
        ("decided by", result.evidence),
        ("expected", "" if chat.expected is None else text_of(chat.expected)),
        ("rule", result.rule),
        (
            "before it was amended",
            f"{verdict_text(before)}: {before.reason}" if before else "",
        ),
    ):
        if text:
            yield from wrap_text(
                f"  {name}: {clip_text(one_line(text), LONGEST)}", width, "    "
            )
    if result.overrun and result.span is not None:
        yield f"  overran its memory span of {result.span:,} tokens"


def style_of(result: ScenarioResult) -> Style:
    """Return the colours of a score."""
    if result.score is None or result.outcome == "skipped":
        return "dim"
    return (
        "good" if result.outcome == "passed" else "part" if result.score > 0 else "bad"
    )


def example_json(row: ScenarioResult) -> dict[str, Any]:
    """Return an example and its verdict as JSON values."""
    own = fields_of(
        row,
        "scenario",
        "example",
        "agent",
        "trial",
        "outcome",
        "score",
        "upper",
        "reason",
    )
    return {"item": row.nodeid, **own, "span": row.span_label}


def chat_json(chat: ExampleChat, *, full: bool = False) -> dict[str, Any]:
    """Return the example as JSON values: its verdict, what decided it, and the exchanges that are shown of it.

    `full`: as for `chat_lines`.
    """
    result, record = chat.result, chat.record
    longest = None if full else LONGEST
    return {
        **example_json(result),
        **fields_of(result, "threshold", "gap", "rule"),
        "decided_by": result.evidence,
        "expected": chat.expected,
        "checks": [
            {"label": check.label, "state": check.state} for check in result.checks
        ],
        "needles": [
            {
                "question": question.number,
                "needle": needle.number,
                "retrieved_rank": needle.rank,
            }
            | {"gap_tokens": needle.gap, "gap_seconds": needle.seconds_passed}
            for question in result.questions
            for needle in question.needles
        ],
        "exchanges": [
            {
                "number": exchange.number,
                "kind": _exchange_kind(result, exchange),
                "by": exchange.by,
                "tokens_before": exchange.start,
                "now": exchange.now.isoformat(),
                "message": exchange.message[:longest],
                "reply": exchange.reply[:longest],
                "fault": record.fault(exchange.number) if record else "",
                **_calls_json(exchange),
            }
            for exchange in _shown_exchanges(chat, full=full)
        ],
    }


def _calls_json(exchange: Exchange) -> dict[str, Any]:
    """Return the calls of tools before a reply; nothing where there are none."""
    calls = [
        fields_of(call, "name", "arguments", "result", "refused")
        for call in exchange.calls
    ]
    return {"calls": calls} if calls else {}


def example_lines(
    rows: Sequence[ScenarioResult], width: int, *, color: bool
) -> Iterator[str]:
    """Yield a line for each example: score, name, and why it has not more."""
    room = max((len(one_line(row.id)) for row in rows), default=0)
    for row in rows:
        score = verdict_text(row, NOTHING)
        why = "" if row.outcome == "passed" else one_line(row.reason)
        line = clip_text(
            f"  {score:>4}  {one_line(row.id):{min(room, 40)}}  {why}", width
        ).rstrip()
        yield paint_text(line, style_of(row), color=color)


# What `show --json` prints (docs/coding-agents.md). Fields may be added; the number
# changes if one goes.
FORMAT = "pytest-ltm show 1"
# Narrower terminals get lines of this width.
LEAST = 40
# The candidates that are listed where an item is ambiguous.
MAX_LISTED_CANDIDATES = 12
_REASON = 120  # the width of a reason
# Options that choose among rows, and the field of a row that each names.
_LABELS = {"agent": "agent", "span": "span_label", "trial": "trial"}


# --- show


def add_show_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item, and how much of it is shown."""
    add_place(parser)
    full = "with ITEM: all texts in full, with the exchanges of others in between"
    add_flags(
        parser,
        failed="list only examples that did not pass",
        full=full,
        json="print JSON",
    )
    add_run(parser)
    item = "a node ID or part of one, or scenario/example as in colours/0"
    parser.add_argument("item", nargs="?", default="", metavar="ITEM", help=item)


def show_examples(arguments: Namespace) -> int:
    """List the examples of a run with their scores, or print one as a chat.

    With ITEM, print its messages and replies, what lies between them, the verdict and
    what decided it. An item in the place of RUN, such as colours/0, is one of the
    latest run.
    """
    if "/" in arguments.run and not arguments.item and not Path(arguments.run).exists():
        arguments.run, arguments.item = LATEST, arguments.run
    loaded_run = read_marked_run(find_run(arguments.run, arguments.ltm_dir))
    width = max(shutil.get_terminal_size().columns, LEAST)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if arguments.item:
        row = choose_result(loaded_run.result, arguments, parts=True)
        folder = next(
            conversation
            for conversation in loaded_run.conversations
            if row in conversation.result.scenarios
        )
        record = folder.record()
        examples = folder.plan().get("examples")
        # the plan may be damaged, and the chat is worth showing without it
        planned = (
            [example for example in examples if isinstance(example, dict)]
            if isinstance(examples, list)
            else []
        )
        names = {
            f"{each.get('scenario')}/{each.get('example')}": each.get("definition")
            for each in planned
        }
        definition = names.get(row.id)
        expected = definition.get("expected") if isinstance(definition, dict) else None
        chat = ExampleChat(
            result=row,
            record=record,
            expected=expected,
            damage="" if record else folder.damage(),
        )
        marks = [text for text in loaded_run.result.notices if text.startswith(DIFFERS)]
        if arguments.json:
            print(
                json.dumps(
                    {
                        "format": FORMAT,
                        **chat_json(chat, full=arguments.full),
                        "notes": marks,
                    },
                    indent=1,
                )
            )
        else:
            print(
                "\n".join(
                    [
                        *chat_lines(chat, width, color=color, full=arguments.full),
                        *_note_lines(marks, width),
                    ]
                )
            )
        return 0
    print("\n".join(_list_examples(loaded_run.result, arguments, width, color=color)))
    return 0


def _list_examples(
    run: RunResult, arguments: Namespace, width: int, *, color: bool
) -> Iterator[str]:
    rows = [
        row
        for row in rows_within(run.scenarios, arguments)
        if not arguments.failed or row.outcome != "passed"
    ]
    if arguments.json:
        totals = [
            {
                "agent": column.agent,
                "span": column.span_label,
                "low": column.total_lower_bound,
                "high": column.total_upper_bound,
                "out_of": column.maximum_total,
            }
            for column in result_columns(run)
        ]
        about = {
            "format": FORMAT,
            "run": run.run_id,
            "folder": run.folder,
            "totals": totals,
        }
        listed = {
            "examples": [example_json(row) for row in rows],
            "notes": list(run.notices),
        }
        yield json.dumps({**about, **listed}, indent=1)
        return
    for (agent, span, trial), held in group_by(
        rows, lambda row: (row.agent, row.span_label, row.trial)
    ).items():
        yield clip_text(one_line(f"{at_span(agent, span)}, trial {trial}"), width)
        yield from example_lines(held, width, color=color)
    passed = sum(row.outcome == "passed" for row in rows)
    yield f"{pluralize(len(rows), 'example')}, {passed:,} passed"
    yield from _note_lines(run.notices, width)


def _note_lines(notices: Sequence[str], width: int) -> Iterator[str]:
    yield from (
        line
        for notice in notices
        for line in wrap_text(one_line(f"note: {notice}"), width, "      ")
    )


# --- amend


def add_amend_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item and its new score."""
    parser.add_argument(
        "--score", type=float, required=True, help="the share of full marks, 0 to 1"
    )
    parser.add_argument(
        "--reason", required=True, help="why the automatic verdict is wrong"
    )
    add_place(parser)
    add_run(parser, required=True)
    parser.add_argument(
        "item", metavar="ITEM", help="a node ID, or scenario/example as in colours/0"
    )


def amend_verdict(arguments: Namespace) -> int:
    """Correct one verdict by hand. The automatic one is kept, and every report says so."""
    amendment = amendments.Amendment(score=arguments.score, reason=arguments.reason)
    loaded_run = read_run(find_run(arguments.run, arguments.ltm_dir))
    before = choose_result(loaded_run.result, arguments)
    after = amendments.amend_verdict(
        loaded_run.path, loaded_run.result, before.nodeid, amendment
    )
    amended = read_run(loaded_run.path)
    # summary.json shows the total
    refresh_summary(amended)
    print(one_line(before.nodeid))
    verdicts = {"before: ": before, "now:    ": after, "automatic: ": before.automatic}
    for name, verdict in verdicts.items():
        if verdict is not None:
            print(
                f"  {name}{verdict_text(verdict)}: {shorten_text(one_line(verdict.reason), _REASON, mark='…')}"
            )
    place = (after.agent, after.span_label)
    was, now = (
        next(
            column
            for column in result_columns(run.result)
            if (column.agent, column.span_label) == place
        )
        for run in (loaded_run, amended)
    )
    totals = [
        f"{column.points} of {column.maximum_total}" if column.out_of else "none"
        for column in (was, now)
    ]
    by_hand = f"{pluralize(now.amended_verdicts, 'verdict')} of {len(now.rows):,} amended by hand"
    print(
        f"total of {one_line(now.label)}: {totals[0]} before, now {totals[1]} ({by_hand})"
    )
    return 0


# --- which example is meant


def choose_result(
    run: RunResult, arguments: Namespace, *, parts: bool = False
) -> ScenarioResult:
    """Return the one row of a run that `given` means by item, agent, span and trial.

    `parts`: also part of a node id names an item. ConfigurationError lists the
    candidates if there are none or several.
    """
    rows = rows_within(run.scenarios, arguments)
    result = [row for row in rows if row.nodeid == arguments.item]
    result = result or [row for row in rows if arguments.item in (row.id, row.scenario)]
    if parts:
        result = result or [
            row
            for row in rows
            if arguments.item in row.nodeid or arguments.item in row.id
        ]
    narrowed = "".join(
        f" --{name}={getattr(arguments, name)}"
        for name in _LABELS
        if getattr(arguments, name)
    )
    if not result:
        known = {name for row in run.scenarios for name in (row.nodeid, row.id)}
        raise ConfigurationError(
            f"run {run.run_id} has no item {arguments.item!r}{narrowed}.{did_you_mean(arguments.item, known)} "
            f"Name a node id{', part of one,' * parts} or scenario/example"
        )
    if len(result) > 1:
        names = [f"  {one_line(row.nodeid)}" for row in result]
        listed = first_and_rest(names, MAX_LISTED_CANDIDATES, "  … and {:,} more")
        raise ConfigurationError(
            f"{arguments.item!r}{narrowed} means {len(result):,} items of run {run.run_id}. "
            "Choose with --agent, --span, --trial, or name one:\n" + "\n".join(listed)
        )
    return result[0]


def rows_within(
    rows: Sequence[ScenarioResult], arguments: Namespace
) -> list[ScenarioResult]:
    """Return the rows of the agent, span and trial that `given` names; of all where it names none."""
    return [
        row
        for row in rows
        if all(
            getattr(arguments, name) in ("", getattr(row, of))
            for name, of in _LABELS.items()
        )
    ]
