"""Logs as a data set: its options, and how it is opened. Light to import: it stands in every `pytest --help`."""

from __future__ import annotations

from pytest_ltm.datasets._dataset import (
    Dataset,
    DatasetOption,
    one_of,
    parse_token_limit,
    split_comma_list,
    suite_opener,
)

LOGS = Dataset(
    name="logs",
    metric="share of questions answered rightly",
    fewer="ids",
    options=(
        DatasetOption("users", "USER[,USER...]", "whose logs to play (default: all)", parse=split_comma_list),
        DatasetOption(
            "kinds", "KIND[,KIND...]", "which kinds of questions to ask (default: all)", parse=split_comma_list
        ),
        DatasetOption("ids", "ID[,ID...]", "which questions of the logs to ask (default: all)", parse=split_comma_list),
        DatasetOption(
            "after",
            "TOKENS",
            parse=parse_token_limit,
            help="ask each question this many tokens after its evidence; by default at its date, or after all sessions",
        ),
        DatasetOption(
            "judge",
            "rest|all",
            "what --ltm-judge decides: only what no rule can decide, or everything",
            default="rest",
            parse=one_of("rest", "all"),
        ),
    ),
    opener=suite_opener("pytest_ltm.datasets.logs.log_suite"),
)
