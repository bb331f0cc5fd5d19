"""Instructions kept for later: a quote appended to one reply, and a sentence said at each trigger."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from pytest_ltm._language.clauses import split_sentences
from pytest_ltm._language.commitment import is_misspelt
from pytest_ltm._language.overlap import rouge_l
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.recital import REPEATS, copies_message, recites_messages
from pytest_ltm._language.words import (
    casefold_plain,
    content_stems,
    has_phrase,
    plain_words,
    space_delimited,
    strip_punctuation,
    word_stem,
)
from pytest_ltm._model.score import Score, Unscored
from pytest_ltm.evaluators._rules import RuleCheck, Ruled, judge_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._model.judge_request import Judge
    from pytest_ltm._model.score import Scoring
    from pytest_ltm._model.transcript import Exchange


# The share of the quote's own words that a reply must have before a judge is asked about it.
_NEARLY = 0.6


class QuoteAtReply(Ruled, Struct, frozen=True):
    """Watch for a quote in the n-th reply and in no other; the reply to the instruction is the first.

    Called with the exchanges since the instruction, it returns None while it cannot tell. `v3.5` and `paper` look
    for the quote in lower case and without ASCII punctuation; `current` looks for its words in a row. Where reply
    `nth` has most of its words, but not in a row, `current` asks a judge if there is one.
    """

    family: ClassVar[str] = "prospective-memory"
    reads_speech: ClassVar[bool] = True
    quote: str
    nth: int
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __call__(self, since: Sequence[Exchange], /) -> Score | Unscored | None:
        """Return None while it is too early, 1 if the quote stands in reply `nth` alone, else 0.

        Reply `nth` must not hold the instruction as well, nor continue with messages of the user: that is the
        conversation repeated, in which the quote happens to stand.
        """
        verdict = self.verdict([exchange.reply for exchange in since])
        if not isinstance(verdict, Score) or not verdict.value or not self.follows_own_rules:
            return verdict
        reply = since[self.nth - 1].reply
        recited = copies_message(reply, since[0].message) or recites_messages(self._text_after_quote(reply))
        return self.score(0, REPEATS, reply) if recited else verdict

    def verdict(self, replies: Sequence[str]) -> Score | Unscored | None:
        """Return the verdict on the replies since the instruction, its own reply first."""
        replies = self.read(replies)
        quoted = [n for n, reply in enumerate(replies, start=1) if self._quotes(reply)]
        early = [n for n in quoted if n != self.nth]
        if early:
            result = ("reply " if len(quoted) == 1 else "replies ") + ", ".join(map(str, quoted))
            reason = f"the quote belongs in reply {self.nth} alone, found in {result}"
            return self.score(0, reason, replies[early[0] - 1])
        if len(replies) < self.nth:
            return None
        reply = replies[self.nth - 1] if self.nth >= 1 else ""
        if quoted:
            return self.score(1, f"the quote stands in reply {self.nth} alone", reply)
        missed = self.score(0, f"the quote is not in reply {self.nth}", reply)
        if self.judge is None or not self._nearly(reply):
            return missed
        asked = f"is the quote in reply {self.nth}, but for slips? "
        return judge_verdict(self.judge, "prospective-memory", reply, rule=missed.rule, asked=asked, quote=self.quote)

    def _text_after_quote(self, reply: str) -> str:
        last_word = plain_words(self.quote)[-1:] or [""]
        return re.split(rf"\b{re.escape(last_word[0])}\b", casefold_plain(reply))[-1]

    def _nearly(self, reply: str) -> bool:
        of_quote = content_stems(self.quote)
        return self.follows_own_rules and len(of_quote & content_stems(reply)) >= len(of_quote) * _NEARLY

    def _quotes(self, reply: str) -> bool:
        if self.follows_own_rules:
            return has_phrase(space_delimited(reply), self.quote)
        return strip_punctuation(self.quote) in strip_punctuation(reply)


# --- Trigger Response: one sentence is said at each activation.

_CONTRACTIONS = lazy_pattern(r"(?<=[a-z])('m|'s|'re|'ve|'ll|'d|n't)\b")
_FULL = {"'m": " am", "'s": " is", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would", "n't": " not"}
_PUBLISHED_ROUGE = 0.75
_NEAR = 0.93
# The share of the sentence's own words that an answer must have before a judge is asked about it.
_WORTH_COMPARING = 0.7


class SaysAtEachTrigger(Ruled, Struct, frozen=True):
    """The share of activations whose answer says the sentence, less the share of controls whose answer does.

    The answers to `controls` messages that mention no trigger come last. `current`: the sentence's words in a row,
    contractions written out, or some sentences of the answer nearly equal to it (ROUGE-L with stemming) with all of its
    telling words. `v3.5` and `paper`: in the answer, lower case and without punctuation, or
    ROUGE-L of the whole answer above 0.75; else those rules ask a model and the current rule stands in. A judge, if
    there is one, is asked about answers with most of the sentence's words.
    """

    family: ClassVar[str] = "trigger-response"
    reads_speech: ClassVar[bool] = True
    version: ClassVar[int] = 2
    sentence: str
    activations: int = 3
    scoring: Scoring = "current"
    judge: Judge | None = None
    controls: int = 0
    """How many of the answers are to messages at which the sentence must not come."""

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of activations answered with the sentence; a missing answer counts as none."""
        answers = self.read(answers)
        verdict = self._activated(answers[: len(answers) - self.controls] if self.controls else answers)
        alarms = (
            sum(says_sentence(self.sentence, answer) for answer in answers[-self.controls :]) if self.controls else 0
        )
        if not alarms or isinstance(verdict, Unscored):
            return verdict
        reason = f"{verdict.reason}; it came at {alarms} of {self.controls} other messages, too"
        return replace(verdict, value=max(verdict.value - alarms / self.controls, 0.0), reason=reason)

    def _activated(self, answers: Sequence[str]) -> Score | Unscored:
        asked = [*answers, *[""] * (self.activations - len(answers))]
        published = [self._as_published(answer) for answer in asked]
        parts = [
            self._part(f"says it at activation {n}", answer, said=said)
            for n, (answer, said) in enumerate(zip(asked, published, strict=True), start=1)
        ]
        reason = f"{{ok}} of {{of}} activations answered with {self.sentence!r}"
        if not self.follows_own_rules and all(published):
            return replace(self.share(parts, reason), rule=f"{self.family}/{self.scoring}")
        return self.judged_share(parts, self.judge, reason)

    def _as_published(self, answer: str) -> bool:
        """Return whether the published rules are sure that an answer says the sentence."""
        if self.follows_own_rules:
            return False
        return (
            strip_punctuation(self.sentence) in strip_punctuation(answer)
            or rouge_l(self.sentence, answer) > _PUBLISHED_ROUGE
        )

    def _part(self, label: str, answer: str, *, said: bool) -> RuleCheck:
        said = said or says_sentence(self.sentence, answer)
        wanted = content_stems(self.sentence)
        nearly = len(wanted & content_stems(answer)) >= _NEARLY * len(wanted)
        if said or not nearly:
            return RuleCheck(label, answer, said)
        return RuleCheck(label, answer, said, "trigger-response", (("sentence", self.sentence),))


