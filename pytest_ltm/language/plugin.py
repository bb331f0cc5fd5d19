"""The hook that extracts the speech from a reply by the marks of its format."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api import hookimpl


@hookimpl(trylast=True)
def pytest_ltm_speech(reply: str, tags: Sequence[str]) -> str:
    """Return an agent's speech in a reply, without thoughts, printed tool calls and end tokens."""
    from pytest_ltm.language.speech import speech

    return speech(reply, tags=tags)
