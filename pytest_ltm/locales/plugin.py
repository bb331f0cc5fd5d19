"""Languages: what we say to an agent in the one that it is talked to in."""

from __future__ import annotations

from pytest_ltm.api import hookimpl


@hookimpl(trylast=True)
def pytest_ltm_translate(text: str, language: str) -> str:
    """Return how a language says a whole message of ours; the English one if it has none."""
    if language == "en":
        return text
    from pytest_ltm.locales import parse_languages

    return parse_languages({"language": language}).told.message(text)
