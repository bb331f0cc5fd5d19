"""`data locomo-generate` and `data locomo-check`: new conversations in LoCoMo's form."""

from __future__ import annotations

import json
import random
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from pytest_ltm.api.storage import (
    DatasetError,
    DefinitionError,
    describe_error,
    load_yaml,
    pluralize,
    write_output,
)
from pytest_ltm.commands.arguments import add_flags, add_option, add_output
from pytest_ltm.datasets.locomo.samples import load_locomo
from pytest_ltm.datasets.rows import load_json
from pytest_ltm.lab.author import AUTHORS, author_session
from pytest_ltm.lab.locomo.dialogue import (
    SESSIONS,
    TURNS,
    Size,
    generate_conversation,
    of_tokens,
)
from pytest_ltm.lab.locomo.model_text import (
    at_once,
    by_turns,
    conversation_faults,
    write_with_model,
)


def add_generate_arguments(parser: ArgumentParser) -> None:
    """Add the file, its size, and who writes it."""
    add_output(parser, "FILE", "the JSON file to write", required=True)
    for flag, default, text in (
        ("--conversations", 1, "number of conversations (default: 1)"),
        (
            "--sessions",
            None,
            f"sessions of each (default: {SESSIONS}, or what fits --tokens)",
        ),
        ("--turns", None, f"turns of each, over all sessions (default: {TURNS})"),
        ("--tokens", None, "approximate tokens of each, instead of --turns"),
        (
            "--questions",
            None,
            "questions about each, at most (default: one for every three turns)",
        ),
        ("--seed", 0, "the same seed gives the same file (default: 0)"),
    ):
        add_option(parser, flag, "N", text, default, type=int)
    graph = "also write the event graphs, as JSON; with --model, graphs that are in it already are used"
    add_option(parser, "--graph", "FILE", graph, None, type=Path)
    add_option(parser, "--model", "SPEC", AUTHORS)
    personas = (
        "with --model: a JSON or YAML file of two personas, each with name and about"
    )
    add_option(parser, "--personas", "FILE", personas, None, type=Path)
    turns = "with --model: ask it for each turn, as the speaker whose turn it is"
    add_flags(parser, turn_by_turn=turns)


