"""LongMemEval-V2 (Wu et al., 2026): trajectories of web agents as text, or with screenshots, and rules by question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import field

from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets._interchange import History, Picture, Question, Session, Turn
from pytest_ltm.datasets.converters.declared_files import Foreign, decode_as, files_in, json_as, kind_name, lines_as
from pytest_ltm.datasets.logs.log_file import iter_numbered_lines
from pytest_ltm.datasets.longmemeval.record import part_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_OPTION = re.compile(r"(?:(?<=\s)|^)\(?([A-Z])[).]\s+(.+?)(?=\s+\(?[A-Z][).]\s|\s*$)", re.DOTALL)
_LETTERS = "ABCDEFGH"


class _State(Foreign, frozen=True):
    url: str = ""
    action: str | None = None
    thought: str | None = None
    accessibility_tree: str = ""
    screenshot: str | None = None


class _Trajectory(Foreign, frozen=True):
    id: str
    goal: str
    states: list[_State]
    outcome: str = ""


class _Asked(Foreign, frozen=True):
    id: str
    question: str
    answer: str
    question_type: str
    eval_function: str
    image: str | None = None
    domain: str = field(default="web")


def read_histories(paths: Sequence[Path], counts: Counter[str]) -> Iterator[History]:
    """Yield a history for each haystack of a folder with questions.jsonl, trajectories.jsonl and haystacks/*.json.

    Questions with the same haystack share it.
    """
    for file in files_in(paths, "questions.jsonl"):
        folder = file.parent
        asked = dict(lines_as(file, _Asked))
        by_id = {one.id: (where, one) for where, one in asked.items()}
        places = _index_trajectories(folder / "trajectories.jsonl")
        for tier in files_in([folder], "haystacks/*.json"):
            groups: dict[tuple[str, ...], list[str]] = {}
            for name, trajectories in json_as(tier, dict[str, list[str]]).items():
                groups.setdefault(tuple(trajectories), []).append(name)
            for number, (names, ids) in enumerate(groups.items(), start=1):
                questions = [_read_question(*by_id[one], folder, counts) for one in ids if one in by_id]
                counts["left out: questions of a haystack that are not in the file"] += len(ids) - len(questions)
                yield History(_read_sessions(folder, names, places, counts), questions, f"{tier.stem}_{number}")


def _index_trajectories(file: Path) -> dict[str, tuple[int, int, int]]:
    """Return line, start and end of each trajectory by id: they are read again when they are told."""
    found = {}
    for number, start, raw in iter_numbered_lines(file):
        one = decode_as(raw, _Trajectory, f"{file}:{number}")
        found[one.id] = (number, start, start + len(raw))
    return found


def _read_sessions(
    folder: Path, names: Sequence[str], places: dict[str, tuple[int, int, int]], counts: Counter[str]
) -> Iterator[Session]:
    file = folder / "trajectories.jsonl"
    for name in names:
        if name not in places:
            raise DatasetError(f"{file}: no trajectory {name!r}, which a haystack names. Is the file whole?")
        number, start, end = places[name]
        one = decode_as(part_of(file, start, end), _Trajectory, f"{file}:{number}")
        turns = [Turn(role="user", content=f"Goal: {one.goal}")]
        for state in one.states:
            pictures = [Picture(file=str(path)) for path in _existing(folder, state.screenshot, counts)]
            seen = f"{state.url}\n{state.accessibility_tree}".strip()
            turns.append(Turn(role="user", state=seen or "(no page)", images=tuple(pictures)))
            turns.append(Turn(role="assistant", content=state.thought or "", action=state.action or "(none)"))
        outcome = [Turn(role="user", content=f"Outcome: {one.outcome}")] if one.outcome else []
        yield Session(id=name, turns=(*turns, *outcome))


def _existing(folder: Path, image: str | None, counts: Counter[str]) -> list[Path]:
    """Return the file of an image, if it is in the folder: a name that leads out of it is none."""
    if not image:
        return []
    try:
        path = (folder / image).resolve()
        there = path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        there = False
    counts["left out: images that are not in the folder"] += not there
    return [path] if there else []


def _read_question(where: str, one: _Asked, folder: Path, counts: Counter[str]) -> Question:
    function, _, parameters = one.eval_function.partition("|")
    separator = dict(part.partition("=")[::2] for part in parameters.split("|")).get("separators") or ";"
    several = "set_match" in function
    text, choices = one.question, {}
    if function.startswith("mc_choice"):
        choices = dict(_OPTION.findall(text))
        text = _OPTION.sub("", text).strip() if len(choices) > 1 else text
        choices = choices if len(choices) > 1 else {letter: f"option {letter}" for letter in _LETTERS}
    elif not function.startswith(("norm_phrase_set_match", "llm_")):
        raise DatasetError(
            f"{where}: eval_function: unknown {function!r}. Known are norm_phrase_*, mc_choice_* and llm_*"
        )
    golds = [part.strip() for part in re.split(f"[{re.escape(separator)}]", one.answer) if part.strip()]
    if choices:
        golds = re.findall(r"\b[A-Z]\b", one.answer) if several else [one.answer.strip(" ().")]
    match = "sequence" if function.endswith("ordered") else "set" if several else "answer"
    images = _existing(folder, one.image, counts)
    return Question(
        id=one.id, kind=kind_name(one.question_type), text=text, choices=choices or (), match=match,
        gold=tuple(golds) if several else golds[0] if choices else one.answer,
        never_told=function == "llm_abstention_checker", image=str(images[0]) if images else "",
    )  # fmt: skip
