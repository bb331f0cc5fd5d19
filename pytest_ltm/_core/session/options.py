"""The options and their ini twins: one table of rows, each with the parser of its text.

Features add rows through the hook `pytest_ltm_options`; data sets have parameters in
`--ltm-suite`. Values stay strings, so that they travel to xdist workers.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import pytest

from pytest_ltm._core.storage.choices import one_of
from pytest_ltm._core.storage.dotted import lazy
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError, did_you_mean

if TYPE_CHECKING:
    from pytest_ltm._core.model.dataset import Dataset, Definitions
    from pytest_ltm._core.model.own_suite import OwnSuite
    from pytest_ltm._core.model.suite import Suite


class IntegerParser:
    """Parses a whole number of at least `least`."""

    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, text: str) -> int:
        """Return the number; ConfigurationError for any other text."""
        try:
            number = int(text)
        except ValueError:
            raise ConfigurationError(f"{text!r} is not a whole number") from None
        if number < self._least:
            raise ConfigurationError(f"at least {self._least}, not {number}")
        return number


def parse_seconds(text: str, hint: str = "") -> float:
    """Return a finite number of seconds, 0 or more; ConfigurationError for any other text."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ConfigurationError(f"{text!r} is not a number of seconds{hint}")
    return seconds


def parse_time_limit(text: str) -> float:
    """Parse a number of seconds; 0 means no limit."""
    return parse_seconds(text, "; 0 means no limit")


def lazy_parser(place: str) -> Callable[[str], Any]:
    """Return the parser `module:function` of this package, imported on its first use."""
    return lazy(f"pytest_ltm.{place}")


class OptionGroup(Enum):
    """The groups of `pytest --help`, in this order."""

    RUN = "run"
    AGENTS = "agents and judges"
    GATE = "gate"
    REPORTS = "reports and costs"
    DATA_SETS = "data sets"
    ADVANCED = "advanced"


class Option(NamedTuple):
    """A row of the table: one `--ltm-*` option with a value, and its `ltm_*` ini twin."""

    flag: str
    metavar: str
    help: str
    default: str = ""
    group: OptionGroup = OptionGroup.ADVANCED
    parse: Callable[[str], Any] = str
    """Parses the text; LtmError, without the option's name, for an invalid one."""
    many: bool = False
    """It may be repeated; its ini twin is a list of lines."""
    is_path: bool = False
    """It names a file or folder, relative to the command line's folder or to the ini file."""
    endings: tuple[str, ...] = ()
    """The file name extensions that it accepts, if restricted."""
    has_twin: bool = True
    """There is an ini value with the same meaning."""
    repeats: bool = True
    """A command that repeats one conversation includes it, if it was given."""
    writes: bool = False
    """It names an output file: not copied from a run that is only rescored."""

    @property
    def dest(self) -> str:
        """The name of the value and of the ini twin."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether it has no value."""
        return not self.metavar


