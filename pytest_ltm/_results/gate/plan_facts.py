"""PlanFacts: as much of a plan as a baseline keeps, enough to say in sentences why two may not be compared."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from pytest_ltm._language.lists import few
from pytest_ltm._model.plan import is_of_source, natural
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._storage.schema import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet


_SHORT = 80
"""Values whose JSON is longer are kept as a digest."""
_MOST = 4
_OPTIONS = ("seed", "tokenizer", "scoring", "judge", "judge_votes", "time")
"""Parts of the plan that an option of the same name gives."""


class PlanFacts(Struct, frozen=True, kw_only=True):
    """What decided what was said in one conversation."""

    span_label: str
    trial: str
    """The third label of its node ids."""
    fingerprint: str
    """Of the whole plan: equal for equal plans."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of the conversation: seed, tokenizer ..., long values as digests; empty where the plan cannot be read."""
    examples: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By `scenario/example`: version, digest of the definition, threshold ..."""

    @property
    def place(self) -> tuple[str, str]:
        """What must be equal of two conversations that are compared."""
        return self.span_label, self.trial


def facts_of(plan: object, *, span_label: str, trial: str, fingerprint: str) -> PlanFacts:
    """Return the facts of a plan's JSON form; without its parts where it has another form than expected."""
    # Plans come from run folders that anybody may have edited: an odd one is unequal, never a crash.
    if not isinstance(plan, Mapping):
        return PlanFacts(span_label=span_label, trial=trial, fingerprint=fingerprint)
    listed = plan.get("examples")
    known = [one for one in (listed if isinstance(listed, list) else []) if isinstance(one, Mapping)]
    examples = {f"{one.get('scenario')}/{one.get('example')}": _example(one) for one in known}
    settings = {str(name): brief(value) for name, value in plan.items() if name not in ("examples", "trial")}
    return PlanFacts(span_label=span_label, trial=trial, fingerprint=fingerprint, settings=settings, examples=examples)


def brief(value: object) -> object:
    """Return a JSON value as it is if it is short, else a digest of it."""
    text = _text(value)
    return value if len(text) <= _SHORT else f"sha256:{_digest(text)}"


def _example(example: Mapping[str, Any]) -> dict[str, object]:
    found = {name: brief(value) for name, value in example.items() if name not in ("scenario", "example", "definition")}
    definition = example.get("definition")
    return found | {"definition": None if definition is None else _digest(_text(definition))}


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Unequal(Struct, frozen=True, kw_only=True):
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
    parts = [_difference(*both) for _, *both in _shared(before, now, equal=False)]
    if not parts:
        return None

    def once(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each for part in parts for each in getattr(part, name)))

    return Unequal(
        places=tuple(place for part in parts for place in part.places),
        **{name: once(name) for name in ("sentences", "options", "added", "removed", "changed")},
        same=sum(part.same for part in parts),
        of=sum(part.of for part in parts),
    )


