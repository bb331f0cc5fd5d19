"""PlanFacts: as much of a plan as a baseline keeps, enough to say in sentences why two may not be compared."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._fields import shown
from pytest_ltm._plan import natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

_SHORT = 80
"""Values whose JSON is longer are kept as a digest."""
_MOST = 4
_OPTIONS = {
    "seed": "--ltm-seed",
    "tokenizer": "--ltm-tokenizer",
    "scoring": "--ltm-scoring",
    "judge": "--ltm-judge",
    "judge_votes": "--ltm-judge-votes",
    "time": "--ltm-time",
}
"""Which option gives a part of the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What decided what was said in one conversation."""

    span_label: str
    trial: str
    """The third label of its node ids."""
    fingerprint: str
    """Of the whole plan: equal for equal plans."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of the conversation: seed, tokenizer ..., long values as digests; empty where the plan cannot be read."""
    examples: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By `scenario/example`: version, digest of the definition, pass mark ..."""

    @property
    def place(self) -> tuple[str, str]:
        """What must be equal of two conversations that are compared."""
        return self.span_label, self.trial


def facts_of(plan: object, *, span_label: str, trial: str, fingerprint: str) -> PlanFacts:
    """Return the facts of a plan's JSON form; without its parts where it has another form than expected."""
    if not isinstance(plan, Mapping):
        return PlanFacts(span_label=span_label, trial=trial, fingerprint=fingerprint)
    examples: dict[str, dict[str, object]] = {}
    listed = plan.get("examples")
    for example in listed if isinstance(listed, list) else []:
        if isinstance(example, Mapping):
            examples[f"{example.get('scenario')}/{example.get('example')}"] = _example(example)
    settings = {str(name): brief(value) for name, value in plan.items() if name not in ("examples", "trial")}
    return PlanFacts(span_label=span_label, trial=trial, fingerprint=fingerprint, settings=settings, examples=examples)


def brief(value: object) -> object:
    """Return a JSON value as it is if it is short, else a digest of it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return value if len(text) <= _SHORT else f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _example(example: Mapping[str, Any]) -> dict[str, object]:
    found = {name: brief(value) for name, value in example.items() if name not in ("scenario", "example", "definition")}
    definition = example.get("definition")
    return found | {"definition": None if definition is None else _digest(definition)}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unequal:
    """Why conversations at the same place may not be compared."""

    places: tuple[tuple[str, str], ...]
    """Span and trial of each."""
    sentences: tuple[str, ...]
    """What differs, each thing once."""
    options: tuple[str, ...]
    """Options with which this run would have the other's settings."""
    added: tuple[str, ...]
    """Scenarios that only this run has."""
    removed: tuple[str, ...]
    """Scenarios that only the other has."""
    changed: tuple[str, ...]
    """Examples that both have, and that differ."""
    same: int
    """Examples that are equal in both."""
    of: int
    """Examples that this run has there."""


