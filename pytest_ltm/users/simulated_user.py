"""ModelledUser: a simulated user; the prompts of its model, and how a reply becomes a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Any

from pytest_ltm.api.model import (
    SPOKEN,
    Exchange,
    has_phrase,
    plain_words,
    space_delimited,
)
from pytest_ltm.api.scenarios import CUT, JudgeRequest, fence_text, shorten_for_judge
from pytest_ltm.api.storage import (
    ScenarioError,
    UserError,
    lazy_pattern,
    load_packaged_yaml,
)
from pytest_ltm.language.json_values import json_values

# Attempts of its model for one message.
TRIES = 3
# Maximum characters of a message.
LONGEST_MESSAGE = 8_000
# A shorter goal may legitimately occur in a message.
_GOAL_WORDS = 4
_TEXTS: Mapping[str, Any] = load_packaged_yaml(__file__, "user_prompt.yml")
_LABEL = lazy_pattern(r"\A\s*(?:the )?(?:person|user|human|me)\s*:\s*", re.IGNORECASE)
_OTHER_SIDE = lazy_pattern(
    r"^\W*(?:the )?(?:assistant|chatbot|ai)\s*:|\bas an? (?:ai|language model)\b|\bhow (?:can|may) i (?:help|assist)\b",
    re.IGNORECASE | re.MULTILINE,
)
_YES = frozenset({"true", "yes", "done", "1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQuestion(JudgeRequest):
    """One question to a user's model: what the person writes next."""

    turn: int
    """The number of messages that the user has sent."""
    facts: tuple[str, ...] = ()
    """The facts that it must still mention."""
    left: int = 1
    """The number of messages that it may still send, including this one."""
    seed: int = 0
    """The user's seed, derived from the run's."""

    @property
    def draw(self) -> int:
        """The seed for a chat model."""
        return self.seed + self.vote

    @property
    def form(self) -> tuple[str, Mapping[str, Any]]:
        """A message, and whether it is the last."""
        return "message", {"message": {"type": "string"}, "done": {"type": "boolean"}}


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of a user's model."""

    text: str
    """The message; "" if nothing is left to say."""
    done: bool
    """Whether the user is finished after it."""


