"""Renders a card as text, as a Markdown table and as a page."""

from __future__ import annotations

import html
from collections.abc import Iterator

from pytest_ltm.lifecycle.cards.card import Card, CardRow
from pytest_ltm.lifecycle.cards.card_figures import MEANINGS, STAGES, Rate


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
    lost_count = sum(row.marks.get(stage, 0) for stage in STAGES)
    stages = ", ".join(f"{row.marks.get(stage, 0)} at {stage}" for stage in STAGES)
    return f"{row.marks['all'] - lost_count} of {row.marks['all']} questions answered; lost: {stages}"


def _lost_lines(row: CardRow) -> Iterator[str]:
    for stage in STAGES:
        names = [name for name, lost_at in row.lost.items() if lost_at == stage]
        if names:
            yield f"    {stage}: {', '.join(names)}"


def table_lines(card: Card) -> Iterator[str]:
    """Yield a card as a Markdown table with a row per memory."""
    columns = [*MEANINGS, "answered", *(f"lost at {stage}" for stage in STAGES)]
    yield f"| memory | {' | '.join(name.replace('_', ' ') for name in columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for row in card.rows:
        cells = [show_rate(row.figures.get(name)) for name in MEANINGS]
        losses = [row.marks.get(stage, 0) for stage in STAGES]
        answered = f"{row.marks['all'] - sum(losses)}/{row.marks['all']}"
        name = row.package or row.memory
        if row.extraction:
            name += ", own extraction"
        yield f"| {name} | {' | '.join([*cells, answered, *map(str, losses)])} |"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Memory card</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
section {{ overflow-x: auto; }}
td, th {{ text-align: left; padding: 0.1rem 1rem 0.1rem 0; }}
td:nth-child(2) {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<h1>Memory card</h1>
{rows}
<p>Fingerprint <code>{fingerprint}</code>, seed {seed}. <code>ltm verify</code> recomputes this card from its file.</p>
</body>
</html>
"""


def render_page(card: Card) -> str:
    """Return a page with a section per memory."""
    rows = "\n".join(map(_section, card.rows))
    return _PAGE.format(rows=rows, fingerprint=card.fingerprint, seed=card.seed)


def _section(row: CardRow) -> str:
    figures: list[str] = []
    for name, meaning in MEANINGS.items():
        rate = show_rate(row.figures.get(name))
        text = meaning_of(row, name, meaning)
        figures.append(_table_row(name.replace("_", " "), rate, text))
    loss_items = [f"<li>{html.escape(line.strip())}</li>" for line in _lost_lines(row)]
    measured: list[str] = []
    for name, value in row.measured.items():
        measured.append(_table_row(name, str(value), ""))
    parts = [
        f"<section>\n<h2>{html.escape(row.memory)}</h2>",
        f"<p>{html.escape(row.package)}</p>" if row.package else "",
        f"<table>\n{''.join(figures)}</table>",
        f"<p>{html.escape(_marks_sentence(row))}</p>\n<ul>{''.join(loss_items)}</ul>",
        f"<p>{html.escape(extraction_sentence(row))}</p>" if row.extraction else "",
        f"<p>Measured on this machine, not compared:</p>\n<table>\n{''.join(measured)}</table>",
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def _table_row(name: str, value: str, meaning: str) -> str:
    cells = "".join(f"<td>{html.escape(text)}</td>" for text in (name, value, meaning))
    return f"<tr>{cells}</tr>\n"
