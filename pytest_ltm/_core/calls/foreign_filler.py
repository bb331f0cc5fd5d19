"""ForeignFiller: calls a foreign filler within a time limit, and checks its exchanges."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest_ltm._core.calls.airlock import (
    LONGEST_REPLY,
    Refuse,
    check_json,
    exact_scalar,
    exact_text,
    inherits,
    is_count,
    is_of_package,
    shown,
)
from pytest_ltm._core.calls.foreign import ForeignCaller
from pytest_ltm._core.model.filler import Filler, FillerExchange
from pytest_ltm._core.storage.errors import FillerError
from pytest_ltm._core.storage.secrets import redact_secrets

# Seconds allowed for creating one exchange.
_MAKING = 60.0


class ForeignFiller:
    """Calls a foreign filler; every failure is a FillerError."""

    def __init__(self, filler: object) -> None:
        self._filler = filler
        self._door = ForeignCaller("the filler", error=FillerError, timeout=_MAKING)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return the filler's next exchange."""
        exchange: FillerExchange = self._door.call_method(
            self._filler, "make", tokens, max_message_tokens, admit=check_filler
        )
        return exchange

    def configuration(self) -> Any:
        """Return the JSON value that the filler gives for the plan's fingerprint."""
        return self._door.call_method(
            self._filler, "configuration", admit=partial(check_json, where="the filler")
        )


def admit_filler(filler: Any) -> Filler:
    """Return a filler that is safe to call: one of ours unchanged; FillerError if it is not a filler."""
    if filler is None:
        raise FillerError(f"{shown(filler)} is not a filler")
    if is_of_package(type(filler)):
        ours: Filler = filler
        return ours
    return ForeignFiller(filler)


def check_filler(value: object, refuse: Refuse) -> FillerExchange:
    """Check and return the result of a filler's `make()`."""
    if not inherits(value, FillerExchange):
        raise refuse(f"make() returned {shown(value)}, not a FillerExchange")
    tokens = exact_scalar(value.message_tokens)
    return FillerExchange(
        _check_filler_text(value.message, refuse),
        _check_filler_text(value.expected_reply, refuse),
        tokens if type(tokens) is int and is_count(tokens) else None,
    )


def _check_filler_text(value: object, refuse: Refuse) -> str:
    if not inherits(value, str):
        raise refuse(f"make() returned {shown(value)} where a text is expected")
    text = exact_text(value)
    if len(text) > LONGEST_REPLY:
        raise refuse(
            f"make() returned {len(text):,} characters; a text has at most {LONGEST_REPLY:,}"
        )
    return redact_secrets(text)
