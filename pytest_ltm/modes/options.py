"""The option of the spans of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm.api.session import IntegerParser, Option, OptionGroup

if TYPE_CHECKING:
    from pytest_ltm.modes.traces import SpanReceiver

# What takes in the spans of agents, where a run is to.
RECEIVER: pytest.StashKey[SpanReceiver] = pytest.StashKey()


def parse_traces_port(text: str) -> int | None:
    """Return the port on which spans are received: 0 for any, None where none is; ConfigurationError for another."""
    if not text:
        return None
    if text == "auto":
        return 0
    return IntegerParser(1)(text)


TRACES = Option(
    "--ltm-traces",
    "auto|PORT",
    "receive what an agent's memory does as OpenTelemetry spans, on this port of the machine, or a free one",
    group=OptionGroup.AGENTS,
    parse=parse_traces_port,
)
