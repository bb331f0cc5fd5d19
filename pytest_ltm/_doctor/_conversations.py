"""One recorded conversation: how far it came, what is damaged, what can be done with it. Nothing is ever changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._checkpoints import Checkpoints
from pytest_ltm._doctor._locks import lock_state
from pytest_ltm._errors import LtmError, told
from pytest_ltm._recording import CHECKPOINTS, JOURNAL, RESULTS, Recording, read_recording
from pytest_ltm._result import read_results
from pytest_ltm._resumable import cannot_go_on

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What the folder of one conversation holds."""

    name: str
    state: str
    """complete, in progress, interrupted, agent gone, empty or damaged."""
    exchanges: int = 0
    tokens: int = 0
    """Of all that was said."""
    ended: int = 0
    """Examples that ended."""
    examples: int = 0
    """Of the plan."""
    torn: int = 0
    """Bytes of a last line that is not whole."""
    lock: str = ""
    checkpoints: tuple[int, ...] = ()
    size: int = 0
    resume: str = ""
    """Why nobody can go on with it; "": it can be gone on with, or needs not."""
    problems: tuple[str, ...] = ()


def conversation(folder: Path) -> Conversation:
    """Return what a folder holds, whatever it holds."""
    found = Conversation(name=folder.name, state="empty", lock=lock_state(folder), size=size_of(folder))
    try:
        return _examined(folder, found)
    except Exception as error:  # noqa: BLE001 - a damaged folder may be anything
        reason = str(error) if isinstance(error, LtmError) else told(error)
        return replace(found, state="damaged", problems=(reason,), resume=reason)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; links are not followed."""
    total = 0
    try:
        for path in folder.iterdir():
            if path.is_symlink():
                continue
            total += size_of(path) if path.is_dir() else path.lstat().st_size
    except OSError:
        pass
    return total


def _examined(folder: Path, found: Conversation) -> Conversation:
    path = folder / JOURNAL
    recording = read_recording(path)
    if recording is None:
        gone = f"{folder.name} has no journal with a whole first line: nothing was said" if path.exists() else ""
        return replace(found, problems=(gone,) if gone else ())
    counts = _counts(path)
    state = _state(recording, gone=counts.pop("gone"), held=found.lock.startswith("held"))
    checkpoints = Checkpoints(folder / CHECKPOINTS)
    held = tuple(sorted(int(each.stem) for each in (folder / CHECKPOINTS).glob("*.bin") if each.stem.isdecimal()))
    found = replace(found, **counts, checkpoints=held, exchanges=recording.exchanges, state=state)
    return replace(
        found, resume=cannot_go_on(recording, checkpoints), examples=_planned(recording), problems=_problems(folder)
    )


def _state(recording: Recording, *, gone: bool, held: bool) -> str:
    if recording.complete:
        return "complete"
    return "in progress" if held else "agent gone" if gone else "interrupted"


def _planned(recording: Recording) -> int:
    plan = recording.header.get("plan")
    examples = plan.get("examples") if isinstance(plan, dict) else None
    return len(examples) if isinstance(examples, list) else 0


def _counts(path: Path) -> dict[str, Any]:
    """Return what the lines of a journal add up to, in one pass."""
    tokens = ended = torn = 0
    gone = False
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                torn = len(line)
                break
            event = json.loads(line)
            for name in ("tokens", "message_tokens", "reply_tokens"):
                value = event.get(name) if event["event"] in {"message", "reply", "filler"} else None
                tokens += value if type(value) is int else 0
            if event["event"] == "end":
                ended += "example" in event
                gone = "example" not in event and event.get("reason") not in {"complete", "interrupted"}
    return {"tokens": tokens, "ended": ended, "torn": torn, "gone": gone}


def _problems(folder: Path) -> tuple[str, ...]:
    path = folder / RESULTS
    try:
        if path.exists():
            read_results(path)
    except LtmError as error:
        return (f"{error}. The journal has all that it takes: score the run again",)
    return ()
