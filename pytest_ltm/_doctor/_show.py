"""A diagnosis as lines for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._doctor._environment import EXTRAS
from pytest_ltm.reporting._text import counted, left, one_line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm._doctor._conversations import Conversation
    from pytest_ltm._doctor._environment import Environment
    from pytest_ltm._doctor._run import Diagnosis

_KILO = 1000
_FEW = 40


def run_lines(found: Diagnosis, width: int) -> list[str]:
    """Return what a run folder holds."""
    lines = [f"run {found.run} ({_size(found.size)}): {found.path}"]
    lines += [f"  scored again from run {found.rescored}"] * bool(found.rescored)
    started = {name: value for name, value in found.started.items() if value not in (None, [], {}) and name in _TOLD}
    lines += [f"  {name}: {_value(value)}" for name, value in started.items()]
    lines += [f"  made with {_versions(name, *pair)}" for name, pair in found.versions.items()]
    lines += [f"  {counted(found.amended, 'amended verdict')}"] * bool(found.amended)
    lines += [f"  lock: {found.lock}"] * bool(found.lock)
    lines += [counted(len(found.conversations), "conversation") + ":"]
    shown = found.conversations[:_FEW]
    lines += [f"  {line}" for each in shown for line in _conversation(each)]
    more = len(found.conversations) - len(shown)
    lines += [f"  … and {more:,} more: --json tells of all"] * (more > 0)
    lines += ["what can be done:"]
    lines += [f"  {way.what}: {way.command or 'no: ' + way.why_not}" for way in found.ways]
    return _fitting([*lines, *_problems(found.problems)], width)


def environment_lines(found: Environment, width: int) -> list[str]:
    """Return what is installed and set."""
    lines = [f"pytest-ltm {found.pytest_ltm}, Python {found.python}, {found.platform}"]
    lines += ["needed: " + ", ".join(f"{name} {one or 'missing'}" for name, one in found.packages.items())]
    lines += ["extras:"]
    lines += [f"  {name} {one or '-'} ({EXTRAS[name]})" for name, one in found.extras.items()]
    lines += ["other plugins: " + (", ".join(found.plugins) or "none")]
    lines += [f"  {note}" for note in found.notes]
    working = [name for name, works in found.encodings.items() if works]
    lines += ["tokenizers without a network: " + (", ".join(working) or "none")]
    lines += ["keys that are set (names only): " + (", ".join(n for n, there in found.keys.items() if there) or "none")]
    lines += [f"runs: {found.ltm_dir}{'' if found.writable else ', can be written'}"]
    lines += ["latest: " + ", ".join(found.runs)] * bool(found.runs)
    return _fitting([*lines, *_problems(found.problems)], width)


_TOLD = ("agents", "spans", "suite", "seed", "examples", "trials", "scoring", "judge", "time", "shard", "paths")


def _conversation(found: Conversation) -> list[str]:
    what = f"{found.name}: {found.state}"
    if found.exchanges:
        done = f"{found.ended} of {counted(found.examples, 'example')} ended"
        what += f", {counted(found.exchanges, 'exchange')}, {found.tokens:,} tokens, {done}"
    lines = [f"{what} ({_size(found.size)})"]
    lines += [f"  a torn last line of {found.torn:,} bytes is left out"] * bool(found.torn)
    lines += [f"  checkpoints: {', '.join(map(str, found.checkpoints))}"] * bool(found.checkpoints)
    lines += [f"  cannot be gone on with: {found.resume}"] * bool(found.resume)
    return lines + [f"  lock: {found.lock}"] * bool(found.lock)


def _problems(problems: Iterable[str]) -> list[str]:
    found = list(problems)
    return ["what is wrong:", *(f"  - {problem}" for problem in found)] if found else ["nothing is wrong"]


def _versions(name: str, then: str, now: str) -> str:
    same = "" if then == now else f"; installed: {now or 'none'}"
    return f"{name} {then}{same}"


def _value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}" if str(key) == str(one) else f"{key} ({one})" for key, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(size: int) -> str:
    if size < _KILO:
        return f"{size} B"
    return f"{size / _KILO:.0f} kB" if size < _KILO * _KILO else f"{size / _KILO / _KILO:.1f} MB"


def _fitting(lines: Iterable[str], width: int) -> list[str]:
    fitted = []
    for line in lines:
        indent = left("", len(line) - len(line.lstrip()))
        found = wrap(one_line(line), width - len(indent), "    ")
        fitted += [indent + each for each in found]
    return fitted
