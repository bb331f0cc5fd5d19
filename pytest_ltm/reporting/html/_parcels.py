"""Parcels: what stays compressed in the page until it is opened: examples, and the time lines of conversations."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm.reporting.html._details import details, expected_of
from pytest_ltm.reporting.html._listed import in_turn
from pytest_ltm.reporting.html._packs import parcel
from pytest_ltm.reporting.html._timeline import timeline

if TYPE_CHECKING:
    from pytest_ltm.reporting._journal_log import Log
    from pytest_ltm.reporting.html._material import Held, Material

TOGETHER = 16
"""So many examples are packed into one parcel: they have much in common."""


def parcels(found: Material, shown: frozenset[int], room: int) -> Parcels:
    """Return the parcels of a report; `shown`: the examples that are listed, `room`: bytes for time lines."""
    made = Parcels(shown, room)
    for held in in_turn(found):
        made.add(held)
    return made


@dataclass(slots=True)
class Parcels:
    """What stays compressed until it is opened."""

    shown: frozenset[int]
    """The examples that are listed."""
    room: int
    """Bytes for further time lines."""
    packed: dict[str, str] = field(default_factory=dict)
    """By element id: `e<conversation>.<number>` has TOGETHER examples, by key, `c<conversation>` a time line."""
    fingerprints: dict[int, str] = field(default_factory=dict)
    """Of each example's definition, short."""
    lines: set[int] = field(default_factory=set)
    """The conversations whose time line is in the file."""
    left_out: set[int] = field(default_factory=set)
    """Those for whose time line there was no room."""

    def add(self, held: Held) -> None:
        """Pack a conversation."""
        plan, log = held.folder.plan(), held.folder.log()
        expected, texts = expected_of(plan), _definitions(plan)
        self.fingerprints |= {row.key: texts.get(row.result.id, "") for row in held.rows}
        for number in range(0, len(held.rows), TOGETHER):
            rows = [row for row in held.rows[number : number + TOGETHER] if row.key in self.shown]
            if rows:
                opened = {str(row.key): details(row.result, log, expected.get(row.result.id)) for row in rows}
                self.packed[f"e{held.key}.{number // TOGETHER}"] = parcel(opened)
        if log is not None:
            self._add_line(held, log)

    def _add_line(self, held: Held, log: Log) -> None:
        packed = "" if self.left_out else parcel(timeline(held.rows, log))
        self.room -= len(packed)
        if packed and (self.room >= 0 or not self.lines):
            self.packed[f"c{held.key}"] = packed
            self.lines.add(held.key)
        else:
            self.left_out.add(held.key)


def _definitions(plan: Any) -> dict[str, str]:
    """Return a short fingerprint of each example's definition: equal texts have equal ones."""
    found = plan.get("examples") if isinstance(plan.get("examples"), list) else []
    return {
        f"{each.get('scenario')}/{each.get('example')}": hashlib.sha256(
            json.dumps(each.get("definition"), sort_keys=True).encode()
        ).hexdigest()[:8]
        for each in found
        if isinstance(each, dict)
    }
