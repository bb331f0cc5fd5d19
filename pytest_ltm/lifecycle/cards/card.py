"""Card: the file of figures and records; creating, reading and recomputing it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pytest_ltm.agents.memory.pace import Pace
from pytest_ltm.api.storage import (
    ConfigurationError,
    from_record,
    read_regular,
    to_record,
)
from pytest_ltm.lifecycle.cards.card_figures import CardFigures, Rate
from pytest_ltm.lifecycle.cards.play import (
    CardPlay,
    Record,
    measure,
    package_of,
    size_of,
)
from pytest_ltm.lifecycle.cards.recorded_model import ModelServer, Recording
from pytest_ltm.lifecycle.cards.script import VERSION, draw_script
from pytest_ltm.lifecycle.subject import Subject

FORMAT = "pytest-ltm memory card 1"
_RECORD = "the record stands here"


class CardRow(Struct, frozen=True):
    """One memory on a card."""

    memory: str
    """The memory's spec."""
    package: str
    """The package under test with its version; "" if the store names none."""
    figures: Mapping[str, Rate]
    marks: Mapping[str, int]
    """Number of facts asked for, and of marks lost at each stage."""
    lost: Mapping[str, str]
    """The stage at which the mark was lost, by fact."""
    record: Record
    measured: Mapping[str, Any]
    """Times and sizes, which differ between machines and are never compared."""
    extraction: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The recorded extraction model with its number of calls; empty if texts are stored unchanged."""

    def compared(self) -> dict[str, Any]:
        """Return the part that is equal on every machine."""
        extraction = {"extraction": dict(self.extraction)} if self.extraction else {}
        return {
            "memory": self.memory,
            "package": self.package,
            "figures": to_record(self.figures),
            "marks": dict(self.marks),
            "lost": dict(sorted(self.lost.items())),
            **extraction,
        }


class Card(Struct, frozen=True):
    """The figures of one or more memories on one script."""

    seed: int
    rows: tuple[CardRow, ...]
    script: int = VERSION
    format: str = FORMAT
    fingerprint: str = ""
    """The fingerprint of the compared part."""

    def compared(self) -> dict[str, Any]:
        """Return the part that is equal on every machine."""
        return {
            "format": self.format,
            "script": self.script,
            "seed": self.seed,
            "rows": [row.compared() for row in self.rows],
        }

    def own_fingerprint(self) -> str:
        """Return the fingerprint computed from the contents."""
        text = json.dumps(self.compared(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_row(
    name: str,
    make: Callable[[], Any],
    seed: int,
    pace: Pace,
    model: ModelServer | None = None,
) -> CardRow:
    """Play the script on a memory; return its row. StoreRaised if it raises. `model`: replaces the real one."""
    subject = Subject(make, pace)
    calls_before = len(model.taken) if model else 0
    try:
        size = size_of(subject)
        record = CardPlay(subject, draw_script(seed)).record()
        measured = measure(subject, len(subject.texts), size)
        package = package_of(subject.store)
    finally:
        subject.close()
    measured["Python"] = platform.python_version()
    row = row_of(name, package, seed, record, measured)
    replies = model.taken[calls_before:] if model else []
    if not replies:
        return row
    extraction = {"recording": Recording(replies).digest, "calls": len(replies)}
    return msgspec.structs.replace(row, extraction=extraction)


def row_of(
    name: str, package: str, seed: int, record: Record, measured: Mapping[str, Any]
) -> CardRow:
    """Return the row with figures computed from a record."""
    figures = CardFigures(draw_script(seed), record)
    return CardRow(
        memory=name,
        package=package,
        figures=figures.rates,
        marks=figures.marks,
        lost=figures.lost_marks,
        record=record,
        measured=measured,
    )


def make_card(seed: int, rows: Sequence[CardRow]) -> Card:
    """Return a card with these rows."""
    card = Card(seed, tuple(rows))
    return Card(seed, tuple(rows), fingerprint=card.own_fingerprint())


def card_json(card: Card) -> str:
    """Return a card as JSON, indented except for the records, which are not meant for readers."""
    content = msgspec.to_builtins(card)
    records = []
    for row in content["rows"]:
        records.append(json.dumps(row["record"]))
        row["record"] = _RECORD
    text = json.dumps(content, indent=1)
    for record in records:
        text = text.replace(f'"{_RECORD}"', record, 1)
    return text + "\n"


def is_card(path: Path) -> bool:
    """Return whether a file is a card, judging by its format."""
    try:
        return str(_parse(path).get("format", "")).startswith(FORMAT[:-1])
    except (ConfigurationError, OSError):
        return False


def read_card(path: Path) -> Card:
    """Read the card in a file; ConfigurationError if it is not a card, or of another version."""
    record = _parse(path)
    if record.get("format") != FORMAT:
        raise ConfigurationError(
            f"{path}: its format is {record.get('format')!r}, not {FORMAT!r}"
        )
    card = from_record(Card, record, str(path))
    if card.script != VERSION:
        raise ConfigurationError(
            f"{path}: made with script {card.script}, this version has script {VERSION}. Make it again"
        )
    return card


def _parse(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(read_regular(path))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not JSON: {error}") from None
    if not isinstance(record, dict):
        raise ConfigurationError(f"{path}: not a card, which is a JSON object")
    return record


def find_forgeries(card: Card) -> Iterator[str]:
    """Yield the claims of a card that do not follow from its records, a sentence each."""
    for row in card.rows:
        computed = row_of(row.memory, row.package, card.seed, row.record, row.measured)
        # A record does not contain the model's replies: `--replay` checks them.
        computed = msgspec.structs.replace(computed, extraction=row.extraction)
        yield from differences(computed, row)
    if card.fingerprint != card.own_fingerprint():
        yield f"fingerprint: the card says {card.fingerprint}, its figures have {card.own_fingerprint()}"


def check_recordings(
    card: Card, recordings: Mapping[str, Recording]
) -> tuple[list[str], list[str]]:
    """Return a sentence per recording that was found, and per row that matches none of those given."""
    found = []
    forged = []
    for row in card.rows:
        if not (row.extraction and recordings):
            continue
        digest = row.extraction.get("recording")
        calls = row.extraction.get("calls")
        is_whole = isinstance(digest, str) and isinstance(calls, int) and calls > 0
        name = _holder_of(digest, calls, recordings) if is_whole else ""
        if name:
            found.append(f"{row.memory}: {calls} calls recomputed from {name}")
        else:
            forged.append(
                f"{row.memory}, extraction: {', '.join(recordings)} beside it has no {calls} calls with the digest "
                f"{digest}"
            )
    return found, forged


def _holder_of(digest: Any, calls: Any, recordings: Mapping[str, Recording]) -> str:
    for name, recording in recordings.items():
        if recording.has_part(digest, calls):
            return name
    return ""


def differences(right: CardRow, card_row: CardRow) -> Iterator[str]:
    """Yield the differences between a row and the recomputed one."""
    for part in ("figures", "marks", "lost", "extraction"):
        computed = getattr(right, part)
        claimed = getattr(card_row, part)
        for name in sorted({*computed, *claimed}):
            first = computed.get(name)
            second = claimed.get(name)
            if first != second:
                yield (
                    f"{card_row.memory}, {_TITLES[part]}{name}: the card says {show_value(second)}, "
                    f"computed {show_value(first)}"
                )


_TITLES = {
    "figures": "",
    "marks": "marks ",
    "lost": "mark of ",
    "extraction": "extraction, ",
}


def show_value(value: Any) -> str:
    """Return a figure as text: `x of n`, a number, a stage, or "nothing"."""
    if isinstance(value, (tuple, list)):
        return f"{value[0]} of {value[1]}"
    return "nothing" if value is None else str(value)
