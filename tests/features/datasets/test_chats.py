"""Chat exports as users download them, split into sessions; and the commands."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.commands import main
from pytest_ltm.datasets.converters.chats import read_chats
from pytest_ltm.datasets.converters.messages import Splitting
from pytest_ltm.datasets.converters.shapes import layout_of


def split(
    path: Path, layout: str = "", counts: Counter[str] | None = None, **more: Any
) -> list[dict[str, Any]]:
    histories = read_chats(
        [path],
        layout,
        Splitting(gap=timedelta(hours=4), **more),
        Counter() if counts is None else counts,
    )
    rows: list[dict[str, Any]] = [
        json.loads(msgspec.json.encode(session))
        for history in histories
        for session in history.sessions
    ]
    return rows


# --- WhatsApp


def whatsapp(tmp_path: Path, *lines: str, **more: Any) -> list[dict[str, Any]]:
    path = tmp_path / "WhatsApp Chat with Ann.txt"
    path.write_bytes("\n".join(lines).encode())
    return split(path, **more)


LAYOUTS = {
    "Android, day first": ("31/12/2025, 21:15 - Ann: hi", "2025-12-31 21:15"),
    "Android, month first": ("12/31/25, 9:15 PM - Ann: hi", "2025-12-31 21:15"),
    "a narrow space": ("12/31/25, 9:15\u202fPM - Ann: hi", "2025-12-31 21:15"),
    "midnight": ("12/31/25, 12:05 AM - Ann: hi", "2025-12-31 00:05"),
    "noon": ("31/12/25, 12:05 p. m. - Ann: hi", "2025-12-31 12:05"),
    "Android, dots": ("05.06.25, 21:15 - Ann: hi", "2025-06-05 21:15"),
    "iPhone, dots": ("[05.06.25, 21:15:03] Ann: hi", "2025-06-05 21:15"),
    "iPhone, month first": (
        "\u200e[12/31/25, 9:15:03\u202fPM] Ann: hi",
        "2025-12-31 21:15",
    ),
    "year first": ("2025-06-05, 21:15 - Ann: hi", "2025-06-05 21:15"),
    "year first, slashes": ("2025/6/5, 21:15 - Ann: hi", "2025-06-05 21:15"),
    "dashes": ("31-12-2025 21:15 - Ann: hi", "2025-12-31 21:15"),
    "no comma": ("31/12/2025 21:15 \u2013 Ann: hi", "2025-12-31 21:15"),
}


@pytest.mark.parametrize(("line", "date"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_dates_of_many_telephones_are_read(
    tmp_path: Path, line: str, date: str
) -> None:
    [found] = whatsapp(tmp_path, line)
    assert found["date"] == date
    assert found["turns"] == [{"role": "user", "name": "Ann", "content": "hi"}]


def test_one_date_tells_the_order_of_all(tmp_path: Path) -> None:
    found = whatsapp(tmp_path, "03/04/26, 10:00 - Ann: hi", "03/13/26, 10:00 - Ann: hi")
    assert [one["date"][:10] for one in found] == ["2026-03-04", "2026-03-13"]


def test_of_two_orders_the_one_counts_that_never_goes_back(tmp_path: Path) -> None:
    found = whatsapp(
        tmp_path,
        "01/02/26, 10:00 - Ann: a",
        "02/02/26, 10:00 - Ann: b",
        "01/03/26, 10:00 - Ann: c",
    )
    assert [one["date"][:10] for one in found] == [
        "2026-02-01",
        "2026-02-02",
        "2026-03-01",
    ]


def test_an_order_that_no_date_tells_is_asked_for(tmp_path: Path) -> None:
    lines = "03/04/26, 10:00 - Ann: a", "03/05/26, 10:00 - Ann: b"
    with pytest.raises(
        DatasetError,
        match=r"txt:1: .* day or month first\? No date of the file tells. Say --dates=",
    ):
        whatsapp(tmp_path, *lines)
    assert whatsapp(tmp_path, *lines, order="dmy")[0]["date"] == "2026-04-03 10:00"
    assert whatsapp(tmp_path, *lines, order="mdy")[0]["date"] == "2026-03-04 10:00"


def test_an_order_that_does_not_hold_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=r"txt:1: '31/12/25, 10:00 - Ann: a' does not fit the order mdy",
    ):
        whatsapp(tmp_path, "31/12/25, 10:00 - Ann: a", order="mdy")
    with pytest.raises(
        DatasetError,
        match="no order of day and month, in any calendar, fits all dates",
    ):
        whatsapp(tmp_path, "31/12/25, 10:00 - Ann: a", "12/31/25, 10:00 - Ann: a")


def test_messages_of_several_lines_are_one_and_the_system_says_nothing(
    tmp_path: Path,
) -> None:
    [found] = whatsapp(
        tmp_path,
        "31/12/2025, 21:15 - Messages and calls are end-to-end encrypted.",
        '31/12/2025, 21:15 - Ann changed the subject to "Trip: north"',
        "31/12/2025, 21:16 - Ann: To buy:",
        "",
        "- rope: 20 m",
        "31/12/2025, 21:17 - Ben: <Media omitted>",
        "31/12/2025, 21:18 - Ben: This message was deleted",
        "31/12/2025, 21:19 - \u200e+49 171 2345678: at 10:30, see: map <This message was edited>",
        "31/12/2025, 21:19 - Ben: I omitted: \u200erope",
        "31/12/2025, 21:20 - Trip north: \u200eBen joined using an invite link",
    )
    assert [(one["name"], one["content"]) for one in found["turns"]] == [
        ("Ann", "To buy:\n\n- rope: 20 m"),
        ("+49 171 2345678", "at 10:30, see: map"),
        ("Ben", "I omitted: rope"),
    ]
    assert found["session"] == "WhatsApp-Chat-with-Ann-1"


def test_a_phone_number_in_the_name_of_a_file_gets_into_no_id(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat with +49 171 2345678.txt"
    path.write_text("31/12/2025, 21:15 - Ann: one")
    assert split(path)[0]["session"] == "WhatsApp-Chat-with-1"


def test_line_ends_and_a_mark_of_other_systems_are_read(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(
        "\ufeff31/12/2025, 21:15 - Ann: one\r\ntwo\r\n31/12/2025, 21:16 - Ben: three\r\n".encode()
    )
    assert [one["content"] for one in split(path)[0]["turns"]] == ["one\ntwo", "three"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (
            b"Dear diary",
            ": no known export: it is a text that begins with 'Dear diary'",
        ),
        (b"", ": is empty"),
        ("31/12/2025, 21:15 - Zoë: hi".encode("latin-1"), ": not UTF-8 \\(at byte"),
    ],
)
def test_what_is_no_export_is_refused(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=f"chat.txt{fault}"):
        split(path)


def test_a_silence_ends_a_session_and_a_speaker_may_be_the_assistant(
    tmp_path: Path,
) -> None:
    days = (
        "31/12/2025, 21:15 - Ann: a",
        "01/01/2026, 01:14 - Bot: b",
        "01/01/2026, 05:14 - Ann: c",
    )
    found = whatsapp(tmp_path, *days, assistants=("Bot",))
    assert [len(one["turns"]) for one in found] == [2, 1]
    assert found[0]["turns"][1] == {"role": "assistant", "content": "b"}


# --- OpenAI


def talk(*said: tuple[str, str, float], **more: Any) -> dict[str, Any]:
    """Return a conversation as one branch: role, text, time."""
    nodes: dict[str, Any] = {
        "n0": {"message": None, "parent": None, "children": ["n1"]}
    }
    for number, (role, text, at) in enumerate(said, start=1):
        message = {
            "author": {"role": role},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
        }
        children = [f"n{number + 1}"] if number < len(said) else []
        nodes[f"n{number}"] = {
            "message": message,
            "parent": f"n{number - 1}",
            "children": children,
        }
    return {
        "conversation_id": "c",
        "mapping": nodes,
        "current_node": f"n{len(said)}",
        **more,
    }


HOUR = 3600.0
TALK = talk(
    ("system", "", 0),
    ("user", "hi", HOUR),
    ("assistant", "hello", 2 * HOUR),
    ("user", "back", 9 * HOUR),
)


def openai(tmp_path: Path, *talks: Any) -> list[dict[str, Any]]:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    return split(path)


def test_a_conversation_is_split_where_nobody_came_back_for_hours(
    tmp_path: Path,
) -> None:
    assert openai(tmp_path, TALK) == [
        {
            "session": "c-1",
            "date": "1970-01-01 01:00+00:00",
            "turns": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "hello"},
            ],
        },
        {
            "session": "c-2",
            "date": "1970-01-01 09:00+00:00",
            "turns": [{"role": "user", "content": "back"}],
        },
    ]


def test_the_branch_that_was_shown_last_is_told(tmp_path: Path) -> None:
    edited = talk(("user", "old", HOUR), ("assistant", "reply", HOUR))
    new = {
        "author": {"role": "user"},
        "create_time": HOUR,
        "content": {"content_type": "text", "parts": ["new"]},
    }
    edited["mapping"]["n9"] = {"message": new, "parent": "n0", "children": []}
    [found] = openai(tmp_path, {**edited, "current_node": "n9"})
    assert found["turns"] == [{"role": "user", "content": "new"}]


def test_photos_tools_and_missing_times_do_no_harm(tmp_path: Path) -> None:
    odd = talk(
        ("user", "look", HOUR), ("tool", "{}", HOUR), ("assistant", "nice", HOUR)
    )
    odd["mapping"]["n1"]["message"]["content"] = {
        "content_type": "multimodal_text",
        "parts": [{"asset_pointer": "file"}, "look"],
    }
    odd["mapping"]["n3"]["message"]["create_time"] = None
    [found] = openai(tmp_path, {**odd, "current_node": None})
    assert [one["content"] for one in found["turns"]] == ["look", "nice"]


def test_two_conversations_of_one_name_and_circles_do_no_harm(tmp_path: Path) -> None:
    circle = talk(("user", "round", HOUR))
    circle["mapping"]["n0"]["parent"] = "n1"
    assert [one["session"] for one in openai(tmp_path, circle, circle)] == [
        "c-1",
        "c~2-1",
    ]


@pytest.mark.parametrize(
    "odd", [{}, {"mapping": []}, {"mapping": {"a": 1}}, talk(("user", "x", 1e300))]
)
def test_what_is_no_conversation_is_refused_by_its_number(
    tmp_path: Path, odd: Any
) -> None:
    with pytest.raises(DatasetError, match=r"conversations\.json: conversation 2: "):
        openai(tmp_path, TALK, odd)


# --- Slack


def slack(tmp_path: Path, *messages: Any) -> list[dict[str, Any]]:
    folder = tmp_path / "export"
    (folder / "general").mkdir(parents=True)
    users = [
        {"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}},
        {"id": "U2", "real_name": "Ben Lee"},
    ]
    (folder / "users.json").write_text(json.dumps(users))
    (folder / "general" / "2026-03-02.json").write_text(json.dumps(messages))
    return split(folder)


def test_channels_are_told_with_the_names_of_people(tmp_path: Path) -> None:
    [found] = slack(
        tmp_path,
        {
            "user": "U2",
            "text": "a &lt; b, <https://x.example|this>, <mailto:a@b.example|a@b.example>",
            "ts": "7200.2",
        },
        {"user": "U1", "text": "<@U2>, see <#C1|random> <!here>", "ts": "7200.1"},
        {
            "user": "U1",
            "text": "<@U1> has joined the channel",
            "subtype": "channel_join",
            "ts": "7200.3",
        },
        {
            "bot_id": "B1",
            "username": "Deploy",
            "subtype": "bot_message",
            "text": "done",
            "ts": "7200.4",
        },
        {"user": "U1", "text": "", "files": [{}], "ts": "7200.5"},
    )
    assert found["session"] == "general-1"
    assert found["date"] == "1970-01-01 02:00+00:00"
    assert [(one["name"], one["content"]) for one in found["turns"]] == [
        ("Ann", "@Ben Lee, see #random @here"),
        ("Ben Lee", "a < b, this, a@b.example"),
        ("Deploy", "done"),
    ]


def test_a_message_without_time_and_a_folder_without_days_are_refused(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        DatasetError,
        match=r"2026-03-02.json: message 1: 'ts' does not hold a time: None",
    ):
        slack(tmp_path, {"user": "U1", "text": "hi"})
    with pytest.raises(DatasetError, match="no export of Slack"):
        split(tmp_path / "export" / "general", "slack")


def test_what_has_no_known_form_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for name, fault in (
        ("a.zip", "cannot be unpacked"),
        ("a.csv", "it is empty.* say so: ltm data convert openai |"),
        ("a.pdf", "files that end in .pdf are not read"),
    ):
        (tmp_path / name).touch()
        with pytest.raises(DatasetError, match=fault.replace("|", "[|]")):
            split(tmp_path / name)


# --- other assistants, messengers and traces


def told(
    tmp_path: Path, name: str, content: Any, **more: Any
) -> list[tuple[str, str, str]]:
    """Return role, name and text of all turns of an export, whose layout is detected from its content."""
    path = tmp_path / name
    rows = (
        content if isinstance(content, list) and name.endswith(".jsonl") else [content]
    )
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    turns = [turn for one in split(path, **more) for turn in one["turns"]]
    return [
        (turn["role"], turn.get("name", ""), turn.get("content", "")) for turn in turns
    ]


def test_openai_in_parts_zipped_and_alone_is_one_export(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    for number in (0, 1):
        one = {**TALK, "conversation_id": f"c{number}"}
        (folder / f"conversations-00{number}.json").write_text(json.dumps([one]))
    (folder / "user.json").write_text("{}")
    assert [one["session"] for one in split(folder)] == ["c0-1", "c0-2", "c1-1", "c1-2"]
    packed = shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
    assert split(Path(packed)) == split(folder)
    (tmp_path / "single.json").write_text(json.dumps(TALK))
    assert len(split(tmp_path / "single.json")) == 2


def test_voice_is_told_and_memory_writes_thoughts_and_sources_are_not(
    tmp_path: Path,
) -> None:
    odd = talk(
        *(("assistant", "x", HOUR) for _ in range(4)),
        ("user", "x", HOUR),
        ("user", "x", HOUR),
    )
    nodes = odd["mapping"]
    nodes["n1"]["message"]["recipient"] = "bio"
    nodes["n2"]["message"]["content"] = {"content_type": "thoughts", "thoughts": []}
    nodes["n3"]["message"]["content"]["parts"] = [
        "Nice \ue200cite\ue202turn0\ue201. See \u30104\u2020source\u3011."
    ]
    nodes["n4"]["message"]["recipient"] = "canmore.create_textdoc"
    voice = [
        {"content_type": "audio_transcription", "text": "My cat is Mo."},
        {"content_type": "audio_asset_pointer"},
    ]
    nodes["n5"]["message"]["content"] = {
        "content_type": "multimodal_text",
        "parts": voice,
    }
    nodes["n6"]["message"]["metadata"] = {"is_visually_hidden_from_conversation": True}
    counts: Counter[str] = Counter()
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([odd]))
    [found] = split(path, counts=counts)
    assert [one["content"] for one in found["turns"]] == ["Nice. See.", "My cat is Mo."]
    assert +counts == Counter(
        {
            "left out: messages to tools, memory writes and documents": 2,
            "cut: marks of sources in replies": 1,
            "left out: messages without text, thoughts, or of tools": 2,
        }
    )


def test_without_any_time_there_is_no_date_and_never_1970(tmp_path: Path) -> None:
    nothing = talk(("user", "hi", 0), ("assistant", "hello", 0))
    [found] = openai(tmp_path, nothing)
    assert "date" not in found
    [found] = openai(tmp_path, {**nothing, "update_time": 1767000900.0})
    assert found["date"] == "2025-12-29 09:35+00:00"


CLAUDE = [
    {
        "uuid": "u",
        "chat_messages": [
            {
                "sender": "human",
                "text": "",
                "content": [{"type": "text", "text": "My locker is 17."}],
                "created_at": "2026-01-02T10:00:00.000000Z",
                "attachments": [],
                "files": [],
            },
            {
                "sender": "assistant",
                "text": "Noted.",
                "content": [{"type": "thinking", "thinking": "hm"}],
                "created_at": "2026-01-02T10:00:05Z",
            },
        ],
    },
]
EXPORTS: dict[str, tuple[str, Any, list[tuple[str, str, str]]]] = {
    "claude": (
        "conversations.json",
        CLAUDE,
        [("user", "", "My locker is 17."), ("assistant", "", "Noted.")],
    ),
    "gemini activity": (
        "MyActivity.json",
        [
            {
                "title": "Prompted What is <b>?",
                "time": "2026-01-02T10:00:00.123Z",
                "products": ["Gemini Apps"],
                "safeHtmlItem": [{"html": "<p>A &lt;b&gt; tag.</p>"}],
            }
        ],
        [("user", "", "What is <b>?"), ("assistant", "", "A <b> tag.")],
    ),
    "gemini studio": (
        "prompt.json",
        {
            "chunkedPrompt": {
                "chunks": [
                    {"role": "user", "text": "Hi"},
                    {"role": "model", "text": "x", "isThought": True},
                    {"role": "model", "text": "Hello"},
                ]
            }
        },
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "telegram": (
        "result.json",
        {
            "name": "Ann",
            "type": "personal_chat",
            "messages": [
                {
                    "type": "message",
                    "date": "2026-01-02T10:00:00",
                    "date_unixtime": "1767348000",
                    "from": "Ann",
                    "text": ["Locker ", {"type": "bold", "text": "17"}],
                },
                {
                    "type": "service",
                    "action": "phone_call",
                    "date": "2026-01-02T10:00:00",
                    "text": "",
                },
            ],
        },
        [("user", "Ann", "Locker 17")],
    ),
    "discord": (
        "channel.json",
        {
            "guild": {"name": "G"},
            "channel": {"name": "boats"},
            "messages": [
                {
                    "type": "Default",
                    "timestamp": "2026-01-02T10:00:00+01:00",
                    "content": "Ahoy",
                    "author": {"name": "ann", "nickname": "Ann"},
                },
                {
                    "type": "GuildMemberJoin",
                    "timestamp": "2026-01-02T10:00:00+01:00",
                    "content": "joined",
                    "author": {"name": "bo"},
                },
            ],
        },
        [("user", "Ann", "Ahoy")],
    ),
    "discord's own data": (
        "messages.json",
        [{"ID": 1, "Timestamp": "2026-01-02 10:00:00", "Contents": "Ahoy"}],
        [("user", "", "Ahoy")],
    ),
    "sharegpt": (
        "share.json",
        [
            {
                "id": "x",
                "conversations": [
                    {"from": "human", "value": "Hi"},
                    {"from": "gpt", "value": "Yes"},
                ],
            }
        ],
        [("user", "", "Hi"), ("assistant", "", "Yes")],
    ),
    "lists of messages": (
        "train.jsonl",
        [
            {
                "messages": [
                    {"role": "system", "content": "x"},
                    {"role": "user", "content": "Hi"},
                ]
            }
        ],
        [("user", "", "Hi")],
    ),
    "claude with branches": (
        "conversations.json",
        [
            {
                "uuid": "u",
                "chat_messages": [
                    {
                        "uuid": f"m{number}",
                        "parent_message_uuid": parent,
                        "sender": sender,
                        "text": text,
                        "created_at": f"2026-01-02T10:00:0{number}Z",
                    }
                    for number, (parent, sender, text) in enumerate(
                        [
                            ("0", "human", "My locker is 17."),
                            ("m0", "assistant", "Replaced."),
                            ("m0", "assistant", "Noted."),
                        ]
                    )
                ],
            }
        ],
        [("user", "", "My locker is 17."), ("assistant", "", "Noted.")],
    ),
    "deepseek": (
        "conversations.json",
        [
            {
                "id": "d",
                "inserted_at": "2026-01-02T18:00:00+08:00",
                "mapping": {
                    "root": {"id": "root", "parent": None, "message": None},
                    "1": {
                        "parent": "root",
                        "message": {
                            "inserted_at": "2026-01-02T18:00:00+08:00",
                            "files": [],
                            "fragments": [{"type": "REQUEST", "content": "Hi"}],
                        },
                    },
                    "2": {
                        "parent": "1",
                        "message": {
                            "inserted_at": "2026-01-02T18:00:09+08:00",
                            "fragments": [
                                {"type": "THINK", "content": "hm"},
                                {"type": "RESPONSE", "content": "Hello"},
                            ],
                        },
                    },
                },
            }
        ],
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "grok": (
        "grok.json",
        {
            "conversations": [
                {
                    "conversation": {"id": "g", "leaf_response_id": "r2"},
                    "responses": [
                        {
                            "response": {
                                "_id": name,
                                "parent_response_id": parent,
                                "message": text,
                                "sender": sender,
                                "create_time": {
                                    "$date": {"$numberLong": "1767348000000"}
                                },
                            }
                        }
                        for name, parent, sender, text in [
                            ("r1", None, "human", "Hi"),
                            ("r2", "r1", "ASSISTANT", "Hello"),
                            ("r3", "r1", "ASSISTANT", "Another"),
                        ]
                    ],
                }
            ]
        },
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "librechat": (
        "libre.json",
        {
            "conversationId": "l",
            "messages": [
                {
                    "messageId": "a",
                    "parentMessageId": "00000000-0000-0000-0000-000000000000",
                    "text": "Hi",
                    "isCreatedByUser": True,
                    "createdAt": "2026-01-02T10:00:00.000Z",
                    "children": [
                        {
                            "messageId": "b",
                            "parentMessageId": "a",
                            "content": [
                                {"type": "think", "think": "hm"},
                                {"type": "text", "text": {"value": "Hello"}},
                            ],
                            "isCreatedByUser": False,
                            "createdAt": "2026-01-02T10:00:05.000Z",
                        }
                    ],
                }
            ],
        },
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "open webui": (
        "chat-export.json",
        [
            {
                "id": "o",
                "chat": {
                    "history": {
                        "currentId": "b",
                        "messages": {
                            name: {
                                "id": name,
                                "parentId": parent,
                                "role": role,
                                "content": text,
                                "timestamp": 1767348000 + number,
                            }
                            for number, (name, parent, role, text) in enumerate(
                                [
                                    ("a", None, "user", "Hi"),
                                    ("b", "a", "assistant", "Hello"),
                                    ("c", "a", "assistant", "Another"),
                                ]
                            )
                        },
                    }
                },
            }
        ],
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "claude code": (
        "session.jsonl",
        [
            {"type": "summary", "summary": "A talk", "leafUuid": "b"},
            *(
                {
                    "type": role,
                    "uuid": name,
                    "parentUuid": parent,
                    "sessionId": "s",
                    "timestamp": "2026-01-02T10:00:00.000Z",
                    "message": {"role": role, "content": content},
                }
                for name, parent, role, content in [
                    ("a", None, "user", "<command-name>/init</command-name>"),
                    ("b", "a", "user", "Rename the module."),
                    (
                        "c",
                        "b",
                        "assistant",
                        [
                            {"type": "thinking", "thinking": "hm"},
                            {"type": "text", "text": "Renamed."},
                            {"type": "tool_use", "name": "Edit", "input": {}},
                        ],
                    ),
                    ("d", "c", "user", [{"type": "tool_result", "content": "ok"}]),
                ]
            ),
        ],
        [("user", "", "Rename the module."), ("assistant", "", "Renamed.")],
    ),
    "codex": (
        "rollout.jsonl",
        [
            {
                "timestamp": "2026-01-02T10:00:00.000Z",
                "type": kind,
                "payload": payload,
            }
            for kind, payload in [
                ("session_meta", {"id": "c"}),
                (
                    "response_item",
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Set up: rules."}],
                    },
                ),
                ("event_msg", {"type": "user_message", "message": "Rename it."}),
                (
                    "response_item",
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": "Rename it."}],
                    },
                ),
                ("response_item", {"type": "reasoning", "summary": []}),
                (
                    "response_item",
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": "Renamed."}],
                    },
                ),
            ]
        ],
        [("user", "", "Rename it."), ("assistant", "", "Renamed.")],
    ),
    "messenger": (
        "message_1.json",
        {
            "participants": [{"name": "Ann"}, {"name": "Zo\u00c3\u00ab"}],
            "title": "Zo\u00c3\u00ab",
            "messages": [
                {
                    "sender_name": "Ann",
                    "timestamp_ms": 1767348005000,
                    "call_duration": 3,
                    "content": "Ann called you.",
                },
                {"sender_name": "Ann", "timestamp_ms": 1767348004000, "content": "ok"},
                {
                    "sender_name": "Zo\u00c3\u00ab",
                    "timestamp_ms": 1767348000000,
                    "content": "Caf\u00c3\u00a9 at 3?",
                },
            ],
        },
        [("user", "Zo\u00eb", "Caf\u00e9 at 3?"), ("user", "Ann", "ok")],
    ),
    "messenger, encrypted": (
        "Ann_1.json",
        {
            "participants": ["Ann", "Zo\u00eb"],
            "threadName": "Ann_1",
            "messages": [
                {
                    "senderName": "Ann",
                    "text": "ok",
                    "timestamp": 1767348004000,
                    "type": "text",
                },
                {
                    "senderName": "Zo\u00eb",
                    "text": "",
                    "timestamp": 1767348003000,
                    "type": "media",
                },
            ],
        },
        [("user", "Ann", "ok")],
    ),
    "langsmith": (
        "runs.jsonl",
        [
            {
                "id": "r1",
                "run_type": "chain",
                "start_time": "2026-01-02T10:00:00.5",
                "parent_run_id": None,
                "extra": {"metadata": {"thread_id": "t"}},
                "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
                "outputs": {
                    "generations": [
                        [
                            {
                                "text": "Hello",
                                "message": {
                                    "kwargs": {"content": "Hello", "type": "ai"}
                                },
                            }
                        ]
                    ]
                },
            },
            {
                "id": "r2",
                "run_type": "llm",
                "parent_run_id": "r1",
                "inputs": {},
                "outputs": {},
            },
        ],
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "langfuse": (
        "traces.json",
        [
            {
                "id": "a",
                "sessionId": "s",
                "timestamp": "2026-01-02T10:00:00Z",
                "input": "Hi",
                "output": '{"role": "assistant", "content": "Hello"}',
            }
        ],
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "spans": (
        "spans.jsonl",
        [
            {
                "name": "chat m",
                "start_time": "2026-01-02T10:00:00Z",
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.conversation.id": "c",
                    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]',
                    "gen_ai.output.messages": (
                        '[{"role": "assistant", '
                        '"parts": [{"type": "text", "content": "Hello"}]}]'
                    ),
                },
            }
        ],
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
    "spans of a collector": (
        "otlp.json",
        {
            "resourceSpans": [
                {
                    "scopeSpans": [
                        {
                            "spans": [
                                {
                                    "name": "chat",
                                    "traceId": "t",
                                    "startTimeUnixNano": "1767348000000000000",
                                    "attributes": [
                                        {
                                            "key": "gen_ai.operation.name",
                                            "value": {"stringValue": "chat"},
                                        },
                                        {
                                            "key": "gen_ai.prompt.0.role",
                                            "value": {"stringValue": "user"},
                                        },
                                        {
                                            "key": "gen_ai.prompt.0.content",
                                            "value": {"stringValue": "Hi"},
                                        },
                                        {
                                            "key": "gen_ai.completion.0.role",
                                            "value": {"stringValue": "assistant"},
                                        },
                                        {
                                            "key": "gen_ai.completion.0.content",
                                            "value": {"stringValue": "Hello"},
                                        },
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
        [("user", "", "Hi"), ("assistant", "", "Hello")],
    ),
}


@pytest.mark.parametrize(("name", "content", "turns"), EXPORTS.values(), ids=EXPORTS)
def test_an_export_is_known_by_its_content_and_read(
    tmp_path: Path, name: str, content: Any, turns: Any
) -> None:
    assert told(tmp_path, name, content) == turns


def test_spans_of_a_memory_are_calls(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    facts = {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.memory.query.text": "colour",
        "gen_ai.memory.records": "[]",
    }
    path.write_text(json.dumps({"name": "search_memory", "attributes": facts}))
    [found] = split(path)
    assert found["turns"] == [
        {
            "role": "assistant",
            "calls": [{"name": "search_memory", "arguments": "colour", "result": []}],
        }
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "content"), [row[:2] for row in EXPORTS.values()], ids=EXPORTS
)
def test_a_field_of_an_export_missing_or_of_a_wrong_type_is_read_or_named(
    tmp_path: Path, name: str, content: Any
) -> None:
    faults = []
    changes: list[tuple[Any, ...]] = [(), (None,), (7,), ("x",), ([],), ({},), (1e300,)]
    layout = layout_of(written_export(tmp_path, name, content))
    for way in paths_of(content):
        for value in changes:
            odd = copy.deepcopy(content)
            part: Any = odd
            for step in way[:-1]:
                part = part[step]
            if value:
                part[way[-1]] = value[0]
            else:
                del part[way[-1]]
            path = written_export(tmp_path, name, odd)
            try:
                split(path, layout)
            except DatasetError as error:
                faults.append(str(error))
    assert [
        fault for fault in faults if name not in fault and "have a time" not in fault
    ] == []


def written_export(tmp_path: Path, name: str, content: Any) -> Path:
    rows = (
        content if isinstance(content, list) and name.endswith(".jsonl") else [content]
    )
    (tmp_path / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path / name


def paths_of(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all fields of a value."""
    if isinstance(value, list):
        return [
            one
            for number, part in enumerate(value)
            for one in paths_of(part, (*way, number))
        ]
    if not isinstance(value, dict):
        return []
    return [
        one
        for name, part in value.items()
        for one in ((*way, name), *paths_of(part, (*way, name)))
    ]


