"""New conversations in LoCoMo's schema, with unpublished questions, evidence and gold answers.

The pipeline of Maharana et al. (2024, section 3): personas, event graphs with causes, dated sessions of two speakers,
photos as captions, checks of consistency. Either from templates and a seed (`dialogue`), or with a model
(`model_text`).
"""

from __future__ import annotations

from pytest_ltm.lab.locomo.dialogue import Generated, Size, generate_conversation

__all__ = ["Generated", "Size", "generate_conversation"]
