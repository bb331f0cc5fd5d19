"""One value of several: the favourite colour, the current name, the fitting option, the one place or person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import (
    Score,
    Scoring,
    casefold_plain,
    evidence_snippet,
    plain_words,
    space_delimited,
)
from pytest_ltm.evaluators._rules import LEXICON, Ruled
from pytest_ltm.language.clauses import clause_around, normalize_text, phrase_positions
from pytest_ltm.language.commitment import Mention, is_misspelt
from pytest_ltm.language.english import is_known_english
from pytest_ltm.language.json_values import NoJSON, json_values, published_json
from pytest_ltm.language.numbers import COUNTS, ORDINALS
from pytest_ltm.language.proof import UNREAD, Proof, prove
from pytest_ltm.language.values import Sameness, compare_values

COLOURS = LEXICON.words("choices colours")
RE = LEXICON.expressions(
    "choices", number="|".join(("one", *COUNTS)), ordinals="|".join(ORDINALS)
)
# Characters of context on each side of a value in evidence.
_MARGIN = 60
_FEW_WORDS = 3
_SPELLINGS = {"gray": "grey", "grey": "gray"}


class NamesColour(Ruled, Struct, frozen=True):
    """Full marks if the last answer names the colour, as a word of its own, in any case.

    A list of colours, an alternative, or a colour that the answer denies, that was
    former, or that somebody else likes does not count; an answer that corrects itself
    counts by its last word, and a longer word may have one wrong letter. `v3.5`: the
    colour is a substring of the lower-cased answer. `paper`: the colour follows the
    start or white space (and perhaps a quote) and precedes white space, the end or one
    of `, . ! ?`.
    """

    family: ClassVar[str] = "colours"
    version: ClassVar[int] = 2
    expected: str
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer names the colour, else 0."""
        answer = self.read_last(answers)
        if not self.follows_own_rules:
            colour = self.expected.lower()
            lowered = answer.lower()
            word = re.search(
                rf"(?:^|\s)[\"']?{re.escape(colour)}(?:\s|$|[,.!?])", lowered
            )
            is_named = colour in lowered if self.scoring == "v3.5" else word is not None
            reason = f"{'names' if is_named else 'does not name'} {self.expected!r}"
            return self.score(
                is_named, reason, self._place(answer) if is_named else answer
            )
        proof = prove(answer, self._mentions)
        ok = proof.answers(self.expected)
        if ok is False:
            mentions = self._mentions(normalize_text(answer))
            if any(mention.value == self.expected for mention in mentions):
                reason = f"names {self.expected!r}, but {proof.reason}"
                return self.score(0, reason, answer)
        return self.score_proven(
            proof, self.expected, self._place(answer) if ok else answer
        )

    def _place(self, answer: str) -> str:
        start = max(answer.lower().find(self.expected.lower()), 0)
        end = start + len(self.expected)
        return evidence_snippet(answer[max(0, start - _MARGIN) : end + _MARGIN])

    def _mentions(self, text: str) -> list[Mention]:
        """Return the mentions of colours; the expected one may have several words, or one wrong letter."""
        colour = self.expected.lower()
        mentions: list[Mention] = []
        covered: set[int] = set()
        for start, end in phrase_positions(text, colour):
            mentions.append(Mention(start, end, self.expected))
            covered.update(range(start, end))
        for word in RE.word.finditer(text):
            # grey and gray are the same colour
            is_expected = _SPELLINGS.get(word[0]) == colour
            described = RE.describes.search(
                text[max(0, word.start() - 80) : word.start()]
            )
            if word.start() in covered:
                continue
            if word[0] in COLOURS and not is_expected and not described:
                mentions.append(Mention(*word.span(), word[0]))
            elif is_expected or is_misspelt(word[0], colour):
                mentions.append(Mention(*word.span(), self.expected))
        return sorted(mentions, key=lambda colour_mention: colour_mention.start)


# --- Names: the answer gives the user's current name.


class NamesUser(Ruled, Struct, frozen=True):
    """Full marks if the last answer gives the expected name as the user's current one.

    `current`: the answer asserts it. `v3.5` and `paper`: it is a substring of the
    lower-cased answer.
    """

    family: ClassVar[str] = "names"
    expected: str
    former: tuple[str, ...] = ()
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer gives the name, else 0."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            return self.score_proven(
                prove(answer, (self.expected, *self.former)), self.expected, answer
            )
        is_named = self.expected.lower() in answer.lower()
        return self.score(
            is_named,
            f"{'names' if is_named else 'does not name'} {self.expected!r}",
            answer,
        )


# --- Chapter Break: the answer picks the option that fits.


class PicksOption(Ruled, Struct, frozen=True):
    """Full marks if the last answer settles on the right option.

    `current`: the number that the answer ends with, decides on or names alone; number
    words and "the third option" count; options that are ruled out do not, nor do counts
    ("the 6 options", "chapter 5"). Several options, or a denied one, earn nothing.
    `v3.5` and `paper`: the set of numbers in the answer is {expected}.
    """

    family: ClassVar[str] = "chapterbreak"
    version: ClassVar[int] = 2
    expected: int
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer picks the option, else 0."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            plain = space_delimited(answer).strip()
            alone = COUNTS.get(plain, ORDINALS.get(plain, 1 if plain == "one" else 0))
            # in a sentence "one" and "second" hardly ever name an option: they count
            # only alone
            if alone:
                picked = Proof("asserts", f"picks option {alone}", str(alone))
            else:
                picked = self._settled(answer)
            return self.score_proven(picked, str(self.expected), answer)
        numbers = set(map(_whole_number, RE.digits.findall(casefold_plain(answer))))
        options_text = ", ".join(sorted(map(str, numbers))[:6]) or "none"
        ok = numbers == {self.expected}
        return self.score(
            ok,
            f"picks option {options_text}" + ("" if ok else f", not {self.expected}"),
            answer,
        )

    def _settled(self, answer: str) -> Proof:
        """Prove an answer; a few words without an option may be its number in another notation."""
        proof = prove(answer, _option_mentions)
        words = plain_words(answer)
        if proof.value or proof.state != "asserts" or len(words) > _FEW_WORDS:
            return proof
        expected = str(self.expected)
        if compare_values(expected, answer) is Sameness.SAME:
            return Proof("asserts", f"picks option {expected}", expected)
        is_foreign = not is_known_english(answer) and "".join(words).isalpha()
        return Proof("unclear", UNREAD) if is_foreign and len(words) > 1 else proof