OPTIONS = (
    Option(
        "--ltm-agent",
        "SPEC[,SPEC...]",
        "agent under test: full, window:8k, echo, silent (bundled: no key, no network), pkg.mod:Class, "
        "pkg.mod:function, a name from the ini value ltm_agents, or a spec for the hook pytest_ltm_make_agent; "
        "several with commas or by repeating the option; NAME=SPEC gives it a label. Starts an LTM run: only LTM "
        "scenarios are run.",
        group=OptionGroup.RUN,
        many=True,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-resume",
        "latest|RUN",
        "resume an interrupted run (its ID, its folder or 'latest') with its original agents, options and paths; "
        "recorded messages are not sent again",
        group=OptionGroup.RUN,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-rescore",
        "latest|RUN",
        "score a recorded run again (its ID, its folder or 'latest') with the current evaluators, scoring rules "
        "and judge; no agent is called, and the differences are printed",
        group=OptionGroup.RUN,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm",
        "",
        "start an LTM run with the agents of the ini value ltm_agents",
        group=OptionGroup.RUN,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-dry-run",
        "",
        "show the planned schedule with its tokens, time and expected cost; calls no agent or judge, writes nothing",
        group=OptionGroup.RUN,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-agent-process",
        "",
        "run each agent that a dotted path names in a process of its own, so that nothing it does can end or hang"
        " the run",
        group=OptionGroup.AGENTS,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-no-probe",
        "",
        "skip the isolation probe, which asks each agent, before any conversation, for what it was told in "
        "another (at most 6 messages for each agent)",
        group=OptionGroup.AGENTS,
        has_twin=False,
        repeats=False,
    ),
    Option(
        "--ltm-span",
        "SPAN[,SPAN...]",
        "memory spans, such as 2k,32k: the tokens from an example's beginning to its last question; or 'isolated'",
        "2k",
        OptionGroup.RUN,
        repeats=False,
    ),
    Option(
        "--ltm-suite",
        "NAME|FILE",
        "built-in suite, *.ltm-suite.yml file, data set with parameters (locomo?data=FILE&tasks=events; ltm list "
        "suites has them all), or 'none'",
        "standard",
        OptionGroup.RUN,
    ),
    Option(
        "--ltm-definitions",
        "DIR",
        "play the definition files in DIR instead of generating examples",
        group=OptionGroup.DATA_SETS,
        is_path=True,
    ),
    Option(
        "--ltm-language",
        "CODE[,CODE...]",
        "language of scenarios and filler: en, de; en:de: told in one, asked in the other; a list: each in turn",
        "en",
        OptionGroup.RUN,
        parse=lazy_parser("locales:parse_language_list"),
    ),
    Option(
        "--ltm-seed",
        "N|fresh|env:NAME",
        "seed for everything random: a number, a fresh one, or a secret in an environment variable",
        "0",
        OptionGroup.RUN,
        parse=lazy_parser("_core.model.plan:parse_seed"),
    ),
    Option(
        "--ltm-examples",
        "N",
        "examples of each scenario, overriding marker and suite",
        group=OptionGroup.RUN,
        parse=IntegerParser(1),
    ),
    Option(
        "--ltm-trials",
        "N",
        "fresh conversations for each agent and span, for statistics",
        "1",
        OptionGroup.RUN,
        parse=IntegerParser(1),
    ),
    Option(
        "--ltm-filler",
        "SPEC",
        "filler: varied, varied:SUITE, letters, mixed, trivia, trivia:FILE, pkg.mod:factory",
        "varied",
    ),
    Option(
        "--ltm-tokenizer",
        "NAME",
        "encoding that measures spans: cl100k_base, o200k_base, ...",
        "cl100k_base",
    ),
    Option(
        "--ltm-scoring",
        "RULES",
        "rules of the evaluators: current, v3.5 or paper",
        "current",
        parse=one_of("current", "v3.5", "paper"),
    ),
    Option(
        "--ltm-count",
        "MODE",
        "what counts towards spans, messages apart: 4 tokens per reply (told), replies up to their message's length "
        "(capped), all of them; or only filler",
        parse=lazy_parser("_core.model.transcript:read_count"),
    ),
    Option(
        "--ltm-thoughts",
        "strip|keep",
        "what scenarios, judges and the model see of a reply: only its speech (strip) or all of it (keep)",
        "strip",
        OptionGroup.AGENTS,
        parse=one_of("strip", "keep"),
    ),
    Option(
        "--ltm-sessions",
        "N|every:TIME",
        "the user comes back to a fresh agent with only its memory: N sessions in each memory span, or one every:8h",
        group=OptionGroup.AGENTS,
        parse=lazy_parser("_core.model.schedule:parse_sessions_option"),
    ),
    Option(
        "--ltm-compact",
        "every:TOKENS|at:SHARE",
        "compact the agent every 8k tokens, say, or at 0.5 of each span, to see what it still remembers",
        group=OptionGroup.AGENTS,
        parse=lazy_parser("_core.model.schedule:parse_compact_option"),
    ),
    Option(
        "--ltm-judge",
        "SPEC",
        "judge beyond rules: openai:MODEL[@URL], pkg.mod:Class, or none; with parameters: 'openai:MODEL?votes=5'",
        "none",
        OptionGroup.AGENTS,
    ),
    Option(
        "--ltm-time",
        "MODE",
        "how time passes: simulated, jump, signal or sleep",
        "simulated",
        OptionGroup.AGENTS,
        parse=one_of("simulated", "jump", "signal", "sleep"),
    ),
    Option(
        "--ltm-reply-timeout",
        "SECONDS",
        "time limit for one reply; 0: none",
        "300",
        OptionGroup.AGENTS,
        parse=parse_time_limit,
    ),
    Option(
        "--ltm-evaluator-timeout",
        "SECONDS",
        "time limit for scoring an answer, and for each call of a watcher or a hook; 0: none",
        "60",
        parse=parse_time_limit,
    ),
    Option(
        "--ltm-retries",
        "N",
        "times that a message is sent again after a transient fault",
        "4",
        OptionGroup.AGENTS,
        parse=IntegerParser(0),
    ),
    Option(
        "--ltm-concurrency",
        "N|auto",
        "how many conversations one process plays at once; auto: as many as suit each agent",
        "1",
        OptionGroup.AGENTS,
        parse=lazy_parser("_core.session.collection:parse_concurrency"),
        repeats=False,
    ),
    Option(
        "--ltm-worker-tries",
        "N",
        "xdist workers that may die at one point of a conversation before it is dropped",
        "2",
        parse=IntegerParser(1),
    ),
    Option(
        "--ltm-shard",
        "I/N",
        "play shard I of N: one run divided over several machines",
        parse=lazy_parser("_core.session.collection:parse_shard"),
        repeats=False,
    ),
    Option(
        "--ltm-price",
        "[LABEL=]IN/OUT[/CACHED]",
        "dollars per million tokens, for an agent or for 'judge'",
        group=OptionGroup.REPORTS,
        many=True,
    ),
    Option(
        "--ltm-max-cost",
        "DOLLARS",
        "stop when agents and judge have cost this much; continue with --ltm-resume",
        group=OptionGroup.REPORTS,
        parse=lazy_parser("_core.journal.cost:read_dollars"),
    ),
    Option(
        "--ltm-max-tokens",
        "N",
        "stop when agents and judge have used N tokens, input and output: 200k, 1.5m",
        group=OptionGroup.REPORTS,
        parse=lazy_parser("_core.journal.cost:read_tokens"),
    ),
    Option(
        "--ltm-assume-reply",
        "N",
        "for --ltm-dry-run: tokens to assume for each reply (default: what is typical)",
        parse=IntegerParser(1),
    ),
    Option(
        "--ltm-latency",
        "SECONDS",
        "for --ltm-dry-run: time to assume for each reply",
        "2",
        parse=parse_seconds,
    ),
    Option(
        "--ltm-dir",
        "DIR",
        "where run folders are written",
        ".ltm",
        OptionGroup.REPORTS,
        is_path=True,
    ),
)
DEFAULTS = {option.dest: option.default for option in OPTIONS}


