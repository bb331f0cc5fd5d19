"""The judge: its requests, the grade in a reply, votes that confirm a failure; `ltm_judge`; the prompts."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, convert

from pytest_ltm._core.model.agent import Reply
from pytest_ltm._core.model.opinion import Opinion
from pytest_ltm._core.model.score import Unscored
from pytest_ltm._core.model.transcript import SPOKEN
from pytest_ltm._core.storage.errors import JudgeError, describe_error
from pytest_ltm._core.storage.patterns import lazy_pattern
from pytest_ltm._core.storage.schema import load_packaged_yaml

# Ends a recorded reply that was cut at the model's limit: it gives no grade.
CUT = "\n[cut off at the model's limit for a response]"
# The maximum length of an answer shown to a judge: more would crowd the question out of
# a small model's context window.
_LIMIT = 20_000
_AS_JSON = "Give the reply as a JSON object: your thoughts in the field `thoughts`, then the grade alone in `grade`."
# Everything that `parse_grade` might read, and a little more.
_VERDICT = lazy_pattern(r"grade(?=[\s*_`\"'\\\])}]*[:>=])")
_DEFUSED = "g-r-a-d-e"
# Texts that could be mistaken for a line of a fence.
_RAIL = lazy_pattern(r"[<>\uff1c\uff1e\u00ab\u00bb\u2039\u203a\u226a\u226b]{4,}")
_CODES = {
    "g": "0261 0581 050d 0262 13c0 ab90 a4d6",
    "r": "1d26 0433 0280 13a1 ab71 13d2 aba2 1587 a4e3",
    "a": "1d00 0430 03b1 0251 13aa ab7a 15e9 a4ee",
    "d": "0501 056a 0257 0256 1d05 13a0 ab70 15ea a4d3",
    "e": "0435 025b 03b5 0454 04bd 1d07 212e 13ac ab7c a4f0",
    ":": "2236 02d0 a789 0589 05c3 205a 02f8 a4fd 0703 0704 16ec 1361",
}
# Signs of other alphabets that a model may read, and repeat, as a letter of GRADE or a
# colon.
_LOOKALIKES = {
    chr(int(code, 16)): letter
    for letter, codes in _CODES.items()
    for code in codes.split()
}
# The first of 26 letters in circles, squares and flags, and of invisible letters.
_ALPHABETS = (0x1F150, 0x1F170, 0x1F1E6, 0xE0041, 0xE0061)
_LETTERS = 26
_UNSEEN_COLON = 0xE003A
# Letters and a Braille pattern without ink.
_BLANK = "\u115f\u1160\u2800"


def fence_answer(answer: str, label: str = "ANSWER") -> str:
    """Return a text of the agent between two lines that do not occur in it.

    It is shortened to a judge's limit, and everything that looks like a verdict is
    spelt so that it cannot be parsed as one, even if the judge repeats it.
    """
    return fence_text(defuse_grades(shorten_for_judge(answer)), label)


def fence_text(text: str, label: str) -> str:
    """Return a text between two lines that do not occur in it."""
    # Derived from the text, so that the same question is the same in every run.
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    while digits[:8] in text:
        digits = hashlib.sha256(digits.encode()).hexdigest()
    mark = digits[:8]
    return f"<<<<< {label} {mark}\n{text}\n{mark} {label} >>>>>"


def defuse_grades(text: str) -> str:
    """Spell each `GRADE:` and each fence in a text apart, including lookalike signs.

    Takes linear time.
    """
    letters = []
    places = []
    for place, sign in enumerate(text):
        for letter in _looks_like(sign):
            letters.append(letter)
            places.append(place)
    parts = []
    position = 0
    for match in _VERDICT.finditer("".join(letters)):
        start = places[match.start()]
        end = places[match.end() - 1] + 1
        parts += [text[position:start], _DEFUSED]
        position = end
    return _RAIL.sub(lambda rail: " ".join(rail[0]), "".join([*parts, text[position:]]))


def _looks_like(sign: str) -> str:
    """Return the plain letters that a sign looks like; "" for an invisible one."""
    if sign.isascii():
        if sign.isprintable() or sign.isspace():
            return sign.lower()
        return ""
    code = ord(sign)
    if code == _UNSEEN_COLON:
        return ":"
    for first in _ALPHABETS:
        if 0 <= code - first < _LETTERS:
            return chr(ord("a") + code - first)
    parts = unicodedata.normalize("NFKD", sign)
    plain = "".join(
        part for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"}
    )
    return "".join(
        _LOOKALIKES.get(part, part) for part in plain.casefold() if part not in _BLANK
    )


def shorten_for_judge(answer: str) -> str:
    """Shorten a text to the part that a model can read."""
    if len(answer) <= _LIMIT:
        return answer
    # From both ends: a long answer has its conclusion at the end.
    left_out = len(answer) - _LIMIT
    return f"{answer[: _LIMIT // 2]}\n[… {left_out:,} characters left out …]\n{answer[-_LIMIT // 2 :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """A question to a model other than the agent, as it is sent."""

    prompt: str
    """The name of the prompt it was made from."""
    version: int
    """The version of that prompt."""
    text: str
    """The whole question, with the agent's words fenced and the format of the reply."""
    vote: int = 0
    """The number of earlier requests with the same question."""
    verbatim: bool = False
    """Whether a user wrote the text: it is sent unchanged, without a format for the reply."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Model parameters for a user's own text, by name."""

    @property
    def digest(self) -> str:
        """The hash of the whole question, which identifies it in a journal."""
        return f"sha256:{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()}"

    @property
    def draw(self) -> int:
        """The seed for a chat model."""
        return self.vote

    @property
    def form(self) -> tuple[str, Mapping[str, Any]]:
        """The name of the JSON object to be returned by a chat model, and the schema of each field."""
        raise NotImplementedError

    @property
    def as_json(self) -> str:
        """The sentence that asks for that object, if `text` does not."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry(JudgeRequest):
    """A question to a judge, as it is sent."""

    grades: tuple[str, ...]
    """The grades on offer, in lower case."""
    fail: str
    """The grade that means failure: only this one is confirmed by further votes."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """The values inserted into the prompt, for judges other than language models."""

    def grade_in(self, reply: str) -> str | Unscored:
        """Return the grade in a `reply`; Unscored if there is none.

        For a user's own prompt, "yes" anywhere in the speech is a yes, and everything
        else a no, as in LongMemEval; a truncated or empty reply is neither.
        """
        if self.verbatim:
            return _parse_plain_grade(reply)
        return parse_grade(reply, self.grades)

    @property
    def form(self) -> tuple[str, Mapping[str, Any]]:
        """A verdict: the judge's thoughts, then the grade."""
        return "verdict", {
            "thoughts": {"type": "string"},
            "grade": {"type": "string", "enum": list(self.grades)},
        }

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
            Exception: Any exception of the model's client; it leaves the example
                Unscored, never a zero.
        """


class JudgePrompt(Struct, frozen=True):
    """A question for a judge, with its own name and version."""

    name: str
    version: int
    text: str
    """Contains its parts as `{part}`."""
    grades: tuple[str, ...] = ("yes", "no")
    """The grades allowed after `GRADE:`, in lower case."""
    fail: str = "no"
    """The grade that means failure."""
    quoted: tuple[str, ...] = ("answer",)
    """The parts written by an agent: fenced, so that they cannot pass for our words."""
    thinks: str = "Think first, in at most three sentences."
    """The instruction for the beginning of the reply."""
    verbatim: bool = False
    """Whether a user wrote it: nothing is fenced or added."""
    parameters: Mapping[str, Any] = {}
    """Parameters for the judge's model."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, in the order of the text."""
        return tuple(
            dict.fromkeys(
                name for _, name, _, _ in Formatter().parse(self.text) if name
            )
        )

    @property
    def id(self) -> str:
        """`answer/1`."""
        return f"{self.name}/{self.version}"

    def inquiry(self, **parts: str) -> Inquiry:
        """Return the question with these parts."""
        return Inquiry(
            prompt=self.name,
            version=self.version,
            text=self.fill_prompt(**parts),
            grades=self.grades,
            fail=self.fail,
            parts=parts,
            verbatim=self.verbatim,
            parameters=self.parameters,
        )

    def fill_prompt(self, **parts: str) -> str:
        """Return the text with its parts and the instruction for the end of the reply."""
        if self.verbatim:
            return self.text.format_map(parts)
        passages = dict(parts)
        for name in parts.keys() & self.quoted:
            passages[name] = fence_answer(parts[name], name.upper())
        prompt_text = self.text.format_map(passages)
        menu = " or ".join(f"GRADE: {grade}" for grade in self.grades)
        return f"{prompt_text}\n\n{self.thinks} Then end with one line, {menu}."


