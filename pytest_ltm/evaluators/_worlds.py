"""Invented worlds kept apart from the real one, and invented languages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import Score, Scoring, plain_words
from pytest_ltm.evaluators._rules import LEXICON, RuleCheck, Ruled, answer_at
from pytest_ltm.language.clauses import blank_out, iter_sentences, normalize_text
from pytest_ltm.language.commitment import Mention, is_alternative
from pytest_ltm.language.proof import prove, tells_nothing_new
from pytest_ltm.language.recital import recites_messages
from pytest_ltm.language.values.quantities import find_quantities, is_in_same_unit

RE = LEXICON.expressions("worlds")
_AWAY = r"\b(?:outside|beyond|away from)(?: of)?(?: (?:your|the|my|that|its|\w+s))* \w+"
_REAL = (
    rf"{_AWAY}|\b(?:real(?:ity)?|real-life|irl|actual (?:world|life)|our(?: \w+)? (?:world|universe|planet)|ours|"
    r"this world|in our \w+|on earth|(?:in|out in) the world(?! of)|normal(?:ly)?|usual(?:ly)?|ordinar(?:y|ily)|"
    r"typical(?:ly)?|everyday|outside|elsewhere|(?:any|every)where else|otherwise(?= \w)|"
    r"here(?! (?:is|are|you|goes)\b))\b"
)
_INVENTED = (
    r"\b(?:fiction(?:al)?|stor(?:y|ies)|made[- ]up|imaginary|invented|your (?:world|tale|version|book)s?|yours|inside|"
    r"there(?! (?:is|are|was|were|s|would|will)\b))\b"
)
# Characters around the name of a world that show how it is meant.
_NEAR = 60
_INSIDE = "right of invented worlds"
_OUTSIDE = "right of the real world"


class KeepsWorldsApart(Ruled, Struct, frozen=True):
    """The share of right answers about invented worlds, times the share of right answers about the real one.

    An answer must settle on one value for the world asked about. Statements about
    another world ("real cats meow", "in the play they hoot") are ignored; a statement
    that names no world is about the one asked for. So answering everything from one
    world earns nothing. No published results exist to agree with: every scoring uses
    this rule.
    """

    family: ClassVar[str] = "worlds"
    expected: tuple[str, ...]
    """The answer of each question: a word, synonyms with | between, or a number with its unit: "7 days"."""
    others: tuple[tuple[str, ...], ...]
    """Other plausible values for each question; for a number, any other number counts as one."""
    realms: tuple[str, ...]
    """The invented world of each question, by its names with | between; "": the real world."""
    frames: tuple[str, ...]
    """All invented worlds."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the product of both shares; a missing answer counts as wrong."""
        return self.score_product((_INSIDE, _OUTSIDE), self._rows(self.read(answers)))

    def _rows(self, answers: Sequence[str]) -> Iterator[tuple[str, RuleCheck]]:
        for place, (expected, rivals, realm) in enumerate(
            zip(self.expected, self.others, self.realms, strict=True)
        ):
            answer = answer_at(answers, place)
            label = f"{expected.partition('|')[0]!r} in {realm.partition('|')[0] or 'the real world'}"
            ok = _says_of_world(answer, expected, rivals, realm, self.frames)
            yield _INSIDE if realm else _OUTSIDE, RuleCheck(label, answer, ok)


def _says_of_world(
    answer: str, expected: str, rivals: Sequence[str], realm: str, frames: Sequence[str]
) -> bool | None:
    if recites_messages(answer):
        return False
    number, _, counted = expected.partition(" ")
    if number.isdecimal():
        expected = number
        find = partial(_counted_numbers, counted=counted)
    else:
        find = partial(
            _value_mentions,
            patterns={value: _any_spelling(value) for value in (expected, *rivals)},
        )
    frame_patterns = {frame: rf"\b(?:{_any_spelling(frame)})s?\b" for frame in frames}
    other_frames = [
        pattern for frame, pattern in frame_patterns.items() if frame != realm
    ]
    if realm:
        this = f"{frame_patterns[realm]}|{_INVENTED}"
        other = _REAL
    else:
        this = _REAL
        other = _INVENTED
    marks = partial(_world_marks, this=this, other="|".join([other, *other_frames]))
    # the conclusion is at the end, and the limit bounds the time
    ending = answer[-20_000:].replace("_", " ")
    text = normalize_text(
        RE.item.sub("", ending) if len(RE.item.findall(ending)) > 1 else ending
    )
    for pattern, instead in (
        (RE.the_animals, "they"),
        (RE.from_to, "to"),
        (RE.first, "formerly"),
        (RE.asks_back, " "),
    ):
        text = pattern.sub(instead, text)
    same = _any_spelling(expected)
    # synonyms are not alternatives
    text = re.sub(rf"\b({same})\W+or\W+(?:{same})\b", r"\1", text)
    text = RE.tag.sub(
        lambda result: (
            result[0] if find(result[1]) or not marks(result[1]) else f" {result[1]} "
        ),
        text,
    )
    elsewhere = _other_world_mentions(text, find(text), marks(text))
    text = blank_out(text, ((mention.start, mention.end) for mention in elsewhere))
    return prove(text, find).answers(expected)


