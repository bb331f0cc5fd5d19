"""`--ltm-live`: failures of the page leave the run unchanged."""

from __future__ import annotations

import pytest
from conftest import Project

RUN = ("--ltm-agent=echo", "--ltm-span=300", "--ltm-suite=hygiene", "--ltm-examples=1")


def test_without_the_extra_the_run_says_so_and_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = project.path / "missing"
    missing.mkdir()
    (missing / "starlette.py").write_text(
        "raise ModuleNotFoundError('none here', name='starlette')"
    )
    monkeypatch.setenv("PYTHONPATH", str(missing))
    result = project.pytest("--ltm-live", *RUN)
    result.stdout.fnmatch_lines(["*no live view*pip install 'pytest-ltm[[]web]'"])
    result.stdout.fnmatch_lines(["echo at 300: *"])


def test_a_dry_run_has_nothing_to_show(project: Project) -> None:
    result = project.pytest("--ltm-live", "--ltm-dry-run", *RUN)
    assert result.ret == 0
    assert "live at" not in result.stdout.str()
