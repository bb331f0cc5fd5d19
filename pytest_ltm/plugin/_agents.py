"""Which agents are under test, and where each comes from; every wrong spec is a UsageError with a cure."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import AgentError, LtmError, told
from pytest_ltm._run_file import LATEST, find_run
from pytest_ltm.agents._specs import find, label_for, split_specs

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ltm.agents._adapt import AgentSource
    from pytest_ltm.plugin._settings import Settings


REPLAY = "replay:"


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """One agent under test."""

    label: str
    spec: str


def sources(config: pytest.Config, settings: Settings) -> dict[str, AgentSource]:
    """Return where each agent comes from, by label; UsageError for a spec that names none."""
    from pytest_ltm._providers import share  # noqa: PLC0415 - nothing is imported before it is used
    from pytest_ltm.agents._adapt import source  # noqa: PLC0415 - as above

    if settings.rescored is not None:
        from pytest_ltm._rescore._record import recorded_settings  # noqa: PLC0415 - few runs are scored again

        run = settings.rescored
        return {
            agent.label: source(_nobody, spec=agent.spec, settings=recorded_settings(run, agent.label))
            for agent in settings.agents
        }
    share(settings.ltm_dir / "limits", reply_timeout=settings.reply_timeout)
    found: dict[str, AgentSource] = {}
    conversations = len(settings.spans) * settings.trials
    many = conversations > 1 or None in settings.spans.values()
    for agent in settings.agents:
        try:
            given = _from_hook(config, agent.spec)
            made = _named(config, settings, agent.spec) if given is None else source(given, spec=agent.spec)
        except LtmError as error:
            raise pytest.UsageError(f"--ltm-agent: {error}") from error
        if many and not made.serves_many:
            raise pytest.UsageError(f"--ltm-agent: {made.refusal}")
        found[agent.label] = made
    return found


def _named(config: pytest.Config, settings: Settings, spec: str) -> AgentSource:
    if spec.startswith(REPLAY):
        from pytest_ltm.agents._replay import replay_source  # noqa: PLC0415 - other agents do without

        return replay_source(spec.removeprefix(REPLAY), ltm_dir=settings.ltm_dir)
    return find(spec, base=config.rootpath, known=_named_agents(config))


def fix_latest(config: pytest.Config, chosen: tuple[AgentChoice, ...], ltm_dir: Path) -> tuple[AgentChoice, ...]:
    """Return the choices with ids in place of `latest`, which is about to be this very run; so say the options, too."""
    if all(not choice.spec.startswith(f"{REPLAY}{LATEST}") for choice in chosen):
        return chosen
    from pytest_ltm.agents._recordings import resolved  # noqa: PLC0415 - other agents do without
    from pytest_ltm.plugin._again import begun_by_controller  # noqa: PLC0415 - as above

    try:
        known = begun_by_controller(find_run(ltm_dir, LATEST, ltm_dir)).get("agents", {})
        fixed = tuple(
            AgentChoice(choice.label, known.get(choice.label) or resolved(choice.spec, ltm_dir)) for choice in chosen
        )
    except LtmError as error:
        raise pytest.UsageError(f"--ltm-agent: {error}") from error
    config.option.ltm_agent = [f"{choice.label}={choice.spec}" for choice in fixed]
    return fixed


def _nobody() -> object:
    raise AgentError("no agent is made where a run is scored again")


def _from_hook(config: pytest.Config, spec: str) -> object:
    """Return what a conftest or plugin makes of a spec, or None; AgentError for what it raises."""
    try:
        return config.hook.pytest_ltm_make_agent(config=config, spec=spec)
    except (LtmError, pytest.UsageError):
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}:{frame.lineno}"
        raise AgentError(f"pytest_ltm_make_agent raised for {spec!r}: {told(error)} ({where})") from error


def agents(config: pytest.Config) -> tuple[AgentChoice, ...]:
    named = _named_agents(config)
    chosen = split_specs(config.getoption("ltm_agent"))
    if not chosen:
        if not named:
            raise pytest.UsageError(
                "--ltm: the ini value ltm_agents names no agent. Add lines 'name = spec', or use --ltm-agent=SPEC"
            )
        chosen = [(name, spec) for name, spec in named.items()]
    found: dict[str, AgentChoice] = {}
    for given, spec in chosen:
        label = label_for(given or spec)
        if label in found:
            raise pytest.UsageError(
                f"--ltm-agent: {found[label].spec!r} and {spec!r} would both be called {label!r}. "
                "Give one another label: NAME=SPEC"
            )
        found[label] = AgentChoice(label, named.get(spec, spec))
    return tuple(found.values())


def _named_agents(config: pytest.Config) -> dict[str, str]:
    named: dict[str, str] = {}
    for line in config.getini("ltm_agents"):
        name, equals, spec = (part.strip() for part in line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(f"ini value ltm_agents: {line!r} is not 'name = spec'")
        named[name] = spec
    return named
