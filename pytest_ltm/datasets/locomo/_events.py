"""Event summarisation: what happened in a speaker's life, asked after every few sessions (Maharana et al., 2024).

As in the paper it goes on with the conversation: each period is asked about when its sessions have been told, and
before the next ones are. Periods are of five sessions, in the order in which they are told, the last one maybe shorter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import SuiteEntry
from pytest_ltm.datasets.locomo._noted import held_by, session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._history import PastExchange
    from pytest_ltm.datasets.locomo._schema import Sample, Session

SESSIONS = 5
"""So many sessions make a period."""
PASS_MARK = 0.25
"""The ROUGE-L from which a summary passes: a line of our own, for the paper draws none."""
VERSION = 1
"""Of the wording, the periods and the gold lines."""


class EventSummaries:
    """A summary for each speaker and period; examples are labelled `<speaker>_<first session>_<last session>`."""

    entry = SuiteEntry(scenario="_locomo_events", name="events", pass_mark=PASS_MARK, parameters={"version": VERSION})

    def examples(self, sample: Sample) -> list[str]:
        """Return the periods in which the file notes events for a speaker."""
        return [
            f"{speaker}_{period[0].number}_{period[-1].number}"
            for period in _periods(sample)
            for speaker in range(len(sample.speakers))
            if _gold(sample, sample.speakers[speaker], period)
        ]

    def definition(self, sample: Sample, past: Sequence[PastExchange], example: str) -> Definition:
        """Return the question about one period."""
        number, first, last = map(int, example.split("_"))
        speaker = sample.speakers[number]
        period = next(one for one in _periods(sample) if (one[0].number, one[-1].number) == (first, last))
        ends = [session.turns[-1].id for session in period if session.turns]
        return Definition(
            steps=(Wait(history=_told(sample, past, period)), Ask(_asked(speaker, period), held_by(past, ends))),
            expected=_gold(sample, speaker, period),
            parameters={"speaker": speaker, "sample": sample.id, "dialogue": _dialogue(period)},
        )


def _periods(sample: Sample) -> list[Sequence[Session]]:
    return [sample.sessions[start : start + SESSIONS] for start in range(0, len(sample.sessions), SESSIONS)]


def _gold(sample: Sample, speaker: str, period: Sequence[Session]) -> list[str]:
    """Return the events of a period, each on a line with the date that the file gives it."""
    by_number = {events.session: events for events in sample.events}
    found = [by_number[session.number] for session in period if session.number in by_number]
    return [f"{one.date}: {event}" if one.date else event for one in found for event in one.of.get(speaker, ())]


def _told(sample: Sample, past: Sequence[PastExchange], period: Sequence[Session]) -> int:
    """Return how many exchanges have been told when the period has been."""
    order = {session.number: place for place, session in enumerate(sample.sessions)}
    return sum(order[session_of(one)] <= order[period[-1].number] for one in past)


def _asked(speaker: str, period: Sequence[Session]) -> str:
    days = [session.when.partition(" on ")[2] or session.when for session in (period[0], period[-1])]
    when = f"around {days[0]}" if days[0] == days[1] else f"in the time from {days[0]} to {days[1]}"
    return (
        f"By what you have read so far: what happened in the life of {speaker} {when}? List the events that matter, "
        "one a line, each as the date, a colon and a short sentence, such as `1 January, 2020: ...`, and nothing else."
    )


def _dialogue(period: Sequence[Session]) -> str:
    from pytest_ltm.datasets.locomo._delivery import said  # noqa: PLC0415 - which tells notes, too

    return "\n".join(line for session in period for line in (f"[{session.when}]", *map(said, session.turns)))
