"""Languages that scenarios are told and asked in: one folder of data for each."""

from pytest_ltm.locales._detection import heard
from pytest_ltm.locales._language import CODES, ENGLISH, Language, Spoken, language, several, spoken
from pytest_ltm.locales._word_translation import Gloss

__all__ = ["CODES", "ENGLISH", "Gloss", "Language", "Spoken", "heard", "language", "several", "spoken"]
