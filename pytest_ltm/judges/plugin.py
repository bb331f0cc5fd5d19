"""Judges by their specs: models, the rules, and objects of dotted paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.judges.judge_registry import NamedJudge


@hookimpl(trylast=True)
def pytest_ltm_make_judge(config: pytest.Config, spec: str) -> NamedJudge | None:
    """Return the judge that a spec names, None for `none`; JudgeError if there is none."""
    from pytest_ltm.judges.judge_registry import find_judge

    return find_judge(spec, base=config.rootpath)
