"""What the options mean: parsed once, before anything runs; every wrong value is a UsageError with a cure."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import pytest

from pytest_ltm import _suite
from pytest_ltm._errors import AgentError, LtmError, did_you_mean, told
from pytest_ltm._score import SCORINGS
from pytest_ltm._tokens import counter
from pytest_ltm.agents._specs import find, label_for, split_specs
from pytest_ltm.datasets._published import DefinitionsFolder
from pytest_ltm.plugin import _options, _time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm._score import Scoring
    from pytest_ltm.agents._adapt import AgentSource

ISOLATED = "isolated"
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """One agent under test."""

    label: str
    spec: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of an LTM run."""

    agents: tuple[AgentChoice, ...]
    spans: Mapping[str, int | None]
    """Label -> tokens, or None where examples are isolated."""
    suite: _suite.Suite | None
    seed: int
    examples: int | None
    trials: int
    definitions: DefinitionsFolder | None
    filler: str
    tokenizer: str
    scoring: Scoring
    time: str
    reply_timeout: float | None
    ltm_dir: Path
    report: Path | None = None
    """The file that `--ltm-report` names."""

    def described(self) -> dict[str, object]:
        """Return what the run was made from, JSON values, for `summary.json`."""
        return {
            "agents": {agent.label: agent.spec for agent in self.agents},
            "spans": dict(self.spans),
            "suite": self.suite.name if self.suite else None,
            "examples": self.examples,
            "trials": self.trials,
            "definitions": str(self.definitions.path) if self.definitions else None,
            "filler": self.filler,
            "tokenizer": self.tokenizer,
            "scoring": self.scoring,
            "time": self.time,
        }


def parse(config: pytest.Config, *, has_paths: bool) -> Settings:
    """Return the settings; `has_paths`: the command line names test files or folders."""
    definitions = _named("--ltm-definitions", lambda: _definitions(config))
    tokenizer = _named("--ltm-tokenizer", lambda: counter(_options.text(config, "ltm_tokenizer")).name)
    return Settings(
        agents=_named("--ltm-agent", lambda: _agents(config)),
        spans=_spans(config, definitions),
        suite=_named("--ltm-suite", lambda: _suite_of(config, has_paths=has_paths)),
        seed=_whole(config, "ltm_seed", least=None) or 0,
        examples=_whole(config, "ltm_examples", least=1),
        trials=_whole(config, "ltm_trials", least=1) or 1,
        definitions=definitions,
        filler=_named("--ltm-filler", lambda: _filler(config)),
        tokenizer=tokenizer,
        scoring=cast("Scoring", _choice(config, "ltm_scoring", SCORINGS)),
        time=_time_mode(config),
        reply_timeout=_timeout(config),
        ltm_dir=_ltm_dir(config),
        report=_report(config),
    )


def _named(flag: str, read: Callable[[], Value]) -> Value:
    """Return what `read` returns; what is wrong with it becomes a UsageError that names the option."""
    try:
        return read()
    except LtmError as error:
        raise pytest.UsageError(f"{flag}: {error}") from error


def sources(config: pytest.Config, settings: Settings) -> dict[str, AgentSource]:
    """Return where each agent comes from, by label; UsageError for a spec that names none."""
    from pytest_ltm.agents._adapt import source  # noqa: PLC0415 - nothing is imported before it is used

    found: dict[str, AgentSource] = {}
    conversations = len(settings.spans) * settings.trials
    many = conversations > 1 or None in settings.spans.values()
    for agent in settings.agents:
        try:
            given = _from_hook(config, agent.spec)
            made = (
                find(agent.spec, base=config.rootpath, known=_named_agents(config))
                if given is None
                else source(given, spec=agent.spec)
            )
        except LtmError as error:
            raise pytest.UsageError(f"--ltm-agent: {error}") from error
        if many and not made.serves_many:
            raise pytest.UsageError(f"--ltm-agent: {made.refusal}")
        found[agent.label] = made
    return found


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


def _agents(config: pytest.Config) -> tuple[AgentChoice, ...]:
    named = _named_agents(config)
    chosen = split_specs(config.getoption("ltm_agent"))
    if not chosen:
        if not named:
            raise pytest.UsageError(
                "--ltm: the ini value ltm_agents names no agent. Add lines 'name = spec', or use --ltm-agent=SPEC"
            )
        chosen = [(name, spec) for name, spec in named.items()]
    agents: dict[str, AgentChoice] = {}
    for given, spec in chosen:
        label = label_for(given or spec)
        if label in agents:
            raise pytest.UsageError(
                f"--ltm-agent: {agents[label].spec!r} and {spec!r} would both be called {label!r}. "
                "Give one another label: NAME=SPEC"
            )
        agents[label] = AgentChoice(label, named.get(spec, spec))
    return tuple(agents.values())


def _named_agents(config: pytest.Config) -> dict[str, str]:
    named: dict[str, str] = {}
    for line in config.getini("ltm_agents"):
        name, equals, spec = (part.strip() for part in line.partition("="))
        if not (name and equals and spec):
            raise pytest.UsageError(f"ini value ltm_agents: {line!r} is not 'name = spec'")
        named[name] = spec
    return named


