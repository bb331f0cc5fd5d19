"""The published data of the benchmarks, looked for next to the checkout and never part of the project.

A test that needs it is marked `published` and is skipped where the data is missing.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
ABSENT = f"the published data is not at {DATA}"
GOODAI = DATA / "goodai"
LOCOMO = DATA / "locomo"
LONGMEMEVAL = DATA / "longmemeval"
TOMI = DATA / "tomi"
TRIVIAQA = DATA / "filler" / "triviaqa.json"


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects of a file with one per line, compressed or not."""
    data = path.read_bytes()
    return [
        json.loads(line)
        for line in (
            gzip.decompress(data) if path.suffix == ".gz" else data
        ).splitlines()
    ]
