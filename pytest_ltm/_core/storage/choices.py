"""A choice among words."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ltm._core.storage.errors import ConfigurationError, did_you_mean


def one_of(*choices: str) -> Callable[[str], str]:
    """Return the parser of one of several words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ConfigurationError(
                f"{text!r} is not one of {', '.join(choices)}.{did_you_mean(text, choices)}"
            )
        return text

    return read
