"""All distinct published definitions of version 3, by scenario, as folders that a run can play; half of them apart.

    python tests/samples/published_definitions.py DIR [first|second|both]

The first half is for work on scenarios; the second is for a look at the end.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from benchmark_data import GOODAI, lines_of

_PARTS = (
    "script",
    "is_question",
    "waits",
    "expected_responses",
    "can_be_interleaved",
    "is_temporal",
    "uses_callback",
)


def distinct() -> dict[str, list[dict[str, Any]]]:
    """Return the distinct definitions by published folder name, in a stable order (by hash)."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in lines_of(GOODAI / "definitions.jsonl.gz"):
        benchmark, _, folder, file = row["path"].split("/")[2:]
        if benchmark.startswith("Benchmark 3"):
            # without a script: generated at run time
            said = [row["script"], row["expected_responses"]] if row["script"] else file
            key = hashlib.sha256(json.dumps(said).encode()).hexdigest()
            found.setdefault(folder, {}).setdefault(
                key, {name: row[name] for name in _PARTS if name in row}
            )
    return {
        folder: [held[key] for key in sorted(held)]
        for folder, held in sorted(found.items())
    }


def write(into: Path, half: str = "both") -> Path:
    """Write one half, or both, as `into/<folder>/<n>.def.json`; return `into`."""
    for folder, definitions in distinct().items():
        kept = {
            "first": definitions[::2],
            "second": definitions[1::2],
            "both": definitions,
        }[half]
        (into / folder).mkdir(parents=True, exist_ok=True)
        for number, definition in enumerate(kept):
            (into / folder / f"{number}.def.json").write_text(
                json.dumps(definition), encoding="utf-8"
            )
    return into


if __name__ == "__main__":
    write(Path(sys.argv[1]), *sys.argv[2:])
