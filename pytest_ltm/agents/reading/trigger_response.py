"""Rules such as "whenever I mention X, say Y": kept, and followed when a message is about X."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm.agents.reading._notes import Notebook, Turn

_RULE = re.compile(
    r"\b(?:whenever|each time(?: that)?|every time(?: that)?|as soon as)\s+(?P<when>I\b.{2,200}?),?\s+"
    r"(?:then |please |you )*"
    r"(?:say|reply with|answer with)\b[^\"':]{0,30}:\s*(?P<quote>[\"'])(?P<say>.{3,400})(?P=quote)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_MENTION = re.compile(r"\bmention (.+)", re.IGNORECASE | re.DOTALL)
_FORGET = re.compile(r"^\W*(?:\w+ ){0,3}?(?:cancel|forget|drop|disregard)\b.*\bsay\b.*\bwhenever\b", re.IGNORECASE)
_QUOTED = re.compile(r"'([^']+)'")
_WORD = re.compile(r"[^\W\d_]+")
_RUNS = re.compile(r"(.)\1+")
_ABOUT_IT = 0.25
"""The least share of a message's telling words that the rule names too, where it does not say "mention"."""
_SHORT = 120
"""Characters of the longest message that is held against rules that do not say "mention"."""
_COMMON = frozenset(
    """am an and are ask as desire did do does don eat express for from have how i in instead is it me my of or pretty
    please s say some t that the then this to very was well what when with write you your""".split()  # noqa: SIM905 - reads best
)


class TriggerResponse:
    """Keeps rules and says the sentence of the newest one that a message is about."""

    def respond(self, turn: Turn, notes: Notebook) -> str | None:
        """Note a rule, follow one, drop all on request."""
        if not turn.brief:
            return None
        if _FORGET.search(turn.text):
            notes.drop("rule")
            return "Forgotten."
        told = _RULE.search(html.unescape(turn.text))
        if told is not None:
            notes.add(turn, "rule", {"when": told["when"], "say": told["say"]})
            return "I will."
        rules = (note.content for note in notes.visible("rule"))
        return next((rule["say"] for rule in rules if _about(rule["when"], turn.text)), None)


def _about(when: str, text: str) -> bool:
    """Tell whether a message is what a rule waits for."""
    mention = _MENTION.search(when)
    if mention is not None:
        return re.search(rf"\b{re.escape(mention[1].strip())}\b", text, re.IGNORECASE) is not None
    if len(text) > _SHORT:
        return False
    quoted = _QUOTED.findall(when)
    if quoted:
        return _squeezed(quoted[0]) in {_squeezed(word) for word in _WORD.findall(text)}
    said, wanted = _telling(text), _telling(when)
    return bool(said) and len(said & wanted) >= _ABOUT_IT * len(said)


def _squeezed(word: str) -> str:
    """Return the letters of a word, those in a row once: `Achooo!` and `achoo` are the same."""
    return _RUNS.sub(r"\1", "".join(_WORD.findall(word)).lower())


def _telling(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in (found.lower() for found in _WORD.findall(text)) if word not in _COMMON)


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|s)$", "", word)
