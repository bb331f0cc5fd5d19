"""From a judge's reply to its grade."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from pytest_ltm._score import Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRADE = re.compile(
    r"\bGRADE[ \t*_`\"']{0,4}[:\uff1a][ \t*_`\"']{0,8}(?!grade\b)([A-Za-z0-9]{1,20})\b", re.IGNORECASE | re.ASCII
)
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
"""What some servers leave in front of the reply of a model that thinks; without an end, there is no reply."""
_LONGEST = 200
_WRAPPED = re.compile(r"\A\s*```[a-z]*\s*(.*?)\s*```\s*\Z", re.DOTALL)


def parse_grade(reply: str, grades: Sequence[str]) -> str | Unscored:
    """Return the last grade that a judge gave, in lower case; Unscored if none, or one that was not on offer.

    A reply that is one JSON object gives it in the field `grade`, any other in a line `GRADE: yes`. What was thought
    before, between `<think>` and `</think>`, gives none.
    """
    reply = _THOUGHTS.sub("", reply)
    found = _structured(reply)
    if found is None:
        lines = _GRADE.findall(reply)
        if not lines:
            return Unscored(f"the judge gave no grade: {reply[-200:]!r}")
        found = lines[-1]
    grade = found.strip().lower()
    if grade not in grades:
        return Unscored(f"the judge's grade {grade[:40]!r} was not on offer ({', '.join(grades)})")
    return grade


def reason_in(reply: str) -> str:
    """Return the judge's thoughts, without the grade, on one line of at most 200 characters."""
    reply = _THOUGHTS.sub("", reply)
    try:
        said = json.loads(_unwrapped(reply))["thoughts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        said = _GRADE.sub("", reply)
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in str(said)).split()).strip("*` ")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _structured(reply: str) -> str | None:
    """Return the field `grade` of a reply that is one JSON object and nothing else, None for any other."""
    try:
        data = json.loads(_unwrapped(reply))
    except (ValueError, RecursionError):
        return None
    grade = data.get("grade") if isinstance(data, dict) else None
    if isinstance(grade, bool):
        return "yes" if grade else "no"
    return str(grade) if isinstance(grade, (str, int)) else None


def _unwrapped(reply: str) -> str:
    wrapped = _WRAPPED.match(reply)
    return wrapped.group(1) if wrapped else reply
