"""The rules of `ltm audit`: what counts as a fault of a memory, and the evidence for it."""

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
    "duplicate": "has the same words as an earlier memory",
    "near duplicate": "has nearly the same words as an earlier memory, and all of its values",
    "echo": "reports that another memory was stored, and repeats it",
    "contradiction": "contradicts an earlier memory of the same time",
    "stale": "has an old value: a later memory has a new one",
    "other value": "differs from an earlier memory only in its last word: both may be true",
    "secret": "contains a password or a key",
    "personal data": "contains an e-mail address or a phone number",
    "orphan": "refers to a missing memory",
    "junk": "has no information: no words, only a question, code, or only that something was said",
    "never retrieved": "was never retrieved",
}
# The share of common words from which on two memories are near duplicates.
SIMILAR = 0.8
# Shorter memories are not searched for in others: a few words may occur anywhere.
SHORTEST_ECHOED = 4
# The fewest words of a memory that counts as a claim about something.
SHORTEST_FRAME = 3

_WORD = re.compile(r"\w+(?:['.,:/-]\w+)*")
_TOLD_SECRET = re.compile(
    r"(?P<lead>(?P<subject>(?:[\w-]+ ){1,6})(?:is|was)(?: now)?:? [\"'“]?)"
    r"(?P<value>[^\s\"'”]{4,})",
    re.IGNORECASE,
)
# A fixed salt is enough: placeholders of two audits are never compared.
_SALT = b"an audit counts, and forgets"
_CODE = re.compile(r"\s*(?:```|[{\[<])")


class Finding(Struct, frozen=True):
    """A fault of a memory."""

    kind: Kind
    place: int
    """The index of the memory, from 0."""
    evidence: str
    """The evidence, without secrets."""
    other: int | None = None
    """The index of the memory that it is compared with."""


class Wording(Struct, frozen=True):
    """The words of a memory by their role in comparisons."""

    plain: tuple[str, ...]
    values: frozenset[str]
    """Words that name something: those with a digit, or with a capital inside a sentence."""
    frame: tuple[str, ...]
    """The words without values and negations; "" marks the claim."""
    claim: str
    """The last value, or the last word if there is none."""
    is_denied: bool
    is_single: bool
    """Whether only one such claim can hold at a time: a name, a home, a favourite."""


def find_faults(
    memories: Sequence[Memory], retrieved: Collection[str] | None = None
) -> list[Finding]:
    """Return all findings, sorted by kind and place; a memory may have several.

    `retrieved`: ids or texts of retrieved records; None to rely on the dump alone.
    """
    wordings = [read_wording(memory.text) for memory in memories]
    junk = list(_find_junk(memories, wordings))
    # junk is not a duplicate of anything
    junk_places = {finding.place for finding in junk}
    findings = [
        *junk,
        *_find_duplicates(memories, wordings, junk_places),
        *_find_echoes(memories, wordings),
        *_find_changed_values(memories, wordings),
        *_find_private(memories),
        *_find_orphans(memories),
        *_find_unused(memories, retrieved),
    ]
    findings.sort(key=lambda finding: (KINDS.index(finding.kind), finding.place))
    return findings


def read_wording(text: str) -> Wording:
    """Return the wording of a text; a word that begins a sentence is a value only if it has a digit."""
    words: list[str] = []
    value_places: list[int] = []
    begins = True
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        between = text[end : match.start()]
        begins = begins or any(mark in between for mark in ".!?\n")
        has_capital = word[0].isupper() and not begins and word != "I"
        if has_capital or any(map(str.isdigit, word)):
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
    """Return the index of a sentence's claim: its last value after an identity verb, else its last word."""
    verbs = {*word_lists()["identity"], *word_lists()["one_at_a_time"]}
    if value_places and not verbs.isdisjoint(words[: value_places[-1]]):
        return value_places[-1]
    return len(words) - 1


def _denies(word: str) -> bool:
    return word in word_lists()["negation"] or word.endswith("n't")


