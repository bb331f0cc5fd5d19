"""The five categories of LoCoMo's questions, by number and name (Maharana et al., 2024, section 4.1).

Several harnesses have the mapping wrong: in the published file 1 is multi-hop and 4 is single-hop.
"""

from __future__ import annotations

from enum import IntEnum


class Category(IntEnum):
    """A question's category, numbered as in the file."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5

    @property
    def label(self) -> str:
        """The name that reports use: `multi-hop`, `temporal`, ..."""
        return self.name.lower().replace("_", "-")
