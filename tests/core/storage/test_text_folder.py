"""A folder of texts and a workspace: six commands change files; changes are recorded and can be reverted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ltm._core.storage.workspace import LONGEST_FILE, TextFolder, Workspace


@pytest.fixture
def folder(tmp_path: Path) -> TextFolder:
    made = TextFolder(tmp_path / "inside")
    made.root.mkdir()
    return made


def test_the_six_commands_read_and_change_files(folder: TextFolder) -> None:
    assert (
        folder("create", path="/notes/a.md", file_text="one\ntwo")
        == "wrote /notes/a.md"
    )
    assert folder("insert", path="notes/a.md", insert_line=1, insert_text="half") != ""
    assert folder("view", path="notes/a.md").split() == [
        "1",
        "one",
        "2",
        "half",
        "3",
        "two",
    ]
    assert folder("view", path="notes/a.md", view_range=[2, -1]).split()[0] == "2"
    folder("str_replace", path="notes/a.md", old_str="two", new_str="three")
    folder("insert", path="notes/a.md", insert_text="four")
    assert folder.texts() == {"notes/a.md": "one\nhalf\nthree\nfour\n"}
    folder("rename", old_path="notes/a.md", new_path="b/c.md")
    assert folder("view") == "b/c.md"
    assert folder("view", path="b") == "b/c.md"
    folder("delete", path="b")
    assert folder.texts() == {}
    assert folder("view") == "(no files)"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"command": "look"}, "command is one of view, create"),
        ({}, "command is one of"),
        ({"command": "view", "path": "none.md"}, "there is no text file none.md"),
        ({"command": "create", "path": "a.md"}, "file_text is missing"),
        ({"command": "create", "path": 3, "file_text": ""}, "path is missing"),
        ({"command": "view", "path": 3}, "a path is a text"),
        ({"command": "create", "path": "../a", "file_text": ""}, "not in this folder"),
        ({"command": "view", "path": "/a/../../etc"}, "not in this folder"),
        ({"command": "delete", "path": "/"}, "there is no /"),
        ({"command": "delete", "path": "none"}, "there is no none"),
        ({"command": "rename", "old_path": "x", "new_path": "y"}, "there is no x"),
        (
            {"command": "create", "path": "dir", "file_text": ""},
            "dir cannot be written",
        ),
        (
            {"command": "create", "path": "twice.md/a", "file_text": ""},
            "error: ",
        ),
        ({"command": "create", "path": "n" * 300, "file_text": ""}, "error: "),
        (
            {"command": "str_replace", "path": "twice.md", "old_str": "a"},
            "2 times, not once",
        ),
        (
            {
                "command": "insert",
                "path": "twice.md",
                "insert_line": 9,
                "insert_text": "x",
            },
            "insert_line is 0 to 1",
        ),
        (
            {"command": "view", "path": "twice.md", "view_range": "all"},
            "view_range is the first",
        ),
    ],
)
def test_a_command_that_cannot_be_is_refused_with_the_reason(
    folder: TextFolder, arguments: dict[str, Any], why: str
) -> None:
    folder.write("twice.md", "a a")
    folder.write("dir/b.md", "b")
    before = folder.texts()
    result = folder(**arguments)
    assert result.startswith("error: ")
    assert why in result
    assert folder.texts() == before


def test_no_link_leads_out_of_the_folder(folder: TextFolder, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("hush")
    (folder.root / "link.md").symlink_to(outside)
    (folder.root / "all").symlink_to(tmp_path)
    assert folder.texts() == {}
    assert "not in this folder" in folder("view", path="link.md")
    assert "not in this folder" in folder("create", path="all/secret.md", file_text="x")
    assert outside.read_text() == "hush"


def test_what_is_no_text_or_too_long_is_left_out(folder: TextFolder) -> None:
    (folder.root / "image").write_bytes(b"\xff\xfe\x00")
    (folder.root / "long.txt").write_text("x" * (LONGEST_FILE + 1))
    (folder.root / ".git").mkdir()
    (folder.root / ".git" / "config").write_text("x")
    folder.write("short.txt", "x")
    assert [*folder.texts()] == ["short.txt"]


NAMES = st.sampled_from(["a.md", "b.md", "c/d.md"])
TEXTS = st.text(alphabet="ab\n", max_size=6)
STEPS = st.lists(
    st.tuples(st.sampled_from(["tool", "itself", "remove", "rename"]), NAMES, TEXTS),
    max_size=8,
)


@given(steps=STEPS)
def test_the_recorded_commands_come_to_the_same_files(
    steps: Sequence[tuple[str, str, str]],
) -> None:
    mine, again = Workspace(), Workspace()
    mine.folder.write("a.md", "before")
    again.folder.write("a.md", "before")
    for space in (mine, again):
        space.look()
    recorded: list[dict[str, Any]] = []
    for how, name, text in steps:
        if how == "itself":
            mine.folder.write(name, text)
        elif how == "remove":
            mine.folder.remove(name)
        else:
            create = {"command": "create", "path": name, "file_text": text}
            rename = {"command": "rename", "old_path": name, "new_path": f"{name}.old"}
            command = create if how == "tool" else rename
            recorded += mine.changes()
            mine.carry_out(**command)
            recorded.append(command)
    recorded += mine.changes()
    for command in recorded:
        again.carry_out(**command)
    assert again.folder.texts() == mine.folder.texts()


@given(steps=STEPS)
def test_a_failed_attempt_leaves_nothing_behind(
    steps: Sequence[tuple[str, str, str]],
) -> None:
    space = Workspace()
    space.folder.write("a.md", "before")
    space.look()
    for how, name, text in steps:
        if how == "remove":
            space.folder.remove(name)
        else:
            space.folder.write(name, text)
    space.put_back()
    assert space.folder.texts() == {"a.md": "before"}