def _is_single(words_before: Sequence[str], *, is_value: bool) -> bool:
    """Return whether the words before a claim imply that only one such claim holds at a time."""
    words = set(words_before)
    lists = word_lists()
    if not words.isdisjoint(lists["only_one"]):
        return not words.isdisjoint(lists["identity"])
    is_class = bool(words_before) and words_before[-1] in {"a", "an"}
    return is_value and not is_class and not words.isdisjoint(lists["one_at_a_time"])


def _find_duplicates(
    memories: Sequence[Memory],
    wordings: Sequence[Wording],
    junk_places: Collection[int],
) -> Iterator[Finding]:
    """Yield memories with the same or nearly the same words as an earlier one in the same scope."""
    first_places: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    groups: dict[tuple[tuple[str, ...], frozenset[str]], list[int]] = defaultdict(list)
    for place, (memory, wording) in enumerate(zip(memories, wordings, strict=True)):
        if place in junk_places:
            continue
        first = first_places.setdefault((memory.scope, wording.plain), place)
        if first == place:
            groups[memory.scope, wording.values].append(place)
        else:
            yield Finding("duplicate", place, quote_safely(memory.text), first)
    for places in groups.values():
        yield from _find_near_duplicates(memories, wordings, places)


def _find_near_duplicates(
    memories: Sequence[Memory], wordings: Sequence[Wording], places: Sequence[int]
) -> Iterator[Finding]:
    """Yield memories that share most words with an earlier one, among those with the same values.

    Two texts with a share s of common words have one of the (1 - s) n + 1 rarest words of either in common, so only
    these are looked up.
    """
    words_by_place = {place: set(wordings[place].plain) for place in places}
    counts = Counter(chain.from_iterable(words_by_place.values()))
    holders: dict[str, list[int]] = defaultdict(list)
    for place, words in words_by_place.items():
        rarest = sorted(words, key=lambda word: (counts[word], word))
        rarest = rarest[: int((1 - SIMILAR) * len(words)) + 1]
        candidates = set[int]()
        for word in rarest:
            candidates.update(holders[word])
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
    """Yield memories that repeat another one's words along with a word for remembering."""
    remembering = set(map(word_stem, word_lists()["remembering"]))
    by_beginning: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, wording in enumerate(wordings):
        if len(wording.plain) >= SHORTEST_ECHOED:
            by_beginning[wording.plain[:SHORTEST_ECHOED]].append(place)
    for place, wording in enumerate(wordings):
        quotation = _find_quotation(wording, wordings, by_beginning)
        if quotation is None:
            continue
        start, quoted_place = quotation
        end = start + len(wordings[quoted_place].plain)
        around = {*wording.plain[:start], *wording.plain[end:]}
        if not remembering.isdisjoint(map(word_stem, around)):
            evidence = quote_safely(memories[place].text)
            yield Finding("echo", place, evidence, quoted_place)


def _find_quotation(
    wording: Wording,
    wordings: Sequence[Wording],
    by_beginning: Mapping[tuple[str, ...], Sequence[int]],
) -> tuple[int, int] | None:
    """Return where a memory repeats all words of a shorter one, and the shorter one's place; None if nowhere."""
    words = wording.plain
    for start in range(len(words) - SHORTEST_ECHOED + 1):
        beginning = words[start : start + SHORTEST_ECHOED]
        for place in by_beginning.get(beginning, ()):
            quoted = wordings[place].plain
            is_shorter = len(quoted) < len(words)
            if is_shorter and words[start : start + len(quoted)] == quoted:
                return start, place
    return None


def _find_changed_values(
    memories: Sequence[Memory], wordings: Sequence[Wording]
) -> Iterator[Finding]:
    """Yield memories that say "A is B" where another one says "A is C" or denies it."""
    frames: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for place, (memory, wording) in enumerate(zip(memories, wordings, strict=True)):
        if len(wording.frame) >= SHORTEST_FRAME:
            frames[memory.scope, wording.frame].append(place)
    for places in frames.values():
        for place in places:
            finding = _compare_claims(memories, wordings, place, places)
            if finding is not None:
                yield finding


