"""Data in a page: JSON that cannot leave its script element, and parcels that stay compressed until opened."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from pytest_ltm.reporting._text import printable

_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def script_json(value: object) -> str:
    r"""Return JSON that is safe inside a script element: ASCII without `<`, `>` and `&`; texts are harmless."""
    return _dump(value).translate(_ESCAPES)


def parcel(value: object) -> str:
    """Return the JSON value compressed, in base64; equal values give equal parcels."""
    return base64.b64encode(gzip.compress(_dump(value).encode(), 9, mtime=0)).decode()


def opened(text: str) -> Any:
    """Return what `parcel` packed."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def harmless(value: Any) -> Any:
    """Return the JSON value with control characters in its texts as visible escapes."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): harmless(part) for key, part in value.items()}
    return [harmless(part) for part in value] if isinstance(value, list | tuple) else value


def _dump(value: object) -> str:
    return json.dumps(harmless(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
