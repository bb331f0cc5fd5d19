"""Planning: from the items of a conversation to its plan; definitions are read or generated here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import LtmError
from pytest_ltm._plan import Plan, PlannedExample, definition_rng
from pytest_ltm._scenario import Definition
from pytest_ltm.plugin import _judging
from pytest_ltm.plugin._collection import version_of
from pytest_ltm.plugin._dataset import told_in
from pytest_ltm.plugin._items import PARAMETERS, LtmItem, fixture_names
from pytest_ltm.plugin._spans import span_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from pytest_ltm._filler import Filler
    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm.datasets._suites import ToldConversation
    from pytest_ltm.plugin._retold import Retold
    from pytest_ltm.plugin._settings import Settings

OPENING = (
    "Hello! This is going to be a long conversation about many different things, and I will jump from one to "
    "another. Please keep everything that I tell you in mind, because later I will ask you about it. When I only "
    "tell you something, a word or two will do as a reply; when I ask you something, answer just what I asked."
)
"""The message that begins every conversation but isolated ones."""


def filler_for(config: pytest.Config, settings: Settings, trial: int, counter: TokenCounter) -> Filler:
    """Return the filler of a conversation: the hook's, or the one that the spec names."""
    from pytest_ltm.fillers import filler_from_spec  # noqa: PLC0415 - nothing is imported before it is used

    rng = definition_rng(settings.seed, trial, "filler", "")
    made: Filler | None = config.hook.pytest_ltm_make_filler(
        config=config, spec=settings.filler, rng=rng, counter=counter
    )
    return filler_from_spec(settings.filler, rng, counter) if made is None else made


def retold(source: Path, settings: Settings) -> Retold:
    """Return what scores a recorded conversation again."""
    from pytest_ltm.plugin._retold import Retold  # noqa: PLC0415 - few runs are scored again

    return Retold(source, settings)


def plan_for(known: Sequence[LtmItem], settings: Settings, filler: Filler) -> tuple[Plan, dict[str, Exception]]:
    """Return the plan, and by example what kept its definition from being generated.

    Where a run is scored again it is the recorded plan, with the rules of today.
    """
    plan, unready = plan_today(known, settings, filler)
    if settings.rescored is not None:
        from pytest_ltm.plugin._retold import plan_again  # noqa: PLC0415 - few runs are scored again

        plan = plan_again(known, settings, settings.rescored, plan)
    return plan, unready


def plan_today(known: Sequence[LtmItem], settings: Settings, filler: Filler) -> tuple[Plan, dict[str, Exception]]:
    """Return the same of what the items say now; without definitions where a run is scored again."""
    place = known[0].place
    span = settings.spans[place.span]
    told = told_in(settings, place)
    unready: dict[str, Exception] = {}
    examples = []
    patching = {one.scenario for one in known if "monkeypatch" in fixture_names(one.item)}
    for one in known:
        definition = None
        try:
            definition = _definition(one, settings) if settings.rescored is None else None
        except Exception as error:  # noqa: BLE001 - the generator is its author's: its error ends its example only
            unready[one.key] = error
        examples.append(_example(one, definition, patching, together=told is not None))
    judge, votes = _judging.planned(known[0].item.config, settings)
    plan = Plan(
        examples=tuple(examples),
        seed=settings.seed,
        trial=place.trial,
        span=span,
        tokenizer=settings.tokenizer,
        filler=filler.configuration(),
        scoring=settings.scoring,
        judge=judge,
        judge_votes=votes,
        time=settings.time,
        opening=_opening(told, isolated=span is None),
        history=None if told is None else told.described,
    )
    return plan, unready


def _opening(told: ToldConversation | None, *, isolated: bool) -> str:
    if told is not None:
        return told.opening
    return "" if isolated else OPENING


def _example(
    known: LtmItem, definition: Definition | None, patching: AbstractSet[str], *, together: bool
) -> PlannedExample:
    marks = known.marks
    # What one patches the other would see, and the first to end would undo it for both.
    rivals = patching - {known.scenario} if known.scenario in patching else set()
    own_span = None if marks.span is None else span_of(str(marks.span), "@pytest.mark.ltm(span=)")[1]
    return PlannedExample(
        scenario=known.scenario,
        example=known.place.example,
        definition=definition,
        version=version_of(known),
        span=own_span,
        skills=marks.skill_letters,
        pass_mark=marks.pass_mark,
        incompatible=tuple(dict.fromkeys([*marks.incompatible, *sorted(rivals)])),
        requires=tuple(marks.requires),
        reset=marks.reset,
        together=together,
    )


def _definition(known: LtmItem, settings: Settings) -> Definition | None:
    folder, scenario, place = settings.definitions, known.scenario, known.place
    if settings.dataset is not None:
        return settings.dataset.definition(scenario, place.thread, place.example)
    if folder is not None and place.example in folder.examples.get(scenario, ()):
        return folder.definition(scenario, place.example)
    if known.marks.generate is None:
        return None
    module = known.item.getparent(pytest.Module)
    parameters = module.stash.get(PARAMETERS, {}) if module is not None else {}
    made = known.marks.generate(definition_rng(settings.seed, place.trial, scenario, place.example), parameters)
    if not isinstance(made, Definition):
        raise LtmError(
            f"{known.marks.generate.__name__}(rng, parameters) returned a {type(made).__name__}; "
            "expected a pytest_ltm.Definition"
        )
    return made
