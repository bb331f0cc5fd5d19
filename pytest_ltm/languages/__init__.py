"""Languages that scenarios are told and asked in: one folder of data for each."""

from pytest_ltm.languages._gloss import Gloss
from pytest_ltm.languages._heard import heard
from pytest_ltm.languages._language import CODES, ENGLISH, Language, Spoken, language, several, spoken

__all__ = ["CODES", "ENGLISH", "Gloss", "Language", "Spoken", "heard", "language", "several", "spoken"]
