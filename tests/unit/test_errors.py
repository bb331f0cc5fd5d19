from __future__ import annotations

from pytest_ltm._storage.errors import did_you_mean, told


def test_an_exception_is_told_on_one_line() -> None:
    assert told(ValueError("first\nsecond")) == "ValueError: first"


def test_a_long_text_is_cut() -> None:
    assert len(told(ValueError("x" * 1000))) < 330


def test_control_characters_cannot_drive_the_terminal() -> None:
    assert told(ValueError("\x1b[31mred\u202e")) == r"ValueError: \x1b[31mred\u202e"


def test_an_exception_that_cannot_be_shown_is_told_all_the_same() -> None:
    class Rude(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert told(Rude()) == "Rude: (its text cannot be read)"


def test_only_a_near_name_is_suggested() -> None:
    assert did_you_mean("colors", ["colours", "jokes"]) == " Did you mean 'colours'?"
    assert did_you_mean("xyz", ["colours", "jokes"]) == ""
