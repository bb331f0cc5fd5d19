"""The rules of `ltm audit`: what counts as a fault of a memory, and what shows it."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, pairwise
from typing import Literal, get_args

from msgspec import Struct

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.api.storage import HIDDEN, is_secret_name, redact_secrets
from pytest_ltm.datasets.logs.redaction import Redactor
from pytest_ltm.lifecycle.audit.fields import Memory, word_lists

Kind = Literal[
    "duplicate",
    "near duplicate",
    "echo",
    "contradiction",
    "stale",
    "other value",
    "secret",
    "personal data",
    "orphan",
    "junk",
    "never retrieved",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
MEANINGS: Mapping[Kind, str] = {
    "duplicate": "has the words of an earlier memory",
    "near duplicate": "has nearly the words of an earlier memory, and every value of it",
    "echo": "tells that another memory was remembered, and repeats it",
    "contradiction": "says that something is another thing than an earlier memory of the same time says",
    "stale": "says what something was: a later memory says that it is something else",
    "other value": "says what an earlier memory says but for its last word: both may be true",
    "secret": "holds a password or a key",
    "personal data": "holds an e-mail address or a phone number",
    "orphan": "refers to a memory that is not there",
    "junk": "tells nothing: no words, a question alone, code, or that something was said",
    "never retrieved": "was never retrieved",
}
# Share of the words of two memories that are common to both, for near duplicates.
SIMILAR = 0.8
# Words that a memory must have to be looked for in others: shorter ones stand anywhere.
SHORTEST_ECHOED = 4
# Words of the shortest memory that is taken for a claim about something.
SHORTEST_FRAME = 3

_WORD = re.compile(r"\w+(?:['.,:/-]\w+)*")
_TOLD_SECRET = re.compile(
    r"(?P<lead>(?P<subject>(?:[\w-]+ ){1,6})(?:is|was)(?: now)?:? [\"'“]?)"
    r"(?P<value>[^\s\"'”]{4,})",
    re.IGNORECASE,
)
# Stand-ins for addresses are shown, and never compared with those of another audit.
_SALT = b"an audit counts, and forgets"
_CODE = re.compile(r"\s*(?:```|[{\[<])")


class Finding(Struct, frozen=True):
    """One fault of one memory."""

    kind: Kind
    place: int
    """The number of the memory, from 0."""
    evidence: str
    """What shows it, without secrets."""
    other: int | None = None
    """The memory that it is compared with."""


class Wording(Struct, frozen=True):
    """The words of a memory, apart by what they do in a comparison."""

    plain: tuple[str, ...]
    values: frozenset[str]
    """Words that name something: with a digit, or with a capital inside a sentence."""
    frame: tuple[str, ...]
    """The plain words without denials, and with "" in the place of the claim."""
    claim: str
    """The last value; the last word where there is none."""
    is_denied: bool
    is_single: bool
    """Whether the claim is of a kind of which there is one at a time: a name, a home, a favourite."""


def find_faults(
    memories: Sequence[Memory], retrieved: Collection[str] | None = None
) -> list[Finding]:
    """Return all findings, by kind and place; a memory may have several.

    `retrieved`: ids or texts of what was ever retrieved; None: only the dump itself says.
    """
    wordings = [read_wording(memory.text) for memory in memories]
    junk = list(_find_junk(memories, wordings))
    # what tells nothing is no second copy of anything
    telling = sorted(set(range(len(memories))) - {finding.place for finding in junk})
    findings = [
        *junk,
        *_find_duplicates(memories, wordings, telling),
        *_find_echoes(memories, wordings),
        *_find_changed_values(memories, wordings),
        *_find_private(memories),
        *_find_orphans(memories),
        *_find_unused(memories, retrieved),
    ]
    order = {kind: number for number, kind in enumerate(KINDS)}
    findings.sort(key=lambda finding: (order[finding.kind], finding.place))
    return findings


def read_wording(text: str) -> Wording:
    """Return the words of a text; a word at the head of a sentence is a value only if it has a digit."""
    words: list[str] = []
    value_places: list[int] = []
    begins = True
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        between = text[end : match.start()]
        begins = begins or any(mark in between for mark in ".!?\n")
        has_capital = word[0].isupper() and not begins and word != "I"
        if has_capital or any(letter.isdigit() for letter in word):
            value_places.append(len(words))
        words.append(word.casefold())
        end = match.end()
        begins = False
    if not words:
        return Wording((), frozenset(), (), "", is_denied=False, is_single=False)
    place = _claim_place(words, value_places)
    words_before = words[:place]
    frame = [*words_before, "", *words[place + 1 :]]
    return Wording(
        tuple(words),
        frozenset(words[value] for value in value_places),
        tuple(word for word in frame if not _denies(word)),
        words[place],
        is_denied=any(map(_denies, words)),
        is_single=_is_single(words_before, is_value=place in value_places),
    )


def _claim_place(words: Sequence[str], value_places: Sequence[int]) -> int:
    """Return where a sentence says what something is: its last value behind such a verb, else its last word."""
    verbs = {*word_lists()["identity"], *word_lists()["one_at_a_time"]}
    if value_places and not verbs.isdisjoint(words[: value_places[-1]]):
        return value_places[-1]
    return len(words) - 1


def _denies(word: str) -> bool:
    return word in word_lists()["negation"] or word.endswith("n't")


def _is_single(words_before: Sequence[str], *, is_value: bool) -> bool:
    """Return whether what stands before a claim is known to be true of one thing at a time."""
    words = set(words_before)
    lists = word_lists()
    if not words.isdisjoint(lists["only_one"]):
        return not words.isdisjoint(lists["identity"])
    is_class = bool(words_before) and words_before[-1] in {"a", "an"}
    return is_value and not is_class and not words.isdisjoint(lists["one_at_a_time"])


def _find_duplicates(
    memories: Sequence[Memory], wordings: Sequence[Wording], places: Sequence[int]
) -> Iterator[Finding]:
    """Yield the memories of which an earlier one of the same scope has the same words, or nearly."""
    first: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    alike: dict[tuple[tuple[str, ...], frozenset[str]], list[int]] = defaultdict(list)
    for place in places:
        scope = memories[place].scope
        wording = wordings[place]
        earlier = first.setdefault((scope, wording.plain), place)
        if earlier == place:
            alike[scope, wording.values].append(place)
        else:
            yield Finding(
                "duplicate", place, quote_safely(memories[place].text), earlier
            )
    for group in alike.values():
        yield from _find_near(memories, wordings, group)


def _find_near(
    memories: Sequence[Memory], wordings: Sequence[Wording], places: Sequence[int]
) -> Iterator[Finding]:
    """Yield those, of some with the same values, of which an earlier one shares most words.

    Two texts that share a share s of their words have one of the (1 - s) n + 1 rarest
    words of either in common, so only these are looked up.
    """
    words_by_place = {place: set(wordings[place].plain) for place in places}
    counts = Counter(chain.from_iterable(words_by_place.values()))
    holders: dict[str, list[int]] = defaultdict(list)
    for place, words in words_by_place.items():
        rarest = sorted(words, key=lambda word: (counts[word], word))
        rarest = rarest[: int((1 - SIMILAR) * len(words)) + 1]
        candidates = set(chain.from_iterable(holders[word] for word in rarest))
        for earlier in sorted(candidates):
            if _are_near(wordings[place], wordings[earlier]):
                evidence = quote_safely(memories[place].text)
                yield Finding("near duplicate", place, evidence, earlier)
                break
        for word in rarest:
            holders[word].append(place)


def _are_near(wording: Wording, earlier: Wording) -> bool:
    words = set(wording.plain)
    earlier_words = set(earlier.plain)
    common = len(words & earlier_words)
    if common < SIMILAR * len(words | earlier_words):
        return False
    if wording.frame == earlier.frame and wording.claim != earlier.claim:
        return False
    return wording.is_denied == earlier.is_denied


def _find_echoes(
    memories: Sequence[Memory], wordings: Sequence[Wording]
) -> Iterator[Finding]:
    """Yield the memories that hold another one's words, and beside them a word for remembering."""
    remembering = set(map(word_stem, word_lists()["remembering"]))
    by_beginning: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, wording in enumerate(wordings):
        if len(wording.plain) >= SHORTEST_ECHOED:
            by_beginning[wording.plain[:SHORTEST_ECHOED]].append(place)
    for place, wording in enumerate(wordings):
        found = _find_held(wording, wordings, by_beginning)
        if found is None:
            continue
        start, echoed = found
        end = start + len(wordings[echoed].plain)
        around = {*wording.plain[:start], *wording.plain[end:]}
        if not remembering.isdisjoint(map(word_stem, around)):
            yield Finding("echo", place, quote_safely(memories[place].text), echoed)


