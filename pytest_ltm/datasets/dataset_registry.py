"""Registers the plugin's data sets: their options and openers.

Light to import: every `pytest --help` loads them without reading a file or playing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.scenarios import (
    Dataset,
    DatasetOption,
    DatasetSuite,
    number_of,
    parse_token_limit,
    some_of,
    split_comma_list,
)
from pytest_ltm.api.storage import DatasetError, lazy, one_of

if TYPE_CHECKING:
    from pytest_ltm.datasets.interchange import HistoryReader


def suite_opener(
    module: str,
) -> Callable[[Path | None, Mapping[str, Any], int, Path | None], DatasetSuite]:
    """Return an opener that calls the module's `open_suite`, importing it only then, not for `pytest --help`."""
    return lazy(f"{module}:open_suite")


# Shared by both data sets with answers that rules may leave open.
_JUDGE = DatasetOption(
    "judge",
    "rest|all",
    "what --ltm-judge decides: only what no rule can decide, or everything",
    default="rest",
    parse=one_of("rest", "all"),
)

PROTOCOLS = ("ours", "official")


def _protocol_option(default: str) -> DatasetOption:
    return DatasetOption(
        "protocol",
        "|".join(PROTOCOLS),
        "scorer, wording and order at once: the authors', or ours",
        default=default,
        parse=one_of(*PROTOCOLS),
    )


# The published protocol of sets with a judge: it decides all answers, and questions
# follow the whole history.
_JUDGED_PROTOCOLS = {
    "official": {"judge": "all", "after": ""},
    "ours": {"judge": "rest"},
}

# --- LoCoMo

ASKINGS = ("official", "free")
NOTE_KINDS = ("observations", "summaries")
"""The history formats that consist of notes."""
TELLINGS = ("turns", "sessions", *NOTE_KINDS)
TASKS = ("questions", "events", "dialogue")


_PROMPTS = DatasetOption(
    "prompts",
    "FILE",
    "your YAML file with the words of questions and of the judge's prompts, or the authors' Python (a file or folder)",
    is_path=True,
)
LOCOMO = Dataset(
    name="locomo",
    metric="official F1",
    fewer="conversations",
    options=(
        DatasetOption(
            "conversations",
            "ID[,ID...]",
            "which conversations of LoCoMo to play (default: all)",
            parse=split_comma_list,
        ),
        DatasetOption(
            "asking",
            "|".join(ASKINGS),
            "wording of LoCoMo's questions",
            default="official",
            parse=one_of(*ASKINGS),
        ),
        DatasetOption(
            "telling",
            "|".join(TELLINGS),
            "what each message of LoCoMo's history holds",
            default="turns",
            parse=one_of(*TELLINGS),
        ),
        DatasetOption(
            "tasks",
            "TASK[,TASK...]",
            "LoCoMo's questions, events (to summarize), dialogue (next turns)",
            default="questions",
            parse=some_of(*TASKS),
        ),
        DatasetOption(
            "next_turns",
            "N",
            "number of next turns to ask for in each conversation",
            default="5",
            parse=number_of("turns such as 5"),
        ),
        DatasetOption(
            "embeddings",
            "PKG.MOD:FUNCTION",
            "texts to vectors, for the MM-relevance of next turns",
        ),
        DatasetOption(
            "after",
            "TOKENS",
            parse=parse_token_limit,
            help="ask each question this many tokens after its evidence; by default after all sessions",
        ),
        DatasetOption(
            "audit",
            "FILE",
            "corrections of LoCoMo's answers: scores with and without them, side by side",
            is_path=True,
        ),
        DatasetOption(
            "images",
            "DIR",
            "downloaded photos of LoCoMo, for agents that take images; others get captions",
            is_path=True,
        ),
        _protocol_option("official"),
        _PROMPTS,
    ),
    opener=suite_opener("pytest_ltm.datasets.locomo.locomo_suite"),
    questions="alone",
    protocols={
        "official": {
            "asking": "official",
            "telling": "turns",
            "after": "",
            "questions": "alone",
        },
        "ours": {"asking": "free"},
    },
)

# --- LongMemEval

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
"""The question types of the published files."""
ABILITIES = (
    "information-extraction",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
    "abstention",
)
"""The abilities that the questions test (Wu et al., 2025, section 3.1)."""


