"""`rag:5:SPEC`: another agent that reads, for each message anew, the best matches of what was told, and nothing else.

The retrieval baseline of the LoCoMo paper (Maharana et al., 2024) over any model: by BM25, or by a function that gives
vectors of texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pytest_ltm._storage.dotted import DottedPath
from pytest_ltm._storage.errors import AgentError
from pytest_ltm.agents._adapt import AgentSource, Asks, capabilities, settled, source
from pytest_ltm.reader.general import announces
from pytest_ltm.reader.memory import Retrieving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._engine.agent import Reply
    from pytest_ltm._storage.schema import Field


Embeds: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]
"""Returns a vector for each text, all of one length."""
Finds: TypeAlias = Callable[[str], AgentSource]
_SPEC = re.compile(r"([1-9]\d{0,4}):(.+)", re.DOTALL)
_SHOWN = "These are parts of an earlier conversation:\n\n{parts}\n\nNow answer this:\n{message}"
_READ = "I have read it."


class Words:
    """The best matches by BM25."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def add(self, text: str) -> None:
        """Take in a text."""
        self._texts.append(text)

    def best(self, message: str, k: int) -> list[str]:
        """Return the best matches, the best first; what shares no word with the message is none."""
        memory = Retrieving(0, lambda _: 0, top=k)
        for text in (*self._texts, message):
            memory.arrive(text)
        memory.sees(0)
        return memory.shown()


class Vectors(Words):
    """The best matches by cosine of vectors; texts are embedded once, when they are first looked through."""

    def __init__(self, embeds: Embeds) -> None:
        super().__init__()
        self._embeds = embeds
        self._vectors: list[Sequence[float]] = []

    def best(self, message: str, k: int) -> list[str]:
        """Return the best matches, the best first."""
        new = self._texts[len(self._vectors) :]
        *fresh, asked = self._embeds([*new, message])
        if len(fresh) != len(new):
            raise AgentError(f"the embeddings function gave {len(fresh) + 1} vectors for {len(new) + 1} texts")
        self._vectors += fresh
        scores = [_cosine(asked, vector) for vector in self._vectors]
        ranked = sorted(range(len(scores)), key=lambda position: (-scores[position], position))
        return [self._texts[position] for position in ranked[:k]]


class Rag(Asks):
    """One conversation: keeps what it is told and has a model that knows nothing else read the best matches.

    A message that asks (it has a question mark) is answered and not kept, nor is a first one that announces what is to
    come. Resettable, AcceptsHistory, Configured, ShowsRetrieval.
    """

    def __init__(self, model: AgentSource, k: int, embeds: Embeds | None = None, name: str = "") -> None:
        super().__init__(model, tells=False)
        self._k, self._embeds, self._name = k, embeds, name
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._told = Vectors(self._embeds) if self._embeds else Words()
        self._empty = self._first = True
        self._best: list[str] = []

    def accept(self, message: str, reply: str) -> None:  # noqa: ARG002 - the protocol's signature
        """Keep the message."""
        self._told.add(message)
        self._empty = self._first = False

    async def reply(self, message: str) -> str | Reply:
        """Return the model's reply to the message, shown after the best matches."""
        self._best = [] if self._empty else self._told.best(message, self._k)
        agent = await self._blank()
        given: str | Reply = await settled(agent.reply(await self._shown(agent, message)))
        if "?" not in message and not (self._first and announces(message)):
            self.accept(message, "")
        self._first = False
        return given

    def retrieved(self) -> list[str]:
        """Return the texts that were shown for the last reply, the best match first."""
        return list(self._best)

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on."""
        return {"rag": 2, "k": self._k, "embeddings": self._name, "model": self._model.configuration(self._agent)}

    async def _shown(self, agent: Any, message: str) -> str:
        """Tell an agent that accepts history the matches, the best last; return what it is then sent."""
        if "AcceptsHistory" not in capabilities(agent):
            return _SHOWN.format(parts="\n\n".join(self._best), message=message) if self._best else message
        for text in reversed(self._best):
            await settled(agent.accept(text, _READ))
        return message


def make_rag(argument: str, parameters: Field, find: Finds) -> AgentSource:
    """Return the source of `rag:K:SPEC`, in a file with `embeddings: pkg.mod:function`; AgentError with a cure."""
    found = _SPEC.fullmatch(argument)
    if found is None:
        raise AgentError(f"agent 'rag:{argument}': write how many matches and which agent: 'rag:5:openai:MODEL'")
    fields = parameters.mapping(known=("embeddings",))
    path = fields["embeddings"].text("a dotted path such as mypkg.vectors:embed") if "embeddings" in fields else ""
    embeds = _function(path) if path else None
    model, k = find(found[2]), int(found[1])
    return source(lambda: Rag(model, k, embeds, path), spec=f"rag:{argument}")


def _function(path: str) -> Embeds:
    found = DottedPath(path, what="embeddings", error=AgentError).resolve()
    if not callable(found):
        raise AgentError(f"embeddings: {path!r} is not a function of a list of texts")
    return cast(Embeds, found)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    size = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / size if size else 0.0
