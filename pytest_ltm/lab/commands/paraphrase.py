"""`data paraphrase SUITE --model SPEC`: rewords definitions and keeps those that a solver still solves."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from pytest_ltm.api.model import content_stems
from pytest_ltm.api.scenarios import format_json, read_json
from pytest_ltm.api.storage import (
    ConfigurationError,
    pluralize,
    read_regular,
    wall_time,
    write_whole,
)
from pytest_ltm.commands.arguments import add_flags, add_option, add_output
from pytest_ltm.datasets.rows import values_within
from pytest_ltm.figures.statistics.totals import FULL_MARKS
from pytest_ltm.lab.author import (
    AUTHORS,
    Model,
    Text,
    author_session,
    prompt_of,
    read_as,
    require,
    written_by,
)
from pytest_ltm.lab.study import play_rows, study_folder

# The solver that always has to find the gold, in the original and in the new words: it
# reads by rules and sees no expected answer. `--solver` names others, for wordings
# beyond the rules.
READER = "full"
PROVENANCE = "provenance.json"
_ENDING = ".def.json"
_PROMPTS = {
    "messages": (
        "Somebody sends these messages in a chat, one after the other:\n\n$messages\n\nWrite each of them again as "
        "another person would type it: other words, another order, another sentence, the same facts and the same "
        "request. Leave nothing out and add nothing. These stay exactly as they are: numbers, names, what stands in "
        'quotation marks, and: $fixed\n\n$json["first message in other words", "second message", "..."]'
    )
}
_EXACT = re.compile(r'\d[\d.,:]*(?<=\d)|"[^"]+"|(?<=[a-z,;] )(?!I\b)[A-Z]\w+')
_CODE = re.compile(r"[{}\[\]`<>|]|\n\s*\n")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the suite, the model, the solvers and the folder."""
    parser.add_argument("suite", metavar="NAME|FILE", help="the suite")
    add_option(parser, "--model", "SPEC", AUTHORS, required=True)
    add_option(parser, "--span", "SPAN", "the memory span (default: 32k)", "32k")
    add_option(parser, "--seed", "N", "the suite's seed (default: 0)", 0)
    solver = "another agent that looks for the expected answers, such as openai:MODEL (repeatable)"
    add_option(parser, "--solver", "SPEC", solver, [])
    unchecked = "keep definitions that no solver can check, and mark them"
    add_flags(parser, keep_unchecked=unchecked)
    add_output(parser, "DIR", "the folder to write", required=True)


def paraphrase_suite(arguments: Namespace) -> int:
    """Let a model reword the messages of a suite, and keep those that a solver still understands.

    The suite is played, its definitions are reworded, and those are kept for which a solver (the reader full, or
    another) still finds the expected answers. Play the folder with --ltm-definitions. An interrupted run is continued.
    Exit status 1 if no definition is left.
    """
    solvers = list(dict.fromkeys([READER, *arguments.solver]))
    header = {
        "suite": arguments.suite,
        "span": arguments.span,
        "seed": arguments.seed,
        "model": arguments.model,
        "solvers": solvers,
    }
    output: Path = arguments.output
    _claim_folder(output, header)
    options = [
        f"--ltm-suite={arguments.suite}",
        f"--ltm-span={arguments.span}",
        f"--ltm-seed={arguments.seed}",
    ]
    with study_folder("paraphrase") as folder:
        original = folder / "own"
        able = _play_solvers(solvers, options, original)
        sources = _definition_files(original)
        if not arguments.keep_unchecked:
            sources = {place: path for place, path in sources.items() if able[place].by}
        if not sources:
            raise ConfigurationError(
                f"{arguments.suite}: {' and '.join(solvers)} find no expected answer that could be checked again"
            )
        _reword_files(sources, arguments.model, output)
        digests = {place: _hash_file(path) for place, path in sources.items()}
        words = [f"--ltm-definitions={output.resolve()}", *options]
        solutions = _play_solvers(solvers, words, folder / "other")
    checked_by = {}
    unchecked = {}
    for place in sources:
        specs = [spec for spec in able[place].by if spec in solutions[place].by]
        if specs:
            checked_by[place] = specs[0]
        else:
            unchecked[place] = _why_unchecked(able[place], solutions[place])
    dropped = {place: _UNREAD for place in able if place not in sources}
    if not arguments.keep_unchecked:
        for place in unchecked:
            (output / f"{place}{_ENDING}").unlink()
            del digests[place]
        dropped = unchecked | dropped
        unchecked = {}
    fields = {
        **header,
        "made": wall_time().isoformat(timespec="seconds"),
        "sources": digests,
        "checked by": checked_by,
        "unchecked": unchecked,
        "dropped": dropped,
    }
    write_whole(output / PROVENANCE, format_json(fields).encode())
    counts = f"{pluralize(len(digests), 'definition')} in other words"
    if unchecked:
        counts += f", {len(unchecked)} of them unchecked"
    print(f"{output}: {counts}, {len(dropped)} dropped")
    for place, reason in (unchecked | dropped).items():
        print(f"  {place}: {reason}")
    return not digests


def _reword_files(sources: Mapping[str, Path], spec: str, output: Path) -> None:
    """Write definitions reworded by a model; those that an interrupted command wrote are kept."""
    with author_session(spec) as model:
        for place, path in sources.items():
            target = output / f"{place}{_ENDING}"
            if not target.exists():
                target.parent.mkdir(exist_ok=True)
                definition = reword_definition(read_json(path).value, model, place)
                write_whole(target, format_json(definition).encode())
        print(model.cost, file=sys.stderr)


