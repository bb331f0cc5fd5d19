"""Histories of any length: evidence sessions at random places among fillers, dated, from a seed."""

from __future__ import annotations
