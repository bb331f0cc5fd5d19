"""Instructions to carry out later: a quote, a sentence at each trigger, standing orders, reminders."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import (
    Check,
    Exchange,
    Score,
    Scoring,
    Unscored,
    casefold_plain,
    content_stems,
    has_phrase,
    plain_words,
    space_delimited,
    strip_punctuation,
    word_stem,
)
from pytest_ltm.api.scenarios import Judge
from pytest_ltm.evaluators._rules import (
    LEXICON,
    RuleCheck,
    Ruled,
    answer_at,
    judge_verdict,
    values_at,
)
from pytest_ltm.language.clauses import split_sentences, text_nearby
from pytest_ltm.language.commitment import is_misspelt
from pytest_ltm.language.normal_form import plain_type
from pytest_ltm.language.overlap import rouge_l
from pytest_ltm.language.recital import REPEATS, copies_message, recites_messages

# The share of the quote's words in a reply above which a judge is asked about it.
_NEARLY = 0.6


class QuoteAtReply(Ruled, Struct, frozen=True):
    """Watch for a quote in the n-th reply and in no other; the reply to the instruction is the first.

    Called with the exchanges since the instruction, it returns None until the outcome
    is known. `v3.5` and `paper` look for the quote in lower case and without ASCII
    punctuation; `current` looks for its words in a row. If reply `nth` has most of its
    words, but not in a row, `current` asks the judge, if there is one.
    """

    family: ClassVar[str] = "prospective-memory"
    reads_speech: ClassVar[bool] = True
    quote: str
    nth: int
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __call__(self, since: Sequence[Exchange], /) -> Score | Unscored | None:
        """Return None while it is too early, 1 if only reply `nth` contains the quote, else 0.

        Reply `nth` must neither repeat the instruction nor continue with messages of
        the user: that would recite the conversation, quote included.
        """
        verdict = self.verdict([exchange.reply for exchange in since])
        if (
            not isinstance(verdict, Score)
            or not verdict.value
            or not self.follows_own_rules
        ):
            return verdict
        reply = since[self.nth - 1].reply
        last = "".join(plain_words(self.quote)[-1:])
        remainder = re.split(rf"\b{re.escape(last)}\b", casefold_plain(reply))[-1]
        recited = copies_message(reply, since[0].message) or recites_messages(remainder)
        return self.score(0, REPEATS, reply) if recited else verdict

    def _has_quote(self, reply: str) -> bool:
        if self.follows_own_rules:
            return has_phrase(space_delimited(reply), self.quote)
        return strip_punctuation(self.quote) in strip_punctuation(reply)

    def verdict(self, replies: Sequence[str]) -> Score | Unscored | None:
        """Return the verdict on the replies since the instruction, its own reply first."""
        replies = self.read(replies)
        quoted: list[int] = []
        for n, reply in enumerate(replies, start=1):
            if self._has_quote(reply):
                quoted.append(n)
        # checked before reply `nth`, too: a quote said too early cannot be taken back
        if early := [n for n in quoted if n != self.nth]:
            where = ("reply " if len(quoted) == 1 else "replies ") + ", ".join(
                map(str, quoted)
            )
            reason = f"the quote belongs in reply {self.nth} alone, found in {where}"
            return self.score(0, reason, replies[early[0] - 1])
        if len(replies) < self.nth:
            return None
        reply = replies[self.nth - 1] if self.nth >= 1 else ""
        if quoted:
            return self.score(1, f"the quote stands in reply {self.nth} alone", reply)
        missed = self.score(0, f"the quote is not in reply {self.nth}", reply)
        of_quote = content_stems(self.quote)
        nearly = (
            self.follows_own_rules
            and len(of_quote & content_stems(reply)) >= len(of_quote) * _NEARLY
        )
        if self.judge is None or not nearly:
            return missed
        question = f"is the quote in reply {self.nth}, but for slips? "
        return judge_verdict(
            self.judge,
            "prospective-memory",
            reply,
            rule=missed.rule,
            asked=question,
            quote=self.quote,
        )


# --- Trigger Response: one sentence at each activation.

RE = LEXICON.expressions("instructions")
# Placeholder for the word of an order, or the sentence of a trigger.
_HERE = "\0"
_FULL = {
    "'m": " am",
    "'s": " is",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
    "'d": " would",
    "n't": " not",
}


class SaysAtEachTrigger(Ruled, Struct, frozen=True):
    """The share of activations answered with the sentence, less the share of controls answered with it.

    Answers to the `controls` messages, which mention no trigger, come last. `current`:
    the sentence's words in a row, with contractions expanded, or consecutive sentences
    nearly equal to it (ROUGE-L with stemming) that have all of its distinctive words.
    `v3.5` and `paper`: the sentence is in the answer, in lower case and without
    punctuation, or ROUGE-L of the whole answer is above 0.75; otherwise those rules ask
    a model, and the current rule stands in. A judge, if given, is asked about answers
    with most of the sentence's words.
    """

    family: ClassVar[str] = "trigger-response"
    reads_speech: ClassVar[bool] = True
    version: ClassVar[int] = 2
    sentence: str
    activations: int = 3
    scoring: Scoring = "current"
    judge: Judge | None = None
    controls: int = 0
    """The number of answers to messages at which the sentence must not come."""

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of activations answered with the sentence; a missing answer counts as none."""
        answers = self.read(answers)
        activated = len(answers) - self.controls
        verdict = self._activated(answers[:activated] if self.controls else answers)
        controls = answers[-self.controls :] if self.controls else ()
        alarms = sum(says_sentence(self.sentence, answer) for answer in controls)
        if not alarms or isinstance(verdict, Unscored):
            return verdict
        reason = f"{verdict.reason}; it came at {alarms} of {self.controls} other messages, too"
        return replace(
            verdict,
            value=max(verdict.value - alarms / self.controls, 0.0),
            reason=reason,
        )

    def _activated(self, answers: Sequence[str]) -> Score | Unscored:
        stems = content_stems(self.sentence)
        literal = strip_punctuation(self.sentence)
        parts: list[RuleCheck] = []
        published: list[bool] = []
        for n, answer in enumerate(
            [*answers, *[""] * (self.activations - len(answers))], start=1
        ):
            # the published threshold; substring first, as the time of ROUGE is the
            # product of both lengths
            is_published = not self.follows_own_rules and (
                literal in strip_punctuation(answer)
                or rouge_l(self.sentence, answer) > 0.75
            )
            is_said = is_published or says_sentence(self.sentence, answer)
            nearly = len(stems & content_stems(answer)) >= _NEARLY * len(stems)
            prompt = "trigger-response" if nearly and not is_said else ""
            check = RuleCheck(
                f"says it at activation {n}",
                answer,
                is_said,
                prompt,
                (("sentence", self.sentence),),
            )
            parts.append(check)
            published.append(is_published)
        reason = f"{{ok}} of {{of}} activations answered with {self.sentence!r}"
        if not self.follows_own_rules and all(published):
            return replace(
                self.share(parts, reason), rule=f"{self.family}/{self.scoring}"
            )
        return self.judged_share(parts, self.judge, reason)


