"""The transcript: its exchanges, and the figures derived from them."""

from __future__ import annotations

from pytest_ltm._core.model.transcript import Exchange, Transcript, needle_gap
from pytest_ltm._core.storage.clock import START


def exchange(
    number: int, start: int, by: str = "a/0", message: int = 10, reply: int = 5
) -> Exchange:
    return Exchange(
        number=number,
        by=by,
        kind="say",
        message="m",
        reply="r",
        start=start,
        message_tokens=message,
        reply_tokens=reply,
        now=START,
    )


def test_an_exchange_ends_after_its_message_and_its_reply() -> None:
    one = exchange(0, start=100)
    assert (one.message_end, one.end) == (110, 115)


def test_a_gap_runs_from_the_end_of_the_needles_message_to_the_start_of_the_question() -> (
    None
):
    assert needle_gap(exchange(0, start=0), exchange(1, start=15)) == 5
    assert needle_gap(exchange(0, start=100), exchange(9, start=1000)) == 890


def test_a_new_transcript_is_empty_and_at_position_zero() -> None:
    transcript = Transcript()
    assert (len(transcript), transcript.position, list(transcript)) == (0, 0, [])


def test_a_transcript_is_the_sequence_of_its_exchanges() -> None:
    transcript, one, two = Transcript(), exchange(0, 0), exchange(1, 15, by="b/0")
    transcript.append(one)
    transcript.append(two)
    assert list(transcript) == transcript[:] == [one, two]
    assert (transcript[1], transcript.number(0), transcript[-1]) == (two, one, two)
    assert transcript.position == 30
    assert transcript.since(1) == [two]


def test_each_example_has_its_own_exchanges_in_order() -> None:
    transcript = Transcript()
    exchanges = [
        exchange(n, 15 * n, by=by) for n, by in enumerate(["a/0", "", "a/1", "a/0"])
    ]
    for one in exchanges:
        transcript.append(one)
    assert transcript.exchanges_of("a/0") == [exchanges[0], exchanges[3]]
    assert transcript.exchanges_of("nobody") == []


def test_what_was_told_was_not_generated() -> None:
    assert not exchange(0, 0).told
