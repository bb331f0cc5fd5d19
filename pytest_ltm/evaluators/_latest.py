"""The value told last counts: the favourite colour, the names the user has gone by, the name the user goes by now."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from pytest_ltm._language.clauses import normalize_text, phrase_positions, sentence_around
from pytest_ltm._language.commitment import Mention, asserted_mentions, find_mentions, is_misspelt, last_word
from pytest_ltm._language.json import NoJSON, json_values, published_json
from pytest_ltm._language.proof import prove
from pytest_ltm._language.recital import REPEATS, recites_messages
from pytest_ltm._language.words import BULLET, excerpt_around, plain_words
from pytest_ltm._model.score import Scoring  # noqa: TC001 - the signature of a struct names it
from pytest_ltm.evaluators._rules import LEXICON, Ruled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._model.score import Score


COLOURS = LEXICON.words("latest colours")
RE = LEXICON.expressions("latest")
_SPELLINGS = {"gray": "grey", "grey": "gray"}


class NamesColour(Ruled, Struct, frozen=True):
    """Full marks if the last answer names the colour, as a word of its own, whatever its case.

    A list of colours, one of two, a colour that the answer denies, that was, or that somebody else likes is none; an
    answer that corrects itself is taken at its last word, and a letter may be wrong in a longer word.
    `v3.5`: the colour is a substring of the lower-cased answer. `paper`: it stands between the start or white
    space (and perhaps a quote) and white space, the end or one of `, . ! ?`.
    """

    family: ClassVar[str] = "colours"
    version: ClassVar[int] = 2
    expected: str
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer names the colour, else 0."""
        answer = self.read_last(answers)
        if not self.follows_own_rules:
            colour, said = self.expected.lower(), answer.lower()
            word = re.search(rf"(?:^|\s)[\"']?{re.escape(colour)}(?:\s|$|[,.!?])", said)
            named = colour in said if self.scoring == "v3.5" else word is not None
            reason = f"{'names' if named else 'does not name'} {self.expected!r}"
            return self.score(named, reason, self._place(answer) if named else answer)
        proof = prove(answer, self._mentions)
        ok = proof.answers(self.expected)
        if ok is False and self.expected in {mention.value for mention in self._mentions(normalize_text(answer))}:
            return self.score(0, f"names {self.expected!r}, but {proof.reason}", answer)
        return self.score_proven(proof, self.expected, self._place(answer) if ok else answer)

    def _place(self, answer: str) -> str:
        at = max(answer.lower().find(self.expected.lower()), 0)
        return excerpt_around(answer, at, at + len(self.expected))

    def _mentions(self, text: str) -> list[Mention]:
        """Return where colours are named; the expected one may be of several words, or misspelt by a letter."""
        colour = self.expected.lower()
        mentions = [Mention(*spot, self.expected) for spot in phrase_positions(text, colour)]
        taken = {place for one in mentions for place in range(one.start, one.end)}
        for word in RE.word.finditer(text):
            # grey is gray, and no second colour
            is_expected = _SPELLINGS.get(word[0]) == colour
            described = RE.describes.search(text[max(0, word.start() - 80) : word.start()])
            if word.start() in taken:
                continue
            if word[0] in COLOURS and not is_expected and not described:
                mentions.append(Mention(*word.span(), word[0]))
            elif is_expected or is_misspelt(word[0], colour):
                mentions.append(Mention(*word.span(), self.expected))
        return sorted(mentions, key=lambda one: one.start)


# --- Name List: the answer lists all names that the user has gone by, and no others.

# A line of more words is not a name.
_MOST_WORDS = 4


