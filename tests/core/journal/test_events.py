"""Journal events: each round-trips through one line; anything else is reported with file and line."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest import mock

import journals
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from pytest_ltm import Ltm
from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.events import Journal
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.model.score import Score
from pytest_ltm._core.model.transcript import Kind
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import LARGEST, json_text
from pytest_ltm.agents import Reply, Usage
from pytest_ltm.testing import run_conversation

NOW = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
FACTS = events.AgentFacts(
    spec="bot",
    configuration={"x": [1]},
    capabilities=("Checkpointable",),
    max_message_tokens=4096,
)
HEADER = events.Header(
    plan={"seed": 0},
    plan_fingerprint="sha256:1",
    agent_fingerprint="sha256:2",
    now=NOW,
    agent=FACTS,
)
ASKED = events.MessageSent(
    exchange=3,
    by="a/0",
    kind="ask",
    text="Çà?",
    tokens=2,
    position=40,
    now=NOW,
    about=(0, 1),
    images=("cat.png",),
)
TOLD = events.FillerSent(
    exchange=5,
    message="m",
    message_tokens=1,
    reply="r",
    reply_tokens=2,
    history="D1",
    now=NOW,
)
JUDGED = events.JudgeAsked(
    example="a/0",
    name="answer",
    version=1,
    prompt="sha256:3",
    vote=0,
    reply="GRADE: yes",
)

LINES = [
    (
        HEADER,
        (
            '{"event":"header","format":3,"plan":{"seed":0},"plan_fingerprint":"sha256:1","agent_fingerprint":"sha256:2",'
            '"now":"2024-03-04T09:00:00Z","agent":{"spec":"bot","configuration":{"x":[1]},'
            '"capabilities":["Checkpointable"],"max_message_tokens":4096}}'
        ),
    ),
    (
        events.Header(plan={}, plan_fingerprint="p", agent_fingerprint="a"),
        '{"event":"header","format":3,"plan":{},"plan_fingerprint":"p","agent_fingerprint":"a"}',
    ),
    (
        events.Begin(example="a/0", position=40, now=NOW),
        '{"event":"begin","example":"a/0","position":40,"now":"2024-03-04T09:00:00Z"}',
    ),
    (
        ASKED,
        (
            '{"event":"message","exchange":3,"by":"a/0","kind":"ask","text":"Çà?","tokens":2,"position":40,'
            '"now":"2024-03-04T09:00:00Z","about":[0,1],"images":["cat.png"]}'
        ),
    ),
    (
        events.MessageSent(
            exchange=0,
            by="",
            kind="opening",
            text="\ud83d",
            tokens=1,
            position=0,
            now=NOW,
        ),
        (
            '{"event":"message","exchange":0,"by":"","kind":"opening","text":"\\ud83d","tokens":1,"position":0,'
            '"now":"2024-03-04T09:00:00Z"}'
        ),
    ),
    (
        events.ReplyReceived(exchange=3, text="", tokens=0),
        '{"event":"reply","exchange":3,"text":"","tokens":0}',
    ),
    (
        events.ReplyReceived(
            exchange=3,
            text="a",
            tokens=1,
            usage=Usage(output_tokens=5),
            cost_usd=0.0,
            hypothetical=True,
            retrieved=(),
            now=NOW,
        ),
        (
            '{"event":"reply","exchange":3,"text":"a","tokens":1,"usage":{"input_tokens":0,"output_tokens":5,'
            '"cached_tokens":0},"cost_usd":0.0,"hypothetical":true,"retrieved":[],"now":"2024-03-04T09:00:00Z"}'
        ),
    ),
    (
        TOLD,
        (
            '{"event":"filler","exchange":5,"message":"m","message_tokens":1,"reply":"r","reply_tokens":2,"history":"D1",'
            '"now":"2024-03-04T09:00:00Z"}'
        ),
    ),
    (
        events.WaitBegan(example="a/0", tokens=9, time=NOW),
        '{"event":"wait","example":"a/0","tokens":9,"time":"2024-03-04T09:00:00Z"}',
    ),
    (
        events.WaitBegan(example="a/0", tokens=9, time=NOW, history=2),
        '{"event":"wait","example":"a/0","tokens":9,"time":"2024-03-04T09:00:00Z","history":2}',
    ),
    (events.TimeJumped(to=NOW), '{"event":"jump","to":"2024-03-04T09:00:00Z"}'),
    (events.SessionBegan(example="a/0"), '{"event":"session","example":"a/0"}'),
    (
        events.Watcher(example="a/0", replies=None),
        '{"event":"watcher","example":"a/0","replies":null}',
    ),
    (
        events.Watcher(example="a/0", replies=2),
        '{"event":"watcher","example":"a/0","replies":2}',
    ),
    (
        JUDGED,
        (
            '{"event":"judge","example":"a/0","name":"answer","version":1,"prompt":"sha256:3","vote":0,'
            '"reply":"GRADE: yes"}'
        ),
    ),
    (
        events.JudgeAsked(
            example="a/0", name="n", version=1, prompt="p", vote=1, fault="dead"
        ),
        '{"event":"judge","example":"a/0","name":"n","version":1,"prompt":"p","vote":1,"fault":"dead"}',
    ),
    (
        events.JudgeChecked(
            name="answer",
            version=1,
            prompt="sha256:3",
            vote=0,
            reply="GRADE: no",
            question="?",
            reference="tea",
            answer="It is tea.",
            passes=True,
        ),
        (
            '{"event":"check","name":"answer","version":1,"prompt":"sha256:3","vote":0,"reply":"GRADE: no",'
            '"question":"?","reference":"tea","answer":"It is tea.","passes":true}'
        ),
    ),
    (
        events.UserModelAsked(
            example="a/0",
            name="user",
            version=1,
            prompt="p",
            vote=0,
            reply="{}",
            model="m:f",
        ),
        (
            '{"event":"user","example":"a/0","name":"user","version":1,"prompt":"p","vote":0,"reply":"{}",'
            '"model":"m:f"}'
        ),
    ),
    (
        events.VerdictRecorded(
            example="a/0",
            score=None,
            reason="?",
            rule="",
            evidence="",
            checks=(("x", True),),
        ),
        '{"event":"verdict","example":"a/0","score":null,"reason":"?","rule":"","evidence":"","checks":[["x",true]]}',
    ),
    (
        events.Fault(exchange=3, text="boom"),
        '{"event":"fault","exchange":3,"text":"boom"}',
    ),
    (
        events.Fault(exchange=3, text="boom", fatal=True),
        '{"event":"fault","exchange":3,"text":"boom","fatal":true}',
    ),
    (events.End(example="a/0"), '{"event":"end","example":"a/0"}'),
    (events.End(reason="complete"), '{"event":"end","reason":"complete"}'),
]


def write(path: Path, said: Sequence[events.Event], *more: str) -> Path:
    text = "".join([*journals.sealed(*said), *more])
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path


# --- lines


@pytest.mark.parametrize(("event", "line"), LINES)
def test_an_event_is_this_line_and_comes_back_from_it(
    event: events.Event, line: str
) -> None:
    assert events.encode_event(event) == f"{line}\n"
    assert events.decode_event(line, "j") == event


def test_every_kind_of_event_has_a_line_above() -> None:
    assert (
        {type(event) for event, _ in LINES}
        == set(events.KINDS.values())
        == set(get_args(events.Event))
    )


TEXTS, COUNTS = st.text(), st.integers(min_value=0)
ZONES = st.builds(
    lambda minutes: timezone(timedelta(minutes=minutes)), st.integers(-600, 600)
)
TIMES = st.datetimes(timezones=ZONES)
AMOUNTS = st.none() | st.floats(min_value=0, max_value=LARGEST, allow_nan=False)
FIGURES = st.integers(min_value=0, max_value=LARGEST)
USAGES = st.builds(
    Usage, input_tokens=FIGURES, output_tokens=FIGURES, cached_tokens=FIGURES
)
JSON = st.recursive(
    st.none() | st.booleans() | COUNTS | TEXTS,
    lambda of: st.lists(of) | st.dictionaries(TEXTS, of),
)
AGENTS = st.builds(
    events.AgentFacts,
    spec=TEXTS,
    configuration=JSON,
    capabilities=st.lists(TEXTS).map(tuple),
    max_message_tokens=COUNTS,
)
BY_TYPE: dict[object, st.SearchStrategy[Any]] = {
    str: TEXTS,
    int: COUNTS,
    int | None: st.none() | COUNTS,
    bool: st.booleans(),
    float | None: AMOUNTS,
    datetime: TIMES,
    datetime | None: st.none() | TIMES,
    Usage | None: st.none() | USAGES,
    events.AgentFacts | None: st.none() | AGENTS,
    Kind: st.sampled_from(get_args(Kind)),
    tuple[int, ...]: st.lists(COUNTS).map(tuple),
    tuple[str, ...]: st.lists(TEXTS).map(tuple),
    tuple[str, ...] | None: st.none() | st.lists(TEXTS).map(tuple),
    tuple[tuple[str, bool], ...]: st.lists(st.tuples(TEXTS, st.booleans())).map(tuple),
    Mapping[str, Any]: st.dictionaries(TEXTS, JSON),
}
EITHER = [{"reply": TEXTS, "fault": st.none()}, {"reply": st.none(), "fault": TEXTS}]
ENDS = [
    {"example": TEXTS, "reason": st.none()},
    {"example": st.none(), "reason": TEXTS},
]


def of_kind(kind: type[events.Event]) -> st.SearchStrategy[events.Event]:
    types = get_type_hints(kind)
    found = [
        each
        for each in fields(kind)
        if types[each.name] in BY_TYPE and each.name != "format"
    ]
    each = {one.name: BY_TYPE[types[one.name]] for one in found}
    ways = (
        EITHER
        if issubclass(kind, events.ModelAsked)
        else ENDS
        if kind is events.End
        else [{}]
    )
    return st.one_of([st.builds(kind, **{**each, **way}) for way in ways])


def test_what_would_drive_a_terminal_that_shows_the_file_is_an_escape() -> None:
    said = "C1 \x9b2J, DEL \x7f, bidi \u202e \u2066, line \u2028; é and 漢 stay"
    line = events.encode_event(replace(ASKED, text=said))
    assert all(character.isprintable() for character in line.rstrip("\n"))
    assert "é and 漢 stay" in line
    again = events.decode_event(line.encode(), "j")
    assert isinstance(again, events.MessageSent)
    assert again.text == said
    assert json_text({"said": said}).count("\\u") == 5


@pytest.mark.slow
@given(st.one_of([of_kind(kind) for kind in events.KINDS.values()]))
def test_any_event_comes_back_from_its_line(event: events.Event) -> None:
    line = events.encode_event(event)
    assert line.count("\n") == 1
    again = events.decode_event(line.encode(), "j")
    assert again == event
    assert events.encode_event(again) == line


def test_no_secret_is_written() -> None:
    with mock.patch.dict(os.environ, {"MY_API_KEY": "planted-for-this-test"}):
        text = events.encode_event(replace(ASKED, text="It is planted-for-this-test."))
        facts = replace(FACTS, configuration={"url": "http://x/planted-for-this-test"})
        assert "planted" not in text + events.encode_event(replace(HEADER, agent=facts))
    assert "[redacted $MY_API_KEY]" in text


@pytest.mark.parametrize(
    "made", [events.End, lambda: events.End(example="a/0", reason="complete")]
)
def test_an_end_is_of_an_example_or_of_the_conversation(made: Any) -> None:
    with pytest.raises(ValueError, match="an end has either an example or"):
        made()


# --- invalid events

OF_FORMAT = '{{"event":"header","format":{},"plan":{{}},"plan_fingerprint":"p","agent_fingerprint":"a"}}'


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "not a JSON event"),
        ("{", "not a JSON event"),
        ("7", "not a JSON event"),
        ("[]", "not a JSON event"),
        ("{}", "not a JSON event"),
        ('{"event":[]}', "not a JSON event"),
        ("[" * 100_000, "not a JSON event"),
        (
            '{"event":"mood"}',
            "an event 'mood' is not part of journal format 3: a later version of pytest-ltm wrote it",
        ),
        (
            '{"event":"jump","to":"2024-03-04","by":"x"}',
            "a field 'by' in 'jump' is not part of journal format 3: a",
        ),
        (
            '{"event":"jump"}',
            "a damaged 'jump' event: Object missing required field `to`",
        ),
        (
            '{"event":"jump","to":7}',
            "a damaged 'jump' event: Expected `datetime`, got `int` - at `$.to`",
        ),
        (
            '{"event":"jump","to":"soon"}',
            "Invalid RFC3339 encoded datetime - at `$.to`",
        ),
        ('{"event":"end"}', "a damaged 'end' event: an end has either an example or"),
        (
            '{"event":"reply","exchange":"x","text":"","tokens":0}',
            "Expected `int`, got `str` - at `$.exchange`",
        ),
        (
            '{"event":"reply","exchange":true,"text":"","tokens":0}',
            "Expected `int`, got `bool` - at `$.exchange`",
        ),
        (
            '{"event":"reply","exchange":0,"text":"","tokens":-1}',
            "Expected `int` >= 0 - at `$.tokens`",
        ),
        (
            '{"event":"reply","exchange":0,"text":null,"tokens":1}',
            "Expected `str`, got `null` - at `$.text`",
        ),
        (
            '{"event":"reply","exchange":0,"text":"","tokens":1,"usage":[]}',
            "Expected `object | null`, got `array` - at `$.usage`",
        ),
        (
            '{"event":"reply","exchange":0,"text":"","tokens":1,"retrieved":[1]}',
            "Expected `str`, got `int` - at `$.retrieved[0]`",
        ),
        (
            '{"event":"header","format":4,"mood":1}',
            "a field 'mood' in 'header' is not part of journal format 3: a later",
        ),
        (
            OF_FORMAT.format(4),
            "a journal of format 4; this version of pytest-ltm reads format 3. Read it with the",
        ),
        (
            OF_FORMAT.format('"1"'),
            "a damaged 'header' event: Expected `int`, got `str` - at `$.format`",
        ),
        (
            '{"event":"header"}',
            "a damaged 'header' event: Object missing required field `plan`",
        ),
    ],
)
def test_what_is_no_event_is_told_with_its_place(line: str, says: str) -> None:
    with pytest.raises(LtmError) as caught:
        events.decode_event(line, "journal.jsonl, line 2")
    assert str(caught.value).startswith("journal.jsonl, line 2: ")
    assert says in str(caught.value)


def test_a_message_of_no_known_kind_is_refused() -> None:
    line = events.encode_event(ASKED).replace('"kind":"ask"', '"kind":["ask"]')
    with pytest.raises(LtmError, match=r"Expected `str`, got `array` - at `\$.kind`"):
        events.decode_event(line, "j")


def test_a_check_is_a_label_and_whether_it_passed() -> None:
    line = events.encode_event(
        events.VerdictRecorded(
            example="a/0",
            score=1.0,
            reason="",
            rule="",
            evidence="",
            checks=(("x", True),),
        )
    )
    with pytest.raises(LtmError, match="Expected `array` of length 2, got 3"):
        events.decode_event(line.replace("true", "true,true"), "j")


# --- a file


@pytest.mark.parametrize(
    "torn", ['{"event":"rep', '{"', '{"event":"end","reason":"complete"}', "\udcff"]
)
def test_a_torn_last_line_is_dropped(tmp_path: Path, torn: str) -> None:
    assert list(events.read_events(write(tmp_path / "j", [HEADER, TOLD], torn))) == [
        HEADER,
        TOLD,
    ]


@pytest.mark.parametrize(
    "line", ["{torn\n", "\xff\n", '{"event":"other"}\n', '{"event":"jump","to":7}\n']
)
def test_a_damaged_line_is_an_error_that_says_where(tmp_path: Path, line: str) -> None:
    path = journals.write(tmp_path / "journal.jsonl", HEADER, TOLD, line, TOLD)
    found = events.read_events(path)
    assert [next(found), next(found)] == [HEADER, TOLD]
    with pytest.raises(LtmError, match=r"journal\.jsonl, line 3: "):
        list(found)


def test_a_journal_begins_with_its_header_and_has_no_other(tmp_path: Path) -> None:
    with pytest.raises(LtmError, match="line 1: not the header of a journal"):
        list(events.read_events(write(tmp_path / "j", [TOLD])))
    with pytest.raises(LtmError, match="line 2: a second header of"):
        list(events.read_events(write(tmp_path / "j", [HEADER, HEADER])))


def test_a_journal_that_cannot_be_opened_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(LtmError, match="cannot be read: No such file"):
        list(events.read_events(tmp_path / "none"))


def test_each_event_is_told_with_where_its_line_ends(tmp_path: Path) -> None:
    path = write(tmp_path / "j", [HEADER, ASKED], "{")
    assert [end for end, *_ in events.iter_event_lines(path)] == [
        len(journals.sealed(HEADER)[0]),
        path.stat().st_size - 1,
    ]


# --- the fold


def message(
    number: int, by: str, kind: Kind = "say", *, at: int = 0, now: datetime = NOW
) -> events.MessageSent:
    return events.MessageSent(
        exchange=number,
        by=by,
        kind=kind,
        text=f"m{number}",
        tokens=4,
        position=at,
        now=now,
    )


def reply(number: int, **more: Any) -> events.ReplyReceived:
    return events.ReplyReceived(exchange=number, text=f"r{number}", tokens=2, **more)


def test_exchanges_are_folded_from_messages_replies_and_what_was_told() -> None:
    later = NOW + timedelta(hours=1)
    told = events.FillerSent(
        exchange=1,
        message="m1",
        message_tokens=5,
        reply="r1",
        reply_tokens=1,
        now=later,
    )
    past = events.FillerSent(
        exchange=2,
        message="m2",
        message_tokens=5,
        reply="r2",
        reply_tokens=1,
        history="D1",
    )
    record = ConversationRecord.after(
        [
            HEADER,
            message(0, "a/0"),
            reply(0, retrieved=("x",)),
            told,
            past,
            message(3, "b/0", "ask", at=18),
        ]
    )

    first, second, third = record.transcript
    assert (
        first.message,
        first.reply,
        first.by,
        first.kind,
        first.start,
        first.end,
    ) == (
        "m0",
        "r0",
        "a/0",
        "say",
        0,
        6,
    )
    assert (first.retrieved, first.told, second.retrieved) == (("x",), False, None)
    assert (second.kind, second.told, second.start, second.now) == (
        "filler",
        True,
        6,
        NOW,
    )
    assert (third.kind, third.told, third.start, third.end, third.now) == (
        "history",
        True,
        12,
        18,
        later,
    )
    assert (list(record.unanswered), record.position, record.last, record.speaking) == (
        [3],
        18,
        3,
        "b/0",
    )
    assert [one and one.message for one in map(record.exchange, (0, 3, 9))] == [
        "m0",
        "m3",
        None,
    ]


def test_an_example_is_folded_from_what_is_said_of_it() -> None:
    wait, watcher = (
        events.WaitBegan(example="a/0", tokens=9, time=NOW),
        events.Watcher(example="a/0", replies=None),
    )
    verdict = events.VerdictRecorded(
        example="a/0", score=1.0, reason="", rule="", evidence="", checks=()
    )
    begin, end = (
        events.Begin(example="a/0", position=0, now=NOW),
        events.End(example="a/0"),
    )
    unplayed = events.End(example="b/0")
    record = ConversationRecord.after(
        [
            HEADER,
            begin,
            message(0, "a/0"),
            reply(0),
            wait,
            watcher,
            JUDGED,
            end,
            verdict,
            unplayed,
        ]
    )

    found = record.examples["a/0"]
    assert (found.begin, found.end, found.verdict) == (0, 6, verdict)
    assert (found.waits, found.watchers, found.judged) == ([wait], [watcher], [JUDGED])
    assert (record.examples["b/0"].begin, record.examples["b/0"].end) == (None, 6)


def test_time_goes_with_messages_jumps_and_the_clock_on_the_wall() -> None:
    hour = timedelta(hours=1)
    record = ConversationRecord.after(
        [
            HEADER,
            message(0, "a/0", now=NOW + hour),
            events.TimeJumped(to=NOW + 3 * hour),
        ]
    )
    (leap,) = record.jumps
    assert (leap.position, leap.before, leap.to) == (0, NOW + hour, NOW + 3 * hour)
    assert record.seconds == 3 * 3600
    record.add(reply(0, now=NOW + 4 * hour))
    assert record.seconds == 4 * 3600
    assert ConversationRecord().seconds == 0.0


def test_faults_in_a_row_are_counted_until_a_reply() -> None:
    record = ConversationRecord.after(
        [HEADER, message(0, "a/0"), events.Fault(exchange=0, text="x", fatal=True)]
    )
    assert (record.faults_in_a_row, record.fatal, record.faults[0].text) == (
        1,
        True,
        "x",
    )
    record.add(message(1, "a/0"))
    record.add(events.Fault(exchange=1, text="y"))
    assert (record.faults_in_a_row, record.fatal) == (2, False)
    record.add(message(2, "a/0"))
    record.add(reply(2))
    assert (record.faults_in_a_row, record.fatal) == (0, False)


@pytest.mark.parametrize(
    ("reason", "complete", "early"),
    [
        ("complete", True, ""),
        ("interrupted", False, ""),
        ("the agent is gone", False, "the agent is gone"),
    ],
)
def test_how_a_conversation_ended_is_known(
    reason: str, early: str, *, complete: bool
) -> None:
    record = ConversationRecord.after([HEADER, events.End(reason=reason)])
    assert (record.reason, record.complete, record.ended_early) == (
        reason,
        complete,
        early,
    )
    record.add(message(0, "a/0"))
    assert (record.reason, record.complete, record.ended_early) == (None, False, "")


def test_a_reply_to_no_message_is_an_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(
        LtmError, match=r"j, line 4: a reply to no message: no message 7 waits for one"
    ):
        ConversationRecord.read_record(
            write(tmp_path / "j", [HEADER, message(0, "a/0"), reply(0), reply(7)])
        )


class Sometimes:
    """Accepts history, reports retrieved texts and usage, and fails at one message."""

    max_message_tokens = 60

    def __init__(self) -> None:
        self.heard = 0

    def reply(self, message: str) -> Reply:
        self.heard += 1
        if self.heard == 4:
            raise OSError("no line")
        return Reply(f"{message[:9]}, und größer", Usage(input_tokens=self.heard), 0.25)

    def accept(self, message: str, reply: str) -> None:
        self.heard += bool(message + reply)

    def retrieved(self) -> list[str]:
        return [f"note {self.heard}"]


def cat(ltm: Ltm) -> None:
    ltm.say("My cat is grey.")
    ltm.wait(span=0.5, time="3h")
    ltm.watch(lambda since: None if len(since) < 2 else Score(1.0, "heard"), replies=2)
    ltm.check("knows", "grey" in ltm.ask("Which cat?"))


def test_a_conversation_is_folded_into_what_it_was(tmp_path: Path) -> None:
    file = io.StringIO()
    journal = Journal(file)
    journal.write(HEADER)
    scenarios = dict.fromkeys(("cat", "dog", "emu"), cat)
    played = run_conversation(
        scenarios, Sometimes(), span=300, opening="Hello.", journal=journal, count="all"
    )
    path = write(tmp_path / "j", [], file.getvalue())

    record = ConversationRecord.read_record(path)

    assert "".join(journals.sealed(*events.read_events(path))) == path.read_text(
        "utf-8"
    )
    assert list(record.transcript) == list(played.transcript)
    assert record.transcript[0].retrieved == ("note 1",)
    assert record.position == played.transcript.position
    assert len(record.faults) == 1
    assert record.complete
    assert {key: each.begin for key, each in record.examples.items()} == {
        k: v.start for k, v in played.lanes.items()
    }
    assert all(example.end is not None for example in record.examples.values())
    assert sorted(
        (len(example.waits), len(example.watchers))
        for example in record.examples.values()
    ) == [
        (0, 0),
        (1, 1),
        (1, 1),
    ]
