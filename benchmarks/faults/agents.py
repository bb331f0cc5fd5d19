"""Hostile agents, each next to two well-behaved ones whose conversations must be unharmed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults import hostile_agents, runs
from benchmarks.faults.cases import Case, Outcome, Setting, one
from benchmarks.killed import Run
from pytest_ltm.api.journal import UNMEASURABLE

HOSTILE = Path(hostile_agents.__file__)
TAME = {"LTM_FAULTS_TAME": "1"}
LIMITS = ("--ltm-reply-timeout=2", "--ltm-retries=1")
ENDS_PROCESS = frozenset(
    {
        "exits",
        "aborts",
        "segfaults",
        "kills_itself",
        "hangs",
        "eats_memory",
        "closes_stdout",
        "closes_descriptors",
        "terminates_itself",
        "awaits",
        "returns_nothing_known",
        "forgets_modules",
        "made_hangs",
        "made_exits",
        "made_segfaults",
        "closed_hangs",
        "closed_exits",
        "ends_session",
        "exits_in_thread",
    }
)
"""Agents that may end our process, or leave it unusable; the run is resumed with the agent tamed."""
NEVER_GREEN = frozenset(
    {
        "ends_session",
        "exits",
        "made_exits",
        "closed_exits",
        "exits_in_thread",
        "deletes_records",
    }
)
"""Agents that would end a run as if everything had been played."""
DELETES = "deletes_records"
NOT_HERE = frozenset({"stops_itself", "has_offspring", "waits_in_c", "ignores_alarm"})
"""Faults that cannot be contained in our own process; see docs/own-process.md."""


class Kind(NamedTuple):
    """A way to run an agent."""

    name: str
    file: str
    """A YAML file that contains `{name}`."""


HERE = Kind("here", "agent: hostile:{name}\n")
CHILD = Kind("child", "agent: hostile:{name}\nprocess: true\n")
SERVED = Kind("served", f"agent: 'mcp:{sys.executable} hostile.py {{name}}'\n")
COMMAND = Kind("cmd", f"agent: 'cmd:{sys.executable} hostile.py {{name}}'\n")


def hostile(setting: Setting) -> Iterator[Case]:
    """Yield all hostile agents: in our process, in their own, as commands, and as memories behind MCP."""
    all_of = [
        *((HERE, name) for name in hostile_agents.CLASSES if name not in NOT_HERE),
        *((CHILD, name) for name in hostile_agents.CLASSES),
        *((COMMAND, name) for name in hostile_agents.LINES),
        *((SERVED, name) for name in hostile_agents.SERVERS if find_spec("mcp")),
    ]
    calm = runs.undisturbed(
        prepared(setting.folder / "calm", HERE, "raises"), _words(), TAME
    )
    for kind, name in setting.some(all_of):
        yield Case(f"{kind.name}-{name}", _beside, (kind, name, calm))


def prepared(folder: Path, kind: Kind, name: str) -> Path:
    """Put the agents of a case into its folder."""
    runs.prepared(folder)
    shutil.copy(HOSTILE, folder / "hostile.py")
    (folder / "bad.yml").write_text(kind.file.format(name=name), encoding="utf-8")
    return folder


def _words() -> list[str]:
    return [
        *runs.words("before=drilled:Told,bad=bad.yml,after=drilled:Stateless"),
        *LIMITS,
    ]


def _beside(folder: Path, kind: Kind, name: str, calm: Run) -> Outcome:
    prepared(folder, kind, name)
    ended = runs.run(folder, _words())
    if name == DELETES:  # a separate process does not protect the disk
        return one(
            ended.trouble
            or (
                None
                if ended.status == UNMEASURABLE
                else f"the exit status is {ended.status}"
            )
        )
    if kind is HERE and name in ENDS_PROCESS:
        if ended.status is None:
            return one(ended.trouble)
        if name in NEVER_GREEN and ended.status != UNMEASURABLE:
            return one(
                f"it is not told that examples are missing: the exit status is {ended.status}"
            )
        if harm := runs.changed(runs.left(folder), calm, only="before"):
            return one(f"the conversation before it was harmed: {harm}")
        ended = runs.resumed(folder, TAME)
    if ended.trouble or ended.status not in {*runs.FINE, UNMEASURABLE}:
        return one(
            ended.trouble or f"the exit status is {ended.status}: {ended.screen[-500:]}"
        )
    now = runs.left(folder)
    return one(
        runs.changed(now, calm, only="before") or runs.changed(now, calm, only="after")
    )
