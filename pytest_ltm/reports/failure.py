"""The text of a failed example (needle, distance, question, answer, repeat command) and the live lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, product

from pytest_ltm.api.journal import ScenarioResult, at_span
from pytest_ltm.api.model import Check, Exchange, needle_gap
from pytest_ltm.api.storage import for_screen, one_line, pluralize
from pytest_ltm.figures.text import (
    clip_text,
    columns_of,
    format_distance,
    pad_right,
    score_text,
    short_count,
    shorten_text,
    verdict_text,
    wrap_text,
    wrap_texts,
)

# Width of a failure text, 80 with pytest's prefix (`E `). The line with the command
# that repeats the run is never wrapped.
WIDTH = 76
# Columns of one message or answer before its middle is left out.
_LONGEST = 600
# The most needles shown, or exchanges if the example asked nothing.
_MOST = 6
_INDENT = " " * 8


def failure_text(
    result: ScenarioResult, exchanges: Sequence[Exchange], command: str
) -> str:
    """Return the text shown for an example that did not pass.

    `exchanges` are those of its conversation in order (missing ones are left out); `command` repeats the run, or is "".
    All texts are sanitized, and long ones shortened in the middle except for the deciding part.
    """
    lines = [*wrap_text(failure_headline(result), WIDTH, "  "), *check_lines(result)]
    keep = for_screen(result.evidence)
    former: Exchange | None = None
    for exchange, replies in _shown_exchanges(result, exchanges):
        if former:
            lines += distance_lines(result, former, exchange, exchanges)
        former = exchange
        speech = speech_lines(
            asker_of(exchange),
            shorten_text(shown_message(exchange.message), _LONGEST, keep),
        )
        if replies:
            speech += speech_lines(
                "agent:",
                shorten_text(shown_message(exchange.acted_reply), _LONGEST, keep),
            )
            if exchange.account in _ENDED:
                speech.append(f"{_INDENT}       ({_ENDED[exchange.account]})")
        number = pad_right(f"  #{exchange.number}", len(_INDENT) - 1)
        lines += [f"{number} {speech[0].lstrip()}", *speech[1:]]
    if result.overrun and result.span is not None:
        passed = "more"
        if result.measured_span is not None:
            passed = f"{result.measured_span:,}"
        lines.append(
            f"  overran its memory span: {passed} tokens instead of {result.span:,}"
        )
    if command:
        line = f"  again: {one_line(command)}"
        if result.span is not None:
            line += "   (whole conversation: another -k would change it)"
        lines.append(line)
    return "\n".join(map(str.rstrip, lines))


def _shown_exchanges(
    result: ScenarioResult, exchanges: Sequence[Exchange]
) -> Iterator[tuple[Exchange, bool]]:
    """Yield the exchanges to show and whether to show their replies: the needles, the deciding question."""
    if not result.questions:
        for exchange in _own_exchanges_shown(result, exchanges):
            yield exchange, True
        return
    question = result.questions[-1]
    for candidate in reversed(result.questions):
        if result.evidence and result.evidence in candidate.answer:
            question = candidate
            break
    needles: list[int] = []
    for needle in question.needles:
        if _with_number(exchanges, needle.number):
            needles.append(needle.number)
    for number in _first_and_last(sorted(needles)):
        for exchange in _with_number(exchanges, number):
            yield exchange, False
    for exchange in _with_number(exchanges, question.number):
        yield exchange, True


_ENDED = {
    "cut": "cut off there: the reply reached its limit",
    "unknown": "it is not known how the reply ended",
}


def live_line(exchange: Exchange, scenario: str, position: int, span: str) -> str:
    """Return one exchange for the live display: speaker, position in the conversation, both texts.

    `scenario` is the example's name, or "" for filler and opening; `position` is the number of tokens before the
    message; `span` is the label of the memory span. Only filler is shortened.
    """
    speaker = one_line(scenario) or exchange.kind
    where = f"{position:,} tokens, {exchange.now:%Y-%m-%d %H:%M}, span {one_line(span)}"
    if exchange.told:
        where += ", told"
    elif exchange.alone:
        where += ", asked alone"
    message = shown_message(exchange.message)
    reply = shown_message(exchange.acted_reply)
    if exchange.kind == "filler":
        message = shorten_text(message, 160)
        reply = shorten_text(reply, 160)
    lines = [
        f"#{exchange.number} {speaker} ({where})",
        *speech_lines(asker_of(exchange), message),
        *speech_lines("agent:", reply),
    ]
    return "\n".join(lines)


def failure_headline(result: ScenarioResult) -> str:
    """Return the score and its reason."""
    if result.score is None:
        text = "error" if result.outcome == "error" else "no score"
    else:
        text = f"score {verdict_text(result)}"
        if result.score < result.threshold:
            text += f", below {score_text(result.threshold)}"
    return f"{text}: {for_screen(result.reason)}"


def shown_state(check: Check) -> str:
    """Return `passed`, `FAILED` or `open`."""
    if check.state == "failed":
        return check.state.upper()
    return check.state


def check_lines(result: ScenarioResult) -> list[str]:
    """Return a line per check, if there are several."""
    if len(result.checks) <= 1:
        return []
    lines: list[str] = []
    for check in result.checks:
        lines.append(f"  {shown_state(check):6}  {one_line(check.label)}")
    return wrap_texts(lines, WIDTH, _INDENT + "  ")


def _with_number(exchanges: Sequence[Exchange], number: int) -> Sequence[Exchange]:
    """Return the exchange with that number, if there is one."""
    return exchanges[
        _exchange_index(exchanges, number) : _exchange_index(exchanges, number + 1)
    ]


def _exchange_index(exchanges: Sequence[Exchange], number: int) -> int:
    return bisect_left(exchanges, number, key=lambda exchange: exchange.number)


def _own_exchanges_shown(
    result: ScenarioResult, exchanges: Sequence[Exchange]
) -> list[Exchange]:
    """Return the messages of an example that asked nothing, and the later reply with the evidence."""
    mine: list[int] = []
    for exchange in exchanges:
        if exchange.by == result.id and exchange.kind != "reset":
            mine.append(exchange.number)
    by_number = {exchange.number: exchange for exchange in exchanges}
    chosen = [by_number[number] for number in _first_and_last(mine)]
    if result.evidence and mine:
        later = [exchange for exchange in exchanges if exchange.number > mine[-1]]
        for exchange in reversed(later):
            if result.evidence in exchange.reply:
                chosen.append(exchange)
                break
    return chosen


def _first_and_last(numbers: Sequence[int]) -> list[int]:
    # The first exchanges show the topic, the last ones the question.
    half = _MOST // 2
    if len(numbers) <= _MOST:
        return list(numbers)
    return [*numbers[:half], *numbers[-half:]]


def distance_lines(
    result: ScenarioResult,
    former: Exchange,
    after: Exchange,
    exchanges: Sequence[Exchange],
) -> list[str]:
    """Return the line between two exchanges, or nothing if they are adjacent."""
    text = distance_text(former, after, exchanges, own_id=result.id)
    if text:
        return wrap_text(f"{_INDENT}… {text} …", WIDTH, _INDENT + "  ")
    return []


def distance_text(
    former: Exchange,
    after: Exchange,
    exchanges: Sequence[Exchange],
    *,
    own_id: str = "",
) -> str:
    """Return the distance between two exchanges and what lies between them, or "" if they are adjacent.

    Exchanges of the example `own_id` are counted separately; those of the speaker of `former` are never counted.
    """
    first = _exchange_index(exchanges, former.number + 1)
    end = _exchange_index(exchanges, after.number)
    speakers: list[str] = []
    filler_count = 0
    for exchange in exchanges[first:end]:
        if not exchange.alone:
            speakers.append(exchange.by)
            filler_count += exchange.kind == "filler"
    if not speakers:
        return ""
    other_ids = set(speakers) - {"", own_id or former.by}
    other_scenarios = {other_id.rpartition("/")[0] for other_id in other_ids}
    own_count = speakers.count(own_id) if own_id else 0
    inside: list[str] = []
    if other_scenarios:
        inside.append(pluralize(len(other_scenarios), "other scenario"))
    if own_count:
        inside.append(pluralize(own_count, "own exchange"))
    if filler_count:
        inside.append(pluralize(filler_count, "filler"))
    text = f"{distance_between(former, after)} later"
    return f"{text} ({', '.join(inside)})" if inside else text


def distance_between(former: Exchange, after: Exchange) -> str:
    """Return the distance between two exchanges, in tokens and in conversation time."""
    return format_distance(needle_gap(former, after), after.now - former.now)


def asker_of(exchange: Exchange) -> str:
    """Return the label of the sender of an exchange's message."""
    return f"{one_line(exchange.user) or 'you'}:"


