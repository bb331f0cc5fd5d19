"""The HTML report: one self-contained page about one or more runs, which opens offline."""

from __future__ import annotations

from pytest_ltm.reports.html.page import build_report

__all__ = ["build_report"]
