"""ForeignFiller: a filler that is not ours, called in time, whose exchanges are checked."""

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

# Seconds that a filler may take for one exchange.
_MAKING = 60.0


class ForeignFiller:
    """Calls a filler of somebody else; FillerError for whatever goes wrong."""

    def __init__(self, filler: object) -> None:
        self._filler = filler
        self._door = ForeignCaller("the filler", error=FillerError, timeout=_MAKING)

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return the exchange that it makes."""
        exchange: FillerExchange = self._door.call_method(
            self._filler, "make", tokens, max_message_tokens, admit=check_filler
        )
        return exchange

    def configuration(self) -> Any:
        """Return the JSON value that it tells for the plan's fingerprint."""
        return self._door.call_method(
            self._filler, "configuration", admit=partial(check_json, where="the filler")
        )


def admit_filler(filler: Any) -> Filler:
    """Return a filler that can be asked anywhere: one of ours as it is; FillerError for what is none."""
    if filler is None:
        raise FillerError(f"{shown(filler)} is not a filler")
    if is_of_package(type(filler)):
        ours: Filler = filler
        return ours
    return ForeignFiller(filler)


def check_filler(value: object, refuse: Refuse) -> FillerExchange:
    """Return what a filler's `make()` returned."""
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