LONGMEMEVAL = Dataset(
    name="longmemeval",
    metric="accuracy, averaged over the question types",
    fewer="sample",
    options=(
        DatasetOption(
            "types",
            "TYPE[,TYPE...]",
            "which question types of LongMemEval to ask (default: all)",
            parse=some_of(*TYPES),
        ),
        DatasetOption(
            "abilities",
            "NAME[,NAME...]",
            "which abilities of LongMemEval to test (default: all)",
            parse=some_of(*ABILITIES),
        ),
        DatasetOption(
            "ids",
            "ID[,ID...]",
            "which questions of LongMemEval to ask (default: all)",
            parse=split_comma_list,
        ),
        DatasetOption(
            "sample",
            "N",
            "number of LongMemEval questions to sample, using the seed",
            parse=number_of("questions"),
        ),
        DatasetOption(
            "history",
            "own|shared",
            "one history of LongMemEval for each question, or one for many",
            default="own",
            parse=one_of("own", "shared"),
        ),
        DatasetOption(
            "share",
            "N",
            "questions that share one history",
            default="10",
            parse=number_of("questions"),
        ),
        DatasetOption(
            "after",
            "TOKENS",
            parse=parse_token_limit,
            help="ask each question this many tokens after its last evidence; by default after all sessions",
        ),
        _JUDGE,
        _protocol_option("ours"),
        _PROMPTS,
    ),
    opener=suite_opener("pytest_ltm.datasets.longmemeval.conversations"),
    protocols={
        **_JUDGED_PROTOCOLS,
        "official": {**_JUDGED_PROTOCOLS["official"], "history": "own"},
    },
)

# --- The user's own logs, and everything that is read as histories and played like logs

LOGS = Dataset(
    name="logs",
    metric="share of questions answered rightly",
    fewer="ids",
    options=(
        DatasetOption(
            "users",
            "USER[,USER...]",
            "whose logs to play (default: all)",
            parse=split_comma_list,
        ),
        DatasetOption(
            "kinds",
            "KIND[,KIND...]",
            "which kinds of questions to ask (default: all)",
            parse=split_comma_list,
        ),
        DatasetOption(
            "ids",
            "ID[,ID...]",
            "which questions of the logs to ask (default: all)",
            parse=split_comma_list,
        ),
        DatasetOption(
            "after",
            "TOKENS",
            parse=parse_token_limit,
            help="ask each question this many tokens after its evidence; by default at its date, or after all sessions",
        ),
        _JUDGE,
        _protocol_option("ours"),
    ),
    opener=suite_opener("pytest_ltm.datasets.logs.log_suite"),
    protocols=_JUDGED_PROTOCOLS,
)


def history_dataset(
    name: str,
    *,
    metric: str,
    read: HistoryReader,
    source: str = "",
    opening: str = "",
    scorer: str = "",
) -> Dataset:
    """Return a data set whose files are read as histories; it has the options of logs.

    Args:
        name: The value of `--ltm-suite`.
        metric: The published metric, in a few words.
        read: Yields the histories of files or folders, and counts what it cuts, leaves
            out or guesses, keyed by a sentence.
        source: The data set's name in reports; by default its own name.
        opening: The message that opens a conversation, in place of ours.
        scorer: The dotted path of a function of the definition and the answer, which
            returns a Score, an Unscored or a number from 0 to 1; by default, each
            question's matching rule decides.
    """

    def opener(
        path: Path | None, values: Mapping[str, Any], _seed: int, cache: Path | None
    ) -> DatasetSuite:
        from pytest_ltm.datasets.interchange import convert_once
        from pytest_ltm.datasets.logs.log_suite import open_suite

        if path is None:
            raise DatasetError(
                f"{name} is not shipped: download it, and give --ltm-suite='{name}?data=FILE' or its folder"
            )
        if not path.exists():
            raise DatasetError(f"{path}: there is no such file or folder")
        file = convert_once(
            name, read, path, cache, source=source or name, opening=opening
        )
        options = dict(values)
        options.pop("questions", None)
        return open_suite(file, options, name=name, scorer=scorer)

    return Dataset(
        name,
        metric,
        LOGS.fewer,
        LOGS.options,
        opener,
        questions="alone",
        family=LOGS.name,
        protocols=LOGS.protocols,
    )


# --- Other benchmarks: a data set each, unless a suite of that name supports more

_PARTS = (
    "I am going to give you a long text, part by part. Memorize what it says; a short acknowledgement will do. "
    "Afterwards I will ask you about it."
)
_TRAJECTORIES = (
    "I am going to show you what an agent saw and did on websites, step by step. Remember how these sites look and "
    "work; a short acknowledgement will do. Afterwards I will ask you about them."
)
# By name: the published metric ("" if a suite of that name supports more), the name in
# reports, and the opening message that replaces ours.
KINDS = {
    "beam": ("mean of claims met, and of orders", "BEAM", ""),
    "halumem": ("share of questions answered rightly", "HaluMem", ""),
    "locomo": ("", "LoCoMo", ""),
    "longmemeval": ("", "LongMemEval", ""),
    "longmemeval-v2": (
        "share of questions answered rightly",
        "LongMemEval-V2",
        _TRAJECTORIES,
    ),
    "memoryagentbench": ("matches by source", "MemoryAgentBench", _PARTS),
    "personamem": ("share of right choices", "PersonaMem", ""),
}


def reader_of(kind: str) -> HistoryReader:
    """Return the reader for files of a kind."""
    converters = "pytest_ltm.datasets.converters.benchmarks"
    return lazy(f"{converters}:read_{kind.replace('-', '_')}")


CONVERTED: tuple[Dataset, ...] = tuple(
    history_dataset(
        kind, metric=metric, read=reader_of(kind), source=source, opening=opening
    )
    for kind, (metric, source, opening) in KINDS.items()
    if metric
)
