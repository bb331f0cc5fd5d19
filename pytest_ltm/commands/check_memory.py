"""`check-memory SPEC...`: the card of a memory: what it keeps, finds and serves, and where marks are lost."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from pytest_ltm.agents.memory.pace import parse_pace, use_pace
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.storage import ConfigurationError, write_output
from pytest_ltm.commands.arguments import add_flags, add_json, add_option, add_output
from pytest_ltm.lifecycle.cards.card import (
    Card,
    CardRow,
    card_json,
    check_recordings,
    differences,
    find_forgeries,
    make_card,
    make_row,
    read_card,
)
from pytest_ltm.lifecycle.cards.card_report import card_table, render_page, text_lines
from pytest_ltm.lifecycle.cards.recorded_model import (
    ModelServer,
    recording_model,
    recordings_beside,
    replayed_model,
)
from pytest_ltm.lifecycle.stores_of_spec import store_maker

DIFFERS = 1
"""The exit status if the card differs from `--against`, or is not valid."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the memories, the output, and the card to compare with."""
    parser.add_argument(
        "specs",
        nargs="+",
        metavar="SPEC",
        help="a memory: pkg.mod:Class with add and search, or what --ltm-agent takes; each is a row",
    )
    add_output(parser, "CARD.json", "write the card, which ltm verify recomputes")
    add_option(parser, "--page", "FILE", "write it as HTML")
    add_option(
        parser, "--against", "CARD", "exit with 1 if a figure differs from this card's"
    )
    add_option(parser, "--seed", "N", "draws what is told (default: 0)", 0)
    add_option(
        parser,
        "--pace",
        "settle|poll|SECONDS",
        "real time from a write to a search, as --ltm-pace",
        "settle",
    )
    add_option(
        parser,
        "--record",
        "FILE",
        "record what the model at OPENAI_BASE_URL replies to memories that extract",
    )
    add_option(
        parser, "--replay", "FILE", "answer for that model from a recording, offline"
    )
    add_flags(parser, markdown="print a table, a row for each memory")
    add_json(parser, "print the card as JSON")


def check_memory(arguments: Namespace) -> int:
    """Test a memory by rules and print its card: kept, updated, found, stale, deleted, duplicated, crossed.

    No model is asked and no key is needed, unless the memory itself asks one. For each unanswered question the card
    shows where the mark was lost: at write, at find or at use. Exit status: 0, or 1 if the card differs from
    `--against`.
    """
    reference = read_card(Path(arguments.against)) if arguments.against else None
    with _model_of(arguments) as model:
        rows = _make_rows(arguments, model)
    card = make_card(arguments.seed, rows)
    if arguments.output:
        write_output(arguments.output, card_json(card).encode())
    if arguments.page:
        write_output(Path(arguments.page), render_page(card))
    if arguments.json:
        print(card_json(card), end="")
    elif arguments.markdown:
        print(card_table(card))
    else:
        print("\n".join(text_lines(card)))
    return _compare(card, reference) if reference else 0


def _model_of(arguments: Namespace) -> AbstractContextManager[ModelServer | None]:
    """Return the context of the recorded or replayed model, as chosen by options."""
    if arguments.record and arguments.replay:
        raise ConfigurationError("--record and --replay: give one of them")
    if arguments.record:
        return recording_model(Path(arguments.record))
    if arguments.replay:
        return replayed_model(Path(arguments.replay))
    return nullcontext()


def _make_rows(arguments: Namespace, model: ModelServer | None) -> list[CardRow]:
    pace = parse_pace(arguments.pace)
    give_back = use_pace(pace)
    try:
        makers = {}
        for spec in arguments.specs:
            makers[spec] = store_maker(find_agent(_as_store(spec), base=Path.cwd()))
        rows: list[CardRow] = []
        for spec, make in makers.items():
            rows.append(make_row(spec, make, arguments.seed, pace, model))
        return rows
    finally:
        give_back()


def _as_store(spec: str) -> str:
    """Return a spec; a bare dotted path names a class of stores."""
    module, _, name = spec.partition(":")
    is_dotted = all(map(str.isidentifier, module.split(".")))
    if is_dotted and name[:1].isupper():
        return f"store:{spec}"
    return spec


def _compare(card: Card, reference: Card) -> int:
    """Print the differences between two cards; return the exit status."""
    if card.seed != reference.seed:
        raise ConfigurationError(
            f"--against: that card has seed {reference.seed}. Compare with --seed {reference.seed}"
        )
    sentences: list[str] = []
    reference_rows = {row.memory: row for row in reference.rows}
    for row in card.rows:
        if row.memory in reference_rows:
            sentences += differences(row, reference_rows[row.memory])
        else:
            sentences.append(f"{row.memory}: that card has no such row")
    for sentence in sentences:
        print(f"differs: {sentence}", file=sys.stderr)
    return DIFFERS if sentences else 0


def verify_card(path: Path, *, as_json: bool) -> int:
    """Recompute a card from its records, and print what does not follow; return the exit status.

    If a recording is in the same folder, the digests of a model's replies are recomputed as well.
    """
    card = read_card(path)
    found, missing = check_recordings(card, recordings_beside(path))
    forged = [*find_forgeries(card), *missing]
    status = DIFFERS if forged else 0
    if as_json:
        verdict = "differs" if forged else "holds"
        print(json.dumps({"card": str(path), "verdict": verdict, "differs": forged}))
        return status
    count = sum(len(row.figures) for row in card.rows)
    state = "does not hold" if forged else f"holds: {count} figures recomputed"
    names = ", ".join(row.memory for row in card.rows)
    print(f"card {card.fingerprint} of {names} {state}")
    for sentence in found:
        print(f"  {sentence}")
    for sentence in forged:
        print(f"  differs: {sentence}")
    return status