def _definition_files(folder: Path) -> dict[str, Path]:
    """Return the files of a played suite's definitions by their places, equal for each solver."""
    sources = {}
    for path in sorted(folder.glob(f"runs/*/*/definitions/*/*{_ENDING}")):
        sources[f"{path.parent.name}/{path.name.removesuffix(_ENDING)}"] = path
    return sources


def _hash_file(path: Path) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()


# --- The solvers


class Solution(NamedTuple):
    """The solvers that find a definition's gold, and why others do not."""

    by: list[str]
    reasons: dict[str, str]


_UNREAD = "no solver finds the gold in the suite's own words"


def _play_solvers(
    solvers: Sequence[str], words: Sequence[str], folder: Path
) -> dict[str, Solution]:
    """Play with each solver; return the solvers of each definition, by `scenario/example`."""
    solutions: dict[str, Solution] = defaultdict(lambda: Solution([], {}))
    for spec, row in play_rows(solvers, words, folder, skipped=True):
        solution = solutions[f"{row.scenario}/{row.example}"]
        if row.score is not None and row.score >= FULL_MARKS:
            solution.by.append(spec)
        else:
            solution.reasons[spec] = row.reason
    return solutions


def _why_unchecked(original: Solution, reworded: Solution) -> str:
    """Return why it could not be checked that the gold can still be found."""
    failures = []
    for spec in original.by:
        reason = reworded.reasons.get(spec, "not played")
        failures.append(f"{spec} no longer finds the gold: {reason}")
    return "; ".join(failures) or _UNREAD


def _claim_folder(folder: Path, header: dict[str, Any]) -> None:
    """Record the folder's purpose; ConfigurationError if it already has another one."""
    path = folder / PROVENANCE
    if path.exists():
        provenance = json.loads(read_regular(path))
        if {name: provenance.get(name) for name in header} == header:
            return
        reason = f"holds paraphrases that were made otherwise ({PROVENANCE})"
        raise ConfigurationError(f"{folder}: {reason}. Name another folder")
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder}: is not empty. Name another folder")
    folder.mkdir(exist_ok=True)
    write_whole(path, format_json(header).encode())


# --- One definition


class ParaphraseUnit(Struct, frozen=True):
    """One text of a definition, with the parts that must be kept."""

    text: str
    fixed: tuple[str, ...]
    """Texts to keep verbatim."""
    keys: frozenset[str] = frozenset()
    """Stems of words in the expected answers."""


def reword_definition(
    definition: dict[str, Any], model: Model, place: str
) -> dict[str, Any]:
    """Return the definition reworded by the model. DatasetError if the model fails.

    Messages that are data (JSON, tables, several paragraphs) or that are expected verbatim are kept.
    """
    data = [definition.get(name) for name in ("expected", "parameters", "replies")]
    values = set(_json_texts(data))
    expected = _json_texts(definition.get("expected"))
    keys = frozenset().union(*map(distinctive_stems, expected))
    spoken = []
    for step in definition["steps"]:
        spoken += [step[kind] for kind in ("say", "ask") if kind in step]
    messages = []
    for text in dict.fromkeys(spoken):
        if text not in values and not _CODE.search(text):
            fixed_parts = (
                *_EXACT.findall(text),
                *sorted(value for value in values if value in text),
            )
            messages.append(
                ParaphraseUnit(text, fixed_parts, keys & distinctive_stems(text))
            )
    if not messages:
        return definition
    texts = [message.text for message in messages]
    parts = chain.from_iterable(message.fixed for message in messages)
    fixed = list(dict.fromkeys(parts))
    prompt = prompt_of(
        _PROMPTS, "messages", messages=texts, fixed=fixed or "nothing else"
    )
    new = written_by(model, prompt, partial(check_wording, messages=messages), place)
    rewording = dict(zip(texts, new, strict=True))

    def reword(name: str, value: Any) -> Any:
        # `about` names messages by their text, so it changes with them
        if name == "about":
            return [rewording.get(text, text) for text in value]
        if name in ("say", "ask"):
            return rewording.get(value, value)
        return value

    steps = []
    for step in definition["steps"]:
        steps.append({name: reword(name, value) for name, value in step.items()})
    return {**definition, "steps": steps}


def check_wording(value: Any, messages: Sequence[ParaphraseUnit]) -> list[str]:
    """Return the reworded messages; ValueError with the fault."""
    texts = read_as(value, list[Text])
    require(len(texts) == len(messages), f"it must be a list of {len(messages)} texts.")
    for text, message in zip(texts, messages, strict=True):
        plain = text.casefold()
        missing = [part for part in message.fixed if part.casefold() not in plain]
        missing += sorted(message.keys - distinctive_stems(text))
        require(
            not missing, f"{text[:60]!r} has lost {missing} of {message.text[:60]!r}."
        )
    require(len(set(texts)) == len(texts), "two messages are the same.")
    for text, message in zip(texts, messages, strict=True):
        require(text != message.text, f"{[text]} is in the same words.")
    return texts


def distinctive_stems(text: str) -> frozenset[str]:
    """Return the content stems of a text; empty if it has no letters."""
    if any(map(str.isalpha, text)):
        return content_stems(text)
    return frozenset()


def _json_texts(value: Any) -> Iterator[str]:
    """Yield all texts in JSON values, except field names and signs."""
    for part in values_within(value):
        if isinstance(part, str) and any(map(str.isalnum, part)):
            yield part
