"""Question: one to a model beside the agent; Inquiry: to a judge; Prompt: what it is made from; Judge: who answers."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct

from pytest_ltm._language.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._model.agent import Reply


# Ends the reply of a model that had more to say, on record, too: it gives no grade.
CUT = "\n[cut off at the model's limit for a response]"
_LIMIT = 20_000
_AS_JSON = "Give the reply as a JSON object: your thoughts in the field `thoughts`, then the grade alone in `grade`."
# All that `parse_grade` might read, and a little more.
_VERDICT = lazy_pattern(r"grade(?=[\s*_`\"'\\\])}]*:)")
_DEFUSED = "g-r-a-d-e"
# What might pass for one of the lines of a fence.
_RAIL = lazy_pattern(r"[<>\uff1c\uff1e\u00ab\u00bb\u2039\u203a\u226a\u226b]{4,}")
_CODES = {
    "g": "0261 0581 050d 0262 13c0 ab90 a4d6",
    "r": "1d26 0433 0280 13a1 ab71 13d2 aba2 1587 a4e3",
    "a": "1d00 0430 03b1 0251 13aa ab7a 15e9 a4ee",
    "d": "0501 056a 0257 0256 1d05 13a0 ab70 15ea a4d3",
    "e": "0435 025b 03b5 0454 04bd 1d07 212e 13ac ab7c a4f0",
    ":": "2236 02d0 a789 0589 05c3 205a 02f8 a4fd 0703 0704 16ec 1361",
}
# Signs of other alphabets that a model may read, and repeat, as one of GRADE or a colon.
_LOOKALIKES = {chr(int(code, 16)): letter for letter, codes in _CODES.items() for code in codes.split()}
# The first of 26 letters in circles, squares and flags, and of letters that nobody sees.
_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6, 0xE0041, 0xE0061)
_LETTERS = 26
_UNSEEN_COLON = 0xE003A
# Letters and a pattern without ink.
_BLANK = "\u115f\u1160\u2800"


def fence_answer(answer: str, label: str = "ANSWER") -> str:
    """Return a text of the agent between two lines that occur nowhere in it.

    It is cut to what a judge can read, and whatever in it looks like a verdict is spelt so that nobody can read one,
    not even when the judge repeats it.
    """
    return fence_text(defuse_grades(shorten_for_judge(answer)), label)


def fence_text(text: str, label: str) -> str:
    """Return a text between two lines that occur nowhere in it."""
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    while digits[:8] in text:
        digits = hashlib.sha256(digits.encode()).hexdigest()
    mark = digits[:8]
    return f"<<<<< {label} {mark}\n{text}\n{mark} {label} >>>>>"


def defuse_grades(text: str) -> str:
    """Return the text with each `GRADE:` spelt apart, and each fence; also in signs that only look like it.

    In linear time.
    """
    letters, places = [], []
    for place, sign in enumerate(text):
        for letter in _looks_like(sign):
            letters.append(letter)
            places.append(place)
    parts, done = [], 0
    for match in _VERDICT.finditer("".join(letters)):
        start, end = places[match.start()], places[match.end() - 1] + 1
        parts += [text[done:start], _DEFUSED]
        done = end
    return _RAIL.sub(lambda rail: " ".join(rail[0]), "".join([*parts, text[done:]]))


def _looks_like(sign: str) -> str:
    """Return the plain letters that a sign looks like; "" for what nobody sees."""
    if sign.isascii():
        return sign.lower() if sign.isprintable() or sign.isspace() else ""
    code = ord(sign)
    if code == _UNSEEN_COLON:
        return ":"
    for first in _ALPHABETS:
        if 0 <= code - first < _LETTERS:
            return chr(ord("a") + code - first)
    parts = unicodedata.normalize("NFKD", sign)
    seen = "".join(part for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"})
    return "".join(_LOOKALIKES.get(part, part) for part in seen.casefold() if part not in _BLANK)


def shorten_for_judge(answer: str) -> str:
    """Return as much of a text as a model can read of it."""
    if len(answer) <= _LIMIT:
        return answer
    left_out = len(answer) - _LIMIT
    return f"{answer[: _LIMIT // 2]}\n[… {left_out:,} characters left out …]\n{answer[-_LIMIT // 2 :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One question to a model beside the agent, as it is asked."""

    prompt: str
    """The name of the prompt that it was made from."""
    version: int
    """The version of that prompt."""
    text: str
    """The whole question, the agent's words fenced; it says how the reply is to end."""
    vote: int = 0
    """How often the same was asked before."""

    @property
    def digest(self) -> str:
        """The hash of the whole question, by which a journal knows it."""
        return f"sha256:{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()}"

    @property
    def draw(self) -> int:
        """The seed that a chat model is given."""
        return self.vote

    @property
    def form(self) -> tuple[str, Mapping[str, Any]]:
        """The name of the JSON object that a chat model replies with, and the schema of each of its fields."""
        raise NotImplementedError

    @property
    def as_json(self) -> str:
        """The sentence that asks for that object, where `text` does not."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry(JudgeRequest):
    """One question to a judge, as it is asked."""

    grades: tuple[str, ...]
    """What the judge may say, in lower case."""
    fail: str
    """The grade that means failure: only this one is confirmed by further votes."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What was put into the prompt, for judges other than language models."""

    @property
    def form(self) -> tuple[str, Mapping[str, Any]]:
        """A verdict: the judge's thoughts, then the grade."""
        return "verdict", {"thoughts": {"type": "string"}, "grade": {"type": "string", "enum": list(self.grades)}}

    @property
    def as_json(self) -> str:
        """The sentence that asks for it."""
        return _AS_JSON


@runtime_checkable
class Judge(Protocol):
    """Grades an agent's answer: any object with this method."""

    def assess(self, inquiry: Inquiry, /) -> str | Reply:
        """Return the whole reply to `inquiry.text`, which ends with a line such as `GRADE: yes`.

        Args:
            inquiry: The question with the grades to choose from.

        Returns:
            The reply; a `pytest_ltm.Reply` also reports usage and cost.

        Raises:
            Exception: Whatever the model's client raises; it leaves the example Unscored, never a zero.
        """


class JudgePrompt(Struct, frozen=True):
    """A question for a judge, with a name and a version of its own."""

    name: str
    version: int
    text: str
    """Names its parts as `{part}`."""
    grades: tuple[str, ...] = ("yes", "no")
    """What the judge may say after `GRADE:`, in lower case."""
    fail: str = "no"
    """The grade that means failure."""
    quoted: tuple[str, ...] = ("answer",)
    """The parts that an agent wrote: fenced, so that nothing in them can pass for our words."""
    thinks: str = "Think first, in at most three sentences."
    """How the reply begins."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what is filled in, in the order in which the text has them."""
        return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(self.text) if name))

    @property
    def id(self) -> str:
        """`answer/1`."""
        return f"{self.name}/{self.version}"

    def inquiry(self, **parts: str) -> Inquiry:
        """Return the question about these parts."""
        return Inquiry(
            prompt=self.name, version=self.version, text=self.fill_prompt(**parts), grades=self.grades, fail=self.fail,
            parts=parts,
        )  # fmt: skip

    def fill_prompt(self, **parts: str) -> str:
        """Return the text with its parts, and with the way in which the reply is to end."""
        shown = {
            name: fence_answer(part, name.upper()) if name in self.quoted else part for name, part in parts.items()
        }
        whole = self.text.format_map(shown)
        menu = " or ".join(f"GRADE: {grade}" for grade in self.grades)
        return f"{whole}\n\n{self.thinks} Then end with one line, {menu}."
