"""Card: the file of figures and records, how it is made, read, and recomputed."""

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
from pytest_ltm.lifecycle.cards.figures import CardFigures, Rate
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
    """Its spec."""
    package: str
    """The package under test with its version, "" where the store names none."""
    figures: Mapping[str, Rate]
    marks: Mapping[str, int]
    """How many facts were asked for, and how many marks were lost at each stage."""
    lost: Mapping[str, str]
    """By fact, the stage at which its mark was lost."""
    record: Record
    measured: Mapping[str, Any]
    """Times and sizes, which differ between machines; never compared."""
    extraction: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The recording of the model that extracted, with its number of calls; empty where texts are kept as they are."""

    def compared(self) -> dict[str, Any]:
        """Return what is equal on every machine."""
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
    """The figures of one memory or several on one script."""

    seed: int
    rows: tuple[CardRow, ...]
    script: int = VERSION
    format: str = FORMAT
    fingerprint: str = ""
    """Of what is compared."""

    def compared(self) -> dict[str, Any]:
        """Return what is equal on every machine."""
        return {
            "format": self.format,
            "script": self.script,
            "seed": self.seed,
            "rows": [row.compared() for row in self.rows],
        }

    def own_fingerprint(self) -> str:
        """Return the fingerprint of what it says."""
        text = json.dumps(self.compared(), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_row(
    name: str,
    make: Callable[[], Any],
    seed: int,
    pace: Pace,
    model: ModelServer | None = None,
) -> CardRow:
    """Play the script on a memory; return its row. StoreRaised where it raises. `model`: what stands in for one."""
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
    """Return the row whose figures follow from a record."""
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
    """Return the card of rows."""
    card = Card(seed, tuple(rows))
    return Card(seed, tuple(rows), fingerprint=card.own_fingerprint())


def card_json(card: Card) -> str:
    """Return a card as JSON: indented but for the records, which nobody reads."""
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
    """Return whether a file is a card, by its format."""
    try:
        return str(_parse(path).get("format", "")).startswith(FORMAT[:-1])
    except (ConfigurationError, OSError):
        return False


def read_card(path: Path) -> Card:
    """Return the card of a file; ConfigurationError where it is none, or of another version."""
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
    """Yield what a card says that does not follow from its records, a sentence each."""
    for row in card.rows:
        computed = row_of(row.memory, row.package, card.seed, row.record, row.measured)
        # No record shows what a model replied: `--replay` does.
        computed = msgspec.structs.replace(computed, extraction=row.extraction)
        yield from differences(computed, row)
    if card.fingerprint != card.own_fingerprint():
        yield f"fingerprint: the card says {card.fingerprint}, its figures have {card.own_fingerprint()}"


def check_recordings(
    card: Card, recordings: Mapping[str, Recording]
) -> tuple[list[str], list[str]]:
    """Return which rows' recordings were found, and which differ from all of those given, a sentence each."""
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
    holders = (
        name
        for name, recording in recordings.items()
        if recording.has_part(digest, calls)
    )
    return next(holders, "")


def differences(right: CardRow, card_row: CardRow) -> Iterator[str]:
    """Yield where a row says something else than the one that was computed."""
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
    """Return a figure as text: how many of how many, a number, a stage, or nothing."""
    if isinstance(value, (tuple, list)):
        return f"{value[0]} of {value[1]}"
    return "nothing" if value is None else str(value)