def _any_spelling(spellings: str) -> str:
    return "|".join(map(re.escape, normalize_text(spellings).split("|")))


def _value_mentions(text: str, patterns: Mapping[str, str]) -> list[Mention]:
    """Return the mentions of values in any of their words, also as a verb: "barks", "mooing"."""
    mentions = [
        Mention(spot.start(), spot.end(), value)
        for value, pattern in patterns.items()
        for spot in re.finditer(rf"\b(?:{pattern})(?:s|es|ed|ing)?\b", text)
    ]
    return sorted(mentions, key=lambda mention: mention.start)


def _counted_numbers(text: str, counted: str) -> list[Mention]:
    """Return the mentions of numbers of the counted thing, except one, as in "a week"."""
    example = find_quantities(f"2 {counted}")[0]
    mentions: list[Mention] = []
    for quantity in find_quantities(text):
        context = text[max(0, quantity.start - _NEAR) : quantity.start]
        after = text[quantity.end : quantity.end + _NEAR]
        # "at least seven" is not seven
        if RE.bound_before.search(context) or RE.bound_after.match(after):
            bound = "more or less "
        else:
            bound = ""
        if (
            quantity.value != 1
            and not quantity.is_time
            and (
                quantity.is_bare
                or example.is_bare
                or is_in_same_unit(quantity, example)
            )
        ):
            mentions.append(
                Mention(
                    quantity.start, quantity.end, f"{bound}{float(quantity.value):g}"
                )
            )
    return mentions


# --- The world that a statement is about.

# Where a text names a world, and whether it is the one asked for.
Mark = tuple[int, bool]


def _world_marks(text: str, this: str, other: str) -> list[Mark]:
    """Return the marks of worlds in a normalized text, in order."""
    away = [match.span() for match in re.finditer(_AWAY, text)]
    match = list[Mark]()
    for pattern, is_this in ((this, True), (other, False)):
        for spot in re.finditer(pattern, text):
            context = text[max(0, spot.start() - _NEAR) : spot.start()]
            # "outside your novel"
            if RE.like.search(context) or any(
                start < spot.start() < end for start, end in away
            ):
                continue
            turned = RE.not_word.search(context)
            tells_where = RE.where.match(text[spot.end() : spot.end() + _NEAR])
            match.append(
                (
                    spot.start(),
                    is_this is not (turned is not None and tells_where is None),
                )
            )
    return sorted(match)


def _other_world_mentions(
    text: str, mentions: Sequence[Mention], marks: Sequence[Mark]
) -> Iterator[Mention]:
    heading = True
    for start, sentence in iter_sentences(text):
        span = start, start + len(sentence)
        inside = [mention for mention in mentions if span[0] <= mention.start < span[1]]
        if inside:
            yield from _in_sentence(text, span, inside, marks, default=heading)
        else:
            sentence_marks = _marks_within(marks, *span)
            # a brief sentence with a world and no value is a heading for the next one
            if sentence_marks and len(plain_words(sentence)) <= 5:
                heading = sentence_marks[-1]
            else:
                heading = True


