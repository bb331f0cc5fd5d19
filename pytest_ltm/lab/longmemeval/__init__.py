"""New LongMemEval questions without a model: users' attributes told in passing, and golds by construction."""

from __future__ import annotations