def test_slack_tells_guests_blocks_and_attachments(tmp_path: Path) -> None:
    [found] = slack(
        tmp_path,
        {
            "user": "U7",
            "user_profile": {"display_name": "Ernie"},
            "text": "Mine is 18.",
            "ts": "7200.1",
        },
        {
            "subtype": "bot_message",
            "username": "Pager",
            "text": "",
            "ts": "7200.2",
            "blocks": [
                {"type": "section", "text": {"type": "mrkdwn", "text": "db1 is down"}}
            ],
        },
        {
            "user": "U1",
            "text": "",
            "attachments": [{"fallback": "ticket 9 closed"}],
            "ts": "7200.3",
        },
    )
    assert [(one["name"], one["content"]) for one in found["turns"]] == [
        ("Ernie", "Mine is 18."),
        ("Pager", "db1 is down"),
        ("Ann", "ticket 9 closed"),
    ]
    assert found["room"] == "#general"


def test_a_zone_reads_times_that_name_none_and_writes_all(tmp_path: Path) -> None:
    zone = ZoneInfo("America/New_York")
    [found] = whatsapp(tmp_path, "31/12/2025, 21:15 - Ann: hi", zone=zone)
    assert found["date"] == "2025-12-31 21:15-05:00"
    [found] = slack(tmp_path, {"user": "U1", "text": "hi", "ts": "1767348000.1"})
    assert found["date"] == "2026-01-02 10:00+00:00"
    path = tmp_path / "export"
    histories = read_chats([path], "", Splitting(zone=zone), Counter())
    assert [session.date for history in histories for session in history.sessions] == [
        "2026-01-02 05:00-05:00"
    ]


