"""The agents under test and their sources; every invalid spec is a UsageError with a cure."""

from __future__ import annotations

import traceback
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from msgspec import structs

from pytest_ltm.agents.memory.backends import backends_are_shared
from pytest_ltm.agents.processes import Processes
from pytest_ltm.agents.registry import (
    find_agent,
    label_for,
    reading_variants,
    split_specs,
)
from pytest_ltm.agents.sources import (
    AgentSource,
    agent_source,
    allow_missing_keys,
    examined_source,
    rereading,
)
from pytest_ltm.api.features import AGENT_KINDS
from pytest_ltm.api.journal import LATEST, find_run
from pytest_ltm.api.session import AgentChoice, RunSettings, read_option
from pytest_ltm.api.storage import AgentError, LtmError, describe_error
from pytest_ltm.providers import PROVIDERS, share_limits

REPLAY = "replay:"


def use_session_kinds(config: pytest.Config) -> None:
    """Use the providers and kinds of agents of this session's features until it ends."""
    for registry in (PROVIDERS, AGENT_KINDS):  # some kinds of agents are providers
        use = partial(registry.use, config.hook)
        config.add_cleanup(read_option(config, "--ltm-agent", use))


def agent_sources(
    config: pytest.Config, settings: RunSettings
) -> dict[str, AgentSource]:
    """Return the source of each agent, by label; UsageError for an invalid spec."""
    if settings.rescored is not None:
        return _rescored_sources(settings, settings.rescored)
    share_limits(settings.ltm_dir / "limits", reply_timeout=settings.reply_timeout)
    sources: dict[str, AgentSource] = {}
    families: dict[str, str] = {}
    for agent in settings.agents:
        sources[agent.label] = _live_source(config, settings, agent.spec)
        if agent.family:
            families[agent.label] = f"{agent.family} {agent.language}"
    if not families:
        return sources
    from pytest_ltm.agents.ingested_once import join_families

    return join_families(sources, families)


def _rescored_sources(settings: RunSettings, run: Path) -> dict[str, AgentSource]:
    """Return sources that describe the agents of a recorded run, and make none."""
    from pytest_ltm.records.playback import recorded_settings, recorded_spec

    def refuse() -> object:
        raise AgentError("no agent exists while a run is scored again")

    sources: dict[str, AgentSource] = {}
    for agent in settings.agents:
        sources[agent.label] = agent_source(
            refuse,
            spec=recorded_spec(run, agent.label) or agent.spec,
            settings=recorded_settings(run, agent.label),
        )
    return sources


def _live_source(
    config: pytest.Config, settings: RunSettings, spec: str
) -> AgentSource:
    find_source = partial(_find_source, config, settings, spec)
    with rereading(settings.reading):
        source = read_option(config, "--ltm-agent", find_source)
    if backends_are_shared():
        from pytest_ltm.agents.shared_agents import share_agents

        source = share_agents(source)
    conversations = len(settings.spans) * settings.trials
    has_many = conversations > 1 or None in settings.spans.values()
    if has_many and not source.serves_many:
        raise pytest.UsageError(f"--ltm-agent: {source.refusal}")
    return replace(source, sees_clock=sees_clock(config, settings.time, source))


def sources_of_run(
    config: pytest.Config, settings: RunSettings, *, acts: bool, rehearses: bool
) -> tuple[dict[str, AgentSource], RunSettings]:
    """Return the sources of a run's agents, and its settings with the specs that results name.

    `acts`: whether the run needs agents at all. `rehearses`: whether keys may be missing.
    """
    if not acts:
        return {}, settings
    with allow_missing_keys() if rehearses else nullcontext():
        sources = agent_sources(config, settings)
    agents = []
    for agent in settings.agents:
        agents.append(agent.resolved_as(sources[agent.label].spec))
    return sources, structs.replace(settings, agents=tuple(agents))


