"""A scripted model that writes LoCoMo conversations: it reads the form that each prompt asks for and answers in it."""

from __future__ import annotations

import json
import re
from typing import Any


def write(prompt: str) -> str:
    """Answer one prompt."""
    return json.dumps(_answer(prompt))


def _answer(prompt: str) -> Any:
    if prompt.startswith("Invent "):
        return {"about": f"{prompt.split()[1].rstrip(',')} mends kites."}
    if prompt.startswith("This is "):
        return _events(prompt)
    if "are friends who chat" in prompt:
        return _turns(prompt)
    if prompt.startswith("You are "):
        return _turn(prompt)
    if prompt.startswith("A chat of "):
        return _reflection(prompt)
    return _questions(prompt)


def _events(prompt: str) -> list[dict[str, Any]]:
    found = re.search(r"Write (\d+) events of this person's life from (\S+) to", prompt)
    assert found
    return [
        {
            "id": f"e{n}",
            "date": found[2],
            "event": f"Kite {n} flew.",
            "causes": [f"e{n - 1}"] if n else [],
        }
        for n in range(int(found[1]))
    ]


def _turns(prompt: str) -> list[dict[str, Any]]:
    one, two = re.findall(r"(\w+) and (\w+) are friends who chat", prompt)[0]
    count = int(re.findall(r"exactly (\d+) turns", prompt)[0])
    token = re.findall(r"It is (.+?)\. What has happened", prompt)[0]
    mark = re.sub(r"\W", "", token)
    return [
        {
            "speaker": (one, two)[n % 2],
            "text": f"I flew kite {mark}x{n} over hill{n}.",
            **({"photo": "a kite"} if not n else {}),
        }
        for n in range(count)
    ]


def _turn(prompt: str) -> dict[str, Any]:
    chat = prompt.split("The chat so far:")[1]
    mark = re.sub(r"\W", "", re.findall(r"It is (.+?)\. What has happened", prompt)[0])
    number = len(_lines(chat))
    shown = re.findall(r"shared a photo of this: (.+?)\. React", prompt)
    said = f"I flew kite {mark}x{number} over hill{number}." + "".join(
        f" What {caption}!" for caption in shown
    )
    return {
        "text": said,
        **(
            {"photo": f"a kite, number {number}"}
            if "Share a photo with it" in prompt
            else {}
        ),
    }


def _lines(prompt: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^(D\d+:\d+) (\w+): (.*)$", prompt, re.MULTILINE)


def _reflection(prompt: str) -> dict[str, Any]:
    lines, [name] = (
        _lines(prompt),
        re.findall(r"after which you, (\w+), reflect", prompt),
    )
    noted: dict[bool, list[list[str]]] = {True: [], False: []}
    for cited, who, text in lines[:4]:
        noted[who == name].append([text, cited])
    return {
        "summary": f"They spoke of {len(lines)} kites.",
        "told": noted[True],
        "learned": noted[False],
    }


def _questions(prompt: str) -> list[dict[str, Any]]:
    (one, who, text), (two, other, more) = _lines(prompt)[2:4]
    kite, second = text.split()[3], more.split()[3]
    return [
        {
            "category": "single-hop",
            "question": f"Which kite of {who} is in {one}?",
            "answer": kite,
            "evidence": [one],
        },
        {
            "category": "temporal",
            "question": f"When did {who} say {one}?",
            "answer": "7 May 2023",
            "evidence": [one],
        },
        {
            "category": "open-domain",
            "question": f"Does {who} like wind ({one})?",
            "answer": "Yes",
            "evidence": [one],
        },
        {
            "category": "multi-hop",
            "question": f"Which kites are there in {one} of {who} and {other}?",
            "answer": f"{kite}, {second}",
            "evidence": [one, two],
        },
        {
            "category": "adversarial",
            "question": f"What kite has {other} in {one}?",
            "answer": kite,
            "evidence": [one],
        },
        {
            "category": "single-hop",
            "question": f"What is {who}'s fish called?",
            "answer": "Otto",
            "evidence": [one],
        },
        {
            "category": "single-hop",
            "question": f"Where is {who}?",
            "answer": "hill2",
            "evidence": ["D99:1"],
        },
    ]
