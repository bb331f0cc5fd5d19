"""A store is audited in place, and a dump of 10,134 memories shows the planted rates."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_audit_findings import START, Planter

from pytest_ltm.commands import main
from pytest_ltm.lifecycle.audit.findings import KINDS

STORE = '''
from dataclasses import dataclass


@dataclass
class Note:
    id: int
    text: str
    created_at: str


NOTES = {
    "ann": [
        Note(1, "Ann lives in Riga", "2026-01-03"),
        Note(2, "ann lives in riga", "2026-01-04"),
        Note(3, "User said hello", "2026-01-05"),
    ],
    "bo": [Note(4, "Ann lives in Riga", "2026-01-03")],
}


class Shared:
    """Exports what it has of everybody."""

    def add(self, text, *, role, at, session, user): ...

    def search(self, query, *, k): return []

    def export(self):
        return {"records": [note for notes in NOTES.values() for note in notes], "version": [1]}


class Apart(Shared):
    def export(self, *, user):
        return NOTES[user]


class Listed(Shared):
    export = None

    def list(self):
        return [(note.id, note.text, None, None) for note in NOTES["ann"]]


class Closed(Shared):
    export = None


class Empty(Shared):
    def export(self):
        return []


class Once(Shared):
    """Exports texts, and hands them out only once."""

    def __init__(self):
        self.texts = [note.text for note in NOTES["ann"]]

    def export(self):
        texts, self.texts = self.texts, []
        return texts
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "audited_notes.py").write_text(STORE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def record(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["audit", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def counts(audit: Any) -> dict[str, int]:
    return {kind: row["count"] for kind, row in audit["kinds"].items() if row["count"]}


def test_a_store_is_audited_by_its_export(capsys: pytest.CaptureFixture[str]) -> None:
    audit = record(capsys, "store:audited_notes:Shared")
    assert audit["memories"] == 4
    assert audit["fields"]["date"] == "created_at"
    assert counts(audit) == {"duplicate": 2, "junk": 1}


def test_users_are_named_and_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["store:audited_notes:Apart", "--user", "ann", "--user", "bo"]
    audit = record(capsys, *words)
    assert audit["memories"] == 4
    assert counts(audit) == {"duplicate": 1, "junk": 1}
    assert audit["findings"][0]["place"].startswith("ann: ")


def test_a_store_without_an_export_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    audit = record(capsys, "store:audited_notes:Listed")
    assert counts(audit) == {"duplicate": 1, "junk": 1}


def test_a_store_is_asked_for_its_export_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    audit = record(capsys, "store:audited_notes:Once")
    assert audit["memories"] == 3
    assert counts(audit) == {"duplicate": 1, "junk": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["store:audited_notes:Apart"], "export() takes a user"),
        (["store:audited_notes:Closed"], "has neither export() nor list()"),
        (["store:audited_notes:Empty"], "holds no memories"),
        (["notes.json", "--user", "ann"], "--user is for a store"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_the_way_out(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("mostly", ["junk", ""])
def test_shares_in_a_dump_of_10_134_memories_are_found_within_a_point(
    mostly: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planter = Planter(7)
    while len(planter.memories) < 10_134:
        kinds = [mostly] if planter.rng.random() < 0.6 else ["", *KINDS]
        planter.plant(planter.rng.choice(kinds))
    del planter.memories[10_134:]
    rows = [
        {
            "id": memory.id,
            "memory": memory.text,
            "created_at": (memory.date or START).isoformat(),
            "source_ids": [*memory.links] or [f"m{number // 2}"],
            "times_retrieved": int(bool(memory.is_used)),
        }
        for number, memory in enumerate(planter.memories)
    ]
    (folder / "memory.json").write_text(json.dumps(rows))
    audit = record(capsys, "memory.json")
    assert audit["memories"] == 10_134
    for kind in KINDS:
        share = (
            len({place for place in planter.planted[kind] if place < 10_134}) / 10_134
        )
        assert audit["kinds"][kind]["share"] == pytest.approx(share, abs=0.01), kind
    assert all(finding["evidence"] for finding in audit["findings"])
    shown = Counter(finding["kind"] for finding in audit["findings"])
    assert dict(shown) == counts(audit)
