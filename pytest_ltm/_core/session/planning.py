"""Planning: turns the items of a conversation into its plan; definitions are read or generated here."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import NamedTuple, cast

import pytest

from pytest_ltm._core.calls.conversation_thread import sleep_here
from pytest_ltm._core.calls.foreign_filler import admit_filler
from pytest_ltm._core.model.filler import Filler
from pytest_ltm._core.model.judge_spec import NO_JUDGE
from pytest_ltm._core.model.plan import (
    Plan,
    PlannedExample,
    compared_definition,
    definition_rng,
)
from pytest_ltm._core.model.scenario import LAST, Definition
from pytest_ltm._core.model.tokens import TokenCounter, token_counter
from pytest_ltm._core.model.transcript import DEFAULT_COUNT, Count
from pytest_ltm._core.session.collection import version_of
from pytest_ltm._core.session.conversation_setup import run_judge
from pytest_ltm._core.session.dataset import told_in
from pytest_ltm._core.session.hook_calls import ask_first
from pytest_ltm._core.session.item_body import PATCHING
from pytest_ltm._core.session.items import PARAMETERS, ItemPlace, LtmItem, fixture_names
from pytest_ltm._core.session.options import span_of
from pytest_ltm._core.session.recorded_run import recorded_plan
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.storage.clock import (
    Clock,
    SignallingClock,
    SimulatedClock,
    WallClock,
)
from pytest_ltm._core.storage.errors import LtmError, describe_error

# The first message of every conversation except isolated ones, unless the suite has
# another.
OPENING = (
    "Hello! This is going to be a long conversation about many different things, and I will jump from one to "
    "another. Please keep everything that I tell you in mind, because later I will ask you about it. When I only "
    "tell you something, a word or two will do as a reply; when I ask you something, answer just what I asked."
)


def filler_for(
    config: pytest.Config,
    settings: RunSettings,
    place: ItemPlace,
    counter: TokenCounter,
) -> Filler:
    """Return the filler of a conversation, in its agent's language."""
    filler = ask_first(
        config,
        "pytest_ltm_make_filler",
        config=config,
        spec=settings.filler,
        rng=definition_rng(settings.seed.value, place.trial, "filler", ""),
        counter=counter,
        language=settings.language(place.agent),
    )
    return admit_filler(filler)


def _translator(config: pytest.Config, language: str) -> Callable[[str], str]:
    """Return a function that translates our own messages into a language."""

    def translate(text: str) -> str:
        result: str | None = config.hook.pytest_ltm_translate(
            text=text, language=language
        )
        return text if result is None else result

    return translate


class Planned(NamedTuple):
    """A plan made from the current items of a conversation."""

    plan: Plan
    """Without definitions if a run is rescored."""
    filler: Filler
    unready: Mapping[str, Exception]
    """The error that prevented a definition from being generated, by example."""


def plan_for(ltm_items: Sequence[LtmItem], settings: RunSettings) -> Planned:
    """Return the plan for the items of a conversation."""
    place = ltm_items[0].place
    translate = _translator(ltm_items[0].item.config, settings.language(place.agent))
    filler = filler_for(
        ltm_items[0].item.config, settings, place, token_counter(settings.tokenizer)
    )
    span = settings.spans[place.span]
    told_conversation = told_in(settings, place)
    unready: dict[str, Exception] = {}
    examples = []
    patching = {
        ltm_item.scenario
        for ltm_item in ltm_items
        if PATCHING in fixture_names(ltm_item.item)
    }
    for ltm_item in ltm_items:
        definition = None
        try:
            if settings.rescored is None:
                definition = _example_definition(ltm_item, settings)
            else:
                definition = None
        except Exception as error:  # noqa: BLE001 - any error is reported
            unready[ltm_item.key] = error
        together = told_conversation is not None
        examples.append(
            _planned_example(
                ltm_item, definition, patching, translate, together=together
            )
        )
    judge = run_judge(ltm_items[0].item.config)
    opening = "" if span is None else settings.opening
    if told_conversation is not None:
        opening = told_conversation.opening
    elif opening is None:
        opening = translate(OPENING)
    plan = Plan(
        examples=tuple(examples),
        seed=settings.seed.recorded,
        trial=place.trial,
        span=span,
        tokenizer=settings.tokenizer,
        filler=filler.configuration(),
        scoring=settings.scoring,
        judge=NO_JUDGE if judge is None else judge.plan_entry,
        judge_votes=1 if judge is None else settings.judge.votes,
        time=settings.time,
        opening=opening,
        history=None if told_conversation is None else told_conversation.described,
        count=_reply_count_mode(ltm_items[0].item.config, settings, place),
        sessions=settings.sessions,
        compact=settings.compact,
        reading=settings.reading,
        questions=settings.questions,
    )
    return Planned(plan, filler, unready)