# A memory has the first of these that applies.
_CLAIM_KINDS: tuple[Kind, ...] = ("stale", "contradiction", "other value")


def _compare_claims(
    memories: Sequence[Memory],
    wordings: Sequence[Wording],
    place: int,
    places: Sequence[int],
) -> Finding | None:
    """Return the finding if a memory is outdated or contradicts an earlier one on the same subject.

    `places`: those of all memories on the subject, in order.
    """
    wording = wordings[place]
    date = memories[place].date
    others: dict[Kind, int] = {}
    is_exclusive = False
    for other in places:
        if _exclude(wording, wordings[other]):
            is_exclusive = True
            if _is_later(memories[other].date, date):
                others["stale"] = other
            elif other < place and memories[other].date == date:
                others["contradiction"] = other
        elif other < place and wordings[other].claim != wording.claim:
            others["other value"] = other
    if is_exclusive:
        others.pop("other value", None)
    evidence = quote_safely(memories[place].text)
    for kind in _CLAIM_KINDS:
        if kind in others:
            return Finding(kind, place, evidence, others[kind])
    return None


def _exclude(first: Wording, second: Wording) -> bool:
    """Return whether two memories with the same frame cannot both be true."""
    if first.claim == second.claim:
        return first.is_denied != second.is_denied
    return first.is_single and not (first.is_denied or second.is_denied)


def _is_later(date: datetime | None, than: datetime | None) -> bool:
    return date is not None and than is not None and date > than


def _find_private(memories: Sequence[Memory]) -> Iterator[Finding]:
    """Yield what the redaction of logs would remove, one finding per kind."""
    for place, memory in enumerate(memories):
        redactor = Redactor(_SALT)
        without_keys = redact_secrets(memory.text)
        redacted = redactor.text(without_keys)
        counts = dict(redactor.counts)
        has_key = counts.pop("keys", 0) or without_keys != memory.text
        if has_key or _hide_told_secrets(redacted) != redacted:
            yield Finding("secret", place, quote_safely(memory.text))
        if counts:
            evidence = f"{', '.join(counts)}: {quote_safely(memory.text)}"
            yield Finding("personal data", place, evidence)


def _hide_told_secrets(text: str) -> str:
    """Return a text without secrets stated in a sentence: "the password is hunter2"."""

    def hide(match: re.Match[str]) -> str:
        words = match["subject"].lower().split()
        pairs = map("_".join, pairwise(words))
        names_secret = any(map(is_secret_name, (*words, *pairs)))
        is_plain_word = match["value"].rstrip(".,;!?").isalpha()
        if names_secret and not is_plain_word:
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
    """Return why a text carries no information, or "" if it may."""
    if not any(map(str.isalpha, text)):
        return "no words"
    if is_code(text):
        return "code or data"
    if text.rstrip().endswith("?") and not re.search(r"[.!]\s", text):
        return "a question alone"
    stems = set(map(word_stem, plain_words(text)))
    if not wording.values and stems <= _empty_stems():
        return "only that something was said"
    return ""


def is_code(text: str) -> bool:
    """Return whether a text is code or data: by a fence, by line endings, or by parsing it as Python."""
    if _CODE.match(text):
        return True
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if 2 * sum(line.endswith((";", "{", "}")) for line in lines) > len(lines):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes
            statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    # Without a block it may be a sentence, like "import goods" or "dog = Rex".
    return any(hasattr(statement, "body") for statement in statements)


@cache
def _empty_stems() -> frozenset[str]:
    """Return the stems of function words, and of verbs of saying."""
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
    """Return a text as evidence: on one line, without private data."""
    redacted = Redactor(_SALT).text(redact_secrets(text))
    return " ".join(_hide_told_secrets(redacted).split())
