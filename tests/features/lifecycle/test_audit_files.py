"""Memories in files of all kinds, and the report of `ltm audit` on them."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.commands import main
from pytest_ltm.lifecycle.audit.fields import find_fields, read_date, read_memories
from pytest_ltm.lifecycle.audit.memory_records import read_dump

TEXTS = ["Ann lives in Riga near the port", "Bela plays the violin in a band"]
ROWS = [
    {
        "id": "a1",
        "memory": TEXTS[0],
        "user_id": "u1",
        "updated_at": "2026-01-02T10:00:00Z",
    },
    {
        "id": "a2",
        "memory": TEXTS[1],
        "user_id": "u1",
        "updated_at": "2026-01-03T10:00:00Z",
    },
]


def write_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE versions (number INTEGER)")
        connection.execute('CREATE TABLE "all memories" (key TEXT, content TEXT)')
        connection.execute("INSERT INTO versions VALUES (3)")
        rows = [("a1", TEXTS[0]), ("a2", TEXTS[1])]
        connection.executemany('INSERT INTO "all memories" VALUES (?, ?)', rows)
    connection.close()


FILES = {
    "list.json": json.dumps(ROWS),
    "nested.json": json.dumps(
        {"version": 1, "data": {"results": ROWS, "took": [1, 2]}}
    ),
    "by_key.json": json.dumps({row["id"]: {"memory": row["memory"]} for row in ROWS}),
    "texts.json": json.dumps({"facts": TEXTS}),
    "deep.json": json.dumps(
        [{"id": "a1", "payload": {"data": text}} for text in TEXTS]
    ),
    "lines.jsonl": "\n".join(map(json.dumps, ROWS)),
    "table.csv": f"id,content,user\n1,{TEXTS[0]},u1\n2,{TEXTS[1]},u1\n",
    "MEMORY.md": f"---\nuser: ann\n---\n# Facts\n\n- {TEXTS[0]}\n- {TEXTS[1]}\n",
    "notes.txt": f"{TEXTS[0]}\n\nBela plays the violin\nin a band\n",
}


@pytest.mark.parametrize("name", [*FILES, "store.db"])
def test_the_texts_are_found_by_the_shape_of_the_file(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if name == "store.db":
        write_database(path)
    else:
        path.write_text(FILES[name], encoding="utf-8")
    dump = read_dump(path)
    memories = read_memories(dump, find_fields(dump))
    assert [memory.text for memory in memories] == TEXTS


def test_a_folder_is_read_whole_and_each_place_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people" / "ann.md").write_text(f"- {TEXTS[0]}\n", encoding="utf-8")
    (tmp_path / "bela.json").write_text(json.dumps([TEXTS[1]]), encoding="utf-8")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "other.md").symlink_to(tmp_path / "people" / "ann.md")
    dump = read_dump(tmp_path)
    assert dump.places == ["bela.json: [0]", "people/ann.md: line 1"]


def test_fields_are_told_by_what_stands_in_them(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    rows = [
        {**row, "created_at": 1767225600, "source": "a1", "access_count": 2}
        for row in ROWS
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    fields = find_fields(read_dump(path))
    assert (fields.text, fields.id, fields.date) == ("memory", "id", "updated_at")
    assert (fields.scope, fields.links) == (("user_id",), ("source",))
    assert fields.uses == "access_count"


@pytest.mark.parametrize(
    ("value", "is_date"),
    [
        ("2026-01-02", True),
        ("2026-01-02T03:04:05.678Z", True),
        (1767225600, True),
        (1767225600000, True),
        ("1767225600", True),
        (3, False),
        (10**400, False),
        ("2026", False),
        ("Ann", False),
        (True, False),
        (None, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_dates_are_iso_or_seconds(value: object, is_date: bool) -> None:
    assert (read_date(value) is not None) == is_date


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "not JSON"),
        ("a.jsonl", b'{"a": "b c"}\n[', "line 2: not JSON"),
        ("a.json", b"[]", "no memories"),
        ("a.json", b'{"a": [1, 2]}', "no memories"),
        ("a.txt", b"\xff\xfe", "byte 0 is not UTF-8"),
        ("a.db", b"SQL is fun" * 100, "not a SQLite database"),
        ("a.json", b'[{"n": 1}]', "no field holds texts. It has n"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_reason(
    name: str,
    content: bytes,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main(["audit", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert name in error
    assert message in error


def test_a_missing_file_and_an_empty_folder_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(tmp_path / "gone.json")]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["audit", str(tmp_path)]) == 2
    assert "no memories in this folder" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["pipe.json", "pipe.db"])
def test_a_named_pipe_is_refused(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigurationError, match=r"regular|pipe"):
        read_dump(tmp_path / name)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.json"
    row = {**ROWS[0], "id": "a3", "memory": f"{TEXTS[0]} <b>"}
    copy = {**ROWS[0], "id": "a4"}
    path.write_text(json.dumps([*ROWS, row, copy]), encoding="utf-8")
    return path


def test_counts_shares_and_evidence_are_printed(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(dump)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "4 memories in dump.json: text from memory, ids from id, dates from updated_at, apart by user_id"
    )
    assert (
        "       1   25.0%  duplicate: has the same words as an earlier memory" in lines
    )
    assert any(line.strip().startswith("[3]: Ann lives in Riga") for line in lines)


@pytest.mark.parametrize(
    ("limit", "status"),
    [("duplicate=25%", 0), ("duplicate=0.2", 1), ("near-duplicate=0", 1)],
)
def test_a_limit_decides_the_exit_status(
    limit: str, status: int, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(dump), f"--at-most={limit}"]) == status
    assert ("are allowed" in capsys.readouterr().err) == bool(status)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("duplicates=5%", "Did you mean 'duplicate'?"),
        ("duplicate=many", "write KIND=SHARE"),
        ("duplicate=120%", "write KIND=SHARE"),
        ("duplicate", "write KIND=SHARE"),
    ],
)
def test_a_limit_that_is_none_is_explained(
    limit: str, message: str, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(dump), f"--at-most={limit}"]) == 2
    assert message in capsys.readouterr().err


def test_a_field_that_is_not_there_is_named(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(dump), "--text=memori"]) == 2
    assert "Did you mean 'memory'?" in capsys.readouterr().err


def test_the_json_has_all_findings_and_the_page_escapes_them(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "audit.html"
    assert main(["audit", str(dump), "--json", f"--page={page}"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["kinds"]["duplicate"]["count"] == 1
    assert record["findings"][0] == {
        "kind": "duplicate",
        "place": "[3]",
        "evidence": TEXTS[0],
        "beside": "[0]",
    }
    written = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;" in written
    assert "<b>&" not in written


def test_a_log_of_retrievals_is_read_whatever_its_fields_are_called(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    lines = [{"query": "?", "hits": [{"ref": "a1"}, {"ref": "a3"}]}, {"hits": ["a4"]}]
    log.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["audit", str(dump), "--json", f"--retrieved={log}"]) == 0
    record = json.loads(capsys.readouterr().out)
    unused = [
        finding["place"]
        for finding in record["findings"]
        if finding["kind"] == "never retrieved"
    ]
    assert unused == ["[1]"]