def _find_source(
    config: pytest.Config, settings: RunSettings, spec: str
) -> AgentSource:
    try:
        hook_agent = config.hook.pytest_ltm_make_agent(config=config, spec=spec)
    except (LtmError, pytest.UsageError):
        raise
    except Exception as error:  # of a conftest or a plugin
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}:{frame.lineno}"
        raise AgentError(
            f"pytest_ltm_make_agent raised for {spec!r}: {describe_error(error)} ({where})"
        ) from error
    # An object cannot be passed to another process, only a name that creates it there.
    if hook_agent is not None and settings.agent_process:
        raise AgentError(
            f"the hook pytest_ltm_make_agent makes {spec!r} in this process, so --ltm-agent-process cannot give it one "
            "of its own. Name a class or a plain function by its dotted path, or leave the option out"
        )
    if hook_agent is not None:
        return examined_source(hook_agent, spec=spec)
    if spec.startswith(REPLAY):
        from pytest_ltm.agents.replay import replay_source

        return replay_source(spec.removeprefix(REPLAY), ltm_dir=settings.ltm_dir)
    processes = Processes(
        every=settings.agent_process,
        jump=settings.time == "jump",
        limit=settings.reply_timeout,
        look=not hasattr(config, "workerinput"),
        hidden=str(settings.ltm_dir / "runs"),
    )
    return find_agent(
        spec, base=config.rootpath, named_agents=_named_agents(config), apart=processes
    )


def sees_clock(config: pytest.Config, mode: str, source: AgentSource) -> bool:
    """Return whether agents can know the conversation's time by themselves; a chat model sees only its messages."""
    if source.kind == "replay":
        return True  # recorded replies were made in time
    if mode == "simulated" or source.embedded or source.kind in PROVIDERS.entries():
        return False
    if mode == "signal":
        return bool(config.hook.pytest_ltm_time_jumped.get_hookimpls())
    return mode == "sleep" or source.apart or not source.kind


def fix_latest(
    config: pytest.Config, chosen: tuple[AgentChoice, ...], ltm_dir: Path
) -> tuple[AgentChoice, ...]:
    """Replace `latest` by run ids, in the choices and in the option, because this run is about to become `latest`.

    LtmError if there is no such run.
    """
    if not any(choice.spec.startswith(f"{REPLAY}{LATEST}") for choice in chosen):
        return chosen
    from pytest_ltm.agents.replay import resolve_latest
    from pytest_ltm.modes.resume_command_line import begun_by_controller

    agents_by_label = begun_by_controller(find_run(LATEST, ltm_dir)).get("agents", {})
    fixed: list[AgentChoice] = []
    for choice in chosen:
        recorded = agents_by_label.get(choice.label)
        spec = recorded or resolve_latest(choice.spec, ltm_dir)
        fixed.append(AgentChoice(choice.label, spec))
    config.option.ltm_agent = [f"{choice.label}={choice.spec}" for choice in fixed]
    return tuple(fixed)


def chosen_agents(config: pytest.Config) -> tuple[AgentChoice, ...]:
    """Return the agents named by the command line, else by the ini value `ltm_agents`; UsageError for equal labels."""
    named_agents = _named_agents(config)
    specs = config.getoption("ltm_agent")
    if not all(map(str.strip, specs)):
        raise pytest.UsageError(
            "--ltm-agent: no agent is given. Name one, as in --ltm-agent=full"
        )
    labelled_specs = split_specs(specs) or list(named_agents.items())
    if not labelled_specs:
        raise pytest.UsageError(
            "--ltm: the ini value ltm_agents names no agent. Add lines 'name = spec', or use --ltm-agent=SPEC"
        )
    choices: dict[str, AgentChoice] = {}
    for own_label, spec_or_name in labelled_specs:
        prefix = own_label or ""
        if not prefix and spec_or_name in named_agents:
            prefix = spec_or_name
        variants = reading_variants(named_agents.get(spec_or_name, spec_or_name))
        family = spec_or_name if len(variants) > 1 else ""
        for suffix, spec in variants:
            name = prefix or spec
            if prefix and suffix:
                name = f"{prefix}.{suffix}"
            label = label_for(name)
            if label in choices:
                conflict = f"{choices[label].spec!r} and {spec!r} would both be called {label!r}"
                raise pytest.UsageError(
                    f"--ltm-agent: {conflict}. Give one of them another label: NAME=SPEC"
                )
            choices[label] = AgentChoice(label, spec, family=family)
    return tuple(choices.values())


def _named_agents(config: pytest.Config) -> dict[str, str]:
    specs: dict[str, str] = {}
    for line in config.getini("ltm_agents"):
        name, equals, spec = map(str.strip, line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(
                f"ini value ltm_agents: {line!r} is not 'name = spec'"
            )
        specs[name] = spec
    return specs
