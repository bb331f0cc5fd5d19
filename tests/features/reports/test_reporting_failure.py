"""The failure text is the product: needle, distance, question, answer, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sample_runs import row
from test_reporting_terminal import HOSTILE, same_as_snapshot

from pytest_ltm.api.journal import NeedleRef, QuestionResult, ScenarioResult
from pytest_ltm.api.model import Check, Exchange
from pytest_ltm.api.storage import START
from pytest_ltm.figures.text import columns_of
from pytest_ltm.reports.failure import failure_text, live_line

NEEDLE = "Actually, I have come to prefer ochre."
AGAIN = "pytest --ltm-agent=mybot --ltm-span=10k --ltm-seed=7"


def exchange(
    number: int, by: str, message: str = "m", reply: str = "r", **changes: Any
) -> Exchange:
    values: dict[str, Any] = {
        "kind": "say" if by else "filler",
        "start": number * 150,
        "message_tokens": 100,
        "reply_tokens": 50,
        "now": START + timedelta(minutes=3 * number),
    }
    return Exchange(
        number=number, by=by, message=message, reply=reply, **{**values, **changes}
    )


def dialogue(
    answer: str = "Teal, I think.", needle: str = NEEDLE, length: int = 62
) -> list[Exchange]:
    others = ["jokes/0", "jokes/1", "", "names/0", "", "quotes/0"]
    between = [exchange(i, others[i % 6]) for i in range(5, length - 1)]
    return [
        exchange(3, "colours/0", "My favourite colour is teal."),
        exchange(4, "colours/0", needle),
        *between,
        exchange(
            length - 1, "colours/0", "What is my favourite colour?", answer, kind="ask"
        ),
    ]


def question(
    answer: str = "Teal, I think.", number: int = 61, needles: tuple[int, ...] = (4,)
) -> QuestionResult:
    refs = tuple(
        NeedleRef(number=n, text=NEEDLE, gap=1, told_gap=1, seconds_passed=0.0)
        for n in needles
    )
    return QuestionResult(
        number=number,
        text="What is my favourite colour?",
        answer=answer,
        gap=1,
        needles=refs,
    )


def failed(**changes: Any) -> ScenarioResult:
    values: dict[str, Any] = {
        "span_label": "10k",
        "span": 10_000,
        "reason": "'ochre' is not in 'Teal, I think.'",
        "questions": (question(),),
    }
    return row("colours", **{"score": 0.0, **values, **changes})


def test_a_forgotten_needle_reads_as_a_story() -> None:
    assert same_as_snapshot(failure_text(failed(), dialogue(), AGAIN), "failure_needle")


def test_the_distance_counts_tokens_time_other_scenarios_and_fillers() -> None:
    text = failure_text(failed(), dialogue(), AGAIN)

    assert "… 8,450 tokens and 2:51:00 later (3 other scenarios, 18 fillers) …" in text


class Unwalked(list[Exchange]):
    """Exchanges of a long conversation, which must not be iterated over for each example."""

    def __iter__(self) -> Iterator[Exchange]:
        raise AssertionError("it goes over the whole conversation")


def test_only_what_is_shown_is_looked_at() -> None:
    after = [exchange(number, "jokes/0") for number in range(62, 90)]
    whole = Unwalked([*dialogue(), *after])
    assert failure_text(failed(), whole, AGAIN) == failure_text(
        failed(), dialogue(), AGAIN
    )


def test_several_needles_own_exchanges_and_checks_are_shown() -> None:
    checks = (Check("names the new colour", ok=False), Check("answers at all", ok=True))
    result = failed(
        score=0.5,
        checks=checks,
        questions=(question(needles=(3, 20)),),
        reason="names the new colour",
    )

    assert same_as_snapshot(failure_text(result, dialogue(), AGAIN), "failure_checks")


def test_the_answer_that_holds_the_evidence_is_the_one_shown() -> None:
    early = question(answer="Teal, I think.", number=30, needles=(4,))
    talk = [each for each in dialogue() if each.number != 30]
    talk.insert(
        27,
        exchange(30, "colours/0", "And which colour now?", "Surely mauve.", kind="ask"),
    )
    early = QuestionResult(
        number=30,
        text="And which colour now?",
        answer="Surely mauve.",
        needles=early.needles,
    )

    text = failure_text(
        failed(evidence="mauve", questions=(early, question())), talk, AGAIN
    )

    assert "#30   you:   And which colour now?\n        agent: Surely mauve." in text
    assert "#61" not in text


def test_many_needles_are_cut_to_the_first_and_the_last() -> None:
    result = failed(questions=(question(needles=tuple(range(4, 24))),))

    text = failure_text(result, dialogue(), AGAIN)

    assert [n for n in range(4, 24) if f"  #{n} " in text] == [4, 5, 6, 21, 22, 23]


def test_a_long_answer_keeps_the_part_that_decided() -> None:
    answer = "bla " * 2000 + "or was it MAUVE? " + "blub " * 2000
    result = failed(evidence="MAUVE", questions=(question(answer=answer),))

    text = failure_text(result, dialogue(answer=answer), AGAIN)

    assert "MAUVE" in text
    assert text.count("…") >= 4
    assert len(text) < 3_000


def test_a_long_needle_is_shortened_where_nothing_decided() -> None:
    text = failure_text(
        failed(), dialogue(needle="start " + "bla " * 2000 + "end"), AGAIN
    )

    assert "you:   start bla" in text
    assert "bla end" in text
    assert len(text) < 3_000


def test_no_line_but_the_command_is_wider_than_a_terminal_with_what_pytest_puts_before_it() -> (
    None
):
    checks = (Check("says " * 40, ok=False), Check("answers at all", ok=True))
    found = failed(
        reason="because " * 40, checks=checks, questions=(question(needles=(3, 20)),)
    )
    text = failure_text(
        found, dialogue(answer="漢字" * 200), AGAIN + " --x=" + "y" * 200
    )

    assert max(columns_of(f"E   {line}") for line in text.splitlines()[:-1]) <= 80
    assert text.splitlines()[-1].endswith(
        "y   (whole conversation: another -k would change it)"
    )


def test_an_isolated_example_may_be_repeated_alone() -> None:
    text = failure_text(failed(span=None, span_label="isolated"), dialogue(), AGAIN)

    assert text.endswith(f"  again: {AGAIN}")


def test_a_scenario_that_asked_nothing_shows_what_it_said_and_the_reply_that_decided() -> (
    None
):
    talk = dialogue()
    talk[10] = exchange(talk[10].number, "names/0", "Who?", "As they say: never again.")

    text = failure_text(
        failed(questions=(), evidence="never again", reason="quoted early"),
        talk[:-1],
        AGAIN,
    )

    assert same_as_snapshot(text, "failure_watched")


def test_an_error_is_no_score() -> None:
    result = failed(
        score=None,
        outcome="error",
        cause="agent",
        questions=(),
        reason="no reply within 300 s",
    )

    text = failure_text(result, dialogue()[:1], AGAIN)

    assert text.startswith(
        "error: no reply within 300 s\n  #3    you:   My favourite colour is teal."
    )


def test_an_empty_answer_is_said_to_be_empty() -> None:
    assert "agent: (an empty text)" in failure_text(
        failed(), dialogue(answer=""), AGAIN
    )


def test_an_overrun_is_told() -> None:
    text = failure_text(failed(overrun=True, measured_span=12_345), dialogue(), AGAIN)

    assert "  overran its memory span: 12,345 tokens instead of 10,000\n" in text


def test_exchanges_that_are_not_there_are_left_out() -> None:
    assert (
        failure_text(failed(), [], "")
        == "score 0.00, below 1.00: 'ochre' is not in 'Teal, I think.'"
    )


def test_a_score_just_below_the_mark_does_not_read_as_full_marks() -> None:
    assert failure_text(failed(score=0.9999), [], "").startswith(
        "score 0.99, below 1.00: "
    )


def test_nothing_that_anybody_said_can_drive_the_terminal() -> None:
    result = failed(
        reason=HOSTILE,
        evidence=HOSTILE,
        checks=(Check(HOSTILE, ok=True), Check("b", ok=False)),
    )

    text = failure_text(result, dialogue(answer=HOSTILE, needle=HOSTILE), HOSTILE)

    assert not set("\x1b\x07\r\u202e\u2066\ud800\x9b") & set(text)


def test_a_live_line_says_who_where_and_what() -> None:
    spoken = exchange(12, "colours/0", "First line.\nSecond line.", "Fine.", kind="say")

    assert live_line(spoken, "colours/0", 12_345, "32k") == (
        "#12 colours/0 (12,345 tokens, 2024-03-04 09:36, span 32k)\n"
        "        you:   First line.\n"
        "               Second line.\n"
        "        agent: Fine."
    )


def test_live_filler_is_short_and_marked_and_scenarios_are_whole() -> None:
    filler = live_line(exchange(12, "", "word " * 1000, told=True), "", 0, "32k")
    spoken = live_line(exchange(12, "colours/0", "word " * 1000), "colours/0", 0, "32k")

    assert filler.startswith(
        "#12 filler (0 tokens, 2024-03-04 09:36, span 32k, told)\n"
    )
    assert len(filler) < 500
    assert spoken.count("word") == 1000


@pytest.mark.parametrize("text", [HOSTILE])
def test_live_lines_cannot_drive_the_terminal(text: str) -> None:
    shown = live_line(exchange(1, "a/0", text, text), text, 0, text)

    assert not set("\x1b\x07\r\u202e\u2066\ud800\x9b") & set(shown)