class OptionTable:
    """The options of a pytest session, including those of data sets; a plugin registered under `NAME`."""

    def __init__(self, parser: pytest.Parser) -> None:
        self.parser = parser
        self.rows = {option.dest: option for option in OPTIONS}
        """The options by dest."""
        self.datasets: dict[str, Dataset] = {}
        """The data sets by name."""
        self.own_suites: dict[str, OwnSuite] = {}
        """The features' own suites by name."""

    def add(self, option: Option) -> None:
        """Add a feature's option; ConfigurationError if it exists already."""
        if option.dest in self.rows:
            raise ConfigurationError(f"two features have an option {option.flag}")
        self.rows[option.dest] = option
        _add_option(self.parser, option)

    def take(self, dataset: Dataset) -> None:
        """Add a data set; ConfigurationError if its name is taken."""
        if dataset.name in self.datasets:
            raise ConfigurationError(f"two plugins have a data set {dataset.name!r}")
        self.datasets[dataset.name] = dataset

    def take_suite(self, suite: OwnSuite) -> None:
        """Add a feature's suite; ConfigurationError if its name is taken."""
        if suite.name in self.own_suites or suite.name in self.datasets:
            raise ConfigurationError(f"two plugins have a suite {suite.name!r}")
        self.own_suites[suite.name] = suite


NAME = "ltm-options"


