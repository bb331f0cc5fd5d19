"""Sources of statements: who said something, on which day, in which order, and how certain it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import Check, Score, Scoring, plain_words
from pytest_ltm.evaluators._hygiene import names_day
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at, values_at
from pytest_ltm.language.clauses import normalize_text, split_sentences
from pytest_ltm.language.commitment import (
    Mention,
    asserted_mentions,
    committed_values,
    find_mentions,
    last_word,
)
from pytest_ltm.language.proof import prove
from pytest_ltm.language.recital import recites_messages, tells_nothing

PICK = "pick"
WHO = "who"
SURE = "sure"
WHEN = "when"
NEXT = "next"
OWN = "own"
USER = "user"
AGENT = "agent"
CERTAIN = "certain"
GUESS = "guess"
TAKEN_BACK = "taken back"

_GROUPS = {
    "who said it": (WHO,),
    "how sure it is": (SURE,),
    "when it was said": (WHEN, NEXT),
    "own words": (OWN,),
}
RE = LEXICON.expressions("sources")

# --- The speaker.

_ALONE = {"me": AGENT, "i": AGENT, "you": USER}

# --- The certainty.


class KnowsSources(Ruled, Struct, frozen=True):
    """The mean of four parts: who said something, how sure it is, when it was said, and the agent's own words.

    Where questions name all possible answers, the number that a constant answer would
    get right is subtracted: with three possible answers, each right once, one right
    answer earns nothing and two earn half. A question about the agent's own words
    expects the option that the agent picked when asked to; if it picked none, all
    questions about it are missed. No published results exist to agree with: every
    scoring uses this rule.
    """

    family: ClassVar[str] = "knows-sources"
    talk_counts: ClassVar[bool] = True
    expected: tuple[str, ...]
    """The expected answer of each question; "" if the agent picks (PICK) or is asked what it picked (OWN)."""
    asked: tuple[str, ...]
    """The kind of each question: PICK, WHO, SURE, WHEN, NEXT or OWN."""
    others: tuple[tuple[str, ...], ...] = ()
    """The other possible answers of each question; for PICK, the options."""
    picks: tuple[int, ...] = ()
    """The index of the PICK that each question is about; -1 for none."""
    told: tuple[str, ...] = ()
    """All messages: an answer that repeats one earns nothing."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the groups that are asked for; a missing answer counts as wrong."""
        answers = self.read(answers)
        right = [self._right(place, answers) for place in range(len(self.asked))]
        proven = [ok is True for ok in right]
        possible = [ok is not False for ok in right]
        earned = []
        upper = []
        sentences = []
        checks: list[Check] = []
        for group, kinds in _GROUPS.items():
            places = [place for place, kind in enumerate(self.asked) if kind in kinds]
            if places:
                earned.append(self._earned(places, proven))
                upper.append(self._earned(places, possible))
                sentences.append(
                    f"{group}: {sum(proven[place] for place in places)} of {len(places)}"
                )
            for place in places:
                label = f"{group}: {self.expected[place] or 'the own pick'}"
                checks.append(Check(label, proven[place], right[place] is None))
        missed = ""
        for place, ok in enumerate(right):
            if not ok and self.asked[place] != PICK:
                missed = answer_at(answers, place)
                break
        number = max(len(earned), 1)
        left_open = (sum(upper) - sum(earned)) / number
        return self.score(
            sum(earned) / number, ", ".join(sentences), missed, checks, left_open
        )

    def _earned(self, places: Sequence[int], right: Sequence[bool]) -> float:
        counts = Counter[str]()
        for place in places:
            if self.asked[place] in (WHO, SURE):
                counts[self.expected[place]] += 1
        # these questions name the possible answers: a constant answer is right as often
        # as it is expected
        free = max(counts.values()) if len(counts) > 1 else 0
        return max(sum(right[place] for place in places) - free, 0) / (
            len(places) - free
        )

    def _right(self, place: int, answers: Sequence[str]) -> bool | None:
        kind = self.asked[place]
        expected = self.expected[place]
        rivals = values_at(self.others, place)
        pick = self.picks[place] if place < len(self.picks) else -1
        if pick >= 0:
            picked = _chosen_option(answer_at(answers, pick), self.others[pick])
        else:
            picked = ""
        if kind == PICK or (pick >= 0 and not picked):
            return False
        # a question from the agent is not an answer
        sentences: list[str] = []
        for sentence in split_sentences(answer_at(answers, place)):
            if not sentence.rstrip().endswith("?"):
                sentences.append(sentence)
        answer = "".join(sentences)
        unquoted = [RE.quoted.sub(" ", text) for text in (*sentences, answer)]
        # repeating a message outside quotation marks does not answer; five equal words
        # are no coincidence
        repeated = _wordings(unquoted) & _wordings(self.told)
        copied = any(len(wording.split()) >= 5 for wording in repeated)
        if copied or recites_messages(answer):
            return False
        if kind == WHEN:
            return names_day(answer, expected)
        if kind == OWN:
            chosen = _chosen_option(
                _blank_out(normalize_text(answer), [RE.prompts]), self.others[pick]
            )
            return ("" if _named_persons(answer) == {USER} else chosen) == picked
        if kind == NEXT:
            return prove(answer, (expected, *rivals)).answers(expected)
        return (
            _how_sure(answer)
            if kind == SURE
            else _named_speaker(answer, (expected, *rivals))
        ) == expected