HEADS = {
    "Danish": ("[13.12.2023 kl. 9.46.39] Ann: hi", "2023-12-13 09:46"),
    "French": ("13.05.18 \u00e0 9:00 - Ann: hi", "2018-05-13 09:00"),
    "Korean": ("2023. 12. 13. \uc624\ud6c4 9:46, Ann : hi", "2023-12-13 21:46"),
    "Chinese": ("2024/10/13 \u4e0b\u53489:50 - Ann: hi", "2024-10-13 21:50"),
    "Chinese in words": (
        "2024\u5e7410\u670813\u65e5 \u4e0a\u53489:50 - Ann: hi",
        "2024-10-13 09:50",
    ),
    "Greek": ("31/12/25, 9:15 \u03bc.\u03bc. - Ann: hi", "2025-12-31 21:15"),
    "Arabic digits": (
        "\u0663\u0661/\u0661\u0662/\u0662\u0660\u0662\u0665, 21:15 - Ann: hi",
        "2025-12-31 21:15",
    ),
    "a colon behind the time": ("13/12/2012 9:03:48: Ann: hi", "2012-12-13 09:03"),
    "at": ("31.12.2025 um 21:15 - Ann: hi", "2025-12-31 21:15"),
}


@pytest.mark.parametrize(("line", "date"), HEADS.values(), ids=HEADS)
def test_heads_are_found_by_their_grammar_in_any_language(
    tmp_path: Path, line: str, date: str
) -> None:
    [found] = whatsapp(tmp_path, line)
    assert (found["date"], found["turns"]) == (
        date,
        [{"role": "user", "name": "Ann", "content": "hi"}],
    )


