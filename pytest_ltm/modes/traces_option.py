"""`--ltm-traces`: receives agents' spans during a run."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import pytest

from pytest_ltm.api.session import (
    IntegerParser,
    Option,
    OptionGroup,
    option_value,
    read_option,
)

if TYPE_CHECKING:
    from pytest_ltm.modes.span_receiver import SpanReceiver

# The receiver of agents' spans, if the run has one.
RECEIVER: pytest.StashKey[SpanReceiver] = pytest.StashKey()


def parse_traces_port(text: str) -> int | None:
    """Return the port for spans: 0 for any, None for no receiver; ConfigurationError for an invalid one."""
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


def receive_traces(config: pytest.Config) -> None:
    """Listen for agents' spans before agents are imported, because exporters read the environment then."""
    port = option_value(config, "ltm_traces")
    option = config.option
    if port is None or option.ltm_dry_run or option.ltm_rescore or option.collectonly:
        return
    if option_value(config, "ltm_time") not in ("simulated", "sleep"):
        raise pytest.UsageError(
            "--ltm-traces: spans are placed by their time, so --ltm-time is simulated or sleep"
        )
    try:
        importlib.import_module("opentelemetry.proto")
    except ImportError:
        raise pytest.UsageError(
            "--ltm-traces needs an extra. Install it with: pip install 'pytest-ltm[otel]'"
        ) from None
    from pytest_ltm.modes.span_receiver import SpanReceiver

    apart = option_value(config, "ltm_concurrency") != 1
    receiver = config.stash[RECEIVER] = read_option(
        config, "--ltm-traces", lambda: SpanReceiver(port, apart=apart)
    )
    variables_before = {name: os.environ.get(name) for name in receiver.variables}
    os.environ.update(receiver.variables)

    def close() -> None:
        receiver.close()
        for name, value in variables_before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    config.add_cleanup(close)
