"""`longmemeval-export`: the answers of a run in the format that the published evaluation reads."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._disk import write_whole
from pytest_ltm._errors import ConfigurationError, DatasetError
from pytest_ltm.reporting._run_folder import find_run, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.reporting._run_folder import ConversationFolder, Run


def main(argv: Sequence[str]) -> int:
    """Write one line for each answered question; say on stderr how many there are, and how many have no answer."""
    given = _parser().parse_args(argv)
    run = read_run(find_run(given.run, given.ltm_dir))
    found = list(_answers(chosen(run, given.agent, given.trial)))
    if not found:
        raise DatasetError(f"{run.path}: holds no LongMemEval questions")
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in found if row["hypothesis"] is not None]
    content = "".join(lines).encode("utf-8", "backslashreplace")
    if given.output is None:
        sys.stdout.buffer.write(content)
    else:
        write_whole(given.output, content)
    missing = len(found) - len(lines)
    sys.stderr.write(f"{len(lines):,} answers" + (f", {missing:,} questions without one" if missing else "") + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-export",
        description="The answers of a run as JSON lines with question_id and hypothesis.",
    )
    parser.add_argument("run", help="a run's id or folder, or 'latest'")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write; by default the screen")
    parser.add_argument("--agent", default="", metavar="LABEL", help="whose answers, in a run of several agents")
    parser.add_argument("--trial", default="", metavar="N", help="of which trial, in a run of several")
    parser.add_argument("--ltm-dir", default=Path(".ltm"), type=Path, metavar="DIR", help="where run folders are")
    return parser


def chosen(run: Run, agent: str, trial: str) -> list[ConversationFolder]:
    """Return the conversations of one agent in one trial; ConfigurationError where it is not clear which."""
    held = run.conversations
    by_agent = _only("--agent", agent, dict.fromkeys(each.result.agent for each in held))
    held = tuple(each for each in held if each.result.agent == by_agent)
    by_trial = _only("--trial", trial, dict.fromkeys(_trial(each) for each in held))
    return [each for each in held if _trial(each) == by_trial]


def _only(flag: str, wanted: str, known: Iterable[str]) -> str:
    names = list(known)
    if wanted in names:
        return wanted
    if not wanted and len(names) == 1:
        return names[0]
    what = f"{wanted!r} is none of them" if wanted else "say whose"
    raise ConfigurationError(f"{flag}: {what}. There are {', '.join(names)}")


def _trial(each: ConversationFolder) -> str:
    return each.result.trial.partition(".")[0]


def _answers(held: Iterable[ConversationFolder]) -> Iterator[dict[str, Any]]:
    for each in held:
        for row in each.result.scenarios:
            name = question_id(each.path, row)
            if name is not None:
                yield {"question_id": name, "hypothesis": row.questions[-1].answer if row.questions else None}


def question_id(folder: Path, row: ScenarioResult) -> str | None:
    """Return the id of the question that a result is about, None where it is no LongMemEval question."""
    facts = facts_of(folder, row)
    return None if facts is None else str(facts["id"])


def facts_of(folder: Path, row: ScenarioResult) -> dict[str, Any] | None:
    """Return what a result's definition says of its question, None where it is no LongMemEval question."""
    path = folder / "definitions" / row.scenario / f"{row.example}.def.json"
    try:
        facts = json.loads(path.read_bytes())["parameters"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return facts if isinstance(facts, dict) and {"id", "type", "ability"} <= facts.keys() else None
