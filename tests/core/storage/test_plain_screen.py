"""On terminals that cannot show our symbols, output falls back to ASCII without errors."""

from __future__ import annotations

import io

import pytest

from pytest_ltm._core.storage.sanitize import Screen
from pytest_ltm.reports.safe_output import _PYTESTS

TEXT = "colours 0/3 at 32k: caf\u00e9 … ─── 0.53≤\n"


@pytest.mark.parametrize(
    ("encoding", "term", "shown"),
    [
        ("utf-8", "xterm", TEXT),
        ("utf-8", "dumb", "colours 0/3 at 32k: caf\u00e9 ... --- 0.53<\n"),
        ("ascii", "xterm", "colours 0/3 at 32k: caf\\xe9 ... --- 0.53<\n"),
        ("cp1252", "xterm", "colours 0/3 at 32k: caf\u00e9 ... --- 0.53<\n"),
    ],
)
def test_signs_come_out_as_the_terminal_can_show_them(
    monkeypatch: pytest.MonkeyPatch, encoding: str, term: str, shown: str
) -> None:
    monkeypatch.setenv("TERM", term)
    buffer = io.BytesIO()
    file = io.TextIOWrapper(buffer, encoding=encoding, newline="")
    Screen(file).write(TEXT)
    file.flush()
    assert buffer.getvalue().decode(encoding) == shown


@pytest.mark.parametrize(
    "text", ["\rcollected 3 items", "\x1b[1m\rcollected 3 items\x1b[0m"]
)
def test_pytest_may_go_back_to_the_beginning_of_its_line(text: str) -> None:
    file = io.StringIO()
    Screen(file, _PYTESTS).write(text)
    assert file.getvalue() == text


def test_a_key_that_is_coloured_in_parts_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACME_API_KEY", "9f+Quince/Marmalade=47&Teapot")
    coloured = "\x1b[32m9f+Quince/\x1b[33mMarmalade\x1b[0m=\x1b[1;36m47\x1b[0m&Teapot\n"
    file = io.StringIO()
    screen = Screen(file)
    screen.write(f"key: {coloured}")
    screen.write("\x1b[32mgreen\x1b[0m\n")
    assert file.getvalue() == "key: [redacted $ACME_API_KEY]\n\x1b[32mgreen\x1b[0m\n"