class ModelledUser:
    """A simulated user in one scenario: a model with a goal, which talks to the agent as `ltm.say` does.

    Created by `ltm.user`. Its model sees this scenario's messages so far, and the
    agent's replies.

    Args:
        goal: The user's goal, visible to its model only.
        ask: Returns the model's reply to a question.
        send: Sends a message and returns the agent's reply.
        heard: Returns the scenario's exchanges so far.
        facts: Facts that its messages must mention before it is finished.
        turns: The maximum number of its messages.
    """

    def __init__(
        self,
        goal: str,
        *,
        ask: Callable[[UserQuestion], str],
        send: Callable[[str], str],
        heard: Callable[[], Sequence[Exchange]],
        facts: Iterable[str] = (),
        turns: int,
    ) -> None:
        self.goal = goal
        """Its goal."""
        self.facts = (facts,) if isinstance(facts, str) else tuple(facts)
        """The facts that it must mention, in these words."""
        self.turns = turns
        """The maximum number of its messages."""
        self.done = False
        """Whether its model has declared the user finished."""
        self._ask = ask
        self._send = send
        self._heard = heard
        self._said: list[str] = []
        if not goal.strip() or not all(map(plain_words, self.facts)) or turns < 1:
            raise ScenarioError(
                f"ltm.user({goal!r}, facts={self.facts!r}, turns={turns!r}): give a goal, facts of at least one word, "
                "and at least one turn"
            )

    def __repr__(self) -> str:
        """Return a text that is the same in every run."""
        return f"<user, {len(self._said)} of {self.turns} messages said>"

    @property
    def said(self) -> tuple[str, ...]:
        """Its messages so far: what a question may be `about`."""
        return tuple(self._said)

    def telling(self, fact: str) -> str:
        """Return the first of its messages that mentions a fact, for `ltm.ask(..., about=user.telling(fact))`.

        Args:
            fact: Consecutive words of the message, ignoring case.

        Raises:
            ScenarioError: If there is no such message.
        """
        for message in self._said:
            if has_phrase(space_delimited(message), fact):
                return message
        raise ScenarioError(
            f"the user never said {fact!r}. Name it in ltm.user(facts=[…]), and let it talk first"
        )

    def say(self) -> str | None:
        """Make the model write one message, send it, and return the agent's reply.

        Returns:
            The reply; None if no message was sent, because the user is finished or has no turn left.

        Raises:
            UserError: If the model fails, or writes nothing that a user could say; the
                example is left unscored.
        """
        __tracebackhide__ = True
        if self.done or not self._left:
            return None
        line = self._next()
        self.done = line.done
        if not line.text:
            return None
        self._said.append(line.text)
        return self._send(line.text)

    def talk(self, turns: int | None = None) -> list[Exchange]:
        """Let the user and the agent talk until the user is finished.

        Args:
            turns: The maximum number of messages; by default as many as the user has left.

        Returns:
            The exchanges.

        Raises:
            UserError: As `say` does.
        """
        __tracebackhide__ = True
        exchanges_before = len(self._heard())
        for _ in range(self._left if turns is None else turns):
            if self.say() is None:
                break
        return list(self._heard()[exchanges_before:])

    @property
    def _left(self) -> int:
        return self.turns - len(self._said)

    def _has_told(self, fact: str) -> bool:
        return any(has_phrase(space_delimited(text), fact) for text in self._said)

    def _next(self) -> UserMessage:
        """Return the next message; UserError if the model does not write one in `TRIES` attempts."""
        untold = tuple(fact for fact in self.facts if not self._has_told(fact))
        prompt = self._prompt(untold)
        wrong = ""
        # The prompt of each further attempt says what was wrong with the last one.
        for vote in range(TRIES):
            text = prompt
            if wrong:
                text += f"\n\n{_fill_template('again', wrong=wrong)}"
            question = UserQuestion(
                prompt="user",
                version=_TEXTS["version"],
                text=text,
                vote=vote,
                turn=len(self._said),
                facts=untold,
                left=self._left,
            )
            try:
                return self._line(self._ask(question), untold)
            except ValueError as error:
                wrong = str(error)
        reason = f"the simulated user does not play its part: its model {wrong} ({TRIES} times)"
        raise UserError(reason, cause="unscored")

    def _line(self, reply: str, untold: Sequence[str]) -> UserMessage:
        """Return the message in a reply; ValueError, with the reason, if no user could say it."""
        line = read_line(reply)
        message = line.text
        if len(message) > LONGEST_MESSAGE:
            raise ValueError(
                f"gave a message of {len(message):,} characters; at most {LONGEST_MESSAGE:,} are accepted"
            )
        other_side = _OTHER_SIDE.search(message)
        if other_side is not None:
            raise ValueError(f"spoke as the assistant: {other_side[0].strip()!r}")
        if len(plain_words(self.goal)) >= _GOAL_WORDS and has_phrase(
            space_delimited(message), self.goal
        ):
            raise ValueError("repeated its goal instead of pursuing it")
        if not message and not (line.done and self._said):
            if line.done:
                raise ValueError("was finished before it had said anything")
            raise ValueError("gave no message")
        is_last = line.done or self._left == 1
        for fact in untold if is_last else ():
            if not has_phrase(space_delimited(message), fact):
                raise ValueError(f"ended without saying {fact!r}")
        return line

    def _prompt(self, untold: Sequence[str]) -> str:
        parts = []
        for exchange in self._heard():
            reply = shorten_for_judge(exchange.reply)
            parts.append(f"Person: {exchange.message}\nAssistant: {reply}")
        lines = "\n".join(parts)
        chat = _fill_template("begin")
        if lines:
            chat = _fill_template("chat", said=fence_text(lines, "CHAT"))
        facts = ""
        if untold:
            listed = "\n".join(f"- {fact}" for fact in untold)
            facts = _fill_template("facts", list=listed)
        turn_text = "last" if self._left == 1 else "left"
        turn = str(len(self._said) + 1)
        reminder = _fill_template(turn_text, number=turn, most=str(self.turns))
        return _fill_template(
            "message", goal=self.goal, facts=facts, chat=chat, left=reminder
        )


def read_line(reply: str) -> UserMessage:
    """Return the message in a model's reply, and whether it is the last; ValueError if there is none.

    It is a JSON object, bare, fenced or within prose; or a plain text, optionally
    followed by a line DONE.
    """
    text = SPOKEN(reply.removesuffix(CUT)).strip()
    for value in json_values(text):
        if isinstance(value, dict) and isinstance(value.get("message"), str):
            return UserMessage(
                _LABEL.sub("", value["message"]).strip(),
                str(value.get("done")).strip().lower() in _YES,
            )
    # Truncated, or with other fields: the agent would take it for a program's output.
    if text.startswith(("{", "[", "```")):
        raise ValueError("gave JSON without a message")
    body, _, last = text.rpartition("\n")
    is_done = [word.upper() for word in plain_words(last)] == ["DONE"]
    return UserMessage(_LABEL.sub("", body if is_done else text).strip(), is_done)


def _fill_template(name: str, **parts: str) -> str:
    return Template(_TEXTS[name]).substitute(parts)
