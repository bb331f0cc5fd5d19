"""What a judge is asked, by prompts with versions, and how its word becomes a grade; who it is, is in `judges/`."""

from pytest_ltm._judge._ask import AnsweredBy, Decision, ask_judge, decide
from pytest_ltm._judge._fake import FakeJudge
from pytest_ltm._judge._fence import fenced
from pytest_ltm._judge._grades import parse_grade
from pytest_ltm._judge._handle import LtmJudge, Opinion
from pytest_ltm._judge._inquiry import Inquiry, Judge, Prompt
from pytest_ltm._judge._prompts import PROMPTS

__all__ = [
    "PROMPTS",
    "AnsweredBy",
    "Decision",
    "FakeJudge",
    "Inquiry",
    "Judge",
    "LtmJudge",
    "Opinion",
    "Prompt",
    "ask_judge",
    "decide",
    "fenced",
    "parse_grade",
]