def _in_sentence(
    text: str,
    span: tuple[int, int],
    mentions: Sequence[Mention],
    marks: Sequence[Mark],
    *,
    default: bool,
) -> Iterator[Mention]:
    """Yield the mentions of a sentence that are about another world."""
    start, end = span
    cuts = [
        start,
        *(start + cut.end() for cut in RE.segment.finditer(text[start:end])),
        end,
    ]
    is_here = default
    last = start
    concedes = RE.concedes.match(text[start:end]) is not None
    lead: bool | None = None  # the world of preceding text without values
    for begin, stop in itertools.pairwise(cuts):
        own_marks = _marks_within(marks, begin, stop)
        mentioned = [mention for mention in mentions if begin <= mention.start < stop]
        if not mentioned:
            lead = own_marks[-1] if own_marks else lead
            continue
        trail = [] if mentions[-1].start >= stop else _marks_within(marks, stop, end)
        for mention_inside in mentioned:
            if own_marks:
                is_here = (
                    _marks_within(marks, begin, mention_inside.start) or own_marks[:1]
                )[-1]
            elif lead is not None:
                is_here = lead
            elif trail:
                is_here = trail[0]
            elif concedes or RE.contrast.search(text[last : mention_inside.start]):
                is_here = default
            if not is_here:
                yield mention_inside
            last = mention_inside.end
        lead = None


def _marks_within(marks: Sequence[Mark], begin: int, stop: int) -> list[bool]:
    return [is_here for place, is_here in marks if begin <= place < stop]


# --- Invented languages: one untold word, composed of told parts.

# Letters in a row that a word shares with the expected one if it is a form of it, or of
# a part.
_ALIKE = 5


class SpeaksLanguage(Ruled, Struct, frozen=True):
    """The share of the expected forms that answers settle on, as one word or with hyphens between their parts.

    Told forms and parts of the form may be named on the way to it; any other form is a
    second answer, and naming several chooses none. Where some questions expect no form,
    the share is multiplied by the share of those left unanswered, so that neither
    always answering nor never answering earns anything. No published results exist to
    agree with: every scoring uses this rule.
    """

    family: ClassVar[str] = "speaks-language"
    expected: tuple[str, ...]
    """The form that each question asks for; "" if nothing told determines it."""
    told: tuple[str, ...] = ()
    """The forms that were told; no question expects one of them. Forms that others expect may be named, too."""
    forms: tuple[str, ...] = ()
    """The expected or mistaken form of each question; needed only if some questions expect none."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share, or the product of both shares; a missing answer counts as wrong."""
        return self.score_product(
            ("forms are right", "rightly left open"), self._rows(self.read(answers))
        )

    def _rows(self, answers: Sequence[str]) -> Iterator[tuple[str, RuleCheck]]:
        for place, form in enumerate(self.expected):
            answer = answer_at(answers, place)
            if form:
                yield (
                    "forms are right",
                    RuleCheck(f"says {form!r}", answer, self.settles_on(answer, form)),
                )
            else:
                label = f"has nothing to say in answer {place + 1}"
                text = normalize_text(_join_parts(answer))
                tells = _form_mentions(
                    text, form=self.forms[place].casefold(), told=self.told
                )
                yield (
                    "rightly left open",
                    RuleCheck(
                        label, answer, False if tells else tells_nothing_new(text)
                    ),
                )

    def settles_on(self, answer: str, form: str) -> bool | None:
        """Return whether an answer settles on a form."""
        find = partial(
            _form_mentions, form=form.casefold(), told=(*self.told, *self.expected)
        )
        return prove(_join_parts(answer), find).answers(form.casefold())


def _join_parts(answer: str) -> str:
    return RE.sum.sub(" ", RE.joined.sub("", answer))


def _form_mentions(text: str, *, form: str, told: Sequence[str]) -> list[Mention]:
    """Return the mentions of the form, or of others like it, without those that only lead to it."""
    parts = [form[place : place + _ALIKE] for place in range(len(form) - _ALIKE + 1)]
    mentions: list[Mention] = []
    for match in RE.word.finditer(text):
        mention = Mention(*match.span(), match[0].casefold())
        word = match[0].casefold()
        shorter = any(
            form.startswith(word[:cut]) and form.endswith(word[cut:])
            for cut in range(len(word) + 1)
        )
        # told forms, and the form without some of its parts, only lead to it
        leads = word != form and (word in told or (shorter and len(word) < len(form)))
        if any(part in word for part in parts) and (
            not leads or is_alternative(text, mention)
        ):
            mentions.append(mention)
    return mentions