class ListsNames(Ruled, Struct, frozen=True):
    """The share of names recalled, whatever the order: (matches - foreign names) / names expected, not below 0.

    `current` compares words case-folded, counts a name once, takes a list inside an object, and reads names from
    bulleted lines, else from prose, where there is no list. `v3.5` and `paper`: matches / max(expected, given);
    0 unless the answer is a JSON list.
    """

    family: ClassVar[str] = "name-list"
    version: ClassVar[int] = 2
    expected: tuple[str, ...]
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of names in the last answer."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            return self._ours(answer)
        try:
            given = published_json(answer)
        except NoJSON as error:
            return self.score(0, f"no JSON: {error}", answer)
        if not isinstance(given, list):
            return self.score(0, "not a list", answer)
        names = [str(name).lower() for name in given]
        return self._share([name for name in self.expected if name.lower() in names], len(names), answer)

    def _ours(self, answer: str) -> Score:
        text = last_word(answer, lambda said: bool(_listed_names(said) or self._told(said)))
        given = _listed_names(text)
        given = _bulleted_names(text) if given is None else given
        keys = {key for name in given or () if (key := " ".join(plain_words(name)))}
        named = [name for name in self.expected if " ".join(plain_words(name)) in keys]
        # an empty list is an answer; a list without any expected name is of something else
        if given is not None and (named or not given):
            return self._share(named, len(keys), answer)
        if recites_messages(answer):
            return self.score(0, REPEATS, answer)
        told = self._told(text)
        known = {word for name in self.expected for word in plain_words(name)}
        # in prose only what stands in a row of names is one: any word may have a capital
        row = {" ".join(plain_words(match["name"])) for match in RE.in_a_row.finditer(text)} if told else set()
        foreign = [name for name in row if name not in _NO_NAMES and not set(name.split()) & known]
        return self._share(told, len(told) + len(foreign), answer)

    def _told(self, text: str) -> list[str]:
        """Return the expected names that a text in prose claims."""
        plainly = normalize_text(text)
        held = asserted_mentions(plainly, partial(find_mentions, names=self.expected), formerly=True)
        claims = {one.value for one in held if not RE.either.search(sentence_around(plainly, one.start, one.end))}
        return [name for name in self.expected if name in claims]

    def _share(self, texts: Sequence[str], given: int, answer: str) -> Score:
        missing = list((Counter(self.expected) - Counter(texts)).elements())
        extra = max(given - len(texts), 0)
        value = max(len(texts) - extra, 0) / max(len(self.expected), 1)
        if not self.follows_own_rules:
            value = len(texts) / max(len(self.expected), given, 1)
        parts = [f"not named: {', '.join(missing)}"] * bool(missing) + [f"{extra} invented"] * bool(extra)
        return self.score(value, "; ".join(parts) or "names all and no others", answer)


_NO_NAMES = LEXICON.words("latest no names")


def _listed_names(answer: str) -> list[str] | None:
    """Return the names of the first list of texts, also inside an object; None where there is none."""
    return next((texts for value in json_values(answer) if (texts := _list_texts(value, 3)) is not None), None)


def _list_texts(value: Any, depth: int) -> list[str] | None:
    """Return the texts of a list, of objects with a name in a list, or of a list inside an object."""
    if isinstance(value, list):
        names: list[str] = []
        for entry in value:
            text = (
                next((one for one in entry.values() if isinstance(one, str)), None)
                if isinstance(entry, dict)
                else entry
            )
            if not isinstance(text, str):
                return None
            names.append(RE.aside.sub("", text))
        return list(filter(None, names))
    if isinstance(value, dict) and depth:
        inner = (_list_texts(item, depth - 1) for item in value.values() if isinstance(item, (list, dict)))
        return next((result for result in inner if result is not None), None)
    return None


def _bulleted_names(answer: str) -> list[str] | None:
    """Return the names of bulleted or numbered lines of a few words; None where there are not several."""
    names = [BULLET.sub("", RE.aside.sub("", line)) for line in answer.splitlines() if BULLET.match(line)]
    short = [name for name in names if 0 < len(plain_words(name)) <= _MOST_WORDS]
    return short if len(short) > 1 and len(short) == len(names) else None


# --- Names: the answer tells the name that the user goes by now.


class NamesUser(Ruled, Struct, frozen=True):
    """Full marks if the last answer tells the expected name as the user's present one.

    `current`: it is what the answer asserts. `v3.5` and `paper`: it is a substring of the lower-cased answer.
    """

    family: ClassVar[str] = "names"
    expected: str
    former: tuple[str, ...] = ()
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer tells the name, else 0."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            return self.score_proven(prove(answer, (self.expected, *self.former)), self.expected, answer)
        named = self.expected.lower() in answer.lower()
        return self.score(named, f"{'names' if named else 'does not name'} {self.expected!r}", answer)
