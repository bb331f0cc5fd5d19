"""Who writes for `--model`: a chat model, a function, or any agent that answers a prompt without knowing another."""

from __future__ import annotations

from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._calls.retry import Retries
from pytest_ltm._lab.author import AskedModel, asked_model
from pytest_ltm._storage.errors import AgentError, DatasetError
from pytest_ltm.agents._caller import AgentCaller
from pytest_ltm.agents._registry import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.agents._adapt import AgentSource


_AGENTS = ("http:", "https:", "cmd:")
_FILES = (".yml", ".yaml")
_SECONDS, _MORE = 300.0, 3


@contextmanager
def author(spec: str) -> Iterator[AskedModel]:
    """Yield what the spec means: of an agent a new one answers each prompt. DatasetError if it means nothing."""
    if not spec.startswith(_AGENTS) and not spec.endswith(_FILES):
        with asked_model(spec) as asked:
            yield asked
        return
    try:
        source = find(spec)
    except AgentError as error:
        raise DatasetError(f"--model {spec}: {error}") from error
    yield AskedModel(spec, lambda prompt: _answer(source, prompt))


def _answer(source: AgentSource, prompt: str) -> str:
    speaker = AgentCaller(
        source.make(), timeout=_SECONDS, name=source.spec, owned=source.owned, retries=Retries(most=_MORE, rng=Random())
    )
    try:
        return speaker.ask(prompt).text
    finally:
        speaker.close()