def test_a_date_in_another_form_begins_no_message(tmp_path: Path) -> None:
    [found] = whatsapp(
        tmp_path, "31/12/2025, 21:15 - Ann: see", "[01.01.26, 10:00:00] Ben: hi"
    )
    assert found["turns"][0]["content"] == "see\n[01.01.26, 10:00:00] Ben: hi"


@pytest.mark.parametrize(
    "text",
    [
        "<Multimedia omitido>",
        "IMG-1.jpg (file attached)",
        "PTT-1.opus (archivo adjunto)",
        "null",
        "location: https://maps.google.com/?q=1,2",
        "This message was deleted",
    ],
)
def test_media_places_and_deleted_messages_are_left_out(
    tmp_path: Path, text: str
) -> None:
    [found] = whatsapp(
        tmp_path, f"31/12/2025, 21:15 - Ann: {text}", "31/12/2025, 21:16 - Ann: hi"
    )
    assert [one["content"] for one in found["turns"]] == ["hi"]


@pytest.mark.parametrize(
    ("text", "people", "named"),
    [
        ("این پیام حذف شد", ("Ann", "Ben", "Ann"), True),
        ("این پیام حذف شد", ("Ann", "Ann", "Ann"), False),
        ("Good night", ("Ann", "Ben", "Ann"), False),
        ("Are you there?", ("Ann", "Ben", "Ann"), False),
    ],
)
def test_what_may_be_a_notice_is_told_and_named(
    tmp_path: Path, text: str, people: tuple[str, ...], *, named: bool
) -> None:
    path = tmp_path / "chat.txt"
    lines = [f"31/12/2025, 21:1{n} - {who}: {text}" for n, who in enumerate(people)]
    path.write_text("\n".join(lines), encoding="utf-8")
    counts = Counter[str]()
    [history] = read_chats([path], "", Splitting(), counts)
    [session] = history.sessions
    assert [turn.content for turn in session.turns] == [text] * 3
    assert any(text in note and "notice" in note for note in counts) is named