# --- Asking a judge: its reply becomes a grade; a failure is confirmed by votes.

_GRADE = lazy_pattern(
    r"(?<!/)\bGRADE[ \t*_`\"']{0,4}[:\uff1a>=][\s*_`\"'(\[{]{0,8}(?!grade\b)([A-Za-z0-9]{1,20})\b",
    re.IGNORECASE | re.ASCII,
)
# The repeated menu: `GRADE: yes or GRADE: no`, `GRADE: yes/no`.
_MENU = lazy_pattern(
    r"\bGRADE\s{0,4}:[\s(\[{<]{0,4}\w{1,20}(?:\s{0,4}(?:[/|]|\bor\b)\s{0,4}(?:GRADE\s{0,4}:\s{0,4})?\w{1,20}){1,8}",
    re.IGNORECASE | re.ASCII,
)
# The whole reply is one word.
_BARE = lazy_pattern(r"\A[\W_]*([A-Za-z0-9]{1,20})[\W_]*\Z", re.ASCII)
_WORD_OF_LIST = lazy_pattern(r"[A-Za-z0-9]{1,20}", re.ASCII)
_LAST_LINE = lazy_pattern(r"\sGRADE:\s*\w+\W*\Z", re.IGNORECASE | re.ASCII)
_LONGEST = 200
_FENCE = lazy_pattern(r"\A\s*```[a-z]*\s*")
_WRAPPED = lazy_pattern(r"\A\s*```[a-z]*\s*(.*?)\s*```\s*\Z", re.DOTALL)