def generate_locomo(arguments: Namespace) -> int:
    """Write new conversations in LoCoMo's schema, with questions of all five categories, evidence and gold answers.

    Without --model they are made from templates: the same seed gives the same file.
    """
    if arguments.conversations < 1:
        raise DatasetError(
            f"--conversations: expected 1 or more, got {arguments.conversations}"
        )
    if arguments.tokens is not None and arguments.turns is not None:
        raise DatasetError(
            "--tokens and --turns both say how long a conversation is. Give one of them"
        )
    for name in ("sessions", "turns", "tokens"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise DatasetError(f"--{name}: expected 1 or more, got {value}")
    for path in (arguments.output, arguments.graph):
        if path and (path.is_dir() or not path.parent.is_dir()):
            raise DatasetError(
                f"{path}: cannot be written: it is a folder, or its folder does not exist"
            )
    if arguments.model and arguments.tokens:
        raise DatasetError(
            "--tokens is for conversations from templates: a model's are counted by --turns"
        )
    for option, reason in (
        ("turn_by_turn", "the two speakers are asked in turn"),
        ("personas", "templates have others"),
    ):
        if getattr(arguments, option) and not arguments.model:
            raise DatasetError(f"--{option.replace('_', '-')} needs --model: {reason}")
    records = _by_model(arguments) if arguments.model else _from_templates(arguments)
    turns = sum(map(_count_turns, records))
    questions = sum(len(record["qa"]) for record in records)
    counts = f"{pluralize(len(records), 'conversation')}, {turns} turns, {pluralize(questions, 'question')}"
    _say(f"{arguments.output}: {counts}")
    _say(
        f"play it: pytest --ltm-suite='locomo?data={arguments.output}' --ltm-agent=..."
    )
    return 0


def _count_turns(record: dict[str, Any]) -> int:
    parts = record["conversation"].values()
    return sum(len(part) for part in parts if isinstance(part, list))


def _conversations(arguments: Namespace) -> Iterator[tuple[str, random.Random]]:
    """Yield the id of each conversation and its own generator: the n-th does not depend on their number."""
    for number in range(1, arguments.conversations + 1):
        yield (
            f"gen-{arguments.seed}-{number}",
            random.Random(f"{arguments.seed}/{number}"),
        )


def _conversation_size(arguments: Namespace, rng: random.Random) -> Size:
    if arguments.tokens is not None:
        return structs.replace(
            of_tokens(arguments.tokens, arguments.sessions, rng),
            questions=arguments.questions,
        )
    sessions = arguments.sessions
    turns = arguments.turns
    if sessions is None and turns is None:
        sessions = SESSIONS
        turns = TURNS
    elif sessions is None:
        sessions = max(1, round(turns * SESSIONS / TURNS))
    elif turns is None:
        turns = round(sessions * TURNS / SESSIONS)
    return Size(sessions=sessions, turns=turns, questions=arguments.questions)


def _from_templates(arguments: Namespace) -> list[dict[str, Any]]:
    conversations = []
    for name, rng in _conversations(arguments):
        size = _conversation_size(arguments, rng)
        conversations.append(generate_conversation(name, size, rng))
    records = [conversation.as_json() for conversation in conversations]
    _write_json(arguments.output, records)
    if arguments.graph:
        graphs = []
        for conversation in conversations:
            graph = conversation.world.as_json()
            graphs.append({"sample_id": conversation.id, **graph})
        _write_json(arguments.graph, graphs)
    return records


def _by_model(arguments: Namespace) -> list[dict[str, Any]]:
    """Generate the missing conversations, writing the file after each, so that a rerun can continue."""
    path = arguments.output
    records = _begun_items(path, "conversations")
    if faults := _file_faults(path, records):
        raise DatasetError(
            f"{path}: exists, but {faults[0]}. See ltm data locomo-check, or name another file"
        )
    writes = by_turns if arguments.turn_by_turn else at_once
    personas = _read_personas(arguments.personas)
    graphs: dict[str, dict[str, Any]] = {}
    if arguments.graph:
        for graph in _begun_items(arguments.graph, "event graphs"):
            graphs[graph["sample_id"]] = graph

    def keep_graph(graph: dict[str, Any]) -> None:
        graphs[graph["sample_id"]] = graph
        if arguments.graph:
            _write_json(arguments.graph, list(graphs.values()))

    with author_session(arguments.model) as model:
        for name, rng in _conversations(arguments):
            # an interrupted command is continued
            if any(record["sample_id"] == name for record in records):
                _say(f"{name}: is in {arguments.output} already")
                continue
            size = _conversation_size(arguments, rng)
            try:
                record = write_with_model(
                    name,
                    size,
                    model,
                    rng,
                    _say,
                    writes,
                    personas=personas,
                    graph=graphs.get(name),
                    keep_graph=keep_graph,
                )
            except ValueError as error:
                raise DatasetError(
                    f"{arguments.graph}: the graph of {name} cannot be used: {error} Correct it"
                ) from None
            records.append(record)
            _write_json(arguments.output, records)
        _say(str(model.cost))
    return records


def _read_personas(path: Path | None) -> list[dict[str, Any]]:
    """Read the two personas of a file, or none without one; DatasetError names a fault."""
    if path is None:
        return []
    personas = []
    try:
        for item in load_yaml(path).items("two personas"):  # JSON is valid YAML, too
            fields = item.mapping(required=("name", "about"))
            texts = {name: fields[name].text() for name in ("name", "about")}
            personas.append({**item.json(), **texts})
    except DefinitionError as error:
        raise DatasetError(f"--personas: {error}") from None
    if len({persona["name"] for persona in personas}) != 2 or len(personas) != 2:
        raise DatasetError(
            f"{path}: expected two personas with different names, got {len(personas)}"
        )
    return personas


def _begun_items(path: Path, content: str) -> list[dict[str, Any]]:
    """Return the items of a file to extend, or none if it is missing; DatasetError for other content."""
    if not path.exists():
        return []
    try:
        data = load_json(path)
    except DatasetError as error:
        raise DatasetError(
            f"{path}: exists, but cannot be continued: {error}. Name another file"
        ) from error
    if not isinstance(data, list) or not all(map(_is_sample, data)):
        raise DatasetError(
            f"{path}: exists, but is not a list of {content}. Name another file"
        )
    return data


def _is_sample(item: Any) -> bool:
    return isinstance(item, dict) and "sample_id" in item


# --- locomo-check


def add_check_arguments(parser: ArgumentParser) -> None:
    """Add the file."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a LoCoMo file")


def check_locomo(arguments: Namespace) -> int:
    """Check conversations that a model wrote (data locomo-generate) and people have edited.

    It checks dates, IDs and turns, the evidence that questions cite, and whether it contains their answers. Exit status
    1 if there are faults.
    """
    load_locomo(arguments.file)
    faults = _file_faults(arguments.file, load_json(arguments.file))
    print("\n".join(faults) or f"{arguments.file}: nothing is wrong")
    return bool(faults)


def _file_faults(path: Path, records: list[dict[str, Any]]) -> list[str]:
    """Return the faults of possibly edited conversations; DatasetError if they cannot be loaded."""
    if records:
        load_locomo(path)
    faults: list[str] = []
    for number, record in enumerate(records):
        try:
            sentences = list(conversation_faults(record))
            faults += [f"{record['sample_id']}: {sentence}" for sentence in sentences]
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # whatever people wrote into it
            problem = f"a field is missing or not of its kind ({describe_error(error)})"
            faults.append(f"conversation {number}: {problem}")
    return faults


def _write_json(path: Path, value: Any) -> None:
    write_output(
        path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
