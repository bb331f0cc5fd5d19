"""The modes of a run: live, resumed, rescored, rehearsed, with concurrent conversations, with several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.agents.sources import AgentSource
    from pytest_ltm.api import (
        AgentChoice,
        ConversationInputs,
        ConversationMode,
        Count,
        LtmRun,
        Option,
        RunSettings,
    )
    from pytest_ltm.modes.costs import RunCosts


def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register the option for traces."""
    from pytest_ltm.modes.traces_option import TRACES

    register(TRACES)


@hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Iterator[None]:
    """Restore the command line of a resumed or rescored run, before conftests are looked for."""
    option = early_config.known_args_namespace
    if option.ltm_resume is not None or option.ltm_rescore is not None:
        from pytest_ltm.modes.resume_command_line import take_over

        take_over(early_config, parser, args)
    yield


@hookimpl(tryfirst=True)
def pytest_ltm_start(config: pytest.Config) -> None:
    """Use this session's kinds of agents, report replaced parts of Python, and receive spans."""
    from pytest_ltm.api import is_given
    from pytest_ltm.modes.agent_sources import use_session_kinds
    from pytest_ltm.modes.replaced import ReplacedParts
    from pytest_ltm.modes.traces_option import TRACES

    config.pluginmanager.register(ReplacedParts(config), "ltm-replaced")
    use_session_kinds(config)
    if is_given(config, TRACES):
        from pytest_ltm.modes.traces_option import receive_traces

        receive_traces(config)
    _register_filters(config)


def _register_filters(config: pytest.Config) -> None:
    from pytest_ltm.api.session import option_or_ini

    language = option_or_ini(config, "ltm_language") or "en"
    shard = option_or_ini(config, "ltm_shard")
    if language == "en" and not shard:
        return
    from pytest_ltm.modes.selection import LanguageFilter, ShardFilter

    if language != "en":
        config.pluginmanager.register(LanguageFilter(), "ltm-written")
    if shard:
        config.pluginmanager.register(ShardFilter(), "ltm-shard")


@hookimpl(wrapper=True, tryfirst=True)
def pytest_ltm_begin(run: LtmRun) -> Iterator[None]:
    """Register the mode before all other features, and the plugins for other processes after them.

    pytest calls hooks in reverse order of registration: xdist's side gets items first,
    and refusals of resuming or rescoring come before the gate.
    """
    from pytest_ltm.modes.signals import Signals

    run.config.pluginmanager.register(Signals(run), "ltm-signals")
    run.costs.check()
    if not run.is_worker:
        run.config.pluginmanager.register(run.costs, "ltm-costs")
    _register_mode(run)
    _allow_concurrency(run)
    yield
    report = run.config.pluginmanager.get_plugin("ltm-report")
    if report is not None and run.settings.rescored is None:
        from pytest_ltm.modes.unfinished import Unfinished

        run.config.pluginmanager.register(Unfinished(run, report), "ltm-unfinished")
    _register_xdist(run)


def _register_mode(run: LtmRun) -> None:
    manager = run.config.pluginmanager
    option = run.config.option
    if run.settings.rescored is not None:
        from pytest_ltm.modes.rescoring import Rescoring

        manager.register(Rescoring(run, run.settings.rescored), "ltm-rescoring")
    if run.resumed is not None:
        from pytest_ltm.modes.resume import ResumeGuard

        manager.register(ResumeGuard(run), "ltm-resume")
    if option.ltm_dry_run and run.rehearses:
        from pytest_ltm.modes.dry_run import DryRun

        manager.register(DryRun(run), "ltm-dry-run")


def _allow_concurrency(run: LtmRun) -> None:
    if run.settings.concurrency == 1 or not run.plays:
        return
    from pytest_ltm.api import read_option
    from pytest_ltm.modes.concurrency import (
        ConcurrentRunner,
        allow_files,
        limit_conversations,
    )

    limit = run.settings.concurrency
    if limit is not None:
        read_option(run.config, "--ltm-concurrency", lambda: allow_files(limit))
    run.most_at_once, run.of_agent = limit_conversations(run.sources, run.settings)
    run.make_runner = ConcurrentRunner


def _register_xdist(run: LtmRun) -> None:
    manager = run.config.pluginmanager
    if run.is_worker:
        from pytest_ltm.modes.xdist.worker import Worker

        manager.register(Worker(run), "ltm-xdist")
    elif getattr(run.config.option, "dist", "no") != "no":
        from pytest_ltm.modes.xdist.controller import Controller

        manager.register(Controller(run), "ltm-xdist")


@hookimpl(trylast=True)
def pytest_ltm_conversation_mode() -> Callable[[ConversationInputs], ConversationMode]:
    """Compose conversations with agents, if no other mode was requested."""
    from pytest_ltm.modes.live import LiveMode

    return LiveMode


@hookimpl(trylast=True)
def pytest_ltm_choose_agents(
    config: pytest.Config, ltm_dir: Path
) -> tuple[AgentChoice, ...]:
    """Return the agents named by the options, with run ids for recorded ones."""
    from pytest_ltm.modes.agent_sources import chosen_agents, fix_latest

    return fix_latest(config, chosen_agents(config), ltm_dir)


@hookimpl(trylast=True)
def pytest_ltm_agent_sources(
    config: pytest.Config, settings: RunSettings, acts: bool, rehearses: bool
) -> tuple[Mapping[str, AgentSource], RunSettings]:
    """Return the sources of the agents, and the settings with the specs to be named in results."""
    from pytest_ltm.modes.agent_sources import sources_of_run

    return sources_of_run(config, settings, acts=acts, rehearses=rehearses)


@hookimpl(trylast=True)
def pytest_ltm_reply_count(spec: str, ltm_dir: Path) -> Count | None:
    """Return how the replies of a recorded agent were counted."""
    from pytest_ltm.modes.agent_sources import REPLAY

    if not spec.startswith(REPLAY):
        return None
    from pytest_ltm.agents.replay import recorded_count

    return recorded_count(spec.removeprefix(REPLAY), ltm_dir)


@hookimpl(trylast=True)
def pytest_ltm_costs(run: LtmRun) -> RunCosts:
    """Return prices and budget, as given by the options."""
    from pytest_ltm.modes.costs import RunCosts

    return RunCosts(run.settings, run.sources, run.folder.path, spends=run.plays)
