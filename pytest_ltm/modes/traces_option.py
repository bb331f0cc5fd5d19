"""`--ltm-traces`: spans of agents are received while a run lasts."""

from __future__ import annotations

import importlib
import os

import pytest

from pytest_ltm.api.session import option_value, read_option
from pytest_ltm.modes.options import RECEIVER


def receive_traces(config: pytest.Config) -> None:
    """Listen for the spans of agents, before anything of them is imported: exporters read the environment then."""
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
    from pytest_ltm.modes.traces import SpanReceiver

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