def _find_held(
    wording: Wording,
    wordings: Sequence[Wording],
    by_beginning: Mapping[tuple[str, ...], Sequence[int]],
) -> tuple[int, int] | None:
    """Return where in a memory another one begins, and which; None where none stands in it whole."""
    words = wording.plain
    for start in range(len(words) - SHORTEST_ECHOED + 1):
        beginning = words[start : start + SHORTEST_ECHOED]
        for place in by_beginning.get(beginning, ()):
            held_words = wordings[place].plain
            is_shorter = len(held_words) < len(words)
            if is_shorter and words[start : start + len(held_words)] == held_words:
                return start, place
    return None


def _find_changed_values(
    memories: Sequence[Memory], wordings: Sequence[Wording]
) -> Iterator[Finding]:
    """Yield the memories that say "A is B" where another one says "A is C", or denies it."""
    frames: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for place, (memory, wording) in enumerate(zip(memories, wordings, strict=True)):
        if len(wording.frame) >= SHORTEST_FRAME:
            frames[memory.scope, wording.frame].append(place)
    for places in frames.values():
        for number, place in enumerate(places):
            yield from _compare_claims(memories, wordings, place, places, number)


def _compare_claims(
    memories: Sequence[Memory],
    wordings: Sequence[Wording],
    place: int,
    places: Sequence[int],
    number: int,
) -> Iterator[Finding]:
    """Yield whether a memory about one thing is past, or says another thing than an earlier one."""
    wording = wordings[place]
    date = memories[place].date
    evidence = quote_safely(memories[place].text)
    exclusive = [index for index in places if _exclude(wording, wordings[index])]
    later = [index for index in exclusive if _is_later(memories[index].date, date)]
    earlier = [index for index in places[:number] if index in exclusive]
    same_time = [index for index in earlier if memories[index].date == date]
    if later:
        yield Finding("stale", place, evidence, later[-1])
    elif same_time:
        yield Finding("contradiction", place, evidence, same_time[-1])
    elif not exclusive:
        other_values = [
            index for index in places[:number] if wordings[index].claim != wording.claim
        ]
        if other_values:
            yield Finding("other value", place, evidence, other_values[-1])


