"""What the command line selects, and the command line that has a conversation again."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._journal.result import node_label
from pytest_ltm._language.lists import join_words
from pytest_ltm._storage.errors import ConfigurationError, did_you_mean
from pytest_ltm._storage.secrets import redact_secrets
from pytest_ltm.plugin import options as _options
from pytest_ltm.plugin.collection import ROOT
from pytest_ltm.plugin.dataset import thread_options
from pytest_ltm.plugin.items import LTM_ITEM, UNWRITTEN, ItemPlace, LtmItem, is_built_in
from pytest_ltm.plugin.options import span_of
from pytest_ltm.plugin.resume_command_line import SELECTING
from pytest_ltm.plugin.settings import RunSettings, Shard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# Options that say nothing of what one conversation is about.
_ELSEWHERE = {
    "ltm_span", "ltm_concurrency", "ltm_shard", "ltm_summary", "ltm_compare", "ltm_compare_plans", "ltm_compare_fail",
    "ltm_fail_under",
}  # fmt: skip


# pytest's own options that decide which scenarios share a conversation, by where their values are.
_SELECTING = {**SELECTING, "ignore_glob": "--ignore-glob"}


def parse_concurrency(text: str) -> int | None:
    """Return how many conversations are played at once, None for `auto`; ConfigurationError for anything else."""
    if text == "auto":
        return None
    if not text.removeprefix("-").isdigit():
        raise ConfigurationError(f"{text!r} is not a number of conversations. Write one, or auto")
    return _options.IntegerParser(1)(text)


class Selection:
    """What the command line selects: node ids of built-in items, taken out of it, and whether paths are left."""

    def __init__(self, config: pytest.Config) -> None:
        self.names_suite = _options.option_or_ini(config, "ltm_suite") is not None
        self._built_in = [result for result in map(_built_in_id, config.args) if result is not None]
        rest = [argument for argument in config.args if _built_in_id(argument) is None]
        from_line = config.args_source is pytest.Config.ArgsSource.ARGS
        self.has_paths = from_line and bool(rest)
        if from_line:
            config.args[:] = rest
        elif self._built_in or (self.names_suite and _options.option_text(config, "ltm_suite") != "none"):
            # A suite alone imports nothing of the project: one broken test file must not abort it.
            config.args[:] = []

    def is_selected(self, item: pytest.Item) -> bool:
        """Return whether a collected item runs."""
        if not self._built_in or not is_built_in(item):
            return True
        return any(
            item.nodeid == wanted or item.nodeid.startswith((f"{wanted}::", f"{wanted}[")) for wanted in self._built_in
        )

    def check(self, items: Sequence[pytest.Item]) -> None:
        """Raise UsageError for a node id of the built-in suite that no item has."""
        ids = [item.nodeid for item in items if is_built_in(item)]
        known = {part for one in ids for part in (one, one.partition("[")[0], one.partition("::")[0])}
        for wanted in self._built_in:
            if wanted not in known:
                raise pytest.UsageError(
                    f"not found: {wanted}.{did_you_mean(wanted, sorted(known))} "
                    "An id names agent, span, trial and example of this run, and the run's suite must hold the scenario"
                )


def _built_in_id(argument: str) -> str | None:
    """Return the built-in node id that an argument gives, maybe with `../` from a subfolder; None: it is a path."""
    path, colons, rest = argument.partition("::")
    if Path(path).exists():
        return None
    parts = path.replace(os.sep, "/").split("/")
    while parts and parts[0] in {"..", "."}:
        parts.pop(0)
    if len(parts) != 2 or parts[0] != ROOT:
        return None
    return f"{ROOT}/{parts[1].removesuffix('.py')}{colons}{rest}"


def repeat_command(config: pytest.Config, settings: RunSettings, place: ItemPlace) -> str:
    """Return the command that has this conversation again."""
    agent = next(agent for agent in settings.agents if agent.label == place.agent)
    own = agent.own_label
    spec = agent.spec if node_label(redact_secrets(agent.spec)) == own else f"{own}={agent.spec}"
    words = ["pytest", f"--ltm-agent={spec}"]
    words += [] if settings.dataset else [f"--ltm-span={place.span}"]
    alone = {} if settings.dataset is None else thread_options(settings.dataset, place.thread)
    for option in _options.option_table(config).rows.values():
        given = alone.get(option.dest, config.getoption(option.dest))
        given = agent.language if given is not None and option.dest == "ltm_language" else given
        if given is not None and option.dest not in _ELSEWHERE:
            words += [f"{option.flag}={each}" for each in (given if option.many else [given])]
    for name, flag in _SELECTING.items():
        value = getattr(config.option, name, None) or []
        words += [each for text in ([value] if isinstance(value, str) else value) for each in (flag, text)]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        words += [word for word in config.invocation_params.args if str(word) in config.option.file_or_dir]
    return shlex.join(redact_secrets(str(word)) for word in words)


class LanguageFilter:
    """Leaves out what is not written in the language that an agent is talked to in."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._names: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect such items; UsageError where none is left."""
        unwritten = []
        for item in items:
            known = item.stash[LTM_ITEM]
            if not set(self._settings.language(known.place.agent).split(":")) <= set(known.marks.languages):
                unwritten.append(item)
                item.stash[UNWRITTEN] = True
        if not unwritten:
            return
        self._names = names = sorted({item.stash[LTM_ITEM].scenario for item in unwritten})
        items[:] = [item for item in items if UNWRITTEN not in item.stash]
        if not items:
            raise pytest.UsageError(
                f"--ltm-language: {join_words(names)}: not written in that language. A scenario names those that its "
                "generator can write in @pytest.mark.ltm(languages=[...])"
            )
        config.hook.pytest_deselected(items=unwritten)

    def pytest_report_collectionfinish(self) -> str:
        """Say what is left out."""
        return f"ltm: left out, for it is not written in that language: {', '.join(self._names)}" if self._names else ""


