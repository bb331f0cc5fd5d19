"""A judge for LongMemEval answers outside of a run."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._judge import Decision, decide
from pytest_ltm.agents._retry import Retries
from pytest_ltm.datasets.longmemeval._judging import prompt_for
from pytest_ltm.datasets.rulings._ruling import Ruling
from pytest_ltm.judges._call import JudgeCall
from pytest_ltm.judges._specs import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ltm._dataset_commands._longmemeval_rows import Answered
    from pytest_ltm._judge import Inquiry

RETRIES = 4
TIMEOUT = 300.0
"""Seconds for one reply."""


@contextmanager
def judging(spec: str) -> Iterator[Callable[[Answered], Ruling]]:
    """Give what asks a judge about an answer; ConfigurationError if there is no such judge."""
    judge = find(spec, base=Path.cwd())
    if judge is None:
        raise ConfigurationError("--ltm-judge=none judges nothing")
    call = JudgeCall(judge.judge, timeout=TIMEOUT, retries=Retries(most=RETRIES, rng=Random()))

    def ask(inquiry: Inquiry) -> str:
        return call(inquiry).text

    try:
        yield lambda one: _judged(one, ask)
    finally:
        call.close()


def _judged(one: Answered, ask: Callable[[Inquiry], str]) -> Ruling:
    prompt = prompt_for(one.question_id, one.question_type)
    inquiry = prompt.inquiry(question=one.question, reference=str(one.answer), answer=one.hypothesis)
    decision = decide(ask, inquiry, votes=1)
    if isinstance(decision, Decision):
        return Ruling("yes" if decision.grade == "yes" else "no", str(decision))
    return Ruling("unscored", decision.reason)