def regenerate_definitions(
    ltm_items: Iterable[LtmItem], settings: RunSettings
) -> dict[str, object]:
    """Return by example the newly generated or loaded definition, as JSON values, or the error."""
    definitions: dict[str, object] = {}
    for ltm_item in ltm_items:
        try:
            definition = _example_definition(ltm_item, settings)
            definitions[ltm_item.key] = compared_definition(definition)
        except Exception as error:  # noqa: BLE001 - any error is reported
            definitions[ltm_item.key] = describe_error(error)
    return definitions


def _reply_count_mode(
    config: pytest.Config, settings: RunSettings, place: ItemPlace
) -> Count:
    """Return how much of an agent's replies counts; published or recorded runs keep their mode."""
    if (recorded := recorded_plan(config, place.agent)) is not None:
        return cast("Count", recorded.get("count", "all"))
    if settings.count is not None:
        return settings.count
    if settings.scoring != "current" or (
        settings.definitions is not None and settings.definitions.is_published
    ):
        return "all"
    spec = next(
        (agent.spec for agent in settings.agents if agent.label == place.agent), ""
    )
    count: Count | None = config.hook.pytest_ltm_reply_count(
        spec=spec, ltm_dir=settings.ltm_dir
    )
    return count or DEFAULT_COUNT


def _planned_example(
    ltm_item: LtmItem,
    definition: Definition | None,
    patching: AbstractSet[str],
    translate: Callable[[str], str],
    *,
    together: bool,
) -> PlannedExample:
    marks = ltm_item.marks
    # Each would see the other's patches, and the first to end would undo them for both.
    rivals = patching - {ltm_item.scenario} if ltm_item.scenario in patching else set()
    if marks.span is None:
        own_span = None
    else:
        own_span = span_of(str(marks.span), "@pytest.mark.ltm(span=)")[1]
    return PlannedExample(
        scenario=ltm_item.scenario,
        example=ltm_item.place.example,
        definition=definition,
        version=version_of(ltm_item),
        span=own_span,
        skills=marks.skill_letters,
        threshold=marks.threshold,
        incompatible=tuple(dict.fromkeys([*marks.incompatible, *sorted(rivals)])),
        requires=tuple(marks.requires),
        reset=translate(marks.reset),
        together=together,
    )


def _example_definition(ltm_item: LtmItem, settings: RunSettings) -> Definition | None:
    folder = settings.definitions
    scenario = ltm_item.scenario
    place = ltm_item.place
    if settings.dataset is not None:
        return settings.dataset.definition(scenario, place.thread, place.example)
    if folder is not None and scenario in folder.examples:
        # A given file is played or refused.
        return folder.definition(scenario, place.example)
    if ltm_item.marks.generate is None:
        return None
    # The input of the generator; published scoring rules imply the published last
    # waits.
    language = settings.language(place.agent)
    module = ltm_item.item.getparent(pytest.Module)
    own_parameters = None if module is None else module.stash.get(PARAMETERS, None)
    language_parameter = {} if language == "en" else {"language": language}
    if own_parameters is not None and settings.scoring != "current":
        published = {"last_wait": LAST}
    else:
        published = {}
    parameters = {**published, **language_parameter, **(own_parameters or {})}
    generate = ltm_item.marks.generate
    rng = definition_rng(settings.seed.value, place.trial, scenario, place.example)
    generated = generate(rng, parameters)
    if not isinstance(generated, Definition):
        raise LtmError(
            f"{generate.__name__}(rng, parameters) returned a {type(generated).__name__}; "
            "expected a pytest_ltm.Definition"
        )
    return generated


# --- The modes of `--ltm-time`: the conversation's clock, and the context around each
# call of the agent.


def check_installed(mode: str) -> None:
    """Raise UsageError if the mode needs a package that is not installed."""
    if mode == "jump" and importlib.util.find_spec("time_machine") is None:
        raise pytest.UsageError(
            "--ltm-time=jump: moving the process's clock needs time-machine. Install it: pip install 'pytest-ltm[time]'"
        )


def clock_for(
    mode: str, jumped: Callable[[datetime, datetime], object], start: datetime
) -> Clock:
    """Return the clock of a conversation; `jumped(before, now)` is called only in the mode `signal`."""
    if mode == "sleep":
        return WallClock(sleep=sleep_here)
    if mode == "signal":
        return SignallingClock(jumped, start)
    return SimulatedClock(start)


def around_agent(
    mode: str, clock: Clock, output: AbstractContextManager[object]
) -> AbstractContextManager[object]:
    """Return the context for a call of the agent: in the mode `jump` the process's clock shows the simulated time.

    Only there: elsewhere durations, time limits and foreign code keep the real clock.
    `output`: the context that captures output.
    """
    if mode != "jump":
        return output
    import time_machine

    @contextmanager
    def moved_clock() -> Iterator[None]:
        # The output is outermost: its time limits and captures use the real clock.
        with output, time_machine.travel(clock.now, tick=True):
            yield

    return moved_clock()