SHARED = Path(__file__).parents[4] / "shared" / "cases" / "exports"
CASES = [
    *SHARED.glob("*.json"),
    SHARED / "sharded",
    SHARED / "slack",
    *SHARED.glob("whatsapp/*.txt"),
]


@pytest.mark.slow
@pytest.mark.skipif(
    not SHARED.is_dir(), reason="the collected exports are not beside the project"
)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_a_collected_export_is_converted_and_played(
    path: Path, pytester: pytest.Pytester
) -> None:
    out = pytester.path / "logs.jsonl"
    dates = ["--dates=dmy"] if path.name == "att_en.txt" else []
    assert main(["data", "convert", "chat", str(path), "-o", str(out), *dates]) == 0
    with out.open("a", encoding="utf-8") as file:
        file.write(
            '{"question": "What is the number of my locker?", "never_told": true}\n'
        )
    run = pytester.runpytest_inprocess(
        f"--ltm-suite=logs?data={out}", "--ltm-agent=full", "-q"
    )
    assert run.parseoutcomes() in ({"passed": 1}, {"failed": 1}), run.stdout.str()


# --- the commands


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chat.txt"
    path.write_text(
        "31/12/2025, 21:15 - Ann Lee: I am at ann@mail.example\n31/12/2025, 21:16 - Ben: ok, Ann\n"
    )
    return path


