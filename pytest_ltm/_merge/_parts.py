"""Parts: the conversations of several runs, whether they fit together, which are there twice and which are missing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError, DefinitionError
from pytest_ltm._plan import Plan, differences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._result import ConversationResult
    from pytest_ltm.reporting._run_folder import ConversationFolder, Run

EVERYWHERE = ("seed", "tokenizer", "filler", "scoring", "judge", "judge_votes", "time")
"""What the plans of all conversations of one run have in common."""
MOST = 5
"""So many sentences are told of plans that differ, and so many names of conversations that are missing."""


@dataclass(frozen=True, slots=True)
class Part:
    """One conversation of one of the runs."""

    run: Run
    folder: ConversationFolder

    @property
    def name(self) -> str:
        """What names the conversation in any run: the name of its folder."""
        return self.folder.path.name

    @property
    def result(self) -> ConversationResult:
        """What it came to."""
        return self.folder.result

    @property
    def place(self) -> tuple[str, str]:
        """The two labels that, whoever the agent is, stand for one plan."""
        return self.result.span_label, self.result.trial


@dataclass(frozen=True, slots=True)
class Parts:
    """The conversations that the merged run has, and what a person should know about them."""

    chosen: tuple[Part, ...]
    repeated: tuple[str, ...]
    """A sentence for each conversation that was there more than once."""
    missing: tuple[str, ...]
    """A sentence for each shard, and for the conversations, that should be there and are not."""


def parts(runs: Sequence[Run]) -> Parts:
    """Return what the runs come to together.

    Raises ConfigurationError that says which plans differ, and in what, where they cannot be one run.
    """
    every = [Part(run, folder) for run in runs for folder in run.conversations]
    _refuse_other_agents(every)
    _refuse_other_plans(every)
    found: dict[str, Part] = {}
    repeated: list[str] = []
    for part in every:
        first = found.setdefault(part.name, part)
        if first is not part:
            found[part.name], sentence = _one_of(first, part)
            repeated.append(sentence)
    missing = [*_missing_shards(runs), *_missing_conversations(runs, found.values())]
    return Parts(tuple(found.values()), tuple(repeated), tuple(missing))


def _one_of(first: Part, second: Part) -> tuple[Part, str]:
    """Return which of two is taken: equal ones are one, a complete one is better than an interrupted one."""
    where = f"{first.name} is in {first.run.path} and in {second.run.path}"
    if _told(first) == _told(second):
        return first, f"{where}: the same, taken once"
    complete = [part for part in (first, second) if part.result.ended == "complete"]
    if len(complete) == 1:
        return complete[0], f"{where}: taken from {complete[0].run.path}, where it is complete"
    raise ConfigurationError(
        f"{where}, with other results, and nothing says which one counts. Leave one of these runs out, "
        f"or take the folder {first.name} out of one of them"
    )


def _told(part: Part) -> tuple[object, bytes | None]:
    """Return what two equal conversations have in common: their results and, where there is one, their journal."""
    journal = part.folder.path / "journal.jsonl"
    return part.result, journal.read_bytes() if journal.is_file() else None


def _refuse_other_agents(every: Iterable[Part]) -> None:
    first: dict[str, Part] = {}
    for part in every:
        one = first.setdefault(part.result.agent, part)
        if one.result.agent_fingerprint != part.result.agent_fingerprint:
            raise ConfigurationError(
                f"the agent {part.result.agent!r} is not the same in {one.run.path} ({one.result.agent_spec}, "
                f"{one.name}) and in {part.run.path} ({part.result.agent_spec}, {part.name}): their configurations "
                "differ. Two agents in one run need two labels: --ltm-agent=NAME=SPEC"
            )


def _refuse_other_plans(every: Sequence[Part]) -> None:
    by_place: dict[tuple[str, str], Part] = {}
    for part in every:
        first = by_place.setdefault(part.place, part)
        if first.result.plan_fingerprint != part.result.plan_fingerprint:
            raise _refusal(first, part, _plan_differences(first, part))
        sentences = _general_differences(every[0], part)
        if sentences:
            raise _refusal(every[0], part, sentences)


def _refusal(one: Part, other: Part, sentences: Sequence[str]) -> ConfigurationError:
    lines = [f"  {sentence}" for sentence in sentences[:MOST]]
    lines += [f"  … and {len(sentences) - MOST} more differences"] * (len(sentences) > MOST)
    return ConfigurationError(
        "these are not parts of one run, because plans differ:\n"
        f"  {one.folder.path}\n  {other.folder.path}\n" + "\n".join(lines)
    )


def _plan_differences(one: Part, other: Part) -> list[str]:
    try:
        plans = [Plan.from_json(part.folder.plan(), where=str(part.folder.path)) for part in (one, other)]
    except DefinitionError as error:
        return [f"The fingerprints differ, and a plan cannot be read: {error}"]
    return differences(*plans) or ["The fingerprints differ: one of the files was changed by hand."]


def _general_differences(one: Part, other: Part) -> list[str]:
    first, second = one.folder.plan(), other.folder.plan()
    if not first or not second:
        return []
    return [
        f"The plan's {name} is {_shown(first.get(name))} in one and {_shown(second.get(name))} in the other."
        for name in EVERYWHERE
        if first.get(name) != second.get(name)
    ]


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _missing_shards(runs: Iterable[Run]) -> list[str]:
    """Return a sentence for each share of `--ltm-shard` that none of the runs is."""
    shards = {str(_plan(run)["shard"]) for run in runs if "shard" in _plan(run)}
    missing = []
    for of in sorted({text.partition("/")[2] for text in shards}):
        if of.isdecimal():
            wanted = [f"{number}/{of}" for number in range(1, int(of) + 1)]
            missing += [f"no run is shard {text}" for text in wanted if text not in shards]
    return missing


def _missing_conversations(runs: Iterable[Run], chosen: Iterable[Part]) -> list[str]:
    """Return a sentence about the conversations that the runs' own settings ask for; threads are not known."""
    have = {(part.result.agent, part.result.span_label, part.result.trial.partition(".")[0]) for part in chosen}
    wanted = dict.fromkeys(place for run in runs for place in _places(_plan(run)))
    names = ["~".join(place) for place in wanted if place not in have]
    if not names:
        return []
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return [f"no run has {', '.join(names[:MOST])}{more}"]


def _places(plan: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    trials = plan.get("trials")
    return [
        (agent, span, str(trial))
        for agent in plan.get("agents") or ()
        for span in plan.get("spans") or ()
        for trial in range(trials if isinstance(trials, int) else 0)
    ]


def _plan(run: Run) -> Mapping[str, Any]:
    plan = run.summary.get("plan")
    return plan if isinstance(plan, dict) else {}