def says_sentence(sentence: str, answer: str) -> bool:
    """Tell whether an answer says a sentence, literally or nearly so."""
    wanted, given = _written_out(sentence), _written_out(answer)
    if not wanted.strip():
        return False
    if space_delimited(wanted) in space_delimited(given) or space_delimited(sentence) in space_delimited(answer):
        return True
    size = len(split_sentences(wanted))
    parts = split_sentences(given)
    needed = set(plain_words(wanted))
    windows = (" ".join(parts[at : at + size]) for at in range(max(len(parts) - size + 1, 1)))
    return any(_is_near(wanted, window, needed) for window in windows)


def _is_near(wanted: str, window: str, needed: set[str]) -> bool:
    texts = plain_words(window)
    shared = [at for at, word in enumerate(texts) if word in needed]
    if len({texts[at] for at in shared}) < _WORTH_COMPARING * len(needed):
        return False
    if any(not _has_word(word, texts) for word in content_stems(wanted)):
        return False
    return rouge_l(wanted, " ".join(texts[shared[0] : shared[-1] + 1])) > _NEAR


def _has_word(wanted: str, texts: Sequence[str]) -> bool:
    """Tell whether a word of the sentence's own is said, if perhaps misspelt."""
    return any(word_stem(word) == wanted or is_misspelt(word_stem(word), wanted) for word in texts)


def _written_out(text: str) -> str:
    return _CONTRACTIONS.sub(lambda short: _FULL[short.group()], casefold_plain(text))
