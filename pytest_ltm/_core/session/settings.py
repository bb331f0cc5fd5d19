"""Settings: the options of an LTM run as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from pytest_ltm._core.journal.cost import Limits, Prices
from pytest_ltm._core.model.judge_spec import JudgeSpec
from pytest_ltm._core.model.plan import Questions, Seed
from pytest_ltm._core.model.score import Scoring
from pytest_ltm._core.model.suite import Suite
from pytest_ltm._core.model.transcript import RAW, Count, Reading, count_option
from pytest_ltm._core.storage.schema import to_record
from pytest_ltm._core.storage.secrets import redact_secrets

if TYPE_CHECKING:
    from pytest_ltm._core.model.dataset import DatasetSuite, Definitions


class AgentChoice(Struct, frozen=True):
    """One agent under test."""

    label: str
    """Its name in the run; a language other than English is part of it: `full.de`."""
    spec: str
    """Its spec after lookup: `mybot:Bot` where `mybot` was given."""
    language: str = "en"
    """Its language, as in `--ltm-language`."""
    family: str = ""
    """The spec with several values that it was expanded from; "" if it was not expanded."""
    given: str = ""
    """The spec as it was given, if the resolved one differs."""

    @property
    def own_label(self) -> str:
        """The label without the language."""
        return self.label.removesuffix(_language_suffix(self.language))

    @property
    def typed_spec(self) -> str:
        """The spec as the user typed it."""
        return self.given or self.spec

    def resolved_as(self, spec: str) -> AgentChoice:
        """Return the same agent with the spec that its source reports."""
        typed = self.typed_spec
        return structs.replace(self, spec=spec, given=typed if typed != spec else "")


def _language_suffix(language: str) -> str:
    if language == "en":
        return ""
    return f".{language.replace(':', '_')}"


def in_languages(
    agents: Iterable[AgentChoice], languages: Sequence[str]
) -> tuple[AgentChoice, ...]:
    """Return each agent once for each language, as separate agents."""
    return tuple(
        structs.replace(
            agent, label=f"{agent.label}{_language_suffix(language)}", language=language
        )
        for agent in agents
        for language in languages
    )


class Shard(Struct, frozen=True):
    """The `number`-th of `of` shares, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class RunSettings(Struct, frozen=True):
    """The options of an LTM run."""

    agents: tuple[AgentChoice, ...]
    spans: Mapping[str, int | None]
    """Label -> tokens, or None if examples are isolated."""
    suite: Suite | None
    seed: Seed
    examples: int | None
    trials: int
    definitions: Definitions | None
    filler: str
    tokenizer: str
    scoring: Scoring
    time: str
    reply_timeout: float | None
    evaluator_timeout: float | None
    ltm_dir: Path
    opening: str | None = None
    """The first message of each conversation, "" for none; None: the default one."""
    count: Count | None = None
    """How many tokens of replies count towards spans, if an option says so."""
    sessions: str = ""
    """When an agent's session ends, as in the option; "": there is one session."""
    compact: str = ""
    """When the agent compacts, as in the option; "": only if a scenario requests it."""
    reading: Reading = RAW
    """Which part of replies is read."""
    questions: Questions = "together"
    """How the questions of a data set are asked."""
    retries: int = 4
    """The number of times a message is sent again after a transient fault of the agent."""
    dataset: DatasetSuite | None = None
    """The data set that is played; its entries are the suite."""
    worker_tries: int = 2
    """The number of xdist workers that may die at the same position of a conversation before it is abandoned."""
    shard: Shard | None = None
    """The share of the conversations that is played; None: all."""
    concurrency: int | None = 1
    """The number of conversations this process plays at once; None: as many as suit each agent."""
    judge: JudgeSpec = field(default_factory=JudgeSpec)
    agent_process: bool = False
    """Whether agents given as dotted paths run in processes of their own."""
    rescored: Path | None = None
    """The folder of the run that is scored again; None: agents are asked."""
    prices: Prices = field(default_factory=Prices)
    limits: Limits = field(default_factory=Limits)
    """The spending limits."""
    assumed_reply: int | None = None
    """Tokens that a dry run assumes for each reply; None: a typical number."""
    latency: float = 2.0
    """Seconds that a dry run assumes for a reply."""

    def language(self, label: str) -> str:
        """Return the language of an agent, by label."""
        return next(
            (agent.language for agent in self.agents if agent.label == label), "en"
        )

    def spans_too_short(self, name: str) -> list[str]:
        """Return the labels of the spans that are too short for a scenario according to the suite."""
        # Definition files are played at any span: their requirements are in them.
        if self.suite is None or self.definitions is not None:
            return []
        entries = {entry.name: entry for entry in self.suite.entries}
        least = entries[name].least_span if name in entries else None
        labels = []
        for label, tokens in self.spans.items():
            if tokens is not None and tokens < (least or 0):
                labels.append(label)
        return labels

    def scenarios_left_out(self) -> list[str]:
        """Return a sentence for each suite field without effect and each scenario not played at every span."""
        if self.suite is None:
            return []
        sentences = [*self.suite.unhonoured]
        for entry in self.suite.entries:
            if short := self.spans_too_short(entry.name):
                sentences.append(
                    f"{entry.name} needs a memory span of {entry.least_span:,} tokens or more: not played at "
                    f"{', '.join(short)}"
                )
        return sentences

    def describe_settings(self) -> dict[str, object]:
        """Return the settings of the run as JSON values, for `summary.json`."""
        return {
            "agents": {agent.label: agent.spec for agent in self.agents},
            "spans": dict(self.spans),
            "suite": self.suite.name if self.suite else None,
            "suite_version": self.suite.version if self.suite else None,
            "examples": self.examples,
            "trials": self.trials,
            "definitions": str(self.definitions.path) if self.definitions else None,
            "filler": self.filler,
            "tokenizer": self.tokenizer,
            "scoring": self.scoring,
            "count": None if self.count is None else count_option(self.count),
            "judge": redact_secrets(self.judge.judge),
            "time": self.time,
            # Defaults are left out, so that runs recorded before a setting existed stay
            # equal.
            **({"seed_source": self.seed.source} if self.seed.source else {}),
            **({"sessions": self.sessions} if self.sessions else {}),
            **({"compact": self.compact} if self.compact else {}),
            **({} if self.reading == RAW else {"reading": to_record(self.reading)}),
            **({} if self.questions == "together" else {"questions": self.questions}),
            **({} if self.shard is None else {"shard": str(self.shard)}),
            **({} if self.rescored is None else {"rescored": self.rescored.name}),
        }
