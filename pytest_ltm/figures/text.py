"""Text for a terminal: measured in columns, shortened, wrapped; numbers in readable form."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from math import floor, log10

from pytest_ltm.api.journal import Automatic, ScenarioResult
from pytest_ltm.api.storage import describe_duration, lazy_pattern, pluralize
from pytest_ltm.figures.statistics.totals import FULL_MARKS

# Texts of ASCII, Latin letters and typographic signs take one column per character.
_NARROW = lazy_pattern(
    "[\\n -~\\xa1-\\xac\\xae-\\u02ff\\u2010-\\u2027\\u2030-\\u205e]*"
)
# Shown in place of a missing number.
NOTHING = "-"
# Smaller dollar amounts are shown with two significant digits.
_CENTS = 0.1


def columns_of(text: str) -> int:
    """Return the terminal columns of printable text; a line feed counts as one, like a blank."""
    if _is_narrow(text):
        return len(text)
    # imported here and below: its tables load slowly, and few texts need them
    from wcwidth import wcswidth

    return wcswidth(text.replace("\n", " "))


def _is_narrow(text: str) -> bool:
    return text.isascii() or _NARROW.fullmatch(text) is not None


def pad_right(text: str, width: int) -> str:
    """Return the text padded with blanks on the right."""
    return text + " " * (width - columns_of(text))


def pad_left(text: str, width: int) -> str:
    """Return the text padded with blanks on the left."""
    return " " * (width - columns_of(text)) + text


def clip_text(text: str, width: int) -> str:
    """Return the start of the text in at most `width` columns, with `…` if something is missing."""
    if columns_of(text) <= width:
        return text
    return _fitting_part(text, width - 1) + "…"


def shorten_text(text: str, width: int, keep: str = "", mark: str = " … ") -> str:
    """Return start and end of the text in at most `width` columns, and `keep` if present; `mark` replaces the rest.

    The result is wider only if `keep` itself is.
    """
    if columns_of(text) <= width:
        return text
    position = text.find(keep) if keep else -1
    if position < 0:
        room = max(width - columns_of(mark), 2)
        return f"{_fitting_part(text, room - room // 2)}{mark}{_fitting_part(text, room // 2, ends=True)}"
    head = text[:position]
    after = text[position + len(keep) :]
    room = max(width - columns_of(keep), 0)
    width_before = min(room // 2, columns_of(head))
    return f"{_shorten_around(head, width_before)}{keep}{_shorten_around(after, room - width_before)}"


def wrap_text(text: str, width: int, indent: str = "") -> list[str]:
    """Return lines of at most `width` columns; those after the first begin with `indent`.

    Breaks at blanks, and inside a word only if it is longer than a line; line feeds in the text stay.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = indent if lines else ""
        fresh = True
        for word in paragraph.split(" "):
            piece = word if fresh else " " + word
            if not fresh and columns_of(line + piece) > width:
                lines.append(line)
                line = indent
                piece = word
            line += piece
            fresh = False
            # An indent that leaves no room would break words forever.
            while columns_of(line) > width > columns_of(indent) + 1:
                head = _fitting_part(line, width)
                lines.append(head)
                line = indent + line[len(head) :]
        lines.append(line)
    return lines


def wrap_texts(texts: Iterable[str], width: int, indent: str = "") -> list[str]:
    """Return the lines of several texts, each wrapped as by `wrap_text`."""
    lines: list[str] = []
    for text in texts:
        lines += wrap_text(text, width, indent)
    return lines


def score_text(score: float, upper: float | None = None) -> str:
    """Return `0.67`, or `0.50 to 0.75` if the score is partly open.

    Only full marks read 1.00 (including 2/3 + 1/3), and only zero reads 0.00.
    """
    if upper is not None:
        return f"{score_text(score)} to {score_text(upper)}"
    rounded = f"{score:.2f}"
    # Readers take 1.00 for full marks, so a score that only rounds to it must look
    # different.
    if rounded == "1.00" and score < FULL_MARKS:
        return "0.99"
    return "0.01" if rounded == "0.00" and score > 0 else rounded


def verdict_text(verdict: ScenarioResult | Automatic, without: str = "no score") -> str:
    """Return the score of a verdict as text; `without` replaces a missing one."""
    if verdict.score is None:
        return without
    return score_text(verdict.score, verdict.upper)


def short_count(number: int) -> str:
    """Return a count in at most seven columns: `12,345`, `123.4k`, `1.40M`."""
    if number < 100_000:
        return f"{number:,}"
    if number < 999_950:
        return f"{number / 1_000:.1f}k"
    return f"{number / 1_000_000:.2f}M"


def span_of_time(seconds: float) -> str:
    """Return a duration in its two largest units: `45s`, `20m`, `5h 20m`, `2d 3h`."""
    # A scenario may wait longer than timedelta can hold.
    duration = timedelta(
        seconds=min(round(seconds), timedelta.max // timedelta(seconds=1))
    )
    if duration < timedelta(minutes=1):
        return f"{duration.seconds}s"
    hours, seconds_left = divmod(duration.seconds, 3600)
    parts = [(duration.days, "d"), (hours, "h"), (seconds_left // 60, "m")]
    while not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{number}{unit}" for number, unit in parts[:2] if number)


def format_percent(share: float | None) -> str:
    """Return `67%`; only full marks read 100%, only zero reads 0%; `-` for None."""
    if share is None:
        return NOTHING
    return f"{100 * float(score_text(share)):.0f}%"


# Smaller amounts would be zero with four decimals.
_LEAST_EXACT = 0.00005


def format_dollars(amount: float) -> str:
    """Return `12.30`; small amounts with two significant digits."""
    if amount >= _CENTS or not amount:
        return f"{amount:,.2f}"
    return f"{amount:.{1 - floor(log10(amount))}f}".rstrip("0")


def exact_dollars(amount: float) -> str:
    """Return `12.30`, and amounts below a dollar with four decimals."""
    if 0 < amount < _LEAST_EXACT:
        return format_dollars(amount)
    if amount >= 1 or not amount:
        return f"{amount:,.2f}"
    return f"{amount:.4f}"


def format_distance(tokens: int, time: timedelta) -> str:
    """Return the distance between two messages: `1 token`, `1,200 tokens and 2:00:00`."""
    return pluralize(tokens, "token") + (
        f" and {describe_duration(time)}" if time else ""
    )


def text_of(value: object) -> str:
    """Return a JSON value as text; strings are returned unchanged."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _shorten_around(text: str, room: int) -> str:
    """Return the ends of a text, shortened to fit next to the kept part."""
    if columns_of(text) <= room:
        return text
    return shorten_text(text, room) if room > 5 else "…"[:room]


def _fitting_part(text: str, width: int, *, ends: bool = False) -> str:
    """Return as much of the start or end of a text as fits, without splitting a displayed character."""
    fitting = max(width, 0)
    if not _is_narrow(text):
        from wcwidth import iter_graphemes, iter_graphemes_reverse

        fitting = 0
        for cluster in iter_graphemes_reverse(text) if ends else iter_graphemes(text):
            width -= columns_of(cluster)
            if width < 0:
                break
            fitting += len(cluster)
    if ends:
        return text[max(len(text) - fitting, 0) :]
    return text[:fitting]


# Smaller p-values are shown as an inequality.
_TINY = 0.001


def p_text(p: float) -> str:
    """Return `= 0.030` or `< 0.001`."""
    return "< 0.001" if p < _TINY else f"= {p:.3f}"
