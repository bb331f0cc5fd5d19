"""Draws plots with matplotlib: equal contents give equal bytes, without pyplot's global state.

Colours are those of Okabe and Ito, which are safe for colour-blind readers; in grey, markers and dashes distinguish the
lines. Heat maps use cividis, whose lightness grows with the score.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from math import ceil, log2, sqrt
from typing import Any, TypeAlias

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from msgspec import Struct

from pytest_ltm.api.storage import LtmError, did_you_mean, for_screen, one_line
from pytest_ltm.figures.statistics.frontier import pareto_frontier
from pytest_ltm.figures.statistics.totals import FULL_MARKS
from pytest_ltm.figures.text import shorten_text, wrap_text
from pytest_ltm.reports.plots.plot_data import (
    AccuracyCurve,
    Content,
    Curve,
    ExchangeMark,
    Forest,
    Frontier,
    Heat,
    Timeline,
)


class Look(Struct, frozen=True, kw_only=True):
    """The format, size and fonts of a plot."""

    suffix: str
    """One of svg, pdf or png."""
    size: tuple[float, float] | None = None
    """Width and height in inches; None to fit the content."""
    fonts: tuple[str, ...] = ()
    """Font families in order of preference."""
    title: str = ""
    dpi: int = 200


class RenderedPlot(Struct, frozen=True, kw_only=True):
    """A drawn plot."""

    data: bytes
    problems: tuple[str, ...]
    """Warnings about the plot, a sentence each."""


# A coordinate for each memory span; None stands for isolated examples.
_Places: TypeAlias = "Mapping[int | None, float]"
_COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#8A7A00",
)
_MARKERS = "osD^vPX*"
_DASHES = ((0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1, 1.5)), "-")
_GREY = "#767676"
_PALE = "#E6E6E6"
_INK = "#222222"
_MAP = "cividis"
# Longer names are shortened to this many terminal columns.
_LONGEST = 34
_BODY, _NOTE = 9.0, 7.0
"""Sizes of texts, and of the notes below a plot, in points, if there is enough room."""
_SMALLEST, _CROWDED = 0.75, 0.55
"""Texts shrink with the plot down to this share; below it the plot is crowded."""
_NO_ROOM = "the picture has no room at this size: make it larger"
# In inches: in narrower plots the legend is placed below.
_NARROW = 5.0


def _scaled_points(size: float) -> float:
    """Scale a size in points to this plot."""
    return size * float(mpl.rcParams["font.size"]) / _BODY


def draw_plot(content: Content, look: Look) -> RenderedPlot:
    """Draw a plot. LtmError if a font is missing, or if the size is too small."""
    fits = _wanted_size(
        content, narrow=look.size is not None and look.size[0] < _NARROW
    )
    size = look.size or fits
    scale = min(1.0, size[0] / fits[0], size[1] / fits[1])
    with (
        _own_settings(look.fonts, max(scale, _SMALLEST)),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        figure = Figure(
            figsize=size,
            dpi=look.dpi if look.suffix == "png" else 72,
            layout="constrained",
        )
        _DRAWN[type(content)](_titled_part(figure, look.title, content.notes), content)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for part in figure.subfigs:
            (left, bottom), (right, top) = part.bbox_relative.get_points()
            part.bbox_relative.p0 = _rounded(left, bottom)
            part.bbox_relative.p1 = _rounded(right, top)
            for text in part.texts:
                text.set_position(_rounded(*text.get_position()))
        for axes in figure.axes:
            axes.set_position(_rounded(*axes.get_position().bounds))
        file = io.BytesIO()
        nothing = {
            "svg": ("Date", "Creator"),
            "pdf": ("CreationDate", "Creator", "Producer"),
            "png": ("Software",),
        }
        figure.savefig(
            file,
            format=look.suffix,
            dpi="figure",
            metadata=dict.fromkeys(nothing[look.suffix]),
        )
    messages = [str(warning.message) for warning in caught]
    if any("collapsed to zero" in text or "not applied" in text for text in messages):
        raise LtmError(_NO_ROOM)
    problems = []
    if look.suffix != "svg" and any("missing from font" in text for text in messages):
        problems.append(
            "the font lacks characters of some names; --font=A,B takes several families"
        )
    if scale < _CROWDED:
        problems.append(
            f"it is crowded at this size; {fits[0]:.1f}x{fits[1]:.1f}in has room for everything"
        )
    return RenderedPlot(data=file.getvalue(), problems=tuple(problems))


def _rounded(*shares: float) -> Any:
    return tuple(round(float(share), 4) for share in shares)


def _draw_accuracy_axis(axes: Any) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="y", color=_PALE, linewidth=0.6)


@contextmanager
def _own_settings(fonts: Sequence[str], scale: float) -> Iterator[None]:
    """Apply fixed settings for reproducible plots, ignoring any matplotlibrc file."""
    with mpl.rc_context():
        mpl.rcdefaults()
        for family in fonts:
            families = {font.name for font in font_manager.fontManager.ttflist} | {
                "serif",
                "sans-serif",
                "monospace",
            }
            if family not in families:
                raise LtmError(
                    f"there is no font {family!r} here.{did_you_mean(family, families)}"
                )
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "pytest-ltm",
                "pdf.fonttype": 42,
                "text.parse_math": False,
                "font.family": [*fonts, "DejaVu Sans", "sans-serif"],
                "font.size": _BODY * scale,
                "axes.titlesize": "medium",
                "figure.titlesize": "large",
                "xtick.labelsize": 8 * scale,
                "ytick.labelsize": 8 * scale,
                "legend.fontsize": 8 * scale,
                "lines.markersize": 4.5 * scale,
                "lines.linewidth": 1.4 * scale,
                "axes.linewidth": 0.7 * scale,
                "hatch.linewidth": 0.4 * scale,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.edgecolor": _GREY,
                "text.color": _INK,
                "axes.labelcolor": _INK,
                "xtick.color": _INK,
                "ytick.color": _INK,
            }
        )
        yield


def _plot_text(text: str, longest: int = 0) -> str:
    """Return a single line that is safe to show: without secrets and control characters."""
    if not longest:
        line = for_screen(text)
    else:
        line = shorten_text(one_line(text), longest, mark="…")
    return line or " "


def _titled_part(figure: Figure, title: str, notes: Sequence[str]) -> SubFigure:
    """Write a title above and notes below; return the part in between."""
    width, height = figure.get_size_inches()
    texts = []
    for text, size in (
        (_plot_text(title) if title else "", _scaled_points(1.2 * _BODY)),
        (" ".join(notes), _scaled_points(_NOTE)),
    ):
        if text:
            lines = wrap_text(text, max(20, int(width * 72 / (size * 0.56))))
        else:
            lines = []
        texts.append(
            ("\n".join(lines), size, (len(lines) * size * 1.35 + 3) / 72 / height)
        )
    (above, large, top), (below, small, bottom) = texts
    if top + bottom > 0.6:
        raise LtmError(_NO_ROOM)
    parts: Any = figure.subfigures(3, 1, height_ratios=(top, 1 - top - bottom, bottom))
    parts[0].text(0.01, 0.9, above, size=large, va="top")
    parts[2].text(0.01, 1, below, size=small, va="top", color=_GREY, linespacing=1.3)
    middle: SubFigure = parts[1]
    return middle


def _size_in_inches(part: SubFigure) -> tuple[float, float]:
    return (
        part.bbox.width / part.get_figure().dpi,
        part.bbox.height / part.get_figure().dpi,
    )


def _wanted_size(content: Content, *, narrow: bool) -> tuple[float, float]:
    """Return the width and height in inches that the content needs; `narrow`: with the legend below."""
    match content:
        case Curve():
            tested = sum(not line.reference for line in content.lines)
            names = min(max(28, *(len(line.agent) for line in content.lines)), _LONGEST)
            wide, high = _panel_grid(tested, _CURVE)
            size = 2.4 + 1.9 * wide, 0.9 + 1.35 * high
            if tested <= _TOGETHER:
                size = (
                    4.9 + 0.068 * names,
                    max(3.6, 1.2 + 0.17 * (len(content.lines) + 2)),
                )
                size = (4.2, 2.5 + 0.085 * (len(content.lines) + 2)) if narrow else size
        case Heat():
            wide, high = _panel_grid(len(content.panels), len(content.columns))
            names = min(max(map(len, content.rows), default=0), _LONGEST)
            panel = max(0.3 + 0.5 * len(content.columns), 1.5)
            size = (
                max(3.4, 0.9 + 0.07 * names + wide * panel),
                0.9 + high * (0.55 + 0.3 * len(content.rows)),
            )
        case Frontier():
            spots = chain.from_iterable(panel.spots for panel in content.panels)
            names = min(max(len(spot.agent) for spot in spots), _LONGEST)
            legend = 0.0 if narrow else 1.0 + 0.068 * names
            size = (
                legend + 3.4 * len(content.panels),
                3.4 + 0.1 * narrow * len(content.panels[0].spots),
            )
        case Timeline():
            size = 9.0, max(2.6, min(1.2 + 0.17 * (len(content.lanes) + 1), 14.0))
        case Forest():
            wide, high = _panel_grid(len(content.panels), _FOREST)
            size = (
                2.0 + 3.0 * wide,
                1.0 + high * (0.5 + 0.2 * max(len(of) for _, of in content.panels)),
            )
    return size


def _panel_grid(panels: int, columns: int) -> tuple[int, int]:
    """Return the number of panel columns and rows for panels with this many columns each."""
    # At most 24 columns over all panels side by side.
    wide = max(1, min(panels, 24 // max(columns, 1), ceil(sqrt(panels * 1.5))))
    high = ceil(panels / wide)
    return ceil(panels / high), high


_CURVE, _FOREST = 4, 8
"""How many such columns a panel of curves takes, and one of differences."""


def _panel_axes(
    part: SubFigure, count: int, columns: int, *, same_rows: bool = True
) -> list[Any]:
    """Return the axes of the panels; only the outermost ones at the left and bottom have labels."""
    wide, high = _panel_grid(count, columns)
    axes = part.subplots(high, wide, squeeze=False, sharex=True, sharey=same_rows)
    panels = [axes[number // wide][number % wide] for number in range(wide * high)]
    for number, panel in enumerate(panels):
        panel.set_visible(number < count)
        panel.tick_params(
            labelbottom=number + wide >= count,
            labelleft=not same_rows or number % wide == 0,
        )
    return panels[:count]


def _title_room(part: SubFigure, panels: int, columns: int, beside: int = 0) -> int:
    """Return how many characters a panel title may have; `beside` is the length of the longest row label."""
    wide, _ = _panel_grid(panels, columns)
    return max(
        8,
        int(
            (_size_in_inches(part)[0] - 0.9 - 0.07 * min(beside, _LONGEST))
            / wide
            / 0.082
        ),
    )


# --- Score over span.

# More agents than this get a panel each.
_TOGETHER = 8


def _draw_curve(part: SubFigure, content: Curve) -> None:
    # Isolated examples have no length, so they are placed before the others.
    x_by_span: dict[int | None, float] = {}
    for span in content.spans:
        if span:
            x_by_span[span] = log2(span)
    places = sorted(x_by_span.values())
    step = min((later - earlier for earlier, later in pairwise(places)), default=1.0)
    if None in content.spans:
        x_by_span = {None: (places[0] - max(step, 1.0)) if places else 0.0, **x_by_span}
    ends = min(x_by_span.values()) - 0.45 * step, max(x_by_span.values()) + 0.45 * step
    tested = [line for line in content.lines if not line.reference]
    together = len(tested) <= _TOGETHER
    for number, axes in enumerate(
        _panel_axes(part, 1 if together else len(tested), _CURVE)
    ):
        beside = _draw_references(axes, content, x_by_span, ends)
        if together:
            axes.set_xlabel(content.across)
            axes.set_ylabel("accuracy")
            entries = [*_beside_each_other(axes, tested, x_by_span, step), *beside]
        else:
            grey: dict[str, Any] = {"color": "#C9C9C9", "linewidth": 0.6, "zorder": 2}
            pale: list[Any] = []
            for line in tested:
                pale.append(_draw_line(axes, line, x_by_span, bars=False, **grey))
            handle = _draw_line(
                axes, tested[number], x_by_span, color=_COLOURS[0], marker="o", zorder=4
            )
            axes.tick_params(axis="x", rotation=45)
            axes.set_title(
                _plot_text(tested[number].agent, _title_room(part, len(tested), _CURVE))
            )
            entries = [(handle, "the agent"), (pale[0], "the others"), *beside]
        axes.set_xlim(*ends)
        axes.set_xticks(
            list(x_by_span.values()),
            [_plot_text(content.spans[span], 12) for span in x_by_span],
        )
        _draw_accuracy_axis(axes)
    if not together:
        part.supxlabel(f"accuracy over {content.across}", size=_scaled_points(_BODY))
    _draw_legend(part, entries)


def _beside_each_other(
    axes: Any, lines: Sequence[AccuracyCurve], x_by_span: _Places, step: float
) -> list[tuple[Any, str]]:
    """Draw lines, slightly offset so that their intervals do not overlap; the best at its last span first."""
    apart = min(0.3 / max(len(lines), 1), 0.06) * step
    drawn = []
    for number, line in enumerate(lines):
        offset = (number - (len(lines) - 1) / 2) * apart
        moved = {span: x + offset for span, x in x_by_span.items()}
        dashes = "-" if number < _TOGETHER // 2 else _DASHES[0]
        look: dict[str, Any] = {
            "color": _COLOURS[number],
            "marker": _MARKERS[number],
            "linestyle": dashes,
        }
        handle = _draw_line(axes, line, moved, zorder=4, **look)
        drawn.append((line.spots[-1].score, handle, line.agent))
    drawn.sort(key=lambda entry: -entry[0])
    return [(handle, agent) for _, handle, agent in drawn]


def _draw_references(
    axes: Any, content: Curve, x_by_span: _Places, ends: tuple[float, float]
) -> list[tuple[Any, str]]:
    entries = []
    if content.ceiling:
        band = _shade_band(
            axes, content.ceiling, x_by_span, ends, top=1.03, hatch="////"
        )
        entries.append((band, "ceiling: best bundled agent"))
    if content.floor:
        band = _shade_band(
            axes, content.floor, x_by_span, ends, top=-0.03, hatch="\\\\\\\\"
        )
        entries.append((band, "floor: earned without memory"))
    for number, line in enumerate(line for line in content.lines if line.reference):
        style: dict[str, Any] = {
            "color": _GREY,
            "linestyle": _DASHES[number % 4],
            "linewidth": 0.9,
        }
        handle = _draw_line(
            axes,
            line,
            x_by_span,
            bars=False,
            marker="|",
            markersize=3,
            zorder=3,
            **style,
        )
        entries.append((handle, line.agent))
    return entries


def _draw_frontier(part: SubFigure, content: Frontier) -> None:
    all_axes = part.subplots(1, len(content.panels), squeeze=False, sharey=True)[0]
    spots = chain.from_iterable(panel.spots for panel in content.panels)
    names = list(dict.fromkeys(spot.agent for spot in spots))
    entries: dict[str, Any] = {}
    for axes, panel in zip(all_axes, content.panels, strict=True):
        if panel.published:
            [entries["published frontier"]] = axes.plot(
                *zip(*pareto_frontier(panel.published), strict=True),
                color=_GREY,
                linestyle=_DASHES[0],
                marker="|",
                drawstyle="steps-post",
                linewidth=0.9,
            )
        axes.plot(
            *zip(*panel.steps, strict=True),
            color=_INK,
            drawstyle="steps-post",
            linewidth=0.9,
            zorder=2,
        )
        for spot in panel.spots:
            number = names.index(spot.agent)
            look: dict[str, Any] = {
                "color": _COLOURS[number % len(_COLOURS)],
                "marker": _MARKERS[number % len(_MARKERS)],
            }
            reach = [[spot.score - spot.low], [spot.high - spot.score]]
            look |= {"linestyle": "none", "capsize": _scaled_points(2)}
            entries[spot.agent] = axes.errorbar(
                [spot.cost], [spot.score], reach, **look
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.tick_params(axis="x", which="minor", labelbottom=False)
        axes.set_xlabel(panel.across)
        _draw_accuracy_axis(axes)
    all_axes[0].set_ylabel("accuracy")
    _draw_legend(part, [(handle, name) for name, handle in entries.items()])


def _draw_line(
    axes: Any,
    line: AccuracyCurve,
    x_by_span: _Places,
    *,
    bars: bool = True,
    **style: Any,
) -> Any:
    x = [x_by_span[spot.span] for spot in line.spots]
    y = [spot.score for spot in line.spots]
    wide = [spot for spot in line.spots if spot.high - spot.low > 1 - FULL_MARKS]
    if bars and wide:
        reach = [
            [spot.score - spot.low for spot in wide],
            [spot.high - spot.score for spot in wide],
        ]
        bar: dict[str, Any] = {
            "linewidth": _scaled_points(0.9),
            "capsize": _scaled_points(2),
            "zorder": 3.5,
        }
        places = [x_by_span[spot.span] for spot in wide]
        scores = [spot.score for spot in wide]
        axes.errorbar(places, scores, reach, fmt="none", color=style["color"], **bar)
    alone = line.spots[0].span is None and len(line.spots) > 1
    if alone:
        # isolated examples have no length, so no line connects them to the first span
        axes.plot(x[:1], y[:1], **{**style, "linestyle": "none"}, clip_on=False)
    [handle] = axes.plot(x[alone:], y[alone:], **style, clip_on=False)
    return handle


def _shade_band(
    axes: Any,
    edge: _Places,
    x_by_span: _Places,
    ends: tuple[float, float],
    *,
    top: float,
    hatch: str,
) -> Any:
    """Shade the area between an edge, by span, and the top or bottom."""
    levels = list(edge.values())
    x = [ends[0], *(x_by_span[span] for span in edge), ends[1]]
    levels = [levels[0], *levels, levels[-1]]
    axes.plot(x, levels, color=_GREY, linewidth=0.7, zorder=1.5)
    look: dict[str, Any] = {
        "facecolor": _PALE,
        "edgecolor": "#B8B8B8",
        "linewidth": 0,
        "hatch": hatch,
        "zorder": 1,
    }
    return axes.fill_between(x, levels, top, **look)


def _draw_legend(part: SubFigure, entries: Sequence[tuple[Any, str]]) -> None:
    """Draw a legend at the right, or below a narrow picture."""
    narrow = _size_in_inches(part)[0] < _NARROW
    short = max(len(name) for _, name in entries) <= 30
    box = part.legend(
        [handle for handle, _ in entries],
        ["x"] * len(entries),
        frameon=False,
        handlelength=2.6,
        borderaxespad=0.2,
        loc="outside lower left" if narrow else "outside right upper",
        ncols=1 + (narrow and short),
    )
    for text, (_, name) in zip(box.get_texts(), entries, strict=True):
        # set here, because matplotlib hides labels that begin with `_`
        text.set_text(_plot_text(name, _LONGEST))


# --- Heat maps.


def _draw_heatmap(part: SubFigure, content: Heat) -> None:
    rows = len(content.rows)
    columns = len(content.columns)
    panels = len(content.panels)
    all_axes = _panel_axes(part, panels, columns)
    wide, high = _panel_grid(panels, columns)
    width, height = _size_in_inches(part)
    labels = max(map(len, content.rows))
    cell = (width - 0.9 - 0.07 * min(labels, _LONGEST)) * 72 / wide / (columns + 0.5)
    # Numbers are illegible below three points and would exceed the labels above eight.
    size = max(
        3.0, min(cell / 3.1, height * 72 / high / (rows + 2) / 2.2, _scaled_points(8.0))
    )
    steep = max(map(len, content.columns)) * _scaled_points(4.2) > cell
    for axes, panel in zip(all_axes, content.panels, strict=True):
        for y, row in enumerate(panel.rows):
            for x, square in enumerate(row):
                if square is None:
                    continue
                look: dict[str, Any] = {
                    "facecolor": "white",
                    "edgecolor": "#B8B8B8",
                    "hatch": "////",
                }
                if square.score is not None:
                    look = {
                        "facecolor": mpl.colormaps[_MAP](square.score),
                        "edgecolor": "white",
                    }
                axes.add_patch(
                    mpl.patches.Rectangle(
                        (x - 0.5, y - 0.5), 1, 1, linewidth=0.6, **look
                    )
                )
                # The lower half of the colours is too dark for black text.
                if square.score is not None and square.score < 0.55:
                    ink = "white"
                else:
                    ink = "black"
                style: dict[str, Any] = {"color": ink, "ha": "center", "va": "center"}
                axes.text(
                    x,
                    y - (0.14 if square.more else 0.0),
                    square.text,
                    size=size,
                    **style,
                )
                axes.text(x, y + 0.28, square.more, size=size * 0.7, **style)
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.spines[:].set_visible(False)
        axes.set_title(
            _plot_text(panel.name, _title_room(part, panels, columns, labels // 2))
        )
        axes.set_xticks(
            range(columns), [_plot_text(name, 12) for name in content.columns]
        )
        axes.set_yticks(
            range(rows), [_plot_text(name, _LONGEST) for name in content.rows]
        )
        axes.tick_params(length=0)
        axes.tick_params(axis="x", rotation=60 if steep else 0)
    part.supxlabel(content.across, size=_scaled_points(_BODY))
    if content.down:
        part.supylabel(content.down, size=_scaled_points(_BODY))
    scale = mpl.cm.ScalarMappable(Normalize(0, 1), mpl.colormaps[_MAP])
    bar = part.colorbar(
        scale, ax=all_axes, shrink=min(1.0, 2.2 / height), aspect=14, pad=0.02
    )
    bar.set_ticks([0, 0.5, 1], labels=["0", "0.5", "1"])
    bar.ax.spines[:].set_visible(False)


# --- One conversation.


def _draw_lanes(axes: Any, content: Timeline) -> None:
    """Draw each lane from its begin to its end, and lines from what was told to the question about it."""
    outlines: list[list[tuple[float, float]]] = []
    fills = []
    for lane, extent in enumerate(content.extent):
        if extent:
            begin, end = extent
            top = lane - 0.38
            bottom = lane + 0.38
            outlines.append([(begin, top), (end, top), (end, bottom), (begin, bottom)])
            fills.append(_score_colour(content.lanes[lane][1]))
    look: dict[str, Any] = {
        "edgecolors": _GREY,
        "linewidths": 0.5,
        "alpha": 0.35,
        "zorder": 1,
    }
    axes.add_collection(PolyCollection(outlines, facecolors=fills, **look))
    links: list[list[tuple[float, float]]] = []
    for lane, telling, question in content.links:
        links.append([(telling, lane), (question, lane)])
    axes.add_collection(LineCollection(links, colors=_INK, linewidths=0.7, zorder=2))


def _draw_timeline(part: SubFigure, content: Timeline) -> None:
    axes = part.add_subplot()
    lanes = len(content.lanes)
    _draw_lanes(axes, content)
    telling = [mark for mark in content.marks if mark.lane < 0]
    axes.broken_barh(
        [(mark.start, mark.tokens) for mark in telling],
        (-1.38, 0.76),
        facecolor="#B8B8B8",
        zorder=1,
    )
    size = _scaled_points(18.0 if lanes <= 40 else 8.0)

    def dots(marks: Sequence[ExchangeMark], **style: Any) -> Any:
        return axes.scatter(
            [mark.start for mark in marks], [mark.lane for mark in marks], **style
        )

    marks: list[ExchangeMark] = []
    questions: dict[str, list[ExchangeMark]] = {}
    for mark in content.marks:
        if mark.kind == "question":
            credit = _credit_label(content.lanes[mark.lane][1])
            questions.setdefault(credit, []).append(mark)
        elif mark.lane >= 0:
            marks.append(mark)
    told_dots = dots(
        marks, s=size, c=_INK, marker="|", linewidths=0.8, zorder=3, label="said"
    )
    entries: list[tuple[Any, str]] = [(told_dots, "said")]
    kinds = {
        "full marks": "o",
        "partial credit": "D",
        "no credit": "X",
        "no score": "s",
    }

    for name, marker in kinds.items():
        asked = questions.get(name)
        if asked:
            look: dict[str, Any] = {
                "s": size * 1.4,
                "c": [_score_colour(content.lanes[mark.lane][1]) for mark in asked],
                "edgecolors": _INK,
                "linewidths": 0.6,
                "zorder": 4,
            }
            entries.append((dots(asked, marker=marker, **look), f"question: {name}"))
    for jump in content.jumps:
        axes.axvline(
            jump, color=_GREY, linewidth=0.5, linestyle=(0, (1, 2)), zorder=0.5
        )
    if content.jumps:
        entries.append((axes.lines[-1], "time jump"))
    axes.set_ylim(lanes - 0.4, -1.6)
    axes.set_xlim(0, max(content.tokens, 1) * 1.01)
    room = _size_in_inches(part)[1] * 72 / (lanes + 6)
    # Names of lanes with less room than this, in points, would be illegible.
    if room > 2.5:
        names = [_plot_text(name, _LONGEST) for name, _ in content.lanes]
    else:
        names = [""] * lanes
    axes.set_yticks(
        range(-1, lanes) if any(names) else [-1],
        ["filler, opening", *filter(None, names)],
    )
    axes.tick_params(
        axis="y", length=0, labelsize=max(2.0, min(_scaled_points(8.0), 0.75 * room))
    )
    in_thousands = content.tokens > 5_000
    axes.xaxis.set_major_formatter(
        lambda value, _: (
            f"{value / 1000:g}k" if value and in_thousands else f"{value:g}"
        )
    )
    axes.set_xlabel("tokens of the conversation")
    axes.set_title(
        _plot_text(content.label, int((_size_in_inches(part)[0] - 2) / 0.11)),
        loc="left",
    )
    _draw_legend(part, entries)


def _score_colour(score: float | None) -> Any:
    return "white" if score is None else mpl.colormaps[_MAP](score)


def _credit_label(score: float | None) -> str:
    if score is None:
        return "no score"
    if score >= FULL_MARKS:
        return "full marks"
    if score > 0:
        return "partial credit"
    return "no credit"


# --- Paired differences.


def _draw_forest(part: SubFigure, content: Forest) -> None:
    reach = 0.1
    names = 0
    for row in chain.from_iterable(rows for _, rows in content.panels):
        reach = max(reach, *map(abs, (row.value, *(row.interval or ()))))
        names = max(names, len(row.name))
    all_axes = _panel_axes(part, len(content.panels), _FOREST, same_rows=False)
    for axes, (label, rows) in zip(all_axes, content.panels, strict=True):
        axes.axvline(0, color=_GREY, linewidth=0.8)
        # behind the mean, which is the first row
        axes.axhspan(-0.5, 0.5, color=_PALE, zorder=0)
        for y, row in enumerate(rows):
            better = row.value >= 0
            colour = _COLOURS[0] if row.value >= 0 else _COLOURS[1]
            if row.interval:
                axes.plot(
                    row.interval,
                    (y, y),
                    color=colour,
                    linewidth=1.2,
                    marker="|",
                    markersize=4,
                )
            size = _scaled_points(4.5 if y else 6)
            axes.plot(
                [row.value],
                [y],
                color=colour,
                marker="o" if better else "s",
                markersize=size,
            )
        axes.set_yticks(
            range(len(rows)), [_plot_text(row.name, _LONGEST) for row in rows]
        )
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="x", color=_PALE, linewidth=0.6)
        beside = axes.secondary_yaxis("right")
        beside.set_yticks(range(len(rows)), [row.pairs for row in rows])
        beside.tick_params(length=0, labelsize=_scaled_points(6.5), labelcolor=_GREY)
        for side in (axes, beside):
            side.spines[:].set_visible(False)
        axes.spines["bottom"].set_visible(True)
        axes.set_xlim(-1.06 * reach, 1.06 * reach)
        axes.set_title(
            _plot_text(
                label, _title_room(part, len(content.panels), _FOREST, names // 2)
            )
        )
    room = int(_size_in_inches(part)[0] * 72 / _scaled_points(_BODY) / 0.55)
    part.supxlabel(_plot_text(content.across, room), size=_scaled_points(_BODY))


_DRAWN: Mapping[type, Any] = {
    Curve: _draw_curve,
    Heat: _draw_heatmap,
    Timeline: _draw_timeline,
    Frontier: _draw_frontier,
    Forest: _draw_forest,
}