def test_an_export_is_split_redacted_and_checked(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 0
    assert "a.jsonl: 1 session, 2 turns, 0 questions\n" in capsys.readouterr().err
    assert main(["data", "logs-check", "a.jsonl"]) == 0
    assert (
        "it holds e-mail addresses: 1. To take them out: ltm data logs-redact"
        in capsys.readouterr().out
    )
    assert main(["data", "logs-redact", "a.jsonl", "-o", "b.jsonl"]) == 0
    assert "b.jsonl: e-mail addresses: 1, names: 4" in capsys.readouterr().err
    text = (chat.parent / "b.jsonl").read_text()
    assert not re.search(r"\b(?:Ann|Lee|Ben)\b|ann@", text), (
        "as words: a stand-in may begin with Ben"
    )
    assert main(["data", "logs-redact", "a.jsonl", "-o", "c.jsonl"]) == 0
    assert (chat.parent / "c.jsonl").read_text() == text, "the salt is kept"
    assert (chat.parent / "ltm-logs.salt").stat().st_mode & 0o077 == 0
    assert (
        main(
            [
                "data",
                "logs-redact",
                "a.jsonl",
                "-o",
                "d.jsonl",
                "--salt=e.salt",
                "--keep-speakers",
            ]
        )
        == 0
    )
    kept = (chat.parent / "d.jsonl").read_text()
    assert "Ann Lee" in kept
    assert kept != text


def test_nothing_is_overwritten_and_what_fails_leaves_no_file(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "convert", "chat", str(chat), "-o", str(chat)]) == 2
    assert "exists already, and is not overwritten" in capsys.readouterr().err
    chat.write_text("31/12/2025, 21:15 - Ben joined\n")
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 2
    assert "it contains no messages" in capsys.readouterr().err
    assert not (chat.parent / "a.jsonl").exists()


def test_a_faulty_file_is_told_line_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text('{"session": "a"}\n\n{"question": ""}\n')
    assert main(["data", "logs-check", str(path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [
        line.startswith(f"{path}:{number}: ")
        for line, number in zip(shown, (1, 3), strict=True)
    ] == [True, True]


def test_a_salt_that_can_be_guessed_and_a_gap_of_no_length_are_refused(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chat.parent / "short").write_text("1234")
    assert (
        main(["data", "convert", "chat", str(chat), "-o", "a.jsonl", "--gap=soon"]) == 2
    )
    assert "--gap: expected a duration such as 4h" in capsys.readouterr().err
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 0
    assert (
        main(["data", "logs-redact", "a.jsonl", "-o", "b.jsonl", "--salt=short"]) == 2
    )
    assert "holds fewer than 16 characters" in capsys.readouterr().err
