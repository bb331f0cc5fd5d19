"""A model that writes data for a data set: what it needs beside the client."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.lab.author import AskedModel, _complete_with_retries


def test_a_model_that_writes_without_what_the_extra_brings_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    client: Any = None
    with pytest.raises(DatasetError, match=r"pip install 'pytest-ltm\[openai\]'"):
        _complete_with_retries(client, AskedModel("openai:m", str), "Write.")