def unequal(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> Unequal | None:
    """Return what differs between conversations at the same place; None if all those are equal."""
    theirs, ours = _by_place(before), _by_place(now)
    places = [place for place in ours if place in theirs and _prints(theirs[place]) != _prints(ours[place])]
    if not places:
        return None
    parts = [_difference(theirs[place], ours[place]) for place in sorted(places, key=_order)]
    return Unequal(
        places=tuple(sorted(places, key=_order)),
        sentences=_once(sentence for part in parts for sentence in part.sentences),
        options=_once(option for part in parts for option in part.options),
        added=_once(name for part in parts for name in part.added),
        removed=_once(name for part in parts for name in part.removed),
        changed=_once(name for part in parts for name in part.changed),
        same=sum(part.same for part in parts),
        of=sum(part.of for part in parts),
    )


def equal_places(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> set[tuple[str, str]]:
    """Return span and trial of the conversations whose plans are equal."""
    theirs, ours = _by_place(before), _by_place(now)
    return {place for place in ours if place in theirs and _prints(theirs[place]) == _prints(ours[place])}


def equal_examples(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> set[tuple[str, str, str]]:
    """Return span, trial and name of the examples that are the same in both although their plans are not."""
    theirs, ours = _by_place(before), _by_place(now)
    found = set()
    for place in (ours.keys() & theirs.keys()) - equal_places(before, now):
        if not _settings(theirs[place], ours[place]):
            mine, other = _examples(ours[place]), _examples(theirs[place])
            found |= {(*place, key) for key in mine.keys() & other.keys() if mine[key] == other[key]}
    return found


def _difference(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> Unequal:
    theirs, ours = _examples(before), _examples(now)
    settings = _settings(before, now)
    both = sorted(theirs.keys() & ours.keys(), key=natural)
    changed = [key for key in both if theirs[key] != ours[key]]
    added = sorted(ours.keys() - theirs.keys(), key=natural)
    removed = sorted(theirs.keys() - ours.keys(), key=natural)
    sentences = [_setting_sentence(name, *values) for name, values in settings.items()]
    sentences += [f"only there: {_listed(removed)}"] * bool(removed)
    sentences += [f"only in this run: {_listed(added)}"] * bool(added)
    # another seed makes other definitions: that goes without saying
    silent = {"definition"} if "seed" in settings else set()
    sentences += _changed_sentences(changed, theirs, ours, silent)
    if not sentences:
        sentences = ["what differs cannot be told: one of the plans was not kept, or another version wrote it"]
    return Unequal(
        places=(now[0].place,),
        sentences=tuple(sentences),
        options=(
            *(f"{_OPTIONS[name]}={settings[name][0]}" for name in settings if name in _OPTIONS),
            *_count(theirs, ours),
        ),
        added=_wholes(added, both),
        removed=_wholes(removed, both),
        changed=tuple(changed),
        same=0 if settings else len(both) - len(changed),
        of=len(ours),
    )


def _count(theirs: Iterable[str], ours: Iterable[str]) -> list[str]:
    """Return the option that gives every scenario as many examples as there, if all have the same number there."""
    there = Counter(key.rpartition("/")[0] for key in theirs)
    here = Counter(key.rpartition("/")[0] for key in ours)
    differ = any(there[name] != here[name] for name in there.keys() & here.keys())
    numbers = set(there.values())
    return [f"--ltm-examples={min(numbers)}"] if differ and len(numbers) == 1 else []


def _settings(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> dict[str, tuple[object, object]]:
    """Return the settings that differ, with their values there and here."""
    theirs, ours = before[0].settings, now[0].settings
    names = [*theirs, *(name for name in ours if name not in theirs)]
    return {name: (theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)}


def _setting_sentence(name: str, there: object, here: object) -> str:
    return f"the {name.replace('_', ' ')} is {shown(there)} there and {shown(here)} in this run"


def _changed_sentences(
    changed: Iterable[str],
    theirs: Mapping[str, Mapping[str, object]],
    ours: Mapping[str, Mapping[str, object]],
    silent: AbstractSet[str],
) -> list[str]:
    """Return a sentence for each thing that is another in some examples."""
    found: dict[str, list[str]] = {}
    for key in changed:
        for name in dict.fromkeys([*theirs[key], *ours[key]]):
            there, here = theirs[key].get(name), ours[key].get(name)
            if there != here and name not in silent:
                what = _what(name, there, here)
                found.setdefault(what, []).append(key)
    return [f"{_listed(keys)}: {what}" for what, keys in found.items()]


def _what(name: str, there: object, here: object) -> str:
    if name == "version" and all(str(each).startswith("source:") for each in (there, here)):
        return "the test itself has changed"
    values = "" if name == "definition" else f" ({shown(there)} there, {shown(here)} here)"
    return f"another {name.replace('_', ' ')}{values}"


def _listed(keys: Sequence[str]) -> str:
    """Return examples by scenario: `colours (3 examples), jokes/2`."""
    counts = Counter(key.rpartition("/")[0] for key in keys)
    parts = [f"{name} ({count} examples)" if count > 1 else "" for name, count in counts.items()]
    singles = {key.rpartition("/")[0]: key for key in keys}
    words = [part or singles[name] for part, name in zip(parts, counts, strict=True)]
    more = len(words) - _MOST
    return ", ".join(words) if more <= 0 else f"{', '.join(words[:_MOST])} and {more} more"


def _wholes(keys: Sequence[str], both: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios of which all examples are among the keys."""
    partly = {key.rpartition("/")[0] for key in both}
    return tuple(name for name in dict.fromkeys(key.rpartition("/")[0] for key in keys) if name not in partly)


def _by_place(facts: Sequence[PlanFacts]) -> dict[tuple[str, str], list[PlanFacts]]:
    found: dict[tuple[str, str], list[PlanFacts]] = {}
    for one in facts:
        found.setdefault(one.place, []).append(one)
    return found


def _examples(facts: Sequence[PlanFacts]) -> dict[str, Mapping[str, object]]:
    return {key: value for one in facts for key, value in one.examples.items()}


def _prints(facts: Sequence[PlanFacts]) -> list[str]:
    # isolated variants of one scenario share their place; several agents have the same plans
    return sorted({one.fingerprint for one in facts})


def _order(place: tuple[str, str]) -> tuple[object, object]:
    return natural(place[0]), natural(place[1])


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
