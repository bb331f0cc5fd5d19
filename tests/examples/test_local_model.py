"""The recipe of a real local model; without an installation it is tried at night."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest
from _commands import ROOT

from pytest_ltm.api.storage import sleep_interruptibly
from pytest_ltm.providers import open_model, read_model

FOLDER = ROOT / "conftest_examples" / "local_model"


@pytest.mark.nightly("a language model of 135 million parameters computes", every=1)
def test_the_server_of_the_recipe_replies_and_serves_what_it_has_read_from_its_cache() -> (
    None
):
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "server.py", "1024", str(port)],
        cwd=FOLDER,
        env=dict(os.environ),
    )
    try:
        while server.poll() is None and _refuses(port):
            sleep_interruptibly(0.1)
        model = open_model(
            read_model(
                f"openai:SmolLM2@127.0.0.1:{port}/v1?max_tokens=8", role="agent"
            )[0]
        )
        question = {
            "role": "user",
            "content": "My cat is called Miso. " * 10 + "What is my cat called?",
        }
        first, second = model.complete([question]), model.complete([question])
        model.close()
    finally:
        server.kill()
        server.wait()
    assert first.text
    assert first.finish_reason in {"stop", "length"}
    assert second.used.input is not None
    assert second.used.cached > second.used.input / 2


def _refuses(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
