"""PlanFacts: the part of a plan that a baseline keeps, enough to explain why two are not comparable."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from msgspec import Struct, field

from pytest_ltm.api.scenarios import is_of_source, natural_sort_key
from pytest_ltm.api.storage import join_some, show_value
from pytest_ltm.figures.statistics.totals import group_by

# Values whose JSON is longer are kept as a digest.
_SHORT = 80
_MOST = 4
# Parts of the plan that are set by an option of the same name.
_OPTIONS = ("seed", "tokenizer", "scoring", "judge", "judge_votes", "time")


class PlanFacts(Struct, frozen=True, kw_only=True):
    """The facts that determined one conversation."""

    span_label: str
    trial: str
    """The trial, which is the third label of its node ids."""
    fingerprint: str
    """The fingerprint of the whole plan: equal for equal plans."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the conversation (seed, tokenizer ...), long values as digests; empty if the plan is unreadable."""
    examples: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """By `scenario/example`: version, digest of the definition, threshold ..."""

    @property
    def place(self) -> tuple[str, str]:
        """The key that compared conversations must share."""
        return self.span_label, self.trial


def facts_of(
    plan: object, *, span_label: str, trial: str, fingerprint: str
) -> PlanFacts:
    """Return the facts of a plan's JSON form; incomplete if the form is unexpected."""
    # Plans come from run folders that may have been edited: a malformed one is unequal,
    # never a crash.
    if not isinstance(plan, Mapping):
        return PlanFacts(span_label=span_label, trial=trial, fingerprint=fingerprint)
    listed = plan.get("examples")
    examples = {}
    for example in listed if isinstance(listed, list) else ():
        if not isinstance(example, Mapping):
            continue
        if example.get("definition") is None:
            digest = None
        else:
            digest = _short_digest(_canonical_text(example["definition"]))
        own_facts: dict[str, object] = {}
        for name, value in example.items():
            if name not in ("scenario", "example", "definition"):
                own_facts[name] = value_or_digest(value)
        own_facts["definition"] = digest
        examples[f"{example.get('scenario')}/{example.get('example')}"] = own_facts
    settings: dict[str, object] = {}
    for name, value in plan.items():
        if name not in ("examples", "trial"):
            settings[str(name)] = value_or_digest(value)
    return PlanFacts(
        span_label=span_label,
        trial=trial,
        fingerprint=fingerprint,
        settings=settings,
        examples=examples,
    )


def value_or_digest(value: object) -> object:
    """Return a short JSON value unchanged, or the digest of a long one."""
    text = _canonical_text(value)
    if len(text) <= _SHORT:
        return value
    return f"sha256:{_short_digest(text)}"


def _canonical_text(value: object) -> str:
    # equal plans of other versions may order their fields differently
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Unequal(Struct, frozen=True, kw_only=True):
    """Why conversations at the same place are not comparable."""

    places: tuple[tuple[str, str], ...]
    """Span and trial of each such place."""
    sentences: tuple[str, ...]
    """The differences, each once."""
    options: tuple[str, ...]
    """Options that would give this run the other's settings."""
    added: tuple[str, ...]
    """Scenarios that only this run has."""
    removed: tuple[str, ...]
    """Scenarios that only the other run has."""
    changed: tuple[str, ...]
    """Examples that both have, but that differ."""
    same: int
    """Number of examples that are equal in both."""
    of: int
    """Number of examples that this run has there."""


def unequal_plans(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts]
) -> Unequal | None:
    """Return the differences between conversations at the same place; None if all are equal."""
    parts: list[Unequal] = []
    for _, theirs, ours in _shared_places(before, after, equal=False):
        parts.append(_plan_difference(theirs, ours))
    if not parts:
        return None

    def union(name: str) -> tuple[Any, ...]:
        values = chain.from_iterable(getattr(part, name) for part in parts)
        return tuple(dict.fromkeys(values))

    return Unequal(
        places=union("places"),
        sentences=union("sentences"),
        options=union("options"),
        added=union("added"),
        removed=union("removed"),
        changed=union("changed"),
        same=sum(part.same for part in parts),
        of=sum(part.of for part in parts),
    )


def equal_places(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts]
) -> set[tuple[str, str]]:
    """Return span and trial of the conversations whose plans are equal."""
    return {place for place, *_ in _shared_places(before, after, equal=True)}


def equal_examples(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts]
) -> set[tuple[str, str, str]]:
    """Return span, trial and name of equal examples in conversations whose plans differ."""
    keys = set()
    for place, theirs, ours in _shared_places(before, after, equal=False):
        # With another tokenizer or filler, even equal examples were played at other
        # distances.
        if _differing_settings(theirs, ours):
            continue
        facts_before = _example_facts_by_key(theirs)
        for key, facts in _example_facts_by_key(ours).items():
            if facts_before.get(key) == facts:
                keys.add((*place, key))
    return keys


