"""Pieces of HTML that reports share: an example's transcript, and how it is packed until somebody opens it."""

from __future__ import annotations

import base64
import gzip
from html import escape
from typing import TYPE_CHECKING

from pytest_ltm._clock import describe
from pytest_ltm.reporting._text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._result import ScenarioResult
    from pytest_ltm._transcript import Exchange

STYLE = """
svg.ltm text{font:12px system-ui,sans-serif;fill:currentColor}svg.ltm .in{fill:#fff;font-size:11px}
svg.ltm .axis{stroke:currentColor;stroke-opacity:.25;fill:none}svg.ltm .none{fill:none;
stroke:currentColor;stroke-opacity:.35}
.ltm-talk{border-left:3px solid #8884;margin:.5em 0;padding:.1em .8em;white-space:pre-wrap;overflow-wrap:anywhere}
.ltm-talk.asked{border-color:#2563eb}.ltm-talk b{font-weight:600}.ltm-gap{opacity:.7;font-size:.9em;margin:.2em .8em}
.ltm-verdict dt{font-weight:600;float:left;clear:left;min-width:8em}
.ltm-verdict dd{margin-left:8.5em;overflow-wrap:anywhere}
"""
"""What the fragments need; one rule a line is not worth the bytes."""

UNPACK = """
document.addEventListener('toggle',async e=>{const d=e.target;if(!d.dataset||!d.dataset.z||!d.open)return;
const b=Uint8Array.from(atob(d.dataset.z),c=>c.charCodeAt(0));delete d.dataset.z;
const s=new Blob([b]).stream().pipeThrough(new DecompressionStream('gzip'));
d.querySelector('div').innerHTML=await new Response(s).text()},true)
"""
"""Script that unpacks a fragment when it is opened: what it unpacks was escaped before it was packed."""


def packed(summary: str, fragment: str) -> str:
    """Return a foldable element that holds the fragment compressed until it is opened."""
    data = base64.b64encode(gzip.compress(fragment.encode(), 9, mtime=0)).decode()
    return f'<details class="ltm" data-z="{data}"><summary>{escape(summary)}</summary><div></div></details>'


def transcript(result: ScenarioResult, own: Sequence[Exchange], expected: str = "") -> str:
    """Return the verdict, and the example's own exchanges with the distance between them."""
    asked = {question.number for question in result.questions}
    parts = [_verdict(result, expected)]
    before: Exchange | None = None
    for exchange in own:
        if before is not None:
            parts.append(f'<p class="ltm-gap">… {escape(_distance(before, exchange))} …</p>')
        parts.append(_talk(exchange, asked=exchange.number in asked))
        before = exchange
    return "".join(parts)


def _verdict(result: ScenarioResult, expected: str) -> str:
    score = "none" if result.score is None else f"{result.score:.2f} (passes at {result.pass_mark:.2f})"
    facts = {
        "score": score,
        "why": result.reason,
        "checks": "; ".join(f"{'passed' if check.ok else 'FAILED'}: {check.label}" for check in result.checks),
        "decided by": result.evidence,
        "expected": expected,
        "rule": result.rule,
        "answer given": result.questions[-1].answer if result.questions else "",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in facts.items() if value)
    return f'<dl class="ltm-verdict">{rows}</dl>'


def _talk(exchange: Exchange, *, asked: bool) -> str:
    kind = "ltm-talk asked" if asked else "ltm-talk"
    return (
        f'<div class="{kind}">#{exchange.number} at {exchange.start:,} tokens, {exchange.now:%Y-%m-%d %H:%M}\n'
        f"<b>you:</b> {_text(exchange.message)}\n<b>agent:</b> {_text(exchange.reply)}</div>"
    )


def _distance(before: Exchange, after: Exchange) -> str:
    passed = counted(after.start - before.message_end, "token")
    time = after.now - before.now
    return f"{passed} and {describe(time)} later" if time else f"{passed} later"


def _text(value: str) -> str:
    return escape(printable(value))
