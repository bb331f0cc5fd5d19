"""Renders a card as text, as a Markdown table and as a page."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_ltm.api.journal import Section
from pytest_ltm.figures.markdown import markdown_table
from pytest_ltm.lifecycle.cards.card import Card, CardRow
from pytest_ltm.lifecycle.cards.card_figures import MEANINGS, STAGES, Rate
from pytest_ltm.reports.html.page import render_sections
from pytest_ltm.reports.section_tables import SectionTable, section_with_tables


def text_lines(card: Card) -> Iterator[str]:
    """Yield the lines of a card: figures, lost marks and measurements."""
    for row in card.rows:
        package = f" ({row.package})" if row.package else ""
        yield f"{row.memory}{package}"
        for name, meaning in MEANINGS.items():
            yield f"  {name:<16}{show_rate(row.figures.get(name)):>9}  {meaning_of(row, name, meaning)}"
        yield f"  {_marks_sentence(row)}"
        yield from _lost_lines(row)
        if row.extraction:
            yield f"  {extraction_sentence(row)}"
        for name, value in row.measured.items():
            yield f"  {name}: {value}"
    yield f"card {card.fingerprint}, seed {card.seed}"


def show_rate(rate: Rate) -> str:
    """Return a rate as `x/n`, or `-` if it could not be measured."""
    return "-" if rate is None else f"{rate[0]}/{rate[1]}"


def meaning_of(row: CardRow, name: str, meaning: str) -> str:
    """Return the meaning of a figure, or why it could not be measured."""
    lack = row.record.lacks.get(name)
    return f"not supported: {lack}" if lack else meaning


def extraction_sentence(row: CardRow) -> str:
    """Return a sentence on the recorded model that extracted a row's facts."""
    calls = row.extraction["calls"]
    recording = row.extraction["recording"]
    return f"extracted by a recorded model: {calls} calls, recording {recording}"


def _marks_sentence(row: CardRow) -> str:
    stages = ", ".join(f"{row.marks.get(stage, 0)} at {stage}" for stage in STAGES)
    return f"{_count_answered(row)} of {row.marks['all']} questions answered; lost: {stages}"


def _count_answered(row: CardRow) -> int:
    return row.marks["all"] - sum(row.marks.get(stage, 0) for stage in STAGES)


def _lost_lines(row: CardRow) -> Iterator[str]:
    for stage in STAGES:
        names = [name for name, lost_at in row.lost.items() if lost_at == stage]
        if names:
            yield f"    {stage}: {', '.join(names)}"


def card_table(card: Card) -> str:
    """Return a card as a Markdown table with a row per memory."""
    names = [name.replace("_", " ") for name in MEANINGS]
    heads = ["memory", *names, "answered", *(f"lost at {stage}" for stage in STAGES)]
    rows: list[list[str]] = []
    for row in card.rows:
        rates = [show_rate(row.figures.get(name)) for name in MEANINGS]
        losses = [str(row.marks.get(stage, 0)) for stage in STAGES]
        answered = f"{_count_answered(row)}/{row.marks['all']}"
        memory = row.package or row.memory
        if row.extraction:
            memory += ", own extraction"
        rows.append([memory, *rates, answered, *losses])
    return markdown_table(heads, rows)


def render_page(card: Card) -> bytes:
    """Return a page with a section per memory."""
    about = f"Fingerprint {card.fingerprint}, seed {card.seed}. ltm verify recomputes this card from its file."
    return render_sections("Memory card", about, list(map(_section, card.rows)))


def _section(row: CardRow) -> Section:
    sentences = [row.package, _marks_sentence(row)]
    sentences += map(str.strip, _lost_lines(row))
    if row.extraction:
        sentences.append(extraction_sentence(row))
    figures: list[tuple[str, ...]] = []
    for name, meaning in MEANINGS.items():
        rate = show_rate(row.figures.get(name))
        figures.append((name.replace("_", " "), rate, meaning_of(row, name, meaning)))
    measured = [(name, str(value)) for name, value in row.measured.items()]
    tables = (
        SectionTable("Figures", ("figure", "facts", "meaning"), tuple(figures)),
        SectionTable(
            "Measured on this machine, not compared",
            ("measurement", "value"),
            tuple(measured),
        ),
    )
    return section_with_tables(row.memory, filter(None, sentences), tables)
