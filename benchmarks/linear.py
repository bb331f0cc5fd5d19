"""Whether the reading of replies, cited answers and logs to redact takes time in proportion to the text.

A pattern that tries every end from every beginning takes a hundred times as long for
ten times the text. Each function reads a text made of one repeated piece, short and
long; the best of several measurements counts, in processor time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from pytest_ltm import evaluators
from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.datasets.logs.redaction import Redactor
from pytest_ltm.datasets.longmemeval.evaluation import rule_on_hypothesis
from pytest_ltm.lab.commands.verdict_check import bounds_of, evaluator_of
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.speech import speech

PIECES = (
    "<",
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<mull>one two three four five</mull>",
    "</mull>",
    "<|im_end|>",
    "<|channel|>final<|message|>",
    "<|channel|>analysis<|message|>",
    "<|end|>",
    "<details>",
    "</details>",
    "{",
    "[",
    "(",
    "`",
    "```",
    "```tool\n",
    "**",
    "*",
    "> ",
    "\n",
    "\n\n",
    " ",
    "a ",
    "Answer: ",
    "Thought:\nAnswer: x\n",
    "Reasoning: a\n",
    '{"name": ',
    '{"name": "a", "arguments": {}}\n',
    "[1]",
    "[^1]",
    "\u3010",
    "\ue200",
    "\\boxed{",
    "$",
    "\\(",
    "&amp;",
    "Sure! ",
    "Let me know if you need anything else. ",
    "---\n",
    "<b>",
    "<answer>",
    "</answer>",
    "[memory ",
    "\nSources: 1",
    "\xa0",
    "e\u0301",
    "\u2728 ",
    "(thinking ",
    "*thinking* a\n",
    "...done thinking.\n",
    "[Searching x]\n",
    "<!--",
    "' ",
    "a:",
    "- ",
    "&lt;think&gt;",
    "analysisA",
    "assistantfinal",
    "[a](http://b)",
    "<sup>1</sup>",
    "{{cite:a",
    "~~~\n",
    "# a\n",
)
"""Texts that the reading of a reply looks for, whole and in parts."""
EVALUATED = (
    "1",
    "1.",
    "1,",
    "5 ",
    "A",
    "a ",
    "(",
    '"',
    ", ",
    "\n",
    "- ",
    "no, ",
    "and ",
    "not ",
    "you said ",
    "the ",
    "km ",
    '{"a": ',
    "Wait, ",
)
"""Texts that evaluators look for in an answer; they read its first 16,000 characters."""
_LABELLED = Path(__file__).parents[1] / "tests" / "labelled"
_READ_BY_EVALUATORS = 16_000
_GROWTH = 10
_LIMIT = 40
"""For ten times the text: linear growth is 10, quadratic growth 100."""
_NOTICEABLE = 0.005
"""In seconds: shorter measurements are noise."""


class Reading(NamedTuple):
    """A function that reads texts, and the pieces to build those texts from."""

    name: str
    read: Callable[[str], object]
    pieces: Sequence[str]
    limit: int = 1_000_000
    """The most characters of a text that it reads."""


def _ask_sources(text: str) -> object:
    rule = evaluators.KnowsSources(
        ("user", "certain", "4 March", "derby"),
        ("who", "sure", "when", "next"),
        (("barber",),),
    )
    return rule([text] * 4)


def _evaluator_readings() -> Iterator[Reading]:
    """Yield a reading for each evaluator with labelled replies; the text stands for each answer."""
    rows: dict[str, Mapping[str, Any]] = {}
    for path in sorted(_LABELLED.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "evaluator" in row:
                rows.setdefault(row["evaluator"], row)
    for name, row in sorted(rows.items()):
        evaluator = evaluator_of(name, row["args"])
        count = len(row["answers"])
        read = partial(_score_text, evaluator, count)
        yield Reading(name, read, EVALUATED, _READ_BY_EVALUATORS)


def _score_text(evaluator: Any, count: int, text: str) -> object:
    return bounds_of(evaluator, [text] * count)


def _rule_on_text(text: str) -> object:
    return rule_on_hypothesis(
        question_id="q",
        question_type="multi-session",
        question="What is my cat called?",
        answer="Biscuit",
        hypothesis=text,
    )


READINGS = (
    Reading("speech and normal form", lambda text: normalize(speech(text)), PIECES),
    Reading(
        "sources",
        _ask_sources,
        (
            " a",
            "you said ",
            "not sure or ",
            "I was ",
            ".",
            "who? ",
            '"',
            "from the barber ",
        ),
    ),
    Reading(
        "redaction",
        Redactor(b"salt", ["Ann"]).text,
        ("a", "-", "a.", "1 ", "+1", "@a.", "!", "(1", "1-", "Ann "),
    ),
    Reading(
        "colours",
        lambda text: evaluators.NamesColour(expected="teal")([text]),
        ("Your favourite colour is lavender. ",),
    ),
    Reading(
        "options", lambda text: evaluators.PicksOption(expected=3)([text]), ("5 ",)
    ),
    Reading(
        "jokes",
        lambda text: evaluators.RecallsJoke(
            joke="The kettle left the choir: it was steamed."
        )([text]),
        ('{"joke": "The kettle was steamed."} ',),
    ),
    Reading("rulings on data sets", _rule_on_text, EVALUATED, 20_000),
)


def main(argv: Sequence[str]) -> int:
    """Print the growth of each reading; return 1 if one grows faster than its text."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks linear", description=__doc__
    )
    parser.add_argument(
        "--size", type=int, default=200_000, help="letters of the long text (200,000)"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        help="how often each is measured; the best counts (3)",
    )
    options = parser.parse_args(argv)
    if options.size < _GROWTH or options.repeat < 1:
        raise ConfigurationError(f"--size is at least {_GROWTH}, --repeat at least 1")
    failures = 0
    for reading in (*READINGS, *_evaluator_readings()):
        growths = dict(_measure_growth(reading, options.size, options.repeat))
        steep = [piece for piece, growth in growths.items() if growth > _LIMIT]
        worst = max(growths, key=growths.__getitem__)
        failures += len(steep)
        print(
            f"{reading.name}: at most {growths[worst]:.0f} times the time for ten times the text, of {worst!r}"
        )
        for piece in steep:
            print(
                f"  grows faster than its text: {piece!r}, {growths[piece]:.0f} times"
            )
    return int(failures > 0)


def _measure_growth(
    reading: Reading, size: int, repeats: int
) -> Iterator[tuple[str, float]]:
    """Yield, for each piece, the ratio of a long text's time to a short one's."""
    size = min(size, reading.limit)
    for piece in reading.pieces:
        short = (piece * (size // _GROWTH))[: size // _GROWTH]
        long = (piece * size)[:size]
        quick = min(_measure_seconds(reading, short) for _ in range(repeats))
        slow = min(_measure_seconds(reading, long) for _ in range(repeats))
        yield piece, slow / max(quick, _NOTICEABLE)


def _measure_seconds(reading: Reading, text: str) -> float:
    start = process_time()
    reading.read(text)
    return process_time() - start
