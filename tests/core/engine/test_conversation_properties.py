"""Invariants of every conversation, for any scenarios and any agent failures."""

from __future__ import annotations

from itertools import pairwise

from _examples import share
from _plans import Case, Pause, Record, Speak, calm, cases, play, stormy, watchful
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_ltm._core.journal import events
from pytest_ltm._core.model.transcript import needle_gap
from pytest_ltm._core.storage.errors import AgentFault

conversations = settings(
    max_examples=share(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@conversations
@given(cases)
def test_it_follows_the_rules_and_ends_within_a_bound_known_before(case: Case) -> None:
    record = play(case)  # compares and counts all decisions
    assert isinstance(record.events[-1], events.End)


@conversations
@given(cases)
def test_each_example_is_finished_exactly_once(case: Case) -> None:
    record = play(case)
    assert sorted(record.endings) == case.keys
    assert {player.finished for player in record.players.values()} == {1}


@conversations
@given(cases)
def test_each_ending_says_one_thing(case: Case) -> None:
    for ending in play(case).endings.values():
        said = [ending.verdict, ending.error, ending.unplayable, ending.unreached]
        assert sum(part is not None for part in said) == 1


@conversations
@given(cases)
def test_every_wait_is_kept(case: Case) -> None:
    for kept in play(case).waits:
        (position, now), (later_position, later) = kept.before, kept.after
        assert later - now >= kept.wait.time
        if case.span is not None:
            span = (
                next(part.span for part in case.parts if part.name == kept.key[0])
                or case.span
            )
            assert later_position - position >= kept.wait.tokens
            assert later_position - kept.began >= kept.wait.span * span


@conversations
@given(calm)
def test_a_wait_aims_at_a_share_of_the_span_from_its_scenarios_start_and_at_tokens_and_time_from_now(
    case: Case,
) -> None:
    record = play(case)
    waits = [event for event in record.events if isinstance(event, events.WaitBegan)]
    assert [(wait.example, wait.tokens, wait.time) for wait in waits] == record.aims


@conversations
@given(calm)
def test_every_gap_is_at_least_the_waits_within_it(case: Case) -> None:
    assume(case.span is not None)
    record = play(case)
    for key, lane in record.lanes.items():
        steps = next(part.steps for part in case.parts if part.name == key[0])
        for question in lane.questions:
            asked = record.transcript.number(question.number)
            for needle in (
                record.transcript.number(number) for number in question.needles
            ):
                first, last = (
                    int(e.message.split(" ")[1].removeprefix("#"))
                    for e in (needle, asked)
                )
                waits = [
                    step.wait(lane.span)
                    for step in steps[first:last]
                    if isinstance(step, Pause)
                ]
                waited_tokens = sum(wait.tokens for wait in waits)
                after_needle = record.transcript.counted_before(needle.number + 1)
                before_question = record.transcript.counted_before(asked.number)
                assert before_question - after_needle >= waited_tokens
                # A fixed allowance counts more tokens than a short reply has.
                if "+" not in case.count:
                    assert needle_gap(needle, asked) >= waited_tokens
                assert asked.now - needle.now >= max(
                    (wait.time for wait in waits), default=asked.now - asked.now
                )


@conversations
@given(cases)
def test_the_steps_of_an_example_are_spoken_in_order(case: Case) -> None:
    record = play(case)
    for key, player in record.players.items():
        own = [
            e.message
            for e in record.transcript
            if e.by == key and e.kind in {"say", "ask"}
        ]
        # the last message is missing if the body was unwound while sending it
        assert own == player.spoken or own[:-1] == player.spoken
        planned = [
            f"{key} #{n} " + "." * s.size
            for n, s in enumerate(player.part.steps)
            if isinstance(s, Speak)
        ]
        remaining = iter(planned)
        assert all(text in remaining for text in own)


@conversations
@given(calm)
def test_a_body_that_did_not_raise_has_spoken_every_step(case: Case) -> None:
    record = play(case)
    for player in record.players.values():
        if (
            player.error is None
            and player.assertion is None
            and not player.part.swallows
        ):
            assert len(player.spoken) == sum(
                isinstance(step, Speak) for step in player.part.steps
            )


@conversations
@given(cases)
def test_exchanges_are_numbered_and_placed_without_a_hole(case: Case) -> None:
    record = play(case)
    exchanges = record.transcript
    sent = [
        event
        for event in record.events
        if isinstance(event, (events.MessageSent, events.FillerSent))
    ]
    assert [event.exchange for event in sent] == sorted(
        {event.exchange for event in sent}
    )
    faulted = {
        event.exchange for event in record.events if isinstance(event, events.Fault)
    }
    numbers = {e.number for e in exchanges}
    assert numbers | faulted == set(range(len(exchanges) + len(faulted)))
    assert [e.number for e in exchanges] == sorted(numbers - faulted)
    for before, after in pairwise(exchanges):
        assert after.start == before.end
        assert after.now >= before.now


@conversations
@given(cases)
def test_incompatible_examples_are_never_open_together(case: Case) -> None:
    record = play(case)
    incompatible = {(p.name, other) for p in case.parts for other in p.incompatible}
    for one, (begin, end) in (intervals := _open(record)).items():
        for other, (its_begin, its_end) in intervals.items():
            if one == other or (
                one[0] != other[0]
                and not {(one[0], other[0]), (other[0], one[0])} & incompatible
            ):
                continue
            assert end <= its_begin or its_end <= begin


def _open(record: Record) -> dict[str, tuple[int, int]]:
    """Return when each example entered and when it was done: its body, and watchers that count replies."""
    intervals = {}
    for key, player in record.players.items():
        # keeps the last "counted"
        at = {event: n for n, (event, by) in enumerate(record.log) if by == key}
        if "enter" in at:
            broken = player.error is not None or record.endings[key].error is not None
            intervals[key] = (
                at["enter"],
                max(at["leave"], 0 if broken else at.get("counted", 0)),
            )
    return intervals


@settings(conversations, max_examples=share(150))
@given(cases | watchful)
def test_a_watcher_sees_every_reply_since_its_scenario_spoke_and_is_asked_after_each(
    case: Case,
) -> None:
    record = play(case)
    for player in record.players.values():
        for listener in player.listeners:
            assert not listener.pestered
            assert listener.shown or not record.endings[player.key].verdict
            for shown in listener.shown:
                first = record.transcript.number(shown[0])
                assert first.by == player.key
                replied = [
                    e.number
                    for e in record.transcript.since(first.number)
                    if not e.told
                ]
                assert shown == replied[: len(shown)]
            for before, after in pairwise(listener.shown):
                # 0: asked once more at the end
                assert len(after) - len(before) in {
                    0,
                    1,
                }
            assert listener.replies is None or all(
                len(shown) <= listener.replies for shown in listener.shown
            )


@conversations
@given(calm | watchful)
def test_every_watcher_comes_to_its_verdict(case: Case) -> None:
    record = play(case)
    for lane in record.lanes.values():
        if record.endings[lane.example.key].verdict is not None:
            assert all(watching.verdict is not None for watching in lane.watching)


@conversations
@given(calm)
def test_with_an_agent_that_always_replies_every_example_is_reached(case: Case) -> None:
    record = play(case)
    assert all(ending.unreached is None for ending in record.endings.values())
    assert not any(
        isinstance(ending.error, AgentFault) for ending in record.endings.values()
    )


@conversations
@given(cases)
def test_filler_is_told_to_who_accepts_history_except_while_a_watcher_counts_replies(
    case: Case,
) -> None:
    record = play(case)
    for exchange in record.transcript:
        if exchange.kind == "filler":
            assert exchange.told == (
                case.accepts_history and not record.counting_at[exchange.number]
            )


@conversations
@given(calm)
def test_isolated_examples_hear_no_opening_no_reset_and_no_filler_without_a_watcher(
    case: Case,
) -> None:
    record = play(
        Case(
            **{**{f: getattr(case, f) for f in Case.__dataclass_fields__}, "span": None}
        )
    )
    for exchange in record.transcript:
        assert exchange.kind in {"say", "ask"} or (
            exchange.kind == "filler" and record.counting_at[exchange.number]
        )


@conversations
@given(stormy)
def test_nothing_is_sent_after_the_agent_is_gone(case: Case) -> None:
    record = play(case)
    assert record.voice.after_the_end == 0
    assert record.voice.gone == (record.conversation.ended_because is not None)


@conversations
@given(stormy)
def test_a_fault_ends_the_example_that_met_it_and_no_other(case: Case) -> None:
    record = play(case)
    met: set[str] = set()
    for before, event in pairwise(record.events):
        if (
            isinstance(event, events.Fault)
            and isinstance(before, events.MessageSent)
            and before.kind in {"say", "ask"}
        ):
            met.add(before.by)
    faulted = {
        key
        for key, ending in record.endings.items()
        if isinstance(ending.error, AgentFault)
    }
    assert faulted == met


@conversations
@given(cases)
def test_equal_plans_and_equal_replies_give_the_same_journal(case: Case) -> None:
    assert play(case).journal == play(case).journal


@conversations
@given(cases, st.integers(0, 1000))
def test_the_order_of_definition_does_not_matter(case: Case, seed: int) -> None:
    assert play(case, shuffled=seed).journal == play(case).journal


@conversations
@given(cases)
def test_the_journal_tells_every_exchange(case: Case) -> None:
    record = play(case)
    told = {
        e.exchange: (e.message, e.reply)
        for e in record.events
        if isinstance(e, events.FillerSent)
    }
    sent = {
        e.exchange: e.text for e in record.events if isinstance(e, events.MessageSent)
    }
    replied = {
        e.exchange: e.text for e in record.events if isinstance(e, events.ReplyReceived)
    }
    for exchange in record.transcript:
        if exchange.told:
            assert told[exchange.number] == (exchange.message, exchange.reply)
        else:
            assert (sent[exchange.number], replied[exchange.number]) == (
                exchange.message,
                exchange.reply,
            )