def _parse_plain_grade(reply: str) -> str | Unscored:
    """Return whether a reply to a user's own prompt says yes; Unscored if it is truncated or empty."""
    if reply.endswith(CUT):
        wording = f"the judge's reply is cut off: {reply[-200:]!r}"
        return Unscored(wording, cause="ungraded")
    spoken = SPOKEN(reply).strip()
    if not spoken:
        wording = f"the judge gave no grade: {reply[-200:]!r}"
        return Unscored(wording, cause="ungraded")
    return "yes" if "yes" in spoken.lower() else "no"


def parse_grade(reply: str, grades: Sequence[str]) -> str | Unscored:
    """Return a judge's last grade, in lower case; Unscored if there is none, or it was not on offer.

    A reply that is one JSON object has it in the field `grade`, any other in a line
    `GRADE: yes`. Only speech counts, not earlier thoughts; a truncated reply or object
    gives none.
    """
    if reply.endswith(CUT) or _is_torn(reply := SPOKEN(reply)):
        return Unscored(
            f"the judge's reply is cut off: {reply[-200:]!r}", cause="ungraded"
        )
    text = _grade_from_json(reply)
    if text is None:
        bare = [word for word in _BARE.findall(reply) if word.lower() in grades]
        plain = _MENU.sub(" ", reply)
        if _repeats_menu(plain, grades):
            plain = ""
        lines = _GRADE.findall(plain) or bare
        if not lines:
            return Unscored(
                f"the judge gave no grade: {reply[-200:]!r}", cause="ungraded"
            )
        # The last one: a judge may weigh several before it decides.
        text = lines[-1]
    grade = text.strip().lower()
    if grade not in grades:
        wording = (
            f"the judge's grade {grade[:40]!r} was not on offer ({', '.join(grades)})"
        )
        return Unscored(wording, cause="ungraded")
    return grade


