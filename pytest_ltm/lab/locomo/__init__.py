"""New conversations in LoCoMo's schema, with questions, evidence and gold answers that nobody has seen before.

The pipeline of Maharana et al. (2024, section 3): personas, event graphs with causes,
dated sessions of two speakers, photos as captions, checks of consistency. Either from
templates and a seed (`conversation`), or with a model (`modelled`).
"""

from __future__ import annotations

from pytest_ltm.lab.locomo.dialogue import Generated, Size, generate_conversation

__all__ = ["Generated", "Size", "generate_conversation"]