# --- How long a conversation is expected to be, before anything is said: what runs first, and what balances shards.

# The share of its memory span that one example covers (the default spreading of messages).
SHARE = 0.9
# About the tokens of one example's own messages, which is its whole length where it waits for nothing.
OWN_TOKENS = 300


def items_of_conversations(items: Iterable[LtmItem]) -> dict[str, list[LtmItem]]:
    """Return the items by the name of their conversation, in the order in which they come."""
    ltm_items: dict[str, list[LtmItem]] = {}
    for known in items:
        ltm_items.setdefault(str(known.place.conversation), []).append(known)
    return ltm_items


def expected_tokens(known: Sequence[LtmItem], spans: Mapping[str, int | None]) -> int:
    """Return about how many tokens a conversation of these items takes.

    Examples that must not overlap follow each other: the longest such row decides. `spans`: tokens by label.
    """
    span = spans[known[0].place.span]
    rows: dict[str, float] = {}
    for one in known if span is not None else ():
        own = span_of(str(one.marks.span), "span")[1] if one.marks.span is not None else span
        rows[one.scenario] = rows.get(one.scenario, 0.0) + SHARE * (own or 0)
    longest = max(
        (sum(rows.get(name, 0.0) for name in {one.scenario, *one.marks.incompatible}) for one in known), default=0.0
    )
    return round(longest) + OWN_TOKENS * len(known)


# --- Shards: one run spread over several machines, each of which plays its share of the conversations.


def parse_shard(given: str) -> Shard:
    """Return the share `I/N`; ConfigurationError if that is none."""
    match = re.fullmatch(r"\s*([0-9]+)\s*/\s*([0-9]+)\s*", given)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise ConfigurationError(f"{given!r} is not a shard. Write I/N, counted from 1: 1/4, 2/4, 3/4, 4/4")
    return Shard(number, of)


def shard_of(expected: Mapping[str, int], chosen: Shard) -> frozenset[str]:
    """Return the names of a shard's conversations; `expected`: tokens by name.

    The longest first, each to the shard that has least to do so far: on every machine the same, whatever the order of
    the names, each name in exactly one shard.
    """
    loads = [0] * chosen.of
    mine = set()
    for name in sorted(expected, key=lambda name: (-expected[name], name)):
        least = min(range(chosen.of), key=lambda index: loads[index])
        loads[least] += expected[name]
        if least == chosen.number - 1:
            mine.add(name)
    return frozenset(mine)


class Sharding:
    """Keeps the conversations of one shard, before anything else is selected: so all machines share alike."""

    def __init__(self, settings: RunSettings, chosen: Shard) -> None:
        self._settings, self._chosen = settings, chosen

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect what other shards play; UsageError if there are fewer conversations than shards."""
        ltm_items = items_of_conversations(item.stash[LTM_ITEM] for item in items)
        if ltm_items and len(ltm_items) < self._chosen.of:
            raise pytest.UsageError(
                f"--ltm-shard={self._chosen}: a conversation is never divided, and this run has only {len(ltm_items)}. "
                f"Use {len(ltm_items)} or fewer"
            )
        expected = {name: expected_tokens(known, self._settings.spans) for name, known in ltm_items.items()}
        mine = shard_of(expected, self._chosen)
        dropped = {one.item for name in ltm_items.keys() - mine for one in ltm_items[name]}
        if dropped:
            config.hook.pytest_deselected(items=[item for item in items if item in dropped])
            items[:] = [item for item in items if item not in dropped]
