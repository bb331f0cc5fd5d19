"""`--ltm-users` for agents: conversations are users of one agent, and texts that cross are leaks."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import Any

from pytest_ltm.agents.capabilities import (
    capabilities_of,
    closing_method,
    shown_capabilities,
    takes_user,
    user_arguments,
)
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.sources import AgentSource, grant_capabilities
from pytest_ltm.agents.told_values import SENTENCE_END, ToldValues
from pytest_ltm.agents.wrapping import finish_result
from pytest_ltm.api.storage import AgentFault

_MEMORY_SYSTEM = "memory"
_SERVERS = frozenset({"http", "https"})
"""Kinds whose agents share one server anyway."""
# Implemented by this module, or impossible because the call has no user.
_OWN = frozenset(
    {"SeparatesUsers", "AcceptsHistory", "TakesTools", "AcceptsImages", "AnswersAlone"}
)
# Not available on an object that all users share: it would affect all of them, or has
# no user.
_OF_ALL = _OWN | {
    "Resettable",
    "Checkpointable",
    "Compacts",
    "KeepsUsers",
    "Stateless",
    "ReportsUsage",
    "ShowsRetrieval",
    "ShowsContext",
    "ShowsWrites",
    "DeletesRecords",
}
_WORD = re.compile(r"\w+")
_WORDS = 5
"""Words of a sentence that is long enough not to be repeated by chance."""
_SHOWN = 80


class ToldSentences:
    """The sentences that users told one agent, by the words that only one of them used, and their values."""

    def __init__(self) -> None:
        self._values = ToldValues()
        self._owners: dict[str, str] = {}
        """The only user of a word; "" if several used it."""
        self._sentences: dict[str, list[str]] = {}
        """The sentences of that user with the word."""
        self._lock = threading.Lock()

    def note(self, text: str, user: str) -> None:
        """Store what a user told."""
        self._values.note(text, user)
        with self._lock:
            for sentence in SENTENCE_END.split(text):
                words = _WORD.findall(sentence.casefold())
                for word in dict.fromkeys(words):
                    self._note_word(
                        word, user, sentence if len(words) >= _WORDS else ""
                    )

    def _note_word(self, word: str, user: str, sentence: str) -> None:
        if self._owners.setdefault(word, user) != user:
            self._owners[word] = ""
            self._sentences.pop(word, None)
        elif sentence:
            self._sentences.setdefault(word, []).append(sentence)

    def find_strange(
        self, reply: str, user: str, message: str
    ) -> tuple[str, str] | None:
        """Return a sentence that only another user told, and that user; None if there is none.

        The reply repeats the sentence, or asserts its value.
        """
        if repeated := self._find_repeated(reply, user):
            return repeated
        value = self._values.find_strange(reply, user, message)
        return (value.sentence, value.user) if value else None

    def _find_repeated(self, text: str, user: str) -> tuple[str, str] | None:
        words = _WORD.findall(text.casefold())
        line = f" {' '.join(words)} "
        with self._lock:
            for word in dict.fromkeys(words):
                owner = self._owners.get(word, "")
                if owner in {"", user}:
                    continue
                for sentence in self._sentences.get(word, ()):
                    if f" {' '.join(_WORD.findall(sentence.casefold()))} " in line:
                        return sentence, owner
        return None


class SharedAgent:
    """Creates the agent of each user: one server's client, or one object for all of them."""

    def __init__(self, source: AgentSource) -> None:
        self._source = source
        self._sentences = ToldSentences()
        self._is_server = source.kind in _SERVERS
        self._lock = threading.Lock()
        self._agent: Any = None

    def make(self, conversation_id: str) -> Any:
        """Return the agent of a conversation; an agent that takes no user is created for each conversation."""
        with self._lock:
            agent = self._source.make() if self._agent is None else self._agent
            if "SeparatesUsers" not in capabilities_of(agent):
                return agent
            if not self._is_server:
                self._agent = agent
        return OneUser(
            agent, conversation_id, self._sentences, is_shared=not self._is_server
        )


def share_agents(source: AgentSource) -> AgentSource:
    """Return a source whose agents are users of one agent or server; other sources are returned unchanged."""
    if not can_share(source):
        return source
    is_told = not source.owned and "SeparatesUsers" in shown_capabilities(
        source.definition
    )
    refusal = "" if is_told else source.refusal
    make: Any = SharedAgent(source).make
    return replace(source, produce=make, refusal=refusal)


def can_share(source: AgentSource) -> bool:
    """Return whether several users can share one agent or server of this source, if it is told the user."""
    is_object = not source.kind and not source.apart and not source.embedded
    return is_object or source.kind in _SERVERS | {_MEMORY_SYSTEM}


class OneUser:
    """A user's view of an agent that serves several users. Leaks are AgentFaults with `leak`.

    It has the agent's capabilities except those that affect all users.
    """

    def __init__(
        self, agent: Any, user: str, sentences: ToldSentences, *, is_shared: bool
    ) -> None:
        """`is_shared`: others use the same agent, so closing this one does not close it."""
        self._agent = agent
        self._user = user
        self._sentences = sentences
        having = capabilities_of(agent)
        abilities = having - (_OF_ALL if is_shared else _OWN)
        grant_capabilities(self, abilities, wrapped=agent)
        if not is_shared and (closing := closing_method(agent)):
            setattr(self, closing, getattr(agent, closing))
        if "AcceptsHistory" in having and takes_user(agent.accept):
            self.accept = self._accept

    def reply(self, message: str, user: str = "") -> Any:
        """Return the agent's reply to this user.

        Raises AgentFault with `leak` if the reply contains what only another user told.
        """
        name = self._name(user)
        self._sentences.note(message, name)
        arguments = user_arguments(self._agent.reply, self._scope(name))
        reply = self._agent.reply(message, **arguments)
        return finish_result(reply, lambda reply: self._check(reply, name, message))

    def _accept(self, message: str, reply: str, user: str = "") -> Any:
        name = self._name(user)
        self._sentences.note(message, name)
        arguments = user_arguments(self._agent.accept, self._scope(name))
        return self._agent.accept(message, reply, **arguments)

    def _name(self, user: str) -> str:
        return f"{self._user}.{user}" if user else self._user

    def _scope(self, name: str) -> Scope:
        return Scope(user=name, session=self._user)

    def _check(self, reply: Any, name: str, message: str) -> Any:
        """Return a reply that contains nothing of another user."""
        text = str(getattr(reply, "text", reply))
        if strange := self._sentences.find_strange(text, name, message):
            sentence, owner = strange
            fault = AgentFault(
                f"the agent replied to {name!r} with what only {owner!r} had told it: {sentence[:_SHOWN]!r}. The "
                f"message was {message[:_SHOWN]!r}"
            )
            fault.leak = True
            raise fault
        return reply
