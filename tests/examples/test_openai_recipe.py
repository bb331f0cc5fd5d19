"""The recipe of a chat model, against a server on loopback that answers as the embedded reader."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from _commands import ROOT, run
from chat_server import ChatServer

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)


@WHOLE_RUN
def test_the_recipe_of_a_chat_model_works(
    tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(
        ROOT / "conftest_examples" / "openai_agent", tmp_path / "recipe"
    )
    command = "pytest --ltm-agent=patient.yml,full=ts:openai:gpt-5-mini --ltm-span=4k test_allergy.py"
    assert command in (folder / "README.md").read_text(encoding="utf-8")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "planted-5d2e")
    chat_server.reads("full")
    chat_server.key = "planted-5d2e"
    # as for that model
    chat_server.not_taken = frozenset({"max_tokens", "temperature"})
    output = run(command, folder)
    assert output.counts() == {"passed": 1, "failed": 1}, "\n".join(output.lines)
    assert "allergy 0.00 1.00" in output.lines
    assert "planted-5d2e" not in "\n".join(output.printed)


def test_the_page_has_every_endpoint_and_setting() -> None:
    from pytest_ltm.providers import PARAMETERS
    from pytest_ltm.providers.chat_model import ENDPOINTS

    page = (ROOT / "docs" / "openai.md").read_text(encoding="utf-8")
    for name, endpoint in ENDPOINTS.items():
        [row] = [
            line
            for line in page.splitlines()
            if f"`{name}`" in line and f"`{endpoint.base_url}`" in line
        ]
        assert (f"`{endpoint.key_env}`" if endpoint.key_env else "no key") in row
    for name in (*PARAMETERS, "system", "context", "tokenizer"):
        assert f"| `{name}` |" in page