def shown_message(text: str) -> str:
    """Return a message that is safe for the screen."""
    return for_screen(text).strip() or "(an empty text)"


def speech_lines(speaker: str, text: str, width: int = WIDTH) -> list[str]:
    """Return the lines of one utterance, labelled with its speaker."""
    return wrap_text(
        f"{_INDENT}{pad_right(speaker, 6)} {text}", width, _INDENT + " " * 7
    )


# --- The one-line progress display of a conversation.

_BAR = 20


def progress_line(
    *,
    agent: str,
    span_label: str,
    tokens: int,
    target_tokens: int,
    in_progress: int,
    done: int,
    total: int,
    score_sum: float,
    scored: int,
    width: int,
    trial: str = "",
) -> str:
    """Return the state of a conversation in at most `width` columns, without a line feed.

    `target_tokens`: where the conversation is expected to end, 0 if unknown;
    `in_progress`, `done` and `total` count examples; `score_sum` is over the `scored`
    ones. The least important parts are dropped first if space is short.
    """
    if target_tokens > 0:
        bar = f"[{'=' * int(_BAR * min(tokens / target_tokens, 1)):.<{_BAR}}] "
    else:
        bar = ""
    target = f" of ~{short_count(target_tokens)}" if target_tokens > tokens else ""
    text = f"{short_count(tokens)}{target} tokens"
    examples = f"{done} of {total} examples done"
    score = [f"score {score_sum:.2f} of {scored}"] if scored else []
    open_examples = f"{in_progress} open"
    brief = f"{done}/{total} done"
    parts = (
        [text, open_examples, examples],
        [text, examples],
        [text, brief],
        [f"{short_count(tokens)} tokens", brief],
    )
    states = [", ".join([*part, *score]) for part in parts]
    least = [", ".join([brief, *score]), brief]
    trial_text = f", trial {one_line(trial)}" if trial else ""
    # Shorten a long name before dropping the number of tokens.
    names = one_line(agent), shorten_text(one_line(agent), 24, mark="…")
    heads = [f"{at_span(name, one_line(span_label))}{trial_text}: " for name in names]
    # Drop the bar first, then words, then the end of a long name, and the score last.
    pairs = chain(product(heads, [bar + states[0], *states]), product(heads, least))
    choices = [head + state for head, state in pairs]
    fitting = [line for line in choices if columns_of(line) <= width]
    return fitting[0] if fitting else clip_text(choices[-1], width)
