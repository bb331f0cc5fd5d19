"""Chats as people download them, split into sessions; and the commands."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_ltm._cli import main
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets.converters.chats import Splitting, read_chats

if TYPE_CHECKING:
    from pathlib import Path


def split(path: Path, layout: str = "", counts: Counter[str] | None = None, **more: Any) -> list[dict[str, Any]]:
    histories = read_chats([path], layout, Splitting(gap=timedelta(hours=4), **more), Counter() if counts is None else counts)
    rows: list[dict[str, Any]] = [json.loads(msgspec.json.encode(one)) for history in histories for one in history.sessions]
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
    "iPhone, month first": ("\u200e[12/31/25, 9:15:03\u202fPM] Ann: hi", "2025-12-31 21:15"),
    "year first": ("2025-06-05, 21:15 - Ann: hi", "2025-06-05 21:15"),
    "year first, slashes": ("2025/6/5, 21:15 - Ann: hi", "2025-06-05 21:15"),
    "dashes": ("31-12-2025 21:15 - Ann: hi", "2025-12-31 21:15"),
    "no comma": ("31/12/2025 21:15 \u2013 Ann: hi", "2025-12-31 21:15"),
}


@pytest.mark.parametrize(("line", "date"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_dates_of_many_telephones_are_read(tmp_path: Path, line: str, date: str) -> None:
    [found] = whatsapp(tmp_path, line)
    assert found["date"] == date
    assert found["turns"] == [{"role": "user", "name": "Ann", "content": "hi"}]


def test_one_date_tells_the_order_of_all(tmp_path: Path) -> None:
    found = whatsapp(tmp_path, "03/04/26, 10:00 - Ann: hi", "03/13/26, 10:00 - Ann: hi")
    assert [one["date"][:10] for one in found] == ["2026-03-04", "2026-03-13"]


def test_of_two_orders_the_one_counts_that_never_goes_back(tmp_path: Path) -> None:
    found = whatsapp(tmp_path, "01/02/26, 10:00 - Ann: a", "02/02/26, 10:00 - Ann: b", "01/03/26, 10:00 - Ann: c")
    assert [one["date"][:10] for one in found] == ["2026-02-01", "2026-02-02", "2026-03-01"]


def test_an_order_that_no_date_tells_is_asked_for(tmp_path: Path) -> None:
    lines = "03/04/26, 10:00 - Ann: a", "03/05/26, 10:00 - Ann: b"
    with pytest.raises(DatasetError, match=r"txt:1: .* day or month first\? No date of the file tells. Say --dates="):
        whatsapp(tmp_path, *lines)
    assert whatsapp(tmp_path, *lines, order="dmy")[0]["date"] == "2026-04-03 10:00"
    assert whatsapp(tmp_path, *lines, order="mdy")[0]["date"] == "2026-03-04 10:00"


def test_an_order_that_does_not_hold_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"txt:1: '31/12/25, 10:00 - Ann: a' does not fit the order mdy"):
        whatsapp(tmp_path, "31/12/25, 10:00 - Ann: a", order="mdy")
    with pytest.raises(DatasetError, match="in no order of day and month that holds for all"):
        whatsapp(tmp_path, "31/12/25, 10:00 - Ann: a", "12/31/25, 10:00 - Ann: a")


def test_messages_of_several_lines_are_one_and_the_system_says_nothing(tmp_path: Path) -> None:
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
    path.write_bytes("\ufeff31/12/2025, 21:15 - Ann: one\r\ntwo\r\n31/12/2025, 21:16 - Ben: three\r\n".encode())
    assert [one["content"] for one in split(path)[0]["turns"]] == ["one\ntwo", "three"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"Dear diary", ":1: no export of WhatsApp: it begins with 'Dear diary'"),
        (b"", ": is empty"),
        ("31/12/2025, 21:15 - Zoë: hi".encode("latin-1"), ": not UTF-8 \\(at byte"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=f"chat.txt{fault}"):
        split(path)


def test_a_silence_ends_a_session_and_a_speaker_may_be_the_assistant(tmp_path: Path) -> None:
    days = "31/12/2025, 21:15 - Ann: a", "01/01/2026, 01:14 - Bot: b", "01/01/2026, 05:14 - Ann: c"
    found = whatsapp(tmp_path, *days, assistants=("Bot",))
    assert [len(one["turns"]) for one in found] == [2, 1]
    assert found[0]["turns"][1] == {"role": "assistant", "content": "b"}


# --- OpenAI


def talk(*said: tuple[str, str, float], **more: Any) -> dict[str, Any]:
    """Return a conversation as one branch: role, text, time."""
    nodes: dict[str, Any] = {"n0": {"message": None, "parent": None, "children": ["n1"]}}
    for number, (role, text, at) in enumerate(said, start=1):
        message = {"author": {"role": role}, "create_time": at, "content": {"content_type": "text", "parts": [text]}}
        children = [f"n{number + 1}"] if number < len(said) else []
        nodes[f"n{number}"] = {"message": message, "parent": f"n{number - 1}", "children": children}
    return {"conversation_id": "c", "mapping": nodes, "current_node": f"n{len(said)}", **more}


HOUR = 3600.0
TALK = talk(("system", "", 0), ("user", "hi", HOUR), ("assistant", "hello", 2 * HOUR), ("user", "back", 9 * HOUR))


def openai(tmp_path: Path, *talks: Any) -> list[dict[str, Any]]:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    return split(path)


def test_a_conversation_is_split_where_nobody_came_back_for_hours(tmp_path: Path) -> None:
    assert openai(tmp_path, TALK) == [
        {
            "session": "c-1", "date": "1970-01-01 01:00+00:00",
            "turns": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        },
        {"session": "c-2", "date": "1970-01-01 09:00+00:00", "turns": [{"role": "user", "content": "back"}]},
    ]  # fmt: skip


def test_the_branch_that_was_shown_last_is_told(tmp_path: Path) -> None:
    edited = talk(("user", "old", HOUR), ("assistant", "reply", HOUR))
    new = {"author": {"role": "user"}, "create_time": HOUR, "content": {"content_type": "text", "parts": ["new"]}}
    edited["mapping"]["n9"] = {"message": new, "parent": "n0", "children": []}
    [found] = openai(tmp_path, {**edited, "current_node": "n9"})
    assert found["turns"] == [{"role": "user", "content": "new"}]


def test_photos_tools_and_missing_times_do_no_harm(tmp_path: Path) -> None:
    odd = talk(("user", "look", HOUR), ("tool", "{}", HOUR), ("assistant", "nice", HOUR))
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
    assert [one["session"] for one in openai(tmp_path, circle, circle)] == ["c-1", "c~2-1"]


@pytest.mark.parametrize("odd", [{}, {"mapping": []}, {"mapping": {"a": 1}}, talk(("user", "x", 1e300))])
def test_what_is_no_conversation_is_refused_by_its_number(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(DatasetError, match=r"conversations\.json: conversation 2: "):
        openai(tmp_path, TALK, odd)


# --- Slack


def slack(tmp_path: Path, *messages: Any) -> list[dict[str, Any]]:
    folder = tmp_path / "export"
    (folder / "general").mkdir(parents=True)
    users = [{"id": "U1", "name": "ann", "profile": {"display_name": "Ann"}}, {"id": "U2", "real_name": "Ben Lee"}]
    (folder / "users.json").write_text(json.dumps(users))
    (folder / "general" / "2026-03-02.json").write_text(json.dumps(messages))
    return split(folder)


def test_channels_are_told_with_the_names_of_people(tmp_path: Path) -> None:
    [found] = slack(
        tmp_path,
        {"user": "U2", "text": "a &lt; b, <https://x.example|this>, <mailto:a@b.example|a@b.example>", "ts": "7200.2"},
        {"user": "U1", "text": "<@U2>, see <#C1|random> <!here>", "ts": "7200.1"},
        {"user": "U1", "text": "<@U1> has joined the channel", "subtype": "channel_join", "ts": "7200.3"},
        {"bot_id": "B1", "username": "Deploy", "subtype": "bot_message", "text": "done", "ts": "7200.4"},
        {"user": "U1", "text": "", "files": [{}], "ts": "7200.5"},
    )
    assert found["session"] == "general-1"
    assert found["date"] == "1970-01-01 02:00+00:00"
    assert [(one["name"], one["content"]) for one in found["turns"]] == [
        ("Ann", "@Ben Lee, see #random @here"),
        ("Ben Lee", "a < b, this, a@b.example"),
        ("Deploy", "done"),
    ]


def test_a_message_without_time_and_a_folder_without_days_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"2026-03-02.json: message 1: 'ts' does not hold a time: None"):
        slack(tmp_path, {"user": "U1", "text": "hi"})
    with pytest.raises(DatasetError, match="no export of Slack"):
        split(tmp_path / "export" / "general", "slack")


def test_what_has_no_known_form_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for name, fault in (("a.zip", "cannot be unpacked"), ("a.csv", "Say: ltm data convert openai |")):
        (tmp_path / name).touch()
        with pytest.raises(DatasetError, match=fault.replace("|", "[|]")):
            split(tmp_path / name)


# --- the commands


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "chat.txt"
    path.write_text("31/12/2025, 21:15 - Ann Lee: I am at ann@mail.example\n31/12/2025, 21:16 - Ben: ok, Ann\n")
    return path


def test_an_export_is_split_redacted_and_checked(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 0
    assert "a.jsonl: 1 session, 2 turns, 0 questions\n" in capsys.readouterr().err
    assert main(["data", "logs-check", "a.jsonl"]) == 0
    assert "it holds e-mail addresses: 1. To take them out: ltm data logs-redact" in capsys.readouterr().out
    assert main(["data", "logs-redact", "a.jsonl", "-o", "b.jsonl"]) == 0
    assert "b.jsonl: e-mail addresses: 1, names: 4" in capsys.readouterr().err
    text = (chat.parent / "b.jsonl").read_text()
    assert not re.search(r"\b(?:Ann|Lee|Ben)\b|ann@", text), "as words: a stand-in may begin with Ben"
    assert main(["data", "logs-redact", "a.jsonl", "-o", "c.jsonl"]) == 0
    assert (chat.parent / "c.jsonl").read_text() == text, "the salt is kept"
    assert (chat.parent / "ltm-logs.salt").stat().st_mode & 0o077 == 0
    assert main(["data", "logs-redact", "a.jsonl", "-o", "d.jsonl", "--salt=e.salt", "--keep-speakers"]) == 0
    kept = (chat.parent / "d.jsonl").read_text()
    assert "Ann Lee" in kept
    assert kept != text


def test_nothing_is_overwritten_and_what_fails_leaves_no_file(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "convert", "chat", str(chat), "-o", str(chat)]) == 2
    assert "exists already, and is not overwritten" in capsys.readouterr().err
    chat.write_text("31/12/2025, 21:15 - Ben joined\n")
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 2
    assert "it contains no messages" in capsys.readouterr().err
    assert not (chat.parent / "a.jsonl").exists()


def test_a_faulty_file_is_told_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text('{"session": "a"}\n\n{"question": ""}\n')
    assert main(["data", "logs-check", str(path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert [line.startswith(f"{path}:{number}: ") for line, number in zip(shown, (1, 3), strict=True)] == [True, True]


def test_a_salt_that_can_be_guessed_and_a_gap_of_no_length_are_refused(
    chat: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chat.parent / "short").write_text("1234")
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl", "--gap=soon"]) == 2
    assert "--gap: expected a duration such as 4h" in capsys.readouterr().err
    assert main(["data", "convert", "chat", str(chat), "-o", "a.jsonl"]) == 0
    assert main(["data", "logs-redact", "a.jsonl", "-o", "b.jsonl", "--salt=short"]) == 2
    assert "holds fewer than 16 characters" in capsys.readouterr().err
