"""What judges have said before, on disk: a file for each question, found by its content."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ltm._judge import Inquiry

FORMAT = 1


def content_key(configuration: Mapping[str, Any], inquiry: Inquiry, trial: str) -> str:
    """Return the SHA-256 of all that a reply may depend on: who is asked, the whole question, vote and trial."""
    content = {
        "format": FORMAT, "judge": configuration, "prompt": inquiry.prompt, "version": inquiry.version,
        "text": inquiry.text, "grades": inquiry.grades, "vote": inquiry.vote, "trial": trial,
    }  # fmt: skip
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class JudgeCache:
    """A folder of small JSON files; any number of processes may read and write it at once.

    A file holds the reply with its usage and cost, never the question: that is only in its name, as a hash. Files
    are replaced whole; one that cannot be read counts as not there. The folder may be deleted at any time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, key: str) -> dict[str, Any] | None:
        """Return what was remembered under a key, None if nothing was."""
        try:
            found = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("reply"), str) else None

    def keep(self, key: str, record: Mapping[str, Any]) -> None:
        """Remember a record; a full disk or a folder that cannot be written costs the memory, not the run."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", errors="backslashreplace", dir=path.parent, suffix=".new", delete=False
            ) as file:
                file.write(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
            os.replace(file.name, path)  # noqa: PTH105 - the name is a text
        except OSError:
            return

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"
