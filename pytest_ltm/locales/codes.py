"""The available languages, by their codes."""

from __future__ import annotations

from pathlib import Path

from pytest_ltm.api.storage import ConfigurationError, did_you_mean

CODES = (
    "en",
    *sorted(path.parent.name for path in Path(__file__).parent.glob("*/texts.yml")),
)


def check_code(code: str) -> None:
    """Raise ConfigurationError for the code of a language without texts."""
    if code not in CODES:
        raise ConfigurationError(
            f"no scenario is written in {code!r}.{did_you_mean(code, CODES)} There are: {', '.join(CODES)}"
        )


def split_languages(choice: str) -> tuple[str, str]:
    """Return the codes of the languages that an example is told in and asked in: `de`, or `en:de`."""
    told, _, asked = choice.partition(":")
    return told, asked or told


def parse_language_list(text: str) -> tuple[str, ...]:
    """Return the languages in a list such as `de,en:de`; ConfigurationError for an invalid one."""
    choices = tuple(map(str.strip, text.split(",")))
    for place, choice in enumerate(choices):
        for code in split_languages(choice):
            check_code(code)
        if choice in choices[:place]:
            raise ConfigurationError(f"{choice!r} is given twice")
    return choices
