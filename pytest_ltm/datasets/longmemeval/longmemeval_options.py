"""LongMemEval as a data set: its options, and how it is opened. Light to import: it stands in every `pytest --help`."""

from __future__ import annotations

from pytest_ltm.datasets._dataset import (
    Dataset,
    DatasetOption,
    number_of,
    one_of,
    parse_token_limit,
    some_of,
    split_comma_list,
    suite_opener,
)

TYPES = (
    "single-session-user", "single-session-assistant", "single-session-preference", "multi-session",
    "temporal-reasoning", "knowledge-update",
)  # fmt: skip
"""The question types of the published files."""
ABILITIES = ("information-extraction", "multi-session", "temporal-reasoning", "knowledge-update", "abstention")
"""The abilities that the questions test (Wu et al., 2025, section 3.1)."""


LONGMEMEVAL = Dataset(
    name="longmemeval",
    metric="accuracy, averaged over the question types",
    fewer="sample",
    options=(
        DatasetOption(
            "types", "TYPE[,TYPE...]", "which question types of LongMemEval to ask (default: all)",
            parse=some_of(*TYPES),
        ),
        DatasetOption(
            "abilities", "NAME[,NAME...]", "which abilities of LongMemEval to test (default: all)",
            parse=some_of(*ABILITIES),
        ),
        DatasetOption("ids", "ID[,ID...]", "which questions of LongMemEval to ask (default: all)",
                      parse=split_comma_list),
        DatasetOption(
            "sample", "N", "number of LongMemEval questions to sample, using the seed", parse=number_of("questions")
        ),
        DatasetOption(
            "history", "own|shared", "one history of LongMemEval for each question, or one for many",
            default="own", parse=one_of("own", "shared"),
        ),
        DatasetOption("share", "N", "questions that share one history", default="10", parse=number_of("questions")),
        DatasetOption(
            "after", "TOKENS", parse=parse_token_limit,
            help="ask each question this many tokens after its last evidence; by default after all sessions",
        ),
        DatasetOption(
            "judge", "rest|all", "what --ltm-judge decides: only what no rule can decide, or everything",
            default="rest", parse=one_of("rest", "all"),
        ),
    ),
    opener=suite_opener("pytest_ltm.datasets.longmemeval.conversations"),
)  # fmt: skip
