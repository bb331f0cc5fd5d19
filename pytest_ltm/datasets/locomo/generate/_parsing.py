"""Reading what a model wrote: JSON of the form asked for, or ValueError with a sentence that the model can act on."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def parsed(text: str) -> Any:
    """Return the one JSON value of the text, bare or in a fenced block."""
    fenced = _FENCED.findall(text)
    try:
        return json.loads(fenced[-1] if fenced else text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not one JSON value: {error}.") from error


def persona(value: Any) -> dict[str, Any]:
    """Return a persona."""
    _need(isinstance(value, dict) and isinstance(value.get("about"), str), "it must be an object with a text `about`.")
    return dict(value)


def events(value: Any, first: date, last: date, count: int) -> list[dict[str, Any]]:
    """Return dated events: in order, within the months, of known causes that came first."""
    _need(isinstance(value, list) and len(value) >= count, f"it must be a list of {count} events.")
    before, known = first, set()
    for number, one in enumerate(value, start=1):
        texts = isinstance(one, dict) and all(isinstance(one.get(name), str) for name in ("id", "date", "event"))
        _need(texts, f"event {number} must have the texts `id`, `date` and `event`.")
        on = _date(one["date"], number)
        _need(before <= on <= last, f"event {number}: {one['date']} is before the one above it, or not in the months.")
        causes = one.get("causes") or []
        unknown = [cause for cause in causes if cause not in known] if isinstance(causes, list) else ["?"]
        _need(not unknown, f"event {number}: its causes {unknown} are no ids of earlier events.")
        before = on
        known.add(one["id"])
    _need(len(known) == len(value), "two events have the same id.")
    return list(value)


def turns(value: Any, speakers: Sequence[str], session: int, count: int) -> list[dict[str, Any]]:
    """Return the turns of a session with their ids; the speakers alternate."""
    _need(isinstance(value, list), "it must be a list of turns.")
    _need(abs(len(value) - count) <= max(2, count // 5), f"it has {len(value)} turns; write {count}.")
    found = []
    for number, one in enumerate(value, start=1):
        said = one.get("text") if isinstance(one, dict) else None
        _need(isinstance(said, str) and bool(said.strip()), f"turn {number} must be an object with a `text`.")
        who = speakers[(number - 1) % 2]
        _need(one.get("speaker") == who, f"turn {number} must be spoken by {who}, not {one.get('speaker')!r}.")
        photo = {"blip_caption": one["photo"]} if isinstance(one.get("photo"), str) and one["photo"] else {}
        found.append({"speaker": who, **photo, "dia_id": f"D{session}:{number}", "text": said})
    return found


def reflection(value: Any, speakers: Sequence[str], said: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return summary and observations; each is told by the speaker it is about, in a turn that exists."""
    _need(isinstance(value, dict) and isinstance(value.get("summary"), str), "it must have a text `summary`.")
    observed = value.get("observations")
    _need(isinstance(observed, dict) and set(observed) <= set(speakers), f"`observations` must be by {list(speakers)}.")
    ids = {turn["dia_id"] for turn in said}
    for who in speakers:
        for note in observed.setdefault(who, []):
            pair = isinstance(note, list) and len(note) == 2 and all(isinstance(one, str) for one in note)  # noqa: PLR2004
            _need(pair, f"an observation of {who} is no pair [fact, turn id]: {note!r:.80}.")
            _need(note[1] in ids, f"the observation {note[0]!r:.80} cites {note[1]!r}, which is no turn of this chat.")
    return {"summary": value["summary"], "observations": observed}


def _date(text: str, number: int) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"event {number}: {text!r} is no date YYYY-MM-DD.") from None


def _need(holds: bool, wrong: str) -> None:
    if not holds:
        raise ValueError(wrong)