def says_sentence(sentence: str, answer: str) -> bool:
    """Return whether an answer says a sentence, literally or nearly so."""
    answer = _without_promise(sentence, plain_type(answer))
    written_sentence = _written_out(sentence)
    written_answer = _written_out(answer)
    if not written_sentence.strip():
        return False
    if space_delimited(written_sentence) in space_delimited(
        written_answer
    ) or space_delimited(sentence) in space_delimited(answer):
        return True
    size = len(split_sentences(written_sentence))
    parts = split_sentences(written_answer)
    needed = set(plain_words(written_sentence))
    for first in range(max(len(parts) - size + 1, 1)):
        texts = plain_words(" ".join(parts[first : first + size]))
        shared = [place for place, word in enumerate(texts) if word in needed]
        # most windows share hardly a word with it: below seven in ten, ROUGE is not
        # worth its time
        if len({texts[place] for place in shared}) < 0.7 * len(needed):
            continue
        stems = set(map(word_stem, texts))
        window = " ".join(texts[shared[0] : shared[-1] + 1])
        absent = content_stems(written_sentence) - stems
        complete = all(_is_there_misspelt(word, stems) for word in absent)
        if complete and rouge_l(written_sentence, window) > 0.93:
            return True
    return False


def _is_there_misspelt(word: str, stems: Iterable[str]) -> bool:
    return any(is_misspelt(stem, word) for stem in stems)


