"""LoCoMo as a data set: its options, and how it is opened. Light to import: it stands in every `pytest --help`."""

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

ASKINGS = ("official", "free")
NOTE_KINDS = ("observations", "summaries")
"""The tellings that hold notes."""
TELLINGS = ("turns", "sessions", *NOTE_KINDS)
TASKS = ("questions", "events", "dialogue")


LOCOMO = Dataset(
    name="locomo",
    metric="official F1",
    fewer="conversations",
    options=(
        DatasetOption(
            "conversations", "ID[,ID...]", "which conversations of LoCoMo to play (default: all)",
            parse=split_comma_list
        ),
        DatasetOption(
            "asking", "|".join(ASKINGS), "wording of LoCoMo's questions", default="official", parse=one_of(*ASKINGS)
        ),
        DatasetOption(
            "telling", "|".join(TELLINGS), "what each message of LoCoMo's history holds",
            default="turns", parse=one_of(*TELLINGS),
        ),
        DatasetOption(
            "tasks", "TASK[,TASK...]", "LoCoMo's questions, events (to summarize), dialogue (next turns)",
            default="questions", parse=some_of(*TASKS),
        ),
        DatasetOption(
            "next_turns", "N", "number of next turns to ask for in each conversation",
            default="5", parse=number_of("turns such as 5"),
        ),
        DatasetOption("embeddings", "PKG.MOD:FUNCTION", "texts to vectors, for the MM-relevance of next turns"),
        DatasetOption(
            "after", "TOKENS", parse=parse_token_limit,
            help="ask each question this many tokens after its evidence; by default after all sessions",
        ),
        DatasetOption(
            "audit", "FILE", "corrections of LoCoMo's answers: scores with and without them, side by side", is_path=True
        ),
        DatasetOption(
            "images", "DIR", "downloaded photos of LoCoMo, for agents that take images; others get captions",
            is_path=True,
        ),
    ),
    opener=suite_opener("pytest_ltm.datasets.locomo.locomo_suite"),
    questions="alone",
)  # fmt: skip
