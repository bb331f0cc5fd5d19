"""Charts as static SVG: they open anywhere, print, and take the page's colours."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from pytest_ltm._plan import natural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm.reporting._columns import Column

_CELL, _LABEL, _HEAD = 26, 190, 78
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 620, 260, 48, 40, 16
_STROKES = ("#2563eb", "#d97706", "#059669", "#db2777", "#7c3aed", "#0891b2", "#65a30d", "#dc2626")


def colour(score: float) -> str:
    """Return the background for a score: from red (0) over yellow to green (1), readable in dark and light."""
    return f"hsl({round(120 * score)} 62% 46%)"


def heat_map(rows: Sequence[ScenarioResult]) -> str:
    """Return scenario x example as in the paper's figures, one block of columns for each agent and span.

    Each cell is the mean over trials, its title says whose it is; what has no score is an empty, crossed cell.
    """
    blocks = list(dict.fromkeys((row.agent, row.span_label) for row in rows))
    scenarios = sorted({row.scenario for row in rows})
    scores = _cells(rows)
    parts, left = [], _LABEL
    for name, y in ((name, _HEAD + i * _CELL) for i, name in enumerate(scenarios)):
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>')
    for agent, span in blocks:
        examples = sorted({key[3] for key in scores if key[:2] == (agent, span)}, key=natural)
        title = escape(f"{agent} {span}")
        parts.append(
            f'<text x="{left + 4}" y="{_HEAD - 8}" transform="rotate(-35 {left + 4} {_HEAD - 8})">{title}</text>'
        )
        for row, name in enumerate(scenarios):
            for column, example in enumerate(examples):
                key = (agent, span, name, example)
                if key in scores:
                    where = f"{agent} at {span}, {name}, example {example}"
                    parts.append(_cell(left + column * _CELL, _HEAD + row * _CELL, scores[key], where))
        left += len(examples) * _CELL + 10
    height = _HEAD + len(scenarios) * _CELL + 6
    return _svg(left + 60, height, "Heat map: score of each example by scenario", "".join(parts))


def degradation(columns: Sequence[Column]) -> str:
    """Return mean score against memory span for each agent, log scale, with a bar of one standard deviation.

    Only for spans in tokens; "" where no agent has two of them. The mean is the total divided by its maximum.
    """
    lines: dict[str, list[Column]] = {}
    for column in columns:
        if column.span is not None and column.out_of:
            lines.setdefault(column.agent, []).append(column)
    lines = {agent: sorted(found, key=lambda c: c.span or 0) for agent, found in lines.items()}
    spans = sorted({column.span for found in lines.values() for column in found if column.span})
    if len(spans) < 2:  # noqa: PLR2004 - one point is no curve
        return ""
    parts = [_axes(spans)]
    for number, (agent, found) in enumerate(lines.items()):
        parts.append(_line(agent, found, spans, _STROKES[number % len(_STROKES)], number))
    return _svg(_WIDTH + 150, _HEIGHT, "Degradation: mean score against memory span", "".join(parts))


def _cells(rows: Sequence[ScenarioResult]) -> Mapping[tuple[str, str, str, str], float | None]:
    found: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        scores = found.setdefault((row.agent, row.span_label, row.scenario, row.example), [])
        if row.score is not None:
            scores.append(row.score)
    return {key: sum(scores) / len(scores) if scores else None for key, scores in found.items()}


def _cell(x: float, y: float, score: float | None, where: str) -> str:
    size = _CELL - 2
    if score is None:
        cross = f'<path d="M{x} {y}l{size} {size}m0 -{size}l-{size} {size}" class="axis"/>'
        shape = f'<rect x="{x}" y="{y}" width="{size}" height="{size}" rx="3" class="none"/>{cross}'
        return f"<g>{shape}<title>{escape(where)}: no score</title></g>"
    text = f"{score:.2f}".removeprefix("0") if score < 1 else "1"
    return (
        f'<g><rect x="{x}" y="{y}" width="{size}" height="{size}" rx="3" fill="{colour(score)}"/>'
        f'<text x="{x + size / 2}" y="{y + 16}" text-anchor="middle" class="in">{text}</text>'
        f"<title>{escape(where)}: {score:.2f}</title></g>"
    )


def _x(span: float, spans: Sequence[int]) -> float:
    low, high = math.log(spans[0]), math.log(spans[-1])
    return _LEFT + 20 + (math.log(span) - low) / (high - low) * (_WIDTH - _LEFT - 40)


def _y(score: float) -> float:
    return _TOP + (1 - score) * (_HEIGHT - _TOP - _BOTTOM)


def _axes(spans: Sequence[int]) -> str:
    parts = []
    for tenth in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path class="axis" d="M{_LEFT} {_y(tenth):.1f}H{_WIDTH}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{_y(tenth) + 4:.1f}" text-anchor="end">{tenth:g}</text>')
    for span in spans:
        label = f"{span // 1000}k" if span % 1000 == 0 else f"{span}"
        parts.append(
            f'<text x="{_x(span, spans):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{label}</text>'
        )
    parts.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 4}" text-anchor="middle">memory span in tokens</text>')
    return "".join(parts)


def _line(agent: str, found: Sequence[Column], spans: Sequence[int], stroke: str, number: int) -> str:
    points = [(_x(column.span or 1, spans), column.total / column.out_of, column) for column in found]
    path = "L".join(f"{x:.1f} {_y(score):.1f}" for x, score, _ in points)
    marks = []
    for x, score, column in points:
        sd = column.spread.sd / column.out_of if column.spread else 0.0
        low, high = _y(max(score - sd, 0)), _y(min(score + sd, 1))
        title = escape(f"{agent} at {column.span_label}: {score:.2f} ± {sd:.2f}")
        marks.append(f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{stroke}" stroke-width="2"/>')
        marks.append(f'<circle cx="{x:.1f}" cy="{_y(score):.1f}" r="4" fill="{stroke}"><title>{title}</title></circle>')
    legend_y = _TOP + 16 * number + 6
    legend = (
        f'<rect x="{_WIDTH + 12}" y="{legend_y - 8}" width="10" height="10" fill="{stroke}"/>'
        f'<text x="{_WIDTH + 28}" y="{legend_y + 1}">{escape(agent)}</text>'
    )
    return f'<path d="M{path}" fill="none" stroke="{stroke}" stroke-width="2"/>{"".join(marks)}{legend}'


def _svg(width: float, height: float, title: str, content: str) -> str:
    return (
        f'<svg class="ltm" role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'style="max-width:100%;height:auto" xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>{content}</svg>'
    )