def _without_promise(sentence: str, answer: str) -> str:
    """Return an answer without sentences that only announce the sentence: "I'll say ... whenever you do"."""
    wording = re.escape(sentence.strip(" .!?"))
    quoted = re.compile(
        rf"[\"'\u2018\u201c]?{wording}[.!?]*[\"'\u2019\u201d]?", re.IGNORECASE
    )
    said = quoted.search(answer)
    if said is None or not RE.promises.search(answer):
        return answer
    parts = split_sentences(quoted.sub(_HERE, answer))
    kept = [part for part in parts if _HERE not in part or not RE.promises.search(part)]
    return " ".join(kept).replace(_HERE, said[0])


def _written_out(text: str) -> str:
    return RE.contractions.sub(lambda short: _FULL[short.group()], casefold_plain(text))


# --- Standing orders.


class ObeysOrders(Ruled, Struct, frozen=True):
    """The mean over texts of the share of orders obeyed times the share of lapsed orders' words left out.

    So neither obeying every order ever given nor obeying none earns anything. Every
    order has a word of its own: a text may begin with it ("opens") or end with it
    ("closes"), contain it ("mentions"), or have it as a #tag ("tag"), in square
    brackets ("brackets"), in capital letters ("capitals") or between asterisks
    ("stars"). Separate lines before or after the text are ignored, and so are sentences
    about the orders themselves: repeating an order does not obey it, nor does it
    violate its end. No published results exist to agree with: every scoring uses this
    rule.
    """

    family: ClassVar[str] = "obeys-orders"
    holding: tuple[tuple[tuple[str, str], ...], ...]
    """The orders in force for each text: kinds and words."""
    lapsed: tuple[tuple[str, ...], ...] = ()
    """The words of the orders not in force for each text."""
    about: tuple[str, ...] = ()
    """The topic of each text, in one word; a text that does not name it obeys nothing."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the products; a missing text obeys no order."""
        answers = self.read(answers)
        checks: list[Check] = []
        earned = 0.0
        missed = ""
        for place, orders in enumerate(self.holding):
            answer = answer_at(answers, place)
            thing = answer_at(self.about, place)
            text = f"text {place + 1}"
            written = not thing or word_stem(thing) in map(
                word_stem, plain_words(answer)
            )
            new: list[Check] = []
            for kind, word in orders:
                ok = written and obeys_order(answer, kind, word)
                new.append(Check(f"{text}: {kind} {word!r}", ok))
            old: list[Check] = []
            for word in values_at(self.lapsed, place):
                ok = not obeys_order(answer, "mentions", word)
                old.append(Check(f"{text}: not {word!r}", ok))
            earned += _share_of_checks(new) * _share_of_checks(old)
            if not missed and not all(check.ok for check in (*new, *old)):
                missed = answer
            checks += [*new, *old]
        reason = f"{sum(check.ok for check in checks)} of {len(checks)} orders obeyed, or rightly not obeyed"
        return self.score(earned / max(len(self.holding), 1), reason, missed, checks)


def _share_of_checks(checks: Sequence[Check]) -> float:
    if checks:
        return sum(check.ok for check in checks) / len(checks)
    return 1.0


def obeys_order(text: str, kind: str, word: str) -> bool:
    """Return whether a text carries out an order, given by kind and word; sentences about orders do not count."""
    for match in re.finditer(
        rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text, re.IGNORECASE
    ):
        start, end = match.span()
        around = f"{text[max(0, start - _ORDER_NEAR) : start]}{_HERE}{text[end : end + _ORDER_NEAR]}"
        if RE.order.search(around) or RE.comment.search(text_nearby(text, start, end)):
            continue
        line_before = text[max(0, start - _LINE) : start].rpartition("\n")[2]
        after = text[end : end + _LINE]
        match kind:
            case "opens":
                obeyed = RE.first.search(line_before) is not None
            case "closes":
                obeyed = RE.last.search(after) is not None
            case "capitals":
                obeyed = text[start:end].isupper()
            case _:
                obeyed = (
                    getattr(RE, kind).search(
                        f"{line_before}{_HERE}{after.partition(chr(10))[0]}"
                    )
                    is not None
                )
        # one use that obeys is enough: others may be about something else
        if obeyed:
            return True
    return False


# Characters of a line read before and after a word: keeps the time linear for texts of
# any length.
_LINE = 2_000
# Characters around a word that show whether it is only mentioned.
_ORDER_NEAR = 60


# --- Reminders: each in the first reply after it is due, and in no other.

# Minutes around a due moment within which a reminder is neither late nor early: clocks
# show minutes.
NEAR = 1.0


