"""Languages: translates our own messages to an agent into the language of the conversation."""

from __future__ import annotations

from pytest_ltm.api import hookimpl


@hookimpl(trylast=True)
def pytest_ltm_translate(text: str, language: str) -> str:
    """Return a whole message of ours in a language; the English one if it has no translation."""
    if language == "en":
        return text
    from pytest_ltm.locales import parse_languages

    return parse_languages({"language": language}).told.message(text)