def _whole_number(digits: str) -> int:
    # int() takes quadratic time, and no story has that many endings
    return int(digits) if len(digits) <= 9 else -1


_INDENT = 12


def _option_mentions(text: str) -> list[Mention]:
    """Return the mentions of options; a number that counts things is skipped unless there is no other."""
    mentions: list[Mention] = []
    labels: list[Mention] = []
    for match in RE.number.finditer(text):
        context = text[max(0, match.start() - _INDENT) : match.start()]
        digits = match["digits"]
        word = match["word"] or match["bare"]
        # "chapter 5", "the 6 options"
        counts = digits and (
            RE.counted.match(text, match.end())
            or (RE.before_count.search(context) and digits.isdecimal())
        )
        if counts:
            continue
        number = ORDINALS[match["ordinal"]] if match["ordinal"] else COUNTS.get(word, 1)
        number = _whole_number("".join(RE.digits.findall(digits))) if digits else number
        mentions.append(Mention(*match.span(), str(number)))
        begins_line = not context.rpartition("\n")[2].strip() and (
            "\n" in context or match.start() < _INDENT
        )
        if begins_line and RE.label.match(text, match.start()):
            labels.append(mentions[-1])
    # a list of options is not a choice; a single label is the answer itself
    if len(labels) > 1:
        picks = [mention for mention in mentions if mention not in labels]
    else:
        picks = mentions
    return picks or mentions


# --- Sally-Anne: the answer names one place (or person), asked for as JSON `{"answer":
# "word"}`.


def _word_in_json(text: str) -> str | None:
    """Return the `answer` of the last JSON object that has one, lists joined with "and"; None if there is none."""
    word = None
    for value in json_values(text):
        if not isinstance(value, dict):
            continue
        for key, item in value.items():
            if str(key).strip().lower() != "answer":
                continue
            # An answer with a list names several.
            if isinstance(item, list):
                word = " and ".join(map(str, item))
            elif isinstance(item, str):
                word = item
            break
    return word


class AnswersWord(Ruled, Struct, frozen=True):
    """Full marks if the `answer` of the JSON in the last answer is the expected word.

    `current`: the place asserted by the last such JSON, or, without JSON, by the
    answer; the thing's real place is an aside. `v3.5` and `paper`: the value of
    `answer`, in lower case, equals the expected word.
    """

    family: ClassVar[str] = "sally-anne"
    finds_objects: ClassVar[bool] = True
    version: ClassVar[int] = 2
    expected: str
    others: tuple[str, ...] = ()
    """The other places of the story."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer is the word, else 0."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            # The last such JSON is the answer; the prose around it is not.
            word = _word_in_json(RE.tag.sub(" ", answer))
            if word is None:
                word = RE.tag.sub(" ", answer)
            return self.score_proven(prove(word, self._places), self.expected, answer)
        try:
            value = published_json(answer)
        except NoJSON:
            value = None
        word_in_json = value.get("answer") if isinstance(value, dict) else None
        word_in_json = word_in_json if isinstance(word_in_json, str) else None
        ok = word_in_json is not None and word_in_json.lower() == self.expected.lower()
        if word_in_json is not None:
            reason = f"says {evidence_snippet(word_in_json, 80)!r}"
        else:
            reason = "gives no answer"
        return self.score(
            ok, reason + ("" if ok else f", not {self.expected!r}"), answer
        )

    def _places(self, text: str) -> list[Mention]:
        names = (self.expected, *self.others)
        mentions: list[Mention] = []
        for name in names:
            together = "".join(plain_words(name))
            spots = phrase_positions(text, name)
            for word in RE.words.finditer(text):
                # a place may be misspelt, or have two words joined into one
                if is_misspelt(word[0], together) or (
                    word[0] == together and together != name.lower()
                ):
                    spots.append(word.span())
            # or one word split in two
            for cut in range(3, len(together) - 2) if " " not in name else ():
                spots += phrase_positions(text, f"{together[:cut]} {together[cut:]}")
            mentions += [Mention(*spot, name) for spot in spots]
        # the last mentions decide; each is compared with all others, so their number is
        # bounded
        mentions = sorted(mentions, key=lambda mention: mention.start)[-120:]
        places: list[Mention] = []
        for mention in mentions:
            clause = " ".join(clause_around(text, mention.start, mention.end))
            # the thing's real place is an aside: the question is where somebody will
            # look
            really = RE.really.search(clause) or (
                RE.now.search(clause) and not RE.searches.search(clause)
            )
            if not really and not _is_part_of_another(mention, mentions):
                places.append(mention)
        return places


def _is_part_of_another(mention: Mention, mentions: Sequence[Mention]) -> bool:
    """Return whether a mention stands within one of another value."""
    for other in mentions:
        within = other.start <= mention.start and mention.end <= other.end
        if within and other.value != mention.value:
            return True
    return False