def option_table(config: pytest.Config) -> OptionTable:
    """Return the option table of a session."""
    return cast("OptionTable", config.pluginmanager.get_plugin(NAME))


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """Declare all options in groups, and their ini twins; options of features are added as features are loaded."""
    more = " (pytest --help -v lists more options)"
    for group in OptionGroup:
        title = f"long-term memory (pytest-ltm), {group.value}"
        if group is OptionGroup.RUN:
            title += more
        parser.getgroup(f"ltm {group.value}", title)
    parser.addini(
        "ltm_agent_process",
        "ini twin of --ltm-agent-process",
        type="bool",
        default=False,
    )
    for option in OPTIONS:
        _add_option(parser, option)
    parser.addini(
        "ltm_thought_tags",
        "names of your own tags around thoughts: <NAME>...</NAME>",
        type="args",
    )
    parser.addini(
        "ltm_agents",
        "agents by name, lines 'name = spec', for --ltm-agent=name and --ltm",
        type="linelist",
    )
    result = OptionTable(parser)
    manager.register(result, NAME)
    if _concerns_us(manager):
        from pytest_ltm._core.features import register_features

        try:
            register_features(manager)
        except ConfigurationError as error:
            raise pytest.UsageError(str(error)) from error
    hook = manager.hook
    hook.pytest_ltm_options.call_historic(kwargs={"register": result.add})
    hook.pytest_ltm_datasets.call_historic(kwargs={"register": result.take})
    hook.pytest_ltm_suites.call_historic(kwargs={"register": result.take_suite})


def _concerns_us(manager: pytest.PytestPluginManager) -> bool:
    """Return whether features may be consulted; elsewhere not even their names are read.

    They may if the command line or an ini value names them, for `--help`, and while the
    arguments are not known yet. A pytest-xdist worker has no command line: its options
    are set before plugins declare theirs.
    """
    config: Any = manager.get_plugin("pytestconfig")
    if config is None:
        return True
    if any(value for name, value in vars(config.option).items() if name[:3] == "ltm"):
        return True
    words = [str(word) for word in config.invocation_params.args]
    words += os.environ.get("PYTEST_ADDOPTS", "").split()
    values = _ini_values(config)
    return (
        any(map(_OURS_OR_HELP.match, words))
        or any(name.startswith("ltm") for name in values)
        or "--ltm" in str(values.get("addopts", ""))
    )


# One of our options, --help in any form, or a file with arguments.
_OURS_OR_HELP = re.compile(r"--ltm|--help|-[a-zA-Z]*h|@")


def _shown_help(option: Option, text: str) -> str:
    """Return an option's help text; rare options are hidden unless -v asks for all."""
    asks_for_all = any(
        re.fullmatch("-v+|-[a-z]*h[a-z]*v|--verbose", word) for word in sys.argv
    )
    if option.group is OptionGroup.ADVANCED and not asks_for_all:
        return argparse.SUPPRESS
    return text.replace("%", "%%")


def _add_option(parser: pytest.Parser, option: Option) -> None:
    if option.default:
        text = f"{option.help} (default {option.default})"
    else:
        text = option.help
    how: dict[str, Any] = {"action": "append" if option.many else "store"}
    how |= {"metavar": option.metavar, "default": None}
    if option.is_switch:
        how = {"action": "store_true"}
    elif not option.has_twin and option.many:
        how["default"] = []
    parser.getgroup(f"ltm {option.group.value}").addoption(
        option.flag, dest=option.dest, help=_shown_help(option, text), **how
    )
    if option.has_twin:
        _add_twin(parser, option)


def _add_twin(parser: pytest.Parser, option: Option) -> None:
    # From pytest 8.4 on an ini value may be declared an int, which a native TOML number
    # needs; from 9.2 on it may be text or a number, whichever native TOML gives.
    is_int = isinstance(option.parse, IntegerParser)
    unions = pytest.version_tuple >= (9, 2)
    number = "int" if is_int and pytest.version_tuple >= (8, 4) else "string"
    if option.many:
        kind: Any = "linelist"
    elif unions:
        kind = str | int | float
    else:
        kind = number
    parser.addini(
        option.dest,
        f"ini twin of {option.flag}: {option.help}",
        type=kind,
        default=None,
    )


def own_suite(config: pytest.Config) -> OwnSuite | None:
    """Return the feature's suite that the session plays in place of conversations; None if it plays conversations."""
    name = (option_or_ini(config, "ltm_suite") or "").partition("?")[0]
    return option_table(config).own_suites.get(name)


