"""A badge: what one agent earned in a run, in a few words, as SVG or as the JSON of an endpoint badge."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from pytest_ltm._journal.result import at_span
from pytest_ltm._results.text import clip_text, columns_of
from pytest_ltm._storage.sanitize import escape_unprintable
from pytest_ltm._storage.secrets import redact_secrets

if TYPE_CHECKING:
    from pytest_ltm.reporting.history import HistoricalScore, Past


UNMEASURABLE, INCOMPLETE = "unmeasurable", "incomplete"
GREY = "grey"
# By what an endpoint badge calls them, mostly: white text on each has a contrast of at least 4.5:1.
COLOURS = {"green": "#1e7b34", "olive": "#6a7000", "amber": "#9a5b00", "red": "#b3261e", GREY: "#5f6368"}
_LABEL = "#3d4247"
# What endpoint badges call those that they have another name for.
_NAMES = {"olive": "yellowgreen", "amber": "orange", GREY: "lightgrey"}
# Columns of a label.
_LONGEST = 60


class Badge(Struct, frozen=True, kw_only=True):
    """What a badge says."""

    label: str
    message: str
    colour: str
    """One of COLOURS."""
    title: str
    """What is shown where a pointer rests on it."""


def badge_of(past: Past, standing: HistoricalScore | None, label: str = "") -> Badge:
    """Return the badge of what an agent earned in a run; None: nothing is known of that.

    It has a score only where the run came to its end and lost nothing.
    """
    where = at_span(standing.agent, standing.span_label) if standing else past.name
    message, colour, why = _badge_message(past, standing)
    facts = [f"{past.name}, {past.at:%Y-%m-%d}" if past.at else past.name]
    if past.source is not None:
        facts.append(f"commit {past.source.commit[:7]}")
    facts += [why] * bool(why)
    return Badge(
        label=clip_text(_xml_text(label or f"memory of {where}"), _LONGEST),
        message=message,
        colour=colour,
        title=_xml_text(f"{where}: {message} ({'; '.join(facts)})"),
    )


def _badge_message(past: Past, standing: HistoricalScore | None) -> tuple[str, str, str]:
    """Return the message, its colour, and the reason where there is no score."""
    shard = next((note for note in past.notes if note.startswith("shard")), "")
    if shard or past.state in ("interrupted", "in progress"):
        return INCOMPLETE, GREY, shard or past.why
    if past.state != "finished" or standing is None:
        return UNMEASURABLE, GREY, past.why or past.state
    if standing.unmeasured or past.gate == "unmeasurable":
        return UNMEASURABLE, GREY, standing.unmeasured or "the gate could not be measured"
    said, interval = f"{standing.points} of {standing.full}", standing.interval
    # A badge stands without context: how sure the number is belongs on it.
    if not interval:
        said += ", one conversation"
    elif standing.low == standing.high:
        low, high = (share * standing.full for share in (interval.low, interval.high))
        said += f" ({low:.2f} to {high:.2f})"
    said += ", bundled agent" * (not standing.own)  # a label may hide its name
    if past.gate in ("regressed", "failed"):
        return f"{said}, {past.gate}", "red", ""
    share = standing.share or 0.0
    return said, next(colour for least, colour in _SCALE if share >= least), ""


# The colour of a share of full marks, from what share on.
_SCALE = ((0.8, "green"), (0.6, "olive"), (0.3, "amber"), (0.0, "red"))
_NO_XML = re.compile("[\ufffe\uffff]")


def _xml_text(text: str) -> str:
    """Return a text of one line that any XML file may hold."""
    return _NO_XML.sub("?", escape_unprintable(redact_secrets(" ".join(text.split()))))


def badge_endpoint(badge: Badge) -> dict[str, Any]:
    """Return the badge as JSON values for an endpoint badge."""
    colour = _NAMES.get(badge.colour, badge.colour)
    return {"schemaVersion": 1, "label": badge.label, "message": badge.message, "color": colour}


def endpoint_json(badge: Badge) -> str:
    """Return the same as the text of a file."""
    return json.dumps(badge_endpoint(badge), indent=1) + "\n"


_LETTER, _PAD, _HEIGHT = 6.2, 7, 20
"""Pixels: of a column of text, on either side of it, and of all."""


def badge_svg(badge: Badge) -> str:
    """Return the badge as an SVG file that needs nothing else."""
    left, right = (round(columns_of(text) * _LETTER) for text in (badge.label, badge.message))
    at, width = left + 2 * _PAD, left + right + 4 * _PAD
    reply = f"{badge.label}: {badge.message}"
    words = ((_PAD, left, badge.label), (at + _PAD, right, badge.message))
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{room}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        for x, room, text in words
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" viewBox="0 0 {width} {_HEIGHT}" '
        f'role="img" aria-label={quoteattr(reply)}>'
        f"<title>{escape(badge.title)}</title>"
        f'<path fill="{_LABEL}" d="M{at} 0H3a3 3 0 0 0-3 3v14a3 3 0 0 0 3 3H{at}z"/>'
        f'<path fill="{COLOURS[badge.colour]}" d="M{at} 0H{width - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{at}z"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )
