"""Languages of scenarios: texts to say, detection of a text's language, meanings.

Each is a folder of data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.locales.codes import CODES, parse_language_list
    from pytest_ltm.locales.phrasing import capital, either, filled, variants, worded
    from pytest_ltm.locales.spoken import (
        ENGLISH,
        Gloss,
        Language,
        Spoken,
        detect_language,
        load_language,
        parse_languages,
    )

__all__ = [
    "CODES",
    "ENGLISH",
    "Gloss",
    "Language",
    "Spoken",
    "capital",
    "detect_language",
    "either",
    "filled",
    "load_language",
    "parse_language_list",
    "parse_languages",
    "variants",
    "worded",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "codes": "CODES parse_language_list",
        "spoken": "ENGLISH Gloss Language Spoken detect_language load_language parse_languages",
        "phrasing": "capital either filled variants worded",
    },
)