def _spans(config: pytest.Config, definitions: DefinitionsFolder | None) -> dict[str, int | None]:
    given = _options.given(config, "ltm_span")
    if config.getoption("ltm_isolated"):
        given = f"{given},{ISOLATED}" if given else ISOLATED
    if given is None and definitions is not None and definitions.span:
        given = str(definitions.span)
    spans: dict[str, int | None] = {}
    for part in (given or _options.BY_DEST["ltm_span"].default).split(","):
        label, tokens = span_of(part.strip(), "--ltm-span")
        if label in spans:
            raise pytest.UsageError(f"--ltm-span: {label} is given twice")
        spans[label] = tokens
    return spans


def span_of(text: str, where: str) -> tuple[str, int | None]:
    """Return label and tokens of a span: `32k`, `2000` or `isolated`."""
    if text == ISOLATED:
        return ISOLATED, None
    number, factor = (text[:-1], 1_000) if text[-1:] in "kK" else (text, 1)
    if text[-1:] in {"m", "M"}:
        number, factor = text[:-1], 1_000_000
    try:
        tokens = round(float(number) * factor)
    except (ValueError, OverflowError):
        hint = did_you_mean(text, [ISOLATED])
        raise pytest.UsageError(
            f"{where}: {text!r} is no memory span.{hint} Write tokens as 2000, 32k or 1.5m, or 'isolated'"
        ) from None
    if tokens < 1:
        raise pytest.UsageError(f"{where}: a memory span has at least one token, not {text!r}")
    return (f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)), tokens


def _suite_of(config: pytest.Config, *, has_paths: bool) -> _suite.Suite | None:
    given = _options.given(config, "ltm_suite")
    if given == "none" or (given is None and has_paths):
        return None
    name = given or _options.BY_DEST["ltm_suite"].default
    known = _suite.scenario_names()
    if name in _suite.built_in_names():
        return _suite.built_in(name, known)
    path = _base(config, "ltm_suite") / name
    if path.is_file():
        return _suite.load(path, known)
    suites = [*_suite.built_in_names(), "none"]
    raise pytest.UsageError(
        f"--ltm-suite: there is no suite {name!r}.{did_you_mean(name, suites)} Built-in: {', '.join(suites)}; "
        "or name a *.ltm-suite.yml file"
    )


def _definitions(config: pytest.Config) -> DefinitionsFolder | None:
    given = _options.given(config, "ltm_definitions")
    return None if given is None else DefinitionsFolder(_base(config, "ltm_definitions") / given)


def _base(config: pytest.Config, dest: str) -> Path:
    """Return what a path is relative to: where the user is if it stands on the command line, else the root folder."""
    return config.rootpath if config.getoption(dest) is None else config.invocation_params.dir


def _filler(config: pytest.Config) -> str:
    from random import Random  # noqa: PLC0415 - nothing is imported before it is used

    from pytest_ltm.fillers import filler_from_spec  # noqa: PLC0415 - nothing is imported before it is used

    spec = _options.text(config, "ltm_filler")
    if spec.startswith("trivia:") and spec != "trivia:":
        spec = f"trivia:{os.path.relpath(_base(config, 'ltm_filler') / spec.removeprefix('trivia:'))}"
    counts = counter(_options.text(config, "ltm_tokenizer"))
    if config.hook.pytest_ltm_make_filler(config=config, spec=spec, rng=Random(0), counter=counts) is None:
        filler_from_spec(spec, Random(0), counts)
    return spec


def _whole(config: pytest.Config, dest: str, *, least: int | None) -> int | None:
    given = _options.text(config, dest)
    if not given:
        return None
    flag = _options.BY_DEST[dest].flag
    try:
        number = int(given)
    except ValueError:
        raise pytest.UsageError(f"{flag}: {given!r} is no whole number") from None
    if least is not None and number < least:
        raise pytest.UsageError(f"{flag}: at least {least}, not {number}")
    return number


def _choice(config: pytest.Config, dest: str, choices: Sequence[str]) -> str:
    given = _options.text(config, dest)
    if given in choices:
        return given
    raise pytest.UsageError(
        f"{_options.BY_DEST[dest].flag}: {given!r} is not one of {', '.join(choices)}.{did_you_mean(given, choices)}"
    )


def _time_mode(config: pytest.Config) -> str:
    mode = _choice(config, "ltm_time", _time.MODES)
    _time.check(mode)
    return mode


def _timeout(config: pytest.Config) -> float | None:
    given = _options.text(config, "ltm_reply_timeout")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise pytest.UsageError(f"--ltm-reply-timeout: {given!r} is no number of seconds; 0 means no limit")
    debugging = config.getoption("usepdb", False) or config.getoption("trace", False)
    return None if debugging else seconds or None


def _report(config: pytest.Config) -> Path | None:
    given = _options.given(config, "ltm_report")
    return None if given is None else _base(config, "ltm_report") / given


def _ltm_dir(config: pytest.Config) -> Path:
    given = _options.given(config, "ltm_dir")
    if given is None:
        return config.rootpath / _options.BY_DEST["ltm_dir"].default
    return _base(config, "ltm_dir") / given