def _repeats_menu(reply: str, grades: Sequence[str]) -> bool:
    """Return whether the last grade begins a list of grades: `GRADE: yes, no`."""
    matches = list(_GRADE.finditer(reply))
    if not matches:
        return False
    listed = _WORD_OF_LIST.findall(reply[matches[-1].start(1) :].lower())
    return len(set(listed)) > 1 and all(word in grades for word in listed)


def full_thoughts(reply: str) -> str:
    """Return a judge's reply without the grade."""
    reply = SPOKEN(reply)
    thoughts = _verdict_object(reply).get("thoughts")
    if thoughts is None:
        return _GRADE.sub("", reply)
    return str(thoughts)


def reason_in(reply: str) -> str:
    """Return the judge's thoughts, without the grade, on one line of at most 200 characters."""
    thoughts = full_thoughts(reply)
    line = " ".join(
        "".join(sign if sign.isprintable() else " " for sign in thoughts).split()
    ).strip("*` ")
    if len(line) <= _LONGEST:
        return line
    return line[: _LONGEST - 1] + "…"


def _grade_from_json(reply: str) -> str | None:
    """Return the field `grade` of a reply that is exactly one JSON object; None for any other."""
    grade = _verdict_object(reply).get("grade")
    # Models asked for JSON write `true` where the schema says "yes".
    if isinstance(grade, bool):
        return "yes" if grade else "no"
    return str(grade) if isinstance(grade, (str, int)) else None


def _verdict_object(reply: str) -> dict[str, Any]:
    """Return the JSON object, bare or fenced, that makes up a reply; {} if it is not one."""
    wrapped = _WRAPPED.match(reply)
    try:
        data = json.loads(wrapped[1] if wrapped else reply)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_torn(reply: str) -> bool:
    """Return whether a reply begins an object without completing it."""
    text = _FENCE.sub("", reply)
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        # A separate last line with a grade was not cut, whatever the braces before it.
        return not text.rstrip("` \n").endswith("}") and _LAST_LINE.search(text) is None
    return False


# Returns the reply to a question; JudgeError if there is none.
AnsweredBy: TypeAlias = Callable[[Inquiry], str]


class JudgeDecision(Struct, frozen=True):
    """A judge's decision."""

    grade: str
    reply: str
    """The last reply with that grade."""
    votes: int = 1
    """The number of replies it took."""

    def __str__(self) -> str:
        """Return it as a reason: `the judge says no: it names another town`."""
        thoughts = reason_in(self.reply)
        return f"the judge says {self.grade}" + (f": {thoughts}" if thoughts else "")


@runtime_checkable
class Decides(Protocol):
    """A judge that takes its own votes."""

    def decide(self, inquiry: Inquiry, /) -> JudgeDecision | Unscored:
        """Return the decision; Unscored if there is none."""


def decide_by_votes(
    ask: AnsweredBy, inquiry: Inquiry, *, votes: int
) -> JudgeDecision | Unscored:
    """Return the majority of `votes`; if the first vote is not `fail`, it decides alone.

    Replies without a valid grade do not count for any grade. Unscored without a
    majority or any reply.
    """
    tally: Counter[str] = Counter()
    unread: Unscored | None = None
    for vote in range(votes):
        try:
            # With its number: a judge with a cache would repeat the first reply.
            reply = ask(replace(inquiry, vote=vote))
        except JudgeError as error:
            return Unscored(str(error), cause=error.cause)
        grade = inquiry.grade_in(reply)
        if isinstance(grade, Unscored):
            unread = grade
            continue
        tally[grade] += 1
        if (vote == 0 and grade != inquiry.fail) or tally[grade] * 2 > votes:
            return JudgeDecision(grade, reply, vote + 1)
    tally_text = ", ".join(
        f"{count} x {grade}" for grade, count in sorted(tally.items())
    )
    return unread or Unscored(
        f"the judge's {votes} votes have no majority: {tally_text}", cause="ungraded"
    )


