"""For all tests: what Hypothesis may take, and the same output everywhere."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_server import ChatServer

# Where these are set pytest prints whole summary lines; what the runs inside the tests print must not depend on it.
for name in ("CI", "BUILD_NUMBER", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(name, None)

# A plain install has no Hypothesis, and pytest loads this file for `--ltm-suite` in this folder, too.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    # The same examples on every machine, and no time limit for one: machines that run several jobs are slow at times.
    settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """An OpenAI-compatible server on loopback, and no way to any other; see servers/chat_server.py."""
    from chat_server import serving  # noqa: PLC0415 - most tests do without

    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with serving() as server:
        yield server
