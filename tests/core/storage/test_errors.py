from __future__ import annotations

import pytest

from pytest_ltm._core.storage.errors import describe_error, did_you_mean, text_of


def test_an_exception_is_told_on_one_line() -> None:
    assert describe_error(ValueError("first\nsecond")) == "ValueError: first"


def test_a_long_text_is_cut() -> None:
    assert len(describe_error(ValueError("x" * 1000))) < 330


def test_control_characters_cannot_drive_the_terminal() -> None:
    assert (
        describe_error(ValueError("\x1b[31mred\u202e"))
        == r"ValueError: \x1b[31mred\u202e"
    )


@pytest.mark.parametrize("raised", [RuntimeError(), SystemExit(0), GeneratorExit()])
def test_an_exception_that_cannot_be_shown_is_told_all_the_same(
    raised: BaseException,
) -> None:
    class Rude(Exception):
        def __str__(self) -> str:
            raise raised

    assert describe_error(Rude()) == "Rude: (its text cannot be read)"


def test_an_exception_whose_text_is_no_plain_text_is_told() -> None:
    class Sly(str):
        __slots__ = ()

        def strip(self, _: str | None = None) -> str:
            raise RuntimeError

    class Rude(Exception):
        def __str__(self) -> str:
            return Sly("the words")

    assert describe_error(Rude()) == "Rude: the words"
    assert type(text_of(Rude())) is str


def test_a_syntax_error_whose_line_is_no_text_is_told() -> None:
    error = SyntaxError("bad")
    error.text = 3  # type: ignore[assignment]
    assert describe_error(error) == "SyntaxError: bad"


def test_only_a_near_name_is_suggested() -> None:
    assert did_you_mean("colors", ["colours", "jokes"]) == " Did you mean 'colours'?"
    assert did_you_mean("xyz", ["colours", "jokes"]) == ""
