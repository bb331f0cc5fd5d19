"""New LongMemEval questions without a model: user attributes mentioned in passing, golds by construction."""

from __future__ import annotations