def _chosen_option(reply: str, options: Sequence[str]) -> str:
    """Return the option that a reply chooses; "" if none or several."""
    answer = _blank_out(normalize_text(reply), [RE.against])
    texts = committed_values(answer, partial(find_mentions, names=tuple(options)))
    return texts.pop() if len(texts) == 1 else ""


def _named_speaker(answer: str, names: Sequence[str]) -> str:
    """Return the speaker that an answer names: one of the names, USER or AGENT; "" if it does not settle."""
    quoted = [name for name in names if name not in (USER, AGENT)]
    answer = RE.not_involved.sub(" ", RE.possessive.sub(r"\1", answer)).replace(
        " - ", ", "
    )
    sources = committed_values(answer, partial(find_mentions, names=quoted))
    if sources and RE.joined.search(normalize_text(answer)):
        return ""
    texts = sources or _named_persons(answer)
    return texts.pop() if len(texts) == 1 else ""


def _wordings(texts: Iterable[str]) -> set[str]:
    """Return the words of each sentence of the texts."""
    wordings: set[str] = set()
    for text in texts:
        for sentence in split_sentences(text):
            wordings.add(" ".join(plain_words(sentence)))
    return wordings


def _named_persons(answer: str) -> set[str]:
    """Return which of USER and AGENT an answer names as the speaker."""
    conclusion = last_word(
        answer, lambda part: bool(_said_by_mentions(normalize_text(part)))
    )
    text = _blank_out(normalize_text(conclusion), [RE.prompts])
    if alone := _ALONE.get(" ".join(plain_words(text))):
        return {alone}
    if RE.somebody.search(text) or RE.cannot_say.search(text):
        return set()
    mentions = asserted_mentions(text, _said_by_mentions, formerly=True)
    return {mention.value for mention in mentions}


def _said_by_mentions(text: str) -> list[Mention]:
    return _kind_mentions(text, ((AGENT, RE.by_agent), (USER, RE.by_user)))


def _kind_mentions(
    text: str, kinds: Iterable[tuple[str, re.Pattern[str]]]
) -> list[Mention]:
    """Return the mentions of several kinds of phrases in a normalized text; earlier kinds hide later ones."""
    mentions: list[Mention] = []
    for value, pattern in kinds:
        mentions += [Mention(*match.span(), value) for match in pattern.finditer(text)]
        text = _blank_out(text, [pattern])
    return sorted(mentions, key=lambda mention: mention.start)


def _blank_out(text: str, patterns: Iterable[re.Pattern[str]]) -> str:
    """Return a text with all matches of the patterns replaced by spaces."""
    for pattern in patterns:
        text = pattern.sub(lambda result: " " * len(result[0]), text)
    return text


def _how_sure(answer: str) -> str:
    """Return the certainty that an answer states; TAKEN_BACK overrides earlier levels."""
    text = _blank_out(normalize_text(answer), [RE.of_itself])
    kinds = (TAKEN_BACK, RE.taken_back), (GUESS, RE.guess), (CERTAIN, RE.certain)
    # "I never said I was sure": the denial comes shortly before the phrase
    mentions: list[Mention] = []
    for mention in _kind_mentions(text, kinds):
        if not RE.never.search(text[max(0, mention.start - 50) : mention.start]):
            mentions.append(mention)
    levels = {mention.value for mention in mentions}
    remainder = _blank_out(text, [pattern for _, pattern in kinds])
    shrugs = tells_nothing(remainder) or RE.shrugs.match(" ".join(plain_words(text)))
    if not mentions or shrugs or (len(levels) > 1 and RE.or_word.search(text)):
        return ""
    if mentions[-1].value == TAKEN_BACK or (
        mentions[0].value == TAKEN_BACK and RE.at_first.search(text, mentions[0].end)
    ):
        return TAKEN_BACK
    return levels.pop() if len(levels) == 1 else ""
