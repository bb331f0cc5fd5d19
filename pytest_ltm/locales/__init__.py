"""Languages that scenarios are told and asked in: one folder of data for each."""

from pytest_ltm.locales._language import (
    CODES,
    ENGLISH,
    Language,
    Spoken,
    detect_language,
    load_language,
    parse_language_list,
    parse_languages,
)
from pytest_ltm.locales._word_translation import Gloss

__all__ = [
    "CODES",
    "ENGLISH",
    "Gloss",
    "Language",
    "Spoken",
    "detect_language",
    "load_language",
    "parse_language_list",
    "parse_languages",
]
