"""The report file of our own: one HTML page about one or many runs, which opens offline."""

from __future__ import annotations

from pytest_ltm.reports.html.page import build_report

__all__ = ["build_report"]
