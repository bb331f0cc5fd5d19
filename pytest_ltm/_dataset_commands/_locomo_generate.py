"""`locomo-generate`: new conversations with questions in LoCoMo's schema, from templates or with a model."""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._disk import write_whole
from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.locomo.generate._conversation import SESSIONS, TURNS, Size, conversation, of_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Write the file; say on stderr what is in it."""
    given = _parser().parse_args(argv)
    _check(given)
    if given.model:
        return _by_model(given)
    records, graphs = [], []
    for number in range(1, given.conversations + 1):
        record, graph = _from_templates(given, number)
        records.append(record)
        graphs.append({"sample_id": record["sample_id"], **graph})
    _write(given.output, records)
    if given.graph:
        _write(given.graph, graphs)
    _tell(given.output, records)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm locomo-generate",
        description="New conversations in LoCoMo's schema, with questions of all five categories, evidence and golds. "
        "Without --model from templates: the same seed gives the same file.",
    )
    add = parser.add_argument
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="the JSON file to write")
    add("--conversations", type=int, default=1, metavar="N", help="how many (default: 1)")
    add("--sessions", type=int, metavar="N", help=f"sessions of each (default: {SESSIONS}, or what fits --tokens)")
    add("--turns", type=int, metavar="N", help=f"turns of each, over all sessions (default: {TURNS})")
    add("--tokens", type=int, metavar="N", help="instead of --turns: about so many tokens each")
    add("--questions", type=int, metavar="N", help="about each, at most (default: one for three turns)")
    add("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    add("--graph", type=Path, metavar="FILE", help="also write the event graphs, as JSON")
    add("--model", metavar="SPEC", help="openai:MODEL[@URL], or package.module:function that answers a prompt")
    return parser


def _check(given: argparse.Namespace) -> None:
    if given.conversations < 1:
        raise DatasetError(f"--conversations: expected 1 or more, got {given.conversations}")
    if given.tokens is not None and given.turns is not None:
        raise DatasetError("--tokens and --turns both say how long a conversation is. Give one of them")
    for name in ("sessions", "turns", "tokens"):
        value = getattr(given, name)
        if value is not None and value < 1:
            raise DatasetError(f"--{name}: expected 1 or more, got {value}")
    for path in (given.output, given.graph):
        if path and (path.is_dir() or not path.parent.is_dir()):
            raise DatasetError(f"{path}: cannot be written: it is a folder, or its folder does not exist")
    if given.model and (given.graph or given.tokens):
        raise DatasetError("--graph and --tokens are for conversations from templates; --model takes neither")


def _from_templates(given: argparse.Namespace, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = random.Random(f"{given.seed}/{number}")  # of its own: the n-th is the same however many are made
    made = conversation(_name(given, number), _size(given, rng), rng)
    return made.as_json(), made.world.as_json()


def _size(given: argparse.Namespace, rng: random.Random) -> Size:
    if given.tokens is not None:
        size = of_tokens(given.tokens, given.sessions, rng)
        return Size(sessions=size.sessions, turns=size.turns, questions=given.questions)
    sessions = SESSIONS if given.sessions is None else given.sessions
    turns = TURNS if given.turns is None else given.turns
    if given.sessions is None and given.turns is not None:
        sessions = max(1, round(turns * SESSIONS / TURNS))
    if given.turns is None and given.sessions is not None:
        turns = round(sessions * TURNS / SESSIONS)
    return Size(sessions=sessions, turns=turns, questions=given.questions)


def _name(given: argparse.Namespace, number: int) -> str:
    return f"gen-{given.seed}-{number}"


def _by_model(given: argparse.Namespace) -> int:
    """Make what the file does not hold yet, and write it after each conversation: what broke off is taken up again."""
    from pytest_ltm.datasets.locomo.generate._modelled import modelled  # noqa: PLC0415 - only here
    from pytest_ltm.datasets.locomo.generate._models import asked_model  # noqa: PLC0415 - only here

    records = _begun(given.output)
    with asked_model(given.model) as model:
        for number in range(1, given.conversations + 1):
            name = _name(given, number)
            if any(record["sample_id"] == name for record in records):
                sys.stderr.write(f"{name}: is in {given.output} already\n")
                continue
            rng = random.Random(f"{given.seed}/{number}")
            records.append(modelled(name, _size(given, rng), model, rng, _say))
            _write(given.output, records)
        sys.stderr.write(f"{model.cost}\n")
    _tell(given.output, records)
    return 0


def _begun(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path}: is there, but cannot be read on: {error}. Name another file") from error
    if not isinstance(found, list) or not all(isinstance(one, dict) and "sample_id" in one for one in found):
        raise DatasetError(f"{path}: is there, but is no list of conversations. Name another file")
    return found


def _write(path: Path, value: Any) -> None:
    write_whole(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _tell(path: Path, records: Sequence[dict[str, Any]]) -> None:
    turns = sum(len(part) for one in records for part in one["conversation"].values() if isinstance(part, list))
    asked = sum(len(one["qa"]) for one in records)
    held = f"{len(records)} conversation{'s' * (len(records) != 1)}"
    _say(f"{path}: {held}, {turns} turns, {asked} question{'s' * (asked != 1)}")
    _say(f"play it: pytest --ltm-suite=locomo --ltm-data={path} --ltm-agent=...")