class RemindsInTime(Ruled, Struct, frozen=True):
    """The share of due moments whose first reply reminds, times the share of tasks never named at a wrong moment.

    So neither never reminding nor always reminding earns anything. A task is named by
    its last word; sentences that only announce a reminder, ask about it or say that
    there is none do not count, and neither do replies to messages about the task. In a
    reply to another scenario's message a reminder must name the task as it was given,
    or use a word such as "time" or "remind", as an ordinary answer may have the task's
    last word. Within a minute of its moment a reminder is right in any reply. A moment
    does not count if no message followed, or if the next message was about the task; if
    no moment counts, there is nothing to score. No published results exist to agree
    with: every scoring uses this rule.
    """

    family: ClassVar[str] = "reminds-in-time"
    reads_speech: ClassVar[bool] = True
    tasks: tuple[str, ...]
    due: tuple[tuple[float, ...], ...]
    """The minutes at which each task is due, in order; empty for a task that was cancelled."""
    at: tuple[float, ...]
    """The minute of each reply's message, in order."""
    talked: tuple[tuple[int, ...], ...] = ()
    """The replies, counted from 0, to messages about each task."""
    elsewhere: tuple[int, ...] = ()
    """The replies, counted from 0, to messages of other scenarios."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the product of both shares; a missing reply contains no reminder."""
        answers = self.read(answers)
        hits: list[Check] = []
        clean: list[Check] = []
        missed = ""
        for place, task in enumerate(self.tasks):
            task_replies = self.talked[place] if place < len(self.talked) else ()
            other_replies = [n for n in range(len(self.at)) if n not in task_replies]
            wording = " ".join(plain_words(task))
            naming_replies = set[int]()
            reminded = set[int]()
            for n in other_replies:
                texts = _naming_sentences(answer_at(answers, n), task)
                # an answer to another scenario may have the task's last word: it counts
                # only if it reminds
                if n in self.elsewhere:
                    cued = any(_has_cue(text, wording) for text in texts)
                else:
                    cued = bool(texts)
                if cued:
                    naming_replies.add(n)
                    # a sentence about the user's own announcement or question is not a
                    # reminder
                    if not all(map(RE.of_the_user.search, texts)):
                        reminded.add(n)
            right: set[int] = set()
            for number, due in enumerate(self.due[place], start=1):
                # the first reply at least a minute later is the last one in time
                first = bisect_left(self.at, due + NEAR)
                if first == len(self.at) or first in task_replies:
                    continue
                fitting = set(range(bisect_left(self.at, due - NEAR), first + 1))
                hits.append(
                    Check(
                        f"reminds of {task!r} when it is due ({number})",
                        bool(reminded & fitting),
                    )
                )
                missed = missed or ("" if hits[-1].ok else answer_at(answers, first))
                right |= fitting
            untimely = naming_replies - right
            label = f"does not name {task!r} at other times"
            clean.append(Check(label, not untimely))
            if untimely and not missed:
                missed = answer_at(answers, min(untimely))
        if not hits:
            return Unscored(
                "nothing was due while anything was said",
                rule=f"{self.family}/{self.version}",
            )
        in_time = sum(check.ok for check in hits)
        at_peace = sum(check.ok for check in clean)
        reason = f"{in_time} of {len(hits)} reminders in time, {at_peace} of {len(clean)} tasks at no other time"
        return self.score(
            in_time / len(hits) * at_peace / len(clean), reason, missed, [*hits, *clean]
        )


def _naming_sentences(reply: str, task: str) -> list[str]:
    """Return the sentences that name a task, without those that only speak of its reminder."""
    # also written as two words, or in the plural
    pattern = rf"\b{'[ -]?'.join(map(re.escape, plain_words(task)[-1]))}(?:e?s)?\b"
    text = casefold_plain(reply)
    sentences: list[str] = []
    for match in re.finditer(pattern, text):
        sentence = text_nearby(text, *match.span())
        # an immediate reminder is in the clause before the task
        context = text[max(0, match.start() - 80) : match.start()]
        if RE.at_once.search(context) or not RE.no_reminder.search(sentence):
            sentences.append(sentence)
    return sentences


def _has_cue(sentence: str, wording: str) -> bool:
    """Return whether a sentence has the form of a reminder, or the whole wording of a task."""
    if RE.cue.search(sentence):
        return True
    return wording in " ".join(plain_words(sentence))
