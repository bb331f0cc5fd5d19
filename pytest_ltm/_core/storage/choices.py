"""A choice among words."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ltm._core.storage.errors import (
    ConfigurationError,
    did_you_mean,
)


def one_of(*known: str) -> Callable[[str], str]:
    """Return the reader of one of several words."""

    def read(text: str) -> str:
        if text not in known:
            raise ConfigurationError(
                f"{text!r} is not one of {', '.join(known)}.{did_you_mean(text, known)}"
            )
        return text

    return read