def ask_judge(
    judge: Judge, prompt: JudgePrompt, **parts: str
) -> JudgeDecision | Unscored:
    """Return a judge's decision about one answer; Unscored if the judge fails."""

    def ask(inquiry: Inquiry) -> str:
        # Without records, caches or limits.
        try:
            reply = judge.assess(inquiry)
        except Exception as error:
            raise JudgeError(f"the judge failed: {describe_error(error)}") from error
        return str(getattr(reply, "text", reply))

    inquiry = prompt.inquiry(**{name: str(part) for name, part in parts.items()})
    if isinstance(judge, Decides):
        return judge.decide(inquiry)
    return decide_by_votes(ask, inquiry, votes=1)


# --- LtmJudge, the handle behind the `ltm_judge` fixture and `ltm.judge`.


class LtmJudge:
    """The judge of a run as one example sees it: every question is recorded, cached and counted.

    It is false if the run has no judge; asking then skips the example, which "needs
    a judge".

    Args:
        ask: Returns the judge's reply to one question; None if the run has no judge.
        votes: The number of votes that confirm a failing grade.
    """

    def __init__(self, ask: AnsweredBy | None, *, votes: int = 1) -> None:
        self._ask = ask
        self._votes = votes

    def __bool__(self) -> bool:
        """Whether the run has a judge."""
        return self._ask is not None

    def ask(self, question: str, answer: str) -> Opinion:
        """Return the judge's answer to a yes-or-no question about the agent's answer.

        Args:
            question: The question to the judge, such as "Does the answer name a city?".
            answer: The agent's answer.

        Raises:
            JudgeError: If the judge cannot decide; it leaves the example unscored.
        """
        return self._opinion(
            PROMPTS["statement"].inquiry(question=question, answer=answer)
        )

    def grade(self, question: str, answer: str, reference: str) -> Opinion:
        """Return whether the agent's answer to a question is correct.

        Args:
            question: The question that the agent was asked.
            answer: The agent's answer.
            reference: A correct answer.

        Raises:
            JudgeError: If the judge cannot decide; it leaves the example unscored.
        """
        return self._opinion(
            PROMPTS["answer"].inquiry(
                question=question, answer=answer, reference=reference
            )
        )

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the judge's reply to one `inquiry`, for evaluators; JudgeError if there is no judge."""
        if self._ask is None:
            raise JudgeError(
                "needs a judge: give one with --ltm-judge=SPEC", cause="requires"
            )
        return self._ask(inquiry)

    def decide(self, inquiry: Inquiry, /) -> JudgeDecision | Unscored:
        """Return the decision on an `inquiry` after the run's number of votes, for evaluators."""
        return decide_by_votes(self.assess, inquiry, votes=self._votes)

    def _opinion(self, inquiry: Inquiry) -> Opinion:
        decision = self.decide(inquiry)
        if isinstance(decision, Unscored):
            raise JudgeError(decision.reason, cause=decision.cause)
        return Opinion(decision.grade != inquiry.fail, reason_in(decision.reply))


# --- The prompts for a judge, by name, read from `judge_prompts.yml` next to this
# module.


def _read_prompts() -> Iterator[JudgePrompt]:
    file_content = load_packaged_yaml(__file__, "judge_prompts.yml")
    for name, fields in file_content["prompts"].items():
        text = re.sub(
            r"\[(\w+)\]",
            lambda passage: file_content["passages"][passage[1]],
            fields["text"],
        )
        yield convert({**fields, "name": name, "text": text}, JudgePrompt)


# `answer` and `statement` are used by `ltm_judge.grade` and `ltm_judge.ask`; the others
# belong to scenarios.
PROMPTS: Mapping[str, JudgePrompt] = {prompt.name: prompt for prompt in _read_prompts()}
