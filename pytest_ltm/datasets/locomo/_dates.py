"""Dates as LoCoMo writes them: `1:56 pm on 8 May, 2023`."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_DATE = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([A-Za-z]+),?\s+(\d{4})\s*", re.IGNORECASE)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_MONTH = {name[:3].lower(): number for number, name in enumerate(MONTHS, start=1)}
_NOON = 12


def read_date(text: str) -> datetime | None:
    """Return the aware (UTC) date that the text gives, None if it gives none."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    hour, minute, half, day, month, year = found.groups()
    number = _MONTH.get(month[:3].lower())
    if number is None or not 1 <= int(hour) <= _NOON:
        return None
    try:
        return datetime(
            int(year), number, int(day), int(hour) % _NOON + _NOON * (half.lower() == "p"), int(minute),
            tzinfo=timezone.utc,
        )  # fmt: skip
    except ValueError:
        return None


def written(at: datetime) -> str:
    """Return the date as the data set writes it."""
    hour = at.hour % _NOON or _NOON
    return f"{hour}:{at.minute:02} {'am' if at.hour < _NOON else 'pm'} on {at.day} {MONTHS[at.month - 1]}, {at.year}"