def equal_places(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> set[tuple[str, str]]:
    """Return span and trial of the conversations whose plans are equal."""
    return {place for place, *_ in _shared(before, now, equal=True)}


def equal_examples(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> set[tuple[str, str, str]]:
    """Return span, trial and name of the examples that are the same in both although their plans are not."""
    found = set()
    for place, theirs, ours in _shared(before, now, equal=False):
        # With another tokenizer or filler even equal examples were played at other distances.
        if not _settings(theirs, ours):
            mine, other = _examples(ours), _examples(theirs)
            found |= {(*place, key) for key in mine.keys() & other.keys() if mine[key] == other[key]}
    return found


def _shared(
    before: Sequence[PlanFacts], now: Sequence[PlanFacts], *, equal: bool
) -> Iterator[tuple[tuple[str, str], list[PlanFacts], list[PlanFacts]]]:
    """Yield the places that both have, with equal or with unequal plans, and their facts before and now."""
    theirs, ours = (grouped(facts, lambda one: one.place) for facts in (before, now))
    for place in sorted(theirs.keys() & ours.keys(), key=lambda place: (natural(place[0]), natural(place[1]))):
        # isolated variants of one scenario share their place; several agents have the same plans
        prints = [{one.fingerprint for one in facts[place]} for facts in (theirs, ours)]
        if (prints[0] == prints[1]) == equal:
            yield place, theirs[place], ours[place]


def _difference(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> Unequal:
    theirs, ours = _examples(before), _examples(now)
    settings = _settings(before, now)
    both = sorted(theirs.keys() & ours.keys(), key=natural)
    changed = [key for key in both if theirs[key] != ours[key]]
    added = sorted(ours.keys() - theirs.keys(), key=natural)
    removed = sorted(theirs.keys() - ours.keys(), key=natural)
    sentences = [
        f"the {name.replace('_', ' ')} is {shown(there)} there and {shown(here)} in this run"
        for name, (there, here) in settings.items()
    ]
    sentences += [f"only there: {_listed(removed)}"] * bool(removed)
    sentences += [f"only in this run: {_listed(added)}"] * bool(added)
    # another seed makes other definitions: that goes without saying
    silent = {"definition"} if "seed" in settings else set()
    sentences += _changed_sentences(changed, theirs, ours, silent)
    if not sentences:
        sentences = ["the difference is unknown: one of the plans was not kept, or another version wrote it"]
    return Unequal(
        places=(now[0].place,),
        sentences=tuple(sentences),
        options=(
            *(f"--ltm-{name.replace('_', '-')}={settings[name][0]}" for name in settings if name in _OPTIONS),
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
    there, here = Counter(map(_scenario, theirs)), Counter(map(_scenario, ours))
    differ = any(there[name] != here[name] for name in there.keys() & here.keys())
    numbers = set(there.values())
    return [f"--ltm-examples={min(numbers)}"] if differ and len(numbers) == 1 else []


def _settings(before: Sequence[PlanFacts], now: Sequence[PlanFacts]) -> dict[str, tuple[object, object]]:
    """Return the settings that differ, with their values there and here."""
    return _apart(before[0].settings, now[0].settings)


def _apart(theirs: Mapping[str, object], ours: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    names = dict.fromkeys([*theirs, *ours])
    return {name: (theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)}


def _changed_sentences(
    changed: Iterable[str],
    theirs: Mapping[str, Mapping[str, object]],
    ours: Mapping[str, Mapping[str, object]],
    silent: AbstractSet[str],
) -> list[str]:
    """Return a sentence for each thing that is another in some examples."""
    found = [
        (key, _what(name, *values))
        for key in changed
        for name, values in _apart(theirs[key], ours[key]).items()
        if name not in silent
    ]
    whats = grouped(found, lambda each: each[1])
    return [f"{_listed([key for key, _ in keys])}: {what}" for what, keys in whats.items()]


def _what(name: str, there: object, here: object) -> str:
    if name == "version" and is_of_source(there) and is_of_source(here):
        return "the test itself has changed"
    values = "" if name == "definition" else f": {shown(there)} there, {shown(here)} in this run"
    return f"{name.replace('_', ' ')} differs{values}"


def _listed(keys: Sequence[str]) -> str:
    """Return examples by scenario: `colours (3 examples), jokes/2`."""
    scenarios = grouped(keys, _scenario).items()
    return few([f"{name} ({len(of)} examples)" if len(of) > 1 else of[0] for name, of in scenarios], _MOST)


def _wholes(keys: Sequence[str], both: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios of which all examples are among the keys."""
    partly = set(map(_scenario, both))
    return tuple(name for name in dict.fromkeys(map(_scenario, keys)) if name not in partly)


def _scenario(key: str) -> str:
    return key.rpartition("/")[0]


def _examples(facts: Sequence[PlanFacts]) -> dict[str, Mapping[str, object]]:
    return {key: value for one in facts for key, value in one.examples.items()}