def starts_ltm_run(config: pytest.Config) -> bool:
    """Return whether this session is an LTM run, which only a command line option can start, never an ini value."""
    return any(
        config.getoption(dest, None)
        for dest in ("ltm_agent", "ltm", "ltm_resume", "ltm_rescore")
    )


# Options of other plugins that this project's users know, and the extra that installs
# each plugin.
_EXTRAS = {
    "-n": "xdist",
    "--numprocesses": "xdist",
    "--dist": "xdist",
    "--html": "html",
}


def only_shows(config: pytest.Config) -> bool:
    """Return whether pytest shows what it collects, or its fixtures, and plays nothing."""
    names = (
        "collectonly",
        "setuponly",
        "setupplan",
        "showfixtures",
        "show_fixtures_per_test",
    )
    return any(getattr(config.option, name, False) for name in names)


def refuse_misspelt(
    config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> None:
    """Raise UsageError for an unknown option that looks like one of ours, with the closest match."""
    if not any(word.startswith("--ltm") for word in args):
        return
    flags = [option.flag for option in option_table(config).rows.values()]
    for word in parser.parse_known_and_unknown_args(args)[1]:
        flag = word.partition("=")[0]
        if flag.startswith("--ltm"):
            raise pytest.UsageError(
                f"there is no option {flag}.{did_you_mean(flag, flags)} --help lists all."
            )
        extra = _EXTRAS.get(flag if flag.startswith("--") else flag[:2])
        if extra:
            raise pytest.UsageError(
                f"{flag} needs pytest-{extra}: pip install 'pytest-ltm[{extra}]'"
            )


def refuse_misspelt_keys(config: pytest.Config) -> None:
    """Raise UsageError for an unknown ini key that looks like one of ours, with the closest match."""
    keys = [key for key in config._parser._inidict if key.startswith("ltm_")]
    for key in _ini_values(config):
        if key.startswith("ltm_") and key not in keys:
            where = f"{config.inipath.name}: " if config.inipath else ""
            raise pytest.UsageError(
                f"{where}there is no key {key!r}.{did_you_mean(key, keys)}"
            )


def _ini_values(config: pytest.Config) -> Mapping[str, Any]:
    """Return the values of the ini file as read; pytest 9.2 wraps them."""
    values = getattr(config, "_inicfg", None)
    values = config.inicfg if values is None else values
    return {key: getattr(value, "value", value) for key, value in values.items()}


def refuse_idle(config: pytest.Config) -> None:
    """Raise UsageError for one of our options on the command line of a session that is not an LTM run.

    Otherwise a CI job that lost its agent would be green. Ini values, including
    `addopts`, may wait for an LTM run.
    """
    ours = {option.flag for option in option_table(config).rows.values()}
    flags = [word.partition("=")[0] for word in config.invocation_params.args]
    idle = next(filter(ours.__contains__, flags), "")
    if idle and not config.option.help and not getattr(config.option, "version", 0):
        raise pytest.UsageError(
            f"{idle}: this is not an LTM run, so nothing would be measured. Add --ltm-agent=SPEC (such as "
            "--ltm-agent=full), --ltm, --ltm-resume=RUN or --ltm-rescore=RUN, or leave the option out"
        )


def value_source(config: pytest.Config, flag: str) -> str:
    """Return the source of an option's value: the option, or the ini file and its key."""
    if flag == "--ltm-agent":
        dest = "ltm_agents"
    else:
        dest = flag.removeprefix("--").replace("-", "_")
    stands_in_ini = config.inipath is not None and dest in _ini_values(config)
    if (
        config.getoption(dest if dest != "ltm_agents" else "ltm_agent")
        or not stands_in_ini
    ):
        return flag
    if config.inipath:
        return f"{config.inipath.name}: {dest}"
    return flag


def is_given(config: pytest.Config, option: Option) -> bool:
    """Return whether an option is set on the command line or in the ini file, whatever its value."""
    value = config.getoption(option.dest, None)
    if value is None or value is False or value == []:
        return option.has_twin and bool(config.getini(option.dest))
    return True


def option_or_ini(config: pytest.Config, dest: str) -> str | None:
    """Return the option's value as text, or its ini twin's; None if neither was given."""
    value = config.getoption(dest)
    if value is None:
        array = _ini_values(config).get(dest)
        if isinstance(array, list):
            value = ",".join(map(str, array))
        else:
            value = config.getini(dest)
    return None if value is None or value == "" else str(value)


def option_lines(config: pytest.Config, dest: str) -> list[str]:
    """Return the values of a repeatable option, or the lines of its ini twin."""
    array = _ini_values(config).get(dest)
    value = (
        config.getoption(dest)
        or (array if isinstance(array, list) else config.getini(dest))
        or []
    )
    return [str(line).strip() for line in value if str(line).strip()]


def option_text(config: pytest.Config, dest: str) -> str:
    """Return the option's value, its ini twin's or its default."""
    value = option_or_ini(config, dest)
    if value is None:
        return option_table(config).rows[dest].default
    return value


def option_value(config: pytest.Config, dest: str) -> Any:
    """Return the parsed value of an option, None if it is empty; UsageError, with its name, if it is invalid."""
    option = option_table(config).rows[dest]
    text = option_text(config, dest)
    if not text:
        return None
    if option.endings and not text.lower().endswith(option.endings):
        where = value_source(config, option.flag)
        raise pytest.UsageError(
            f"{where}: it is written as HTML, so {text!r} must end in {option.endings[0]}"
        )
    if option.is_path:
        return path_base(config, dest) / text
    return name_option_in_errors(
        value_source(config, option.flag), lambda: option.parse(text)
    )


def set_by_suite(config: pytest.Config, suite: Suite | None, name: str) -> bool:
    """Return whether a suite file decides a setting: unless the command line does, whatever the ini file."""
    return (
        suite is not None
        and name in suite.lines
        and config.getoption(f"ltm_{name}", None) is None
    )


def path_base(config: pytest.Config, dest: str) -> Path:
    """Return the folder that a path is relative to: the user's for the command line, else the root folder."""
    if config.getoption(dest) is None:
        return config.rootpath
    return config.invocation_params.dir


Value = TypeVar("Value")


def read_option(config: pytest.Config, flag: str, read: Callable[[], Value]) -> Value:
    """Return the result of `read`; an LtmError becomes a UsageError that names the option or the ini key."""
    return name_option_in_errors(value_source(config, flag), read)


def name_option_in_errors(flag: str, read: Callable[[], Value]) -> Value:
    """Return the result of `read`; an LtmError becomes a UsageError that names the option."""
    try:
        return read()
    except LtmError as error:
        raise pytest.UsageError(f"{flag}: {error}") from error


# --- Memory spans as they are written: 2k, 32000, 1.5m, isolated.

ISOLATED = "isolated"


def chosen_spans(
    config: pytest.Config, suite: Suite | None, definitions: Definitions | None
) -> dict[str, int | None]:
    """Return label and tokens of the requested spans; by default those of the definitions, else 2k."""
    span_text = option_or_ini(config, "ltm_span")
    if suite is not None and set_by_suite(config, suite, "span"):
        span_text = ",".join(
            ISOLATED if span is None else str(span) for span in suite.spans
        )
    if span_text is None and definitions is not None and definitions.span:
        span_text = str(definitions.span)
    numbers: dict[str, int | None] = {}
    where = value_source(config, "--ltm-span")
    for part in (span_text or DEFAULTS["ltm_span"]).split(","):
        label, tokens = span_of(part.strip(), where)
        if label in numbers:
            raise pytest.UsageError(f"{where}: {label} is given twice")
        numbers[label] = tokens
    return numbers


def span_of(text: str, where: str) -> tuple[str, int | None]:
    """Parse a span, `32k`, `2000` or `isolated`, to its label and tokens."""
    if text == ISOLATED:
        return ISOLATED, None
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:].lower(), 1)
    cure = "Write tokens as 2000, 32k or 1.5m"
    try:
        tokens = round(float(text if factor == 1 else text[:-1]) * factor)
    except (ValueError, OverflowError):
        hint = did_you_mean(text, [ISOLATED])
        raise pytest.UsageError(
            f"{where}: {text!r} is not a memory span.{hint} {cure}, or 'isolated'"
        ) from None
    if tokens < 1:
        reason = f"{where}: a memory span has at least one token, not {text!r}"
        raise pytest.UsageError(f"{reason}. {cure}: commas separate spans")
    return (f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)), tokens
