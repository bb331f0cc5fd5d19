"""What the options of LongMemEval say: which questions are asked, in which histories, when, and who judges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm.datasets.longmemeval._schema import ABILITIES, TYPES, ability_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm.datasets.longmemeval._index import Entry

_TOKENS = re.compile(r"(\d+(?:\.\d+)?)\s*([km]?)", re.IGNORECASE)
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Which questions are asked, and how."""

    types: tuple[str, ...] = ()
    """Empty: all."""
    abilities: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sample: int | None = None
    """So many, drawn by the seed; None: all."""
    shared: bool = False
    """Whether many questions share one history; else each has its own."""
    share: int = 10
    """How many."""
    after: int | None = None
    """Tokens after its last evidence at which a question is asked; None: after the whole history."""
    judge: str = "rest"
    """What a judge is asked about, if there is one: `rest`, what no rule can tell, or `all`."""


def choices_of(options: Mapping[str, str]) -> Choices:
    """Return what the options say; ConfigurationError names the option that cannot be."""
    return Choices(
        types=_known("types", options.get("types", ""), TYPES),
        abilities=_known("abilities", options.get("abilities", ""), ABILITIES),
        ids=_parts(options.get("ids", "")),
        sample=_count("sample", options.get("sample", "")),
        shared=_one_of("history", options, ("own", "shared")) == "shared",
        share=_count("share", options.get("share", "")) or 10,
        after=_tokens(options.get("after", "")),
        judge=_one_of("judge", options, ("rest", "all")),
    )


def chosen(entries: Sequence[Entry], choices: Choices, *, seed: int) -> Sequence[Entry]:
    """Return the questions that are asked, in the order of the file; ConfigurationError if none is left."""
    known = {entry.id: entry for entry in entries}
    for name in choices.ids:
        if name not in known:
            raise ConfigurationError(f"--ltm-longmemeval-ids: no question {name!r}.{did_you_mean(name, known)}")
    wanted = frozenset(choices.ids)
    found = [entry for entry in entries if (not wanted or entry.id in wanted) and _fits(entry, choices)]
    if not found:
        raise ConfigurationError("--ltm-longmemeval-types, -abilities and -ids: together they leave no question")
    if choices.sample is None or choices.sample >= len(found):
        return found
    drawn = Random(f"longmemeval {seed}").sample(range(len(found)), choices.sample)
    return [found[place] for place in sorted(drawn)]


def groups(entries: Sequence[Entry], size: int, *, seed: int) -> list[Sequence[Entry]]:
    """Return the questions in groups that share a history: of sizes that differ by one at most.

    Which go together is drawn by the seed; in a group they stand as in the file.
    """
    mixed = list(entries)
    Random(f"longmemeval groups {seed}").shuffle(mixed)
    count = -(-len(mixed) // size)
    return [sorted(mixed[number::count], key=lambda entry: entry.start) for number in range(count)]


def _fits(entry: Entry, choices: Choices) -> bool:
    return (not choices.types or entry.type in choices.types) and (
        not choices.abilities or ability_of(entry.id, entry.type) in choices.abilities
    )


def _known(name: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    for part in _parts(text):
        if part not in known:
            hint = did_you_mean(part, known)
            raise ConfigurationError(
                f"--ltm-longmemeval-{name}: {part!r} is none of them.{hint} There are {', '.join(known)}"
            )
    return _parts(text)


def _count(name: str, text: str) -> int | None:
    if text and not (text.isdecimal() and int(text)):
        raise ConfigurationError(f"--ltm-longmemeval-{name}: expected a number of questions, got {text!r}")
    return int(text) if text else None


def _tokens(text: str) -> int | None:
    if not text:
        return None
    found = _TOKENS.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError(f"--ltm-longmemeval-after: expected tokens such as 8k or 120k, got {text!r}")
    return round(float(found[1]) * _SCALES[found[2].lower()])


def _one_of(name: str, options: Mapping[str, str], known: Sequence[str]) -> str:
    given = options.get(name) or known[0]
    if given not in known:
        raise ConfigurationError(
            f"--ltm-longmemeval-{name}: {given!r} is not one of {', '.join(known)}.{did_you_mean(given, known)}"
        )
    return given


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