def _exclude(first: Wording, second: Wording) -> bool:
    """Return whether two memories of one frame cannot both be true."""
    if first.claim == second.claim:
        return first.is_denied != second.is_denied
    return first.is_single and not (first.is_denied or second.is_denied)


def _is_later(date: datetime | None, than: datetime | None) -> bool:
    return date is not None and than is not None and date > than


def _find_private(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Yield what the redaction of logs would take out, each kind as one finding."""
    for place, memory in enumerate(memories):
        redactor = Redactor(_SALT)
        plain = redact_secrets(memory.text)
        hidden = redactor.text(plain)
        found = dict(redactor.counts)
        has_key = found.pop("keys", 0) or plain != memory.text
        if has_key or _hide_told_secrets(hidden) != hidden:
            yield Finding("secret", place, quote_safely(memory.text))
        if found:
            kinds = ", ".join(found)
            yield Finding(
                "personal data", place, f"{kinds}: {quote_safely(memory.text)}"
            )


def _hide_told_secrets(text: str) -> str:
    """Return a text without the secrets that it tells in a sentence: "the password is hunter2"."""

    def hide(match: re.Match[str]) -> str:
        words = match["subject"].lower().split()
        pairs = map("_".join, pairwise(words))
        is_told = any(map(is_secret_name, (*words, *pairs)))
        is_odd = not match["value"].rstrip(".,;!?").isalpha()
        if is_told and is_odd:
            return f"{match['lead']}{HIDDEN}"
        return match.group()

    return _TOLD_SECRET.sub(hide, text)


def _find_orphans(memories: Sequence[Memory]) -> Iterator[Finding]:
    ids = {memory.id for memory in memories}
    for place, memory in enumerate(memories):
        missing = [link for link in memory.links if link not in ids]
        if missing:
            evidence = f"{', '.join(missing)}: {quote_safely(memory.text)}"
            yield Finding("orphan", place, evidence)


def _find_junk(
    memories: Sequence[Memory], wordings: Sequence[Wording]
) -> Iterator[Finding]:
    for place, (memory, wording) in enumerate(zip(memories, wordings, strict=True)):
        reason = why_junk(memory.text, wording)
        if reason:
            yield Finding("junk", place, f"{reason}: {quote_safely(memory.text)}")


def why_junk(text: str, wording: Wording) -> str:
    """Return why a text tells nothing; "" if it may tell something."""
    if not any(letter.isalpha() for letter in text):
        return "no words"
    if is_code(text):
        return "code or data"
    if text.rstrip().endswith("?") and not re.search(r"[.!]\s", text):
        return "a question alone"
    stems = {word_stem(word) for word in plain_words(text)}
    if wording.values or not stems <= _telling_nothing():
        return ""
    return "only that something was said"


def is_code(text: str) -> bool:
    """Return whether a text is code or data: by its mark, its lines' ends, or because Python has a block in it."""
    if _CODE.match(text):
        return True
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if 2 * sum(line.endswith((";", "{", "}")) for line in lines) > len(lines):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an odd backslash
            statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    # What has no block may be a sentence, as "import goods" or "dog = Rex" are.
    return any(hasattr(statement, "body") for statement in statements)


@cache
def _telling_nothing() -> frozenset[str]:
    """Return the stems of function words, and of words which say that something was said."""
    return frozenset(map(word_stem, (*STOP_WORDS, *word_lists()["saying"])))


def _find_unused(
    memories: Sequence[Memory], retrieved: Collection[str] | None
) -> Iterator[Finding]:
    for place, memory in enumerate(memories):
        is_used = memory.is_used
        if retrieved is not None:
            is_used = memory.id in retrieved or memory.text in retrieved
        if is_used is False:
            yield Finding("never retrieved", place, quote_safely(memory.text))


def quote_safely(text: str) -> str:
    """Return a text as evidence: on one line, without what `_find_private` looks for."""
    return " ".join(_hide_private(text).split())


def _hide_private(text: str) -> str:
    return _hide_told_secrets(Redactor(_SALT).text(redact_secrets(text)))
