"""Rules for every converter of exports: layouts, branches, channels, calendars, forwarded texts."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.converters.chats import read_chats
from pytest_ltm.datasets.converters.messages import (
    BranchNode,
    Splitting,
    is_addressed_to_user,
    shown_branch,
)
from pytest_ltm.datasets.converters.messengers import repair_latin
from pytest_ltm.datasets.converters.shapes import (
    FORMS,
    iter_objects,
    layout_of,
    rank_forms,
)
from pytest_ltm.datasets.converters.written_dates import CALENDARS, date_in, named_time

DAYS = st.dates(min_value=date(2011, 1, 1), max_value=date(2055, 12, 31))


def texts_of(path: Path, counts: Counter[str] | None = None) -> list[str]:
    histories = read_chats(
        [path], "", Splitting(), Counter() if counts is None else counts
    )
    return [
        turn.content
        for history in histories
        for session in history.sessions
        for turn in session.turns
    ]


# --- Layouts.


def object_with(fields: Sequence[str]) -> dict[str, Any]:
    """Return an object that has these fields."""
    top: dict[str, Any] = {}
    for field in fields:
        place = top
        steps = field.split(".")
        for step, following in zip(steps, [*steps[1:], ""], strict=True):
            name = "0" if step == "*" else step
            place = place.setdefault(name, {} if following else 1)
            if not isinstance(place, dict):
                break
    return top


@pytest.mark.parametrize(
    ("name", "shape"),
    [(form.name, shape) for form in FORMS for shape in form.shapes],
)
def test_an_object_with_all_fields_of_a_form_has_that_form(
    name: str, shape: Sequence[str]
) -> None:
    best = rank_forms([object_with(shape)])[0]
    assert (best.form, best.score) == (name, 1.0)


@pytest.mark.parametrize("order", ["first", "last"])
def test_further_fields_do_not_hide_a_form(order: str) -> None:
    for form in FORMS:
        for shape in form.shapes:
            value = object_with(shape)
            more = {f"extra_{number}": number for number in range(5)}
            merged = more | value if order == "first" else value | more
            assert rank_forms([merged])[0].form == form.name


def test_a_form_that_lacks_a_field_is_read_and_said(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    message = {"messageId": "a", "text": "Hi", "isCreatedByUser": True}
    path.write_text(json.dumps([{"messages": [message]}]))
    counts: Counter[str] = Counter()
    assert texts_of(path, counts) == ["Hi"]
    assert [why for why in counts if "librechat (2 of 3 fields)" in why] != []


def test_what_fits_no_form_is_described_with_the_two_closest(tmp_path: Path) -> None:
    path = tmp_path / "strange.json"
    path.write_text(json.dumps([{"uuid": "x", "timestamp": 1, "rows": [{"a": 1}]}]))
    with pytest.raises(DatasetError) as caught:
        layout_of(path)
    fault = str(caught.value)
    assert "it has objects with the fields uuid, timestamp, rows" in fault
    assert "a list of 1 (the fields a)" in fault
    assert "It is closest to" in fault
    assert " fields) or " in fault


def test_a_file_that_fits_two_forms_equally_names_both(tmp_path: Path) -> None:
    path = tmp_path / "both.json"
    both = object_with(FORMS[0].shapes[0]) | object_with(("messages.*.role",))
    both["mapping"]["0"]["message"]["fragments"] = []
    both["inserted_at"] = "2026-01-02"
    path.write_text(json.dumps([both]))
    with pytest.raises(
        DatasetError, match=r"of openai \(3 of 3 fields\) or of deepseek"
    ):
        layout_of(path)


# --- Branches.


@given(st.lists(st.integers(min_value=0, max_value=60), min_size=1, max_size=60))
def test_the_shown_branch_is_the_way_from_the_root_to_the_newest_leaf(
    draws: list[int],
) -> None:
    parents = [""] + [str(draw % number) for number, draw in enumerate(draws, start=1)]
    nodes = [
        BranchNode(str(number), parent, float(number), number)
        for number, parent in enumerate(parents)
    ]
    branch = shown_branch(nodes)
    assert branch[-1].id == str(len(nodes) - 1)
    for before, after in pairwise(branch):
        assert after.parent == before.id
    for node in nodes:
        assert shown_branch(nodes, node.id)[-1] == node


def test_a_tree_in_a_circle_ends() -> None:
    nodes = [BranchNode("a", "b", 0.0, 1), BranchNode("b", "a", 0.0, 2)]
    assert len(shown_branch(nodes, "a")) == 2
    assert len(shown_branch(nodes)) == 2


@pytest.mark.parametrize("name", ["commentary", "analysis", "confidence"])
@pytest.mark.parametrize("field", ["channel", "recipient", "phase"])
def test_only_what_is_addressed_to_the_user_is_speech(field: str, name: str) -> None:
    assert not is_addressed_to_user({field: name})
    assert is_addressed_to_user({field: None})
    assert is_addressed_to_user({"channel": "final", "recipient": "all"})


# --- Calendars.


@given(DAYS)
def test_a_year_says_which_calendar_it_is_in(day: date) -> None:
    by_name = {calendar.name: calendar for calendar in CALENDARS}
    for name, shift in (("Gregorian", 0), ("Buddhist", 543), ("Minguo", -1911)):
        numbers = (day.year + shift, day.month, day.day)
        fitting = [one.name for one in CALENDARS if date_in(one, numbers)]
        if name == "Minguo" or day.month != 2 or day.day != 29:
            assert date_in(by_name[name], numbers) == day
        assert set(fitting) <= {name}


@given(DAYS)
def test_days_of_the_persian_and_islamic_calendars_follow_each_other(day: date) -> None:
    for name, epoch in (("Persian", 621), ("Islamic", 579)):
        calendar = next(one for one in CALENDARS if one.name == name)
        found: dict[date, tuple[int, int, int]] = {}
        year = day.year - epoch
        for month in range(1, 13):
            for number in range(1, 32):
                at = date_in(calendar, (year, month, number))
                if at is not None:
                    found[at] = (year, month, number)
        ordered = sorted(found)
        steps = {after - before for before, after in pairwise(ordered)}
        assert steps <= {timedelta(days=1)}


HEADS = {
    "Buddhist": ("14/6/2566 06:12 - Ann: hi", "2023-06-14"),
    "Buddhist, short": ("14/6/66 06:12 - Ann: hi", "2023-06-14"),
    "Persian": (
        "\u06f1\u06f4\u06f0\u06f2/\u06f3/\u06f2\u06f4\u060c \u06f6:\u06f1\u06f2 - Ann: hi",
        "2023-06-14",
    ),
    "Islamic": ("25/11/1444, 06:12 - Ann: hi", "2023-06-14"),
    "Minguo": ("112/6/14 06:12 - Ann: hi", "2023-06-14"),
    "Reiwa": ("[R5/06/14 6:12:00] Ann: hi", "2023-06-14"),
    "Reiwa in words": (
        "\u4ee4\u548c5\u5e746\u670814\u65e5 6:12 - Ann: hi",
        "2023-06-14",
    ),
    "no blank before the name": ("14/06/2023, 06:12 -Ann: hi", "2023-06-14"),
    "no blank before the text": ("[2023/6/14 06:12:00] Ann:hi", "2023-06-14"),
    "wide blanks": ("14/06/2023,\u3000\u300006:12\u2009-\u2009Ann: hi", "2023-06-14"),
    "a wide colon": ("14/06/2023, 06:12 - Ann\uff1ahi", "2023-06-14"),
}


@pytest.mark.parametrize(("line", "day"), HEADS.values(), ids=HEADS)
def test_a_head_is_read_in_any_calendar_and_with_any_blanks(
    tmp_path: Path, line: str, day: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(line, encoding="utf-8")
    [history] = read_chats([path], "", Splitting(order=""), Counter())
    [session] = history.sessions
    assert session.date[:10] == day
    assert [(turn.name, turn.content) for turn in session.turns] == [("Ann", "hi")]


def test_what_stands_before_a_colon_in_a_notice_is_not_a_name(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    lines = [
        "31/12/2025, 21:15 - Ann: hi",
        "31/12/2025, 21:16 - Ann:back at 10:30",
        "31/12/2025, 21:17 - Ben moved the call to 10:30",
        "31/12/2025, 21:18 - Ben joined by https://chat.example/x",
        '31/12/2025, 21:19 - Ben named the group "Trip: north"',
        "31/12/2025, 21:20 - Cy:new here",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert texts_of(path) == ["hi", "back at 10:30", "new here"]


@pytest.mark.parametrize(
    "note",
    [
        "<This message was edited>",
        "<Nachricht bearbeitet>",
        "<\u6b64\u6d88\u606f\u5df2\u7f16\u8f91>",
    ],
)
def test_a_note_behind_a_changed_message_is_cut_in_any_language(
    tmp_path: Path, note: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"31/12/2025, 21:15 - Ann: at 10 {note}", encoding="utf-8")
    assert texts_of(path) == ["at 10"]
    path.write_text("31/12/2025, 21:15 - Ann: write <b> here", encoding="utf-8")
    assert texts_of(path) == ["write <b> here"]


TIMES = {
    "Jun 14, 2023, 6:12:00 AM UTC": "2023-06-14T06:12:00+00:00",
    "14 juin 2023, 06:12:00 CEST": "2023-06-14T06:12:00",
    "14.06.2023, 06:12:00 MESZ": "2023-06-14T06:12:00",
    "2023/06/14 6:12:00 JST": "2023-06-14T06:12:00",
    "I came at 10:30 with 2 friends": None,
    "": None,
}


@pytest.mark.parametrize(("line", "time"), TIMES.items())
def test_a_time_with_the_name_of_a_month_is_read(line: str, time: str | None) -> None:
    found = named_time(line)
    assert (found.isoformat() if found else None) == time


# --- Forwarded, repeated and damaged texts.


def test_a_forwarded_text_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    row = {"type": "message", "date": "2026-01-02T10:00:00", "from": "Ann"}
    rows = [
        row | {"text": "The tram stops in May", "forwarded_from": "City News"},
        row | {"text": "My dentist is Dr Ferrante"},
        row | {"text": [{"type": "blockquote", "text": "Which?"}, "That one."]},
    ]
    path.write_text(
        json.dumps({"name": "A", "type": "personal_chat", "messages": rows})
    )
    assert texts_of(path) == [
        "[forwarded from City News] The tram stops in May",
        "My dentist is Dr Ferrante",
        "> Which?\nThat one.",
    ]


def test_a_local_time_beside_one_of_utc_names_the_zone(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    row = {
        "type": "message",
        "date": "2026-01-02T12:00:00",
        "date_unixtime": "1767348000",
        "from": "Ann",
        "text": "hi",
    }
    path.write_text(
        json.dumps({"name": "A", "type": "personal_chat", "messages": [row]})
    )
    [history] = read_chats([path], "", Splitting(), Counter())
    assert [session.date for session in history.sessions] == ["2026-01-02 12:00+02:00"]


def test_of_a_key_that_stands_twice_the_last_value_that_says_something_counts(
    tmp_path: Path,
) -> None:
    path = tmp_path / "twice.json"
    path.write_text('{"text": "old", "text": "new", "date": "x", "date": ""}')
    counts: Counter[str] = Counter()
    [(_, value)] = iter_objects(path, counts)
    assert value == {"text": "new", "date": "x"}
    assert sum(counts.values()) == 2


@given(st.text(max_size=30))
def test_texts_that_were_written_byte_by_byte_are_repaired(text: str) -> None:
    damaged = text.encode(errors="ignore").decode("latin-1")
    assert repair_latin(damaged) == text.encode(errors="ignore").decode()


def test_texts_that_were_not_damaged_stay() -> None:
    for text in (
        "Caf\u00e9",
        "\u043f\u0440\u0438\u0432\u0435\u0442",
        "plain",
        "\u00fcber",
    ):
        assert repair_latin(text) == text


def test_breaks_inside_a_line_are_blanks_and_thoughts_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    messages = [
        {"role": "user", "content": "one\u2028two\r\nthree"},
        {"role": "assistant", "content": "<think>secret</think>Noted"},
        {"role": "assistant", "content": "working", "channel": "commentary"},
    ]
    path.write_text(json.dumps([{"messages": messages}]))
    assert texts_of(path) == ["one two\nthree", "Noted"]


# --- Pages and tables.

CELL = (
    '<div class="outer-cell"><p class="mdl-typography--title">{header}<br></p>'
    '<div class="content-cell body-1">{title}<br>{at}<br>{reply}</div></div>'
)


def test_the_page_of_an_account_is_read_as_its_json_is(tmp_path: Path) -> None:
    path = tmp_path / "MyActivity.html"
    cells = [
        (
            "Gemini Apps",
            "Used an Assistant feature",
            "Jan 2, 2026, 10:02:00 AM UTC",
            "",
        ),
        (
            "Gemini Apps",
            "Prompted&nbsp;My locker is 17.",
            "Jan 2, 2026, 10:00:00 AM UTC",
            "<p>Noted &amp; kept.</p>",
        ),
    ]
    page = "".join(
        CELL.format(header=header, title=title, at=at, reply=reply)
        for header, title, at, reply in cells
    )
    path.write_text(f"<html>{page}</html>", encoding="utf-8")
    [history] = read_chats([path], "", Splitting(), Counter())
    [session] = history.sessions
    assert session.date == "2026-01-02 10:00+00:00"
    assert [(turn.role, turn.content) for turn in session.turns] == [
        ("user", "My locker is 17."),
        ("assistant", "Noted & kept."),
    ]


@pytest.mark.parametrize(
    "announced", ["Eingegebener Prompt", "Requ\u00eate envoy\u00e9e", "Petici\u00f3n"]
)
def test_an_announcement_in_another_language_is_not_what_was_said(
    tmp_path: Path, announced: str
) -> None:
    path = tmp_path / "MyActivity.json"
    row = {"header": "Gemini-Apps", "time": "2026-01-02T10:00:00Z", "products": []}
    rows = [
        row | {"title": "Eine Funktion: benutzt"},
        row
        | {"title": f"{announced}: Pasta: how long?", "safeHtmlItem": [{"html": "9"}]},
    ]
    path.write_text(json.dumps(rows))
    assert texts_of(path) == ["Pasta: how long?", "9"]


@pytest.mark.parametrize(
    "table",
    [
        'AuthorID,Author,Date,Content,Attachments,Reactions\n1,ann,"01/13/2026 10:00 PM",Ahoy,,\n',
        "AuthorID,Author,Date,Content,Attachments\n1,ann,2026-01-13T22:00:00.0000000+00:00,Ahoy,\n",
        "ID,Timestamp,Contents,Attachments\n1,2026-01-13 22:00:00.000000+00:00,Ahoy,\n",
    ],
)
def test_tables_of_discord_are_read(tmp_path: Path, table: str) -> None:
    path = tmp_path / "boats.csv"
    path.write_text(table)
    [history] = read_chats([path], "", Splitting(), Counter())
    [session] = history.sessions
    assert session.date[:16] == "2026-01-13 22:00"
    assert [turn.content for turn in session.turns] == ["Ahoy"]


@pytest.mark.parametrize(
    "heads",
    ["Nummer,Absender,Art,Datum,Nachricht", "编号,发送者,类型,日期,内容", "a,b,c,d,e"],
)
def test_columns_of_a_table_are_known_by_what_they_hold(
    tmp_path: Path, heads: str
) -> None:
    path = tmp_path / "boats.csv"
    rows = [
        "100000000000000001,Inés,text,2026-01-13 22:00:00,My boat leaks",
        "100000000000000002,Jan,text,2026-01-13 22:01:00,Which one?",
        "100000000000000003,Inés,text,2026-01-13 22:02:00,The old one",
    ]
    path.write_text("\n".join([heads, *rows]), encoding="utf-8")
    [history] = read_chats([path], "", Splitting(), Counter())
    [session] = history.sessions
    assert [(turn.name, turn.content) for turn in session.turns] == [
        ("Inés", "My boat leaks"),
        ("Jan", "Which one?"),
        ("Inés", "The old one"),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        [
            "1,2026-01-13,2026-01-14,a b",
            "2,2026-01-14,2026-01-15,c d",
            "3,2026-01-14,2026-01-15,e",
        ],
        ["Ann,12,a b", "Bo,14,c d", "Ann,15,e f"],
        ["Ann,2026-01-13,a b", "Bo,2026-01-14,c d", "Cleo,2026-01-15,e f"],
    ],
    ids=["two dates", "no date", "as many senders as texts"],
)
def test_a_table_of_something_else_is_no_chat(tmp_path: Path, rows: list[str]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["w,x,y,z", *rows]), encoding="utf-8")
    with pytest.raises(DatasetError, match="no known export"):
        list(read_chats([path], "", Splitting(), Counter()))


def said_in(path: Path) -> list[tuple[str, str]]:
    """Return speaker and text of each message in an export, whose layout is detected from its content."""
    histories = read_chats([path], "", Splitting(), Counter())
    return [
        (turn.name or turn.role, turn.content)
        for history in histories
        for session in history.sessions
        for turn in session.turns
    ]


LISTED = [
    {"at": 1768341600, "by": {"name": "Inés"}, "what": "My boat leaks"},
    {"at": 1768341660, "by": {"name": "Jan"}, "what": "<p>Which <b>one</b>?</p>"},
    {"at": 1768341720, "by": {"name": "Inés"}, "what": ""},
    {"at": 1768341780, "by": {"name": "Inés"}, "what": "gone", "isDeleted": True},
    {"at": 1768341840, "by": {"name": "Jan"}, "what": "Jan left", "type": "system"},
    {"at": 1768341900, "by": {"name": "Inés"}, "what": "2 < 3 boats"},
]


@pytest.mark.parametrize(
    "top", [LISTED, {"rooms": [{"title": "Harbour", "entries": LISTED}]}]
)
def test_any_list_of_times_senders_and_texts_is_a_chat_without_its_notices(
    tmp_path: Path, top: Any
) -> None:
    path = tmp_path / "harbour.json"
    path.write_text(json.dumps(top), encoding="utf-8")
    assert said_in(path) == [
        ("Inés", "My boat leaks"),
        ("Jan", "Which one?"),
        ("Inés", "2 < 3 boats"),
    ]


@pytest.mark.parametrize("model", ["AI", "Bot", "assistant"])
def test_in_a_list_the_usual_names_of_models_are_the_assistant(
    tmp_path: Path, model: str
) -> None:
    path = tmp_path / "talk.csv"
    rows = [
        "Talk,Time,Author,Message",
        f"Boats,2026-01-13T22:01:00,{model},Which boat is it?",
        "Boats,2026-01-13T22:00:00,Human,My boat leaks",
    ]
    path.write_text("\n".join(rows), encoding="utf-8")
    assert said_in(path) == [
        ("user", "My boat leaks"),
        ("assistant", "Which boat is it?"),
    ]


def test_a_page_of_telegram_is_read_with_joined_and_forwarded_messages(
    tmp_path: Path,
) -> None:
    def message(clock: str, inner: str) -> str:
        title = f"13.01.2026 {clock}:00 UTC+01:00"
        return f"""<div class="message default clearfix"><div class="body">
        <div class="pull_right date details" title="{title}">{clock}</div>{inner}</div></div>"""

    path = tmp_path / "messages.html"
    ines = '<div class="from_name">Inés </div>'
    city = '<div class="from_name">City News <span title="01.01.2026 08:00:00">x</span></div>'
    messages = [
        '<div class="message service"><div class="body details">13 January 2026</div></div>',
        message("22:00", f'{ines}<div class="text">My boat<br>leaks &amp; sinks</div>'),
        message("22:01", '<div class="text">Help</div>'),
        message(
            "22:02",
            f'<div class="forwarded body">{city}<div class="text">Rain</div></div>',
        ),
    ]
    path.write_text(f'<div class="history">{"".join(messages)}</div>', encoding="utf-8")
    assert said_in(path) == [
        ("Inés", "My boat\nleaks & sinks"),
        ("Inés", "Help"),
        ("Inés", "[forwarded from City News] Rain"),
    ]
    [history] = read_chats([path], "", Splitting(), Counter())
    assert [session.date for session in history.sessions] == ["2026-01-13 22:00+01:00"]


def test_lines_before_the_first_message_are_the_title_of_a_chat(tmp_path: Path) -> None:
    path = tmp_path / "boats.txt"
    lines = ["2026년 1월 13일 화요일", "2026년 1월 13일 오후 10:05, 이네스 : 배가 샌다"]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert said_in(path) == [("이네스", "배가 샌다")]


def test_tags_by_which_a_program_draws_a_source_are_no_words_of_a_reply(
    tmp_path: Path,
) -> None:
    path = tmp_path / "grok.json"
    card = '<grok:render card_id="1"><argument name="id">0</argument></grok:render>'
    rows = [
        {"response": {"_id": name, "sender": name, "message": f"Boats: {card}"}}
        for name in ("human", "ASSISTANT")
    ]
    talk = {"conversation": {"id": "c"}, "responses": rows}
    path.write_text(json.dumps({"conversations": [talk]}))
    assert said_in(path) == [("user", f"Boats: {card}"), ("assistant", "Boats:")]


def test_a_text_that_was_pasted_as_a_file_belongs_to_its_message(
    tmp_path: Path,
) -> None:
    path = tmp_path / "conversations.json"
    message = {
        "uuid": "m",
        "sender": "human",
        "text": "Read this",
        "created_at": "2026-01-13T22:00:00Z",
        "attachments": [{"extracted_content": "The berth is 44"}],
        "files": [{"file_name": "boat.png"}],
    }
    path.write_text(json.dumps([{"uuid": "c", "chat_messages": [message]}]))
    counts = Counter[str]()
    assert texts_of(path, counts) == ["Read this\nThe berth is 44"]
    assert counts["left out: attached files"] == 1


def test_a_folder_of_many_files_has_the_form_of_the_best(tmp_path: Path) -> None:
    chat = tmp_path / "inbox" / "ann_1"
    chat.mkdir(parents=True)
    (tmp_path / "profile.json").write_text('{"profile": {"name": "Ann"}}')
    (tmp_path / "broken.json").write_text("{")
    rng = random.Random(4)
    numbers = rng.sample(range(1000), 6)
    for file, part in enumerate((numbers[:3], numbers[3:]), start=1):
        messages = [
            {
                "sender_name": "Ann",
                "timestamp_ms": 1767348000000 + number,
                "content": str(number),
            }
            for number in part
        ]
        top = {"participants": [{"name": "Ann"}], "title": "A", "messages": messages}
        (chat / f"message_{file}.json").write_text(json.dumps(top))
    assert texts_of(tmp_path) == [str(number) for number in sorted(numbers)]


def test_taps_and_withdrawn_messages_are_not_told_and_shares_are_marked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "message_1.json"
    row = {"sender_name": "Ann", "timestamp_ms": 1767348000000}
    rows = [
        row | {"content": "Liked a message"},
        row | {"content": "Reacted \u2764 to your message "},
        row | {"is_unsent": True, "content": "gone"},
        row | {"content": "Ann sent an attachment.", "share": {"share_text": "Soup"}},
        row | {"content": "I liked a message"},
    ]
    top = {"participants": [{"name": "Ann"}], "title": "A", "messages": rows}
    path.write_text(json.dumps(top))
    assert texts_of(path) == ["I liked a message", "[forwarded] Soup"]


def test_a_chat_of_librechat_without_times_is_told_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    messages = [
        {
            "messageId": "a",
            "parentMessageId": "0",
            "text": "Hi",
            "isCreatedByUser": True,
        },
        {
            "messageId": "b",
            "parentMessageId": "a",
            "text": "Yo",
            "isCreatedByUser": False,
        },
    ]
    top = {"conversationId": "l", "exportAt": "10:00:00 GMT", "messages": messages}
    path.write_text(json.dumps(top))
    assert texts_of(path) == ["Hi", "Yo"]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("IMG-4.jpg (file attached)\nOur house", ["Our house"]),
        ("Unser-Haus.pdf (Datei angeh\u00e4ngt)\nUnser Haus", ["Unser Haus"]),
        ("Our house \u200e<attached: 00004-PHOTO.jpg>", ["Our house"]),
        ("<adjunto: 00004-PHOTO.jpg> Nuestra casa", ["Nuestra casa"]),
        ("IMG-4.jpg (file attached)", []),
        ("See plan.pdf (page four)\nand say", ["See plan.pdf (page four)\nand say"]),
    ],
)
def test_of_a_file_with_a_caption_the_caption_is_told(
    tmp_path: Path, written: str, told: list[str]
) -> None:
    path = tmp_path / "chat.txt"
    lines = ["24/03/2024, 21:14 - Bo: Hello", f"24/03/2024, 21:15 - Bo: {written}"]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert texts_of(path) == ["Hello", *told]


def test_the_file_of_one_day_of_slack_is_known_and_names_who_is_mentioned(
    tmp_path: Path,
) -> None:
    path = tmp_path / "boats.json"
    row = {"type": "message", "user": "U1", "user_profile": {"real_name": "Ann"}}
    rows = [
        row | {"ts": "1767348000.1", "text": "I moved to <https://x.y|Lund>"},
        {"type": "message", "user": "U2", "ts": "1767348001.1", "text": "<@U1>: nice"},
    ]
    path.write_text(json.dumps(rows))
    assert texts_of(path) == ["I moved to Lund", "@Ann: nice"]


def test_who_is_mentioned_by_id_on_discord_is_named(tmp_path: Path) -> None:
    path = tmp_path / "boats.json"
    ann = {"id": "9", "name": "ann4", "nickname": "Ann"}
    row = {"id": "1", "timestamp": "2026-01-13T22:00:00+00:00", "author": ann}
    rows = [row | {"content": "Hi <@9>, <@!8>", "mentions": [ann]}]
    path.write_text(json.dumps({"channel": {"name": "boats"}, "messages": rows}))
    assert texts_of(path) == ["Hi @Ann, @8"]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_may_part_its_columns_by_any_common_mark(
    tmp_path: Path, mark: str
) -> None:
    rows = [
        ("Wann", "Wer", "Text"),
        ("2024-03-01 10:00", "Ann", "Ich bin nach Turku gezogen."),
        ("2024-03-01 10:01", "Bot", "Gut zu wissen, das merke ich mir."),
        ("2024-03-01 10:02", "Ann", "Mein alter Hund heißt Rex."),
    ]
    path = tmp_path / "chat.csv"
    lines = [mark.join(f'"{cell}"' for cell in row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")

    assert texts_of(path) == [text for _, _, text in rows[1:]]


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("diary.txt", "Dear diary,\nnothing happened.\n", "begins with 'Dear diary,'"),
        ("pairs.json", '[{"input": "Hi", "output": "Hello"}]', "input, output"),
    ],
)
def test_what_only_resembles_an_export_is_described(
    tmp_path: Path, name: str, content: str, looks: str
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")

    with pytest.raises(DatasetError, match=f"no known export: .*{looks}"):
        layout_of(path)
