"""A scripted model that writes LongMemEval sessions: it repeats what its prompt asks for, in that order."""

from __future__ import annotations

import json
import re
from typing import Any


def plan_of(prompt: str) -> list[dict[str, str]]:
    """Return the rounds that a prompt asks for."""
    (line,) = re.findall(
        r"^\[.*\]$",
        prompt.split("Answer with one JSON value", maxsplit=1)[0],
        re.MULTILINE,
    )
    found: list[dict[str, str]] = json.loads(line)
    return found


def rounds(prompt: str) -> list[dict[str, Any]]:
    """Return the requested chat."""
    return [
        {
            "user": f"So much to do. {one['wants']} {one.get('lets_slip', '')}".strip(),
            "assistant": f"Step by step.\n\n{one.get('made', '')}".strip(),
        }
        for one in plan_of(prompt)
    ]


def turn(prompt: str) -> dict[str, str]:
    """Return the next turn of a chat: the user's wants and disclosures, or the requested list."""
    wants = re.findall(r"^What you want from it next: (.*)$", prompt, re.MULTILINE)
    slips = re.findall(r'comes out in this message: "(.*)" Tell it', prompt)
    _, _, listed = prompt.partition("line for line:\n")
    return {
        "text": " ".join(["Well,", *wants, *slips])
        + "\n"
        + listed.partition("\nAnswer with one JSON value")[0]
    }


def curated(prompt: str) -> Any:
    """Return the next step of a question that the model invents entirely."""
    if prompt.startswith("Name one"):
        return {"attribute": "the tram pass"}
    if prompt.startswith("Invent a person"):
        return {"background": "They keep a tram pass of their own."}
    if "Write a question" in prompt:
        curated.asked += 1  # type: ignore[attr-defined]
        return {
            "question": f"Which line, number {curated.asked}, does my pass cover?",  # type: ignore[attr-defined]
            "answer": "line Zebra",
        }
    least, most = map(int, re.findall(r"into (\d+) to (\d+) statements", prompt)[0])
    made = '"made"' in prompt
    return [
        {
            **(
                {"request": "Make a list.", "made": f"1. line Zebra {n}"}
                if made
                else {"said": f"My pass {n} is for line Zebra now."}
            ),
            "days": 10 + 5 * n,
            "theme": "work",
        }
        for n in range(max(least, min(most, 2)))
    ]


curated.asked = 0  # type: ignore[attr-defined]
CURATES = ("Name one", "Invent a person", "This is about a user")


def write(prompt: str) -> str:
    """Answer one prompt."""
    if prompt.startswith(CURATES):
        return json.dumps(curated(prompt))
    return json.dumps(
        rounds(prompt) if prompt.startswith("Write a chat") else turn(prompt)
    )
