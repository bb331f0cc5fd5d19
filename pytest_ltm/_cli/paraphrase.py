"""`paraphrase SUITE --model SPEC`: definitions of a suite in other words, of which a solver still finds the gold."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.author import author
from pytest_ltm._cli.pytest_runs import examples, play
from pytest_ltm._engine.definition import dump, read_json
from pytest_ltm._statistics import FULL_MARKS
from pytest_ltm._storage.clock import wall_time
from pytest_ltm._storage.disk import write_whole
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm.datasets._author import need, prompt_of, written_by
from pytest_ltm.reporting.text import counted

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from pytest_ltm._engine.result import ScenarioResult
    from pytest_ltm.datasets._author import Model


SOLVER = "full"
"""Who must find the gold in the suite's own words and in the others: it reads by rules and sees no expected answer."""
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


def run(given: Namespace) -> int:
    """Write the definitions and say what became of them; return 0, or 1 if none is left.

    Raises LtmError if nothing is played, if the model cannot do it, and for a folder that is in use.
    """
    header = {"suite": given.suite, "span": given.span, "seed": given.seed, "model": given.model, "checked by": SOLVER}
    _claim(given.output, header)
    with tempfile.TemporaryDirectory(prefix="ltm-paraphrase-") as name:
        sources = _own(given, Path(name) / "own")
        with author(given.model) as model:
            for place, path in sources.items():
                target = given.output / f"{place}{_ENDING}"
                if not target.exists():  # what is there was written before the command broke off
                    target.parent.mkdir(exist_ok=True)
                    write_whole(target, dump(reworded(read_json(path).value, model, place)).encode())
            print(model.cost, file=sys.stderr)
        hashes = {place: hashlib.sha256(path.read_bytes()).hexdigest() for place, path in sources.items()}
        lost = _lost(given, Path(name) / "other")
        dropped = {place: why for place, why in lost.items() if place in sources}
    for place in dropped:
        (given.output / f"{place}{_ENDING}").unlink()
    kept = {place: found for place, found in hashes.items() if place not in dropped}
    told = {**header, "made": wall_time().isoformat(timespec="seconds"), "sources": kept, "dropped": dropped}
    write_whole(given.output / PROVENANCE, dump(told).encode())
    print(f"{given.output}: {counted(len(kept), 'definition')} in other words, {len(dropped)} dropped")
    for place, why in dropped.items():
        print(f"  {place}: {SOLVER} no longer finds the gold: {why}")
    return not kept


def _own(given: Namespace, folder: Path) -> dict[str, Path]:
    """Play the suite in its own words; return the definitions whose gold the solver finds, by `scenario/example`."""
    played = play([SOLVER], _options(given), folder)
    solved = {_place(row) for _, row in examples(played) if _is_solved(row)}
    files = sorted(folder.glob(f"runs/*/*/definitions/*/*{_ENDING}"))
    found = {f"{path.parent.name}/{path.name.removesuffix(_ENDING)}": path for path in files}
    if not found.keys() & solved:
        raise ConfigurationError(f"{given.suite}: {SOLVER} finds no gold that could be checked again")
    return {place: path for place, path in found.items() if place in solved}


def _lost(given: Namespace, folder: Path) -> dict[str, str]:
    """Play the definitions in other words; return those whose gold the solver does not find, and why."""
    played = play([SOLVER], [f"--ltm-definitions={given.output.resolve()}", *_options(given)], folder)
    return {_place(row): row.reason for _, row in examples(played) if not _is_solved(row)}


def _options(given: Namespace) -> list[str]:
    return [f"--ltm-suite={given.suite}", f"--ltm-span={given.span}", f"--ltm-seed={given.seed}"]


def _place(row: ScenarioResult) -> str:
    return f"{row.scenario}/{row.example}"


def _is_solved(row: ScenarioResult) -> bool:
    return row.score is not None and row.score >= FULL_MARKS


def _claim(folder: Path, header: dict[str, Any]) -> None:
    """Note what the folder is for; ConfigurationError if it is for something else already."""
    path = folder / PROVENANCE
    if path.exists():
        held = json.loads(path.read_bytes())
        if {name: held.get(name) for name in header} == header:
            return
        raise ConfigurationError(
            f"{folder}: holds paraphrases that were made otherwise ({PROVENANCE}). Name another folder"
        )
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder}: is not empty. Name another folder")
    folder.mkdir(exist_ok=True)
    write_whole(path, dump(header).encode())


# --- one definition


@dataclass(frozen=True, slots=True)
class Message:
    """One text of a definition, and what must stay in it."""

    text: str
    fixed: tuple[str, ...]


def reworded(definition: dict[str, Any], model: Model, what: str) -> dict[str, Any]:
    """Return the definition with its messages in the model's words. DatasetError if the model cannot do it.

    Messages that are data (JSON, tables, several paragraphs) or stand whole among what is expected stay as they are.
    """
    values = set(_texts([definition.get(name) for name in ("expected", "parameters", "replies")]))
    said = dict.fromkeys(step[kind] for step in definition["steps"] for kind in ("say", "ask") if kind in step)
    messages = [
        Message(text, (*_EXACT.findall(text), *sorted(value for value in values if value in text)))
        for text in said
        if text not in values and not _CODE.search(text)
    ]
    if not messages:
        return definition
    asked = [message.text for message in messages]
    fixed = list(dict.fromkeys(part for message in messages for part in message.fixed))
    prompt = prompt_of(_PROMPTS, "messages", messages=asked, fixed=fixed or "nothing else")
    new = written_by(model, prompt, partial(checked, messages=messages), what)
    other = dict(zip(asked, new, strict=True))
    return {**definition, "steps": [_step(step, other) for step in definition["steps"]]}


def checked(value: Any, messages: Sequence[Message]) -> list[str]:
    """Return the messages in other words; ValueError with what is wrong."""
    whole = isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)
    need(whole and len(value) == len(messages), f"it must be a list of {len(messages)} texts.")
    for text, message in zip(value, messages, strict=True):
        lost = [part for part in message.fixed if part.casefold() not in text.casefold()]
        need(not lost, f"{text[:60]!r} has lost {lost} of {message.text[:60]!r}.")
    need(len(set(value)) == len(value), "two messages are the same.")
    same = [text for text, message in zip(value, messages, strict=True) if text == message.text]
    need(not same, f"{same[:1]} is in the same words.")
    return list(value)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in JSON values, names of fields excepted."""
    if isinstance(value, str) and any(map(str.isalnum, value)):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(one)


def _step(step: dict[str, Any], other: dict[str, str]) -> dict[str, Any]:
    known = {name: other.get(text, text) if name in ("say", "ask") else text for name, text in step.items()}
    return {**known, **({"about": [other.get(text, text) for text in step["about"]]} if "about" in step else {})}
