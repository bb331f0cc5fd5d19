"""Jokes: the answer recalls one joke of several, word for word or in other words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._judge import PROMPTS, Judge, ask_judge
from pytest_ltm._score import Score, Scoring, Unscored
from pytest_ltm.evaluators._rules import check_scoring, last, standing_in
from pytest_ltm.evaluators._words import STOP_WORDS, content_stems, has_phrase, joined, phrases, snippet, stem, words

if TYPE_CHECKING:
    from collections.abc import Sequence

_TALK = content_stems(
    "joke tell told ago hour minute remember recall hear heard speak spoke share think know thing people person time "
    "day want love try find call go went come came look see saw feel new old good bad big little right never always"
)
_IDLE = frozenset(map(stem, (*STOP_WORDS, "please", "sure", "course", "okay", "yes", "thanks", "welcome")))
_SENTENCE = re.compile(r"[^.!?\n]+")
_POINTS = phrases(
    "about", "with", "where", "when", "involving", "regarding", "concerning", "mentioned",
    "(?:joke|one|it) was", "(?:joke|one)$",
)  # fmt: skip
_SHRUGS = phrases(
    "dont", "do not", "didnt", "did not", "cant", "cannot", "couldnt", "not", "unable", "no", "would", "could",
    "happy", "feel free", "sorry", "want", "if", "unfortunately",
)  # fmt: skip
_DECLINES = phrases(
    r"(?:dont|do not|didnt|did not|cant|cannot|couldnt|could not|unable to|not able to) (?:\w+ ){0,2}"
    r"(?:know|recall|remember|tell|find|say|have|see)",
    "(?:love|like|happy|glad) to hear", "feel free", "sorry", "unfortunately", "no (?:memory|record|idea|joke|jokes)",
    r"(?:have not|havent|never) (?:\w+ )?(?:told|heard|shared|mentioned)",
)  # fmt: skip
_CLEAR = 1.0
_HINT = 0.5
_CLEAR_WORDS = 2
_CLEAR_SHARE = 0.3
_TELLING_LENGTH = 4


@dataclass(frozen=True, slots=True)
class RecallsJoke:
    """Full marks if the last answer tells one joke, literally or paraphrased, and none of the others.

    `others` are the other jokes told in the same example. Where the rule is unsure (one telling word, two jokes, or
    other words than any joke's) a judge is asked if there is one, else the rule's best verdict stands. `v3.5`,
    `paper`: full marks if the joke's text is in the answer; else those rules ask a model, and the current rule stands
    in.
    """

    joke: str
    others: tuple[str, ...] = ()
    judge: Judge | None = None
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return 1 if the last answer recalls the joke and no other, else 0."""
        answer = last(answers)
        if self.scoring == "current":
            return self._current(answer)
        if self.joke.lower() in answer.lower():
            reason = "the joke's text is in the answer"
            return Score(1.0, reason, rule=f"jokes/{self.scoring}", evidence=snippet(answer))
        verdict = self._current(answer)
        return verdict if self.judge else standing_in(verdict, self.scoring, "jokes")

    def _current(self, answer: str) -> Score | Unscored:
        verdict, sure = self._by_rule(answer)
        if sure or self.judge is None:
            return verdict
        prompt = PROMPTS["jokes"]
        jokes = "\n".join(f"- {joke}" for joke in (*self.others, self.joke))
        said = ask_judge(self.judge, prompt, answer=answer, joke=self.joke, jokes=jokes)
        rule = f"jokes/1+judge/{prompt.id}"
        if isinstance(said, Unscored):
            return replace(said, rule=rule, evidence=snippet(answer))
        return Score(float(said.grade == "yes"), str(said), rule=rule, evidence=snippet(answer))

    def _by_rule(self, answer: str) -> tuple[Score, bool]:
        """Return the rule's verdict and whether it is sure of it."""
        told = frozenset(stem(word) for word in words(answer))
        recalled = _strength(self.joke, self.others, answer, told)
        rivals = [
            _strength(other, tuple(j for j in (*self.others, self.joke) if j != other), answer, told)
            for other in self.others
        ]
        rival = max(rivals, default=0.0)
        value, reason, sure = _weigh(recalled, rival)
        unsure = not sure or (max(recalled, rival) < _HINT and _says_something(answer))
        return Score(value, reason, rule="jokes/1", evidence=snippet(answer)), not unsure


def _weigh(recalled: float, rival: float) -> tuple[float, str, bool]:
    if recalled >= _CLEAR and rival >= _CLEAR:
        return 0.0, "tells another joke as well", True
    if recalled >= _CLEAR:
        return 1.0, "recalls the joke", rival < _HINT
    if recalled >= _HINT and rival < _HINT:
        return 1.0, "refers to the joke by one telling word", False
    if rival >= _HINT:
        return 0.0, "recalls another joke", recalled < _HINT
    return 0.0, "does not recall the joke", True


def _strength(joke: str, others: Sequence[str], answer: str, told: frozenset[str]) -> float:
    """Return 1 or more if a joke is told, 0.5 if one word of its own hints at it, else 0.

    A joke's own words are those of its content that no other joke has.
    """
    if has_phrase(joined(answer), joke):
        return 2.0
    shared = frozenset[str]().union(*(content_stems(other) for other in others), _TALK)
    own = content_stems(joke) - shared
    hits = len(own & told)
    if hits >= _CLEAR_WORDS and hits >= len(own) * _CLEAR_SHARE:
        return 1.0
    telling = {word for word in own & told if len(word) >= _TELLING_LENGTH}
    return _HINT if telling and _points_to(telling, answer) else 0.0


def _says_something(answer: str) -> bool:
    """Whether a sentence that is no excuse says more than that there was a joke: it may be one in other words."""
    return any(
        {word for word in content_stems(sentence) - _TALK - _IDLE if not word.isdigit()}
        and not _DECLINES.search(" ".join(words(sentence)))
        for sentence in _SENTENCE.findall(answer)
    )


def _points_to(telling: frozenset[str] | set[str], answer: str) -> bool:
    """Tell whether a sentence that is no excuse says what the joke was about, with one of those words."""
    for sentence in _SENTENCE.findall(answer):
        said = words(sentence)
        text = " ".join(said)
        if telling & set(map(stem, said)) and _POINTS.search(text) and not _SHRUGS.search(text):
            return True
    return False