def _shared_places(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts], *, equal: bool
) -> Iterator[tuple[tuple[str, str], list[PlanFacts], list[PlanFacts]]]:
    """Yield the places in both, with equal or unequal plans, and their facts before and after."""
    theirs = group_by(before, attrgetter("place"))
    ours = group_by(after, attrgetter("place"))
    for place in sorted(
        theirs.keys() & ours.keys(),
        key=lambda place: tuple(map(natural_sort_key, place)),
    ):
        # isolated variants of one scenario share their place; several agents have the
        # same plans
        prints_before = {plan.fingerprint for plan in theirs[place]}
        prints_after = {plan.fingerprint for plan in ours[place]}
        if (prints_before == prints_after) == equal:
            yield place, theirs[place], ours[place]


def _plan_difference(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts]
) -> Unequal:
    theirs = _example_facts_by_key(before)
    ours = _example_facts_by_key(after)
    settings = _differing_settings(before, after)
    both = sorted(theirs.keys() & ours.keys(), key=natural_sort_key)
    changed = [key for key in both if theirs[key] != ours[key]]
    added = sorted(ours.keys() - theirs.keys(), key=natural_sort_key)
    removed = sorted(theirs.keys() - ours.keys(), key=natural_sort_key)
    sentences: list[str] = []
    options: list[str] = []
    for name, (value_there, value_here) in settings.items():
        values_text = (
            f"{show_value(value_there)} there and {show_value(value_here)} in this run"
        )
        sentences.append(f"the {name.replace('_', ' ')} is {values_text}")
        if name in _OPTIONS:
            options.append(_option_text(name, value_there))
    if removed:
        sentences.append(f"only there: {_list_examples(removed)}")
    if added:
        sentences.append(f"only in this run: {_list_examples(added)}")
    # another seed implies other definitions, which need no mention
    silent = {"definition"} if "seed" in settings else set()
    keys_by_difference: defaultdict[str, list[str]] = defaultdict(list)
    for key in changed:
        for name, values in _differing_values(theirs[key], ours[key]).items():
            if name not in silent:
                keys_by_difference[_difference_sentence(name, *values)].append(key)
    for difference, keys in keys_by_difference.items():
        sentences.append(f"{_list_examples(keys)}: {difference}")
    if not sentences:
        sentences = [
            "the difference is unknown: one of the plans was not kept, or another version wrote it"
        ]
    return Unequal(
        places=(after[0].place,),
        sentences=tuple(sentences),
        options=(*options, *_examples_option(theirs, ours)),
        added=_complete_scenarios(added, both),
        removed=_complete_scenarios(removed, both),
        changed=tuple(changed),
        same=0 if settings else len(both) - len(changed),
        of=len(ours),
    )


def _option_text(name: str, value: object) -> str:
    """Return the option that sets a part of the plan."""
    if name == "seed" and isinstance(value, str):
        value = "env:NAME (the variable with that secret)"
    return f"--ltm-{name.replace('_', '-')}={value}"


def _examples_option(theirs: Iterable[str], ours: Iterable[str]) -> list[str]:
    """Return the option for as many examples per scenario as the other run has, if that number is uniform."""
    counts_there = Counter(map(_scenario_of_key, theirs))
    counts_here = Counter(map(_scenario_of_key, ours))
    shared = counts_there.keys() & counts_here.keys()
    differ = any(counts_there[name] != counts_here[name] for name in shared)
    numbers = set(counts_there.values())
    if differ and len(numbers) == 1:
        return [f"--ltm-examples={min(numbers)}"]
    return []


def _differing_settings(
    before: Sequence[PlanFacts], after: Sequence[PlanFacts]
) -> dict[str, tuple[object, object]]:
    """Return the settings that differ, with their values there and here."""
    return _differing_values(before[0].settings, after[0].settings)


def _differing_values(
    theirs: Mapping[str, object], ours: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    values: dict[str, tuple[object, object]] = {}
    for name in dict.fromkeys([*theirs, *ours]):
        value_there = theirs.get(name)
        value_here = ours.get(name)
        if value_there != value_here:
            values[name] = (value_there, value_here)
    return values


def _difference_sentence(name: str, value_there: object, value_here: object) -> str:
    if name == "version" and is_of_source(value_there) and is_of_source(value_here):
        return "the test itself has changed"
    text = f"{name.replace('_', ' ')} differs"
    if name == "definition":
        return text
    return (
        f"{text}: {show_value(value_there)} there, {show_value(value_here)} in this run"
    )


def _list_examples(keys: Sequence[str]) -> str:
    """Return examples by scenario: `colours (3 examples), jokes/2`."""
    texts = []
    for name, examples in group_by(keys, _scenario_of_key).items():
        several = f"{name} ({len(examples)} examples)"
        texts.append(several if len(examples) > 1 else examples[0])
    return join_some(texts, _MOST)


def _complete_scenarios(keys: Sequence[str], both: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios all of whose examples are among the keys."""
    partly = set(map(_scenario_of_key, both))
    names = dict.fromkeys(map(_scenario_of_key, keys))
    return tuple(name for name in names if name not in partly)


def _scenario_of_key(key: str) -> str:
    return key.rpartition("/")[0]


def _example_facts_by_key(
    facts: Sequence[PlanFacts],
) -> dict[str, Mapping[str, object]]:
    examples: dict[str, Mapping[str, object]] = {}
    for plan in facts:
        examples |= plan.examples
    return examples
