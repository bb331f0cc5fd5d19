"""Replies of a hundred thousand characters to all questions of the built-in suites: every evaluator must cope."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one

LONG = 100_000
"""Characters of a long reply."""
AGENT = """
import os


class Repeating:
    stateless = True

    def reply(self, message):
        part = os.environ["LTM_FAULTS_PART"] or f"{message} "
        return (part * (int(os.environ["LTM_FAULTS_LENGTH"]) // len(part) + 1)).strip()
"""
PARTS = {
    "digits": "1",
    "letters": "a",
    "names": "Anna, Bert and Carla. ",
    "lines": "\n- 1. yes: no",
    "quotes": "He said \"it's 'not' (",
    "accents": "e\u0301\u0323\u200d",
    "message": "",
}
"""The repeated text; "" stands for the question."""
SUITES = ("standard", "extended", "hygiene", "reasoning", "learning")


def long_replies(setting: Setting) -> Iterator[Case]:
    """Yield suites with long replies; each example must have a score, and none be lost to length."""
    for suite, part in setting.some(
        [(suite, part) for suite in SUITES for part in PARTS]
    ):
        yield Case(f"{suite}-{part}", _play, (suite, PARTS[part]))


def _play(folder: Path, suite: str, part: str) -> Outcome:
    short, long = (
        _scores(folder / str(length), suite, part, length) for length in (1, LONG)
    )
    if isinstance(short, str) or isinstance(long, str):
        return one(f"{short if isinstance(short, str) else long}")
    unscored = []
    for name, score in short.items():
        if score is not None and long.get(name) is None:
            unscored.append(name)
    better = []
    for name, score in long.items():
        if score is not None and score > (short.get(name) or 0):
            better.append(name)
    if unscored:
        return one(f"no longer scored: {', '.join(unscored)}")
    return one(f"gain by their length: {', '.join(better)}" if better else None)


def _scores(
    folder: Path, suite: str, part: str, length: int
) -> dict[str, float | None] | str:
    """Return the score of each example, or the failure of the run."""
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "repeating.py").write_text(AGENT, encoding="utf-8")
    words = [
        f"--ltm-suite={suite}",
        "--ltm-examples=1",
        "--ltm-span=isolated",
        "--ltm-no-probe",
        "--tb=no",
    ]
    more = {"LTM_FAULTS_PART": part, "LTM_FAULTS_LENGTH": str(length)}
    ended = runs.run(folder, ["--ltm-agent=repeating:Repeating", *words], more)
    if ended.trouble or ended.status not in runs.FINE:
        return (
            ended.trouble or f"the exit status is {ended.status}: {ended.screen[-500:]}"
        )
    scores = {}
    for path in folder.glob(".ltm/runs/*/*/results.json"):
        for row in json.loads(path.read_bytes())["scenarios"]:
            scores[row["example"]] = row["score"]
    return scores
