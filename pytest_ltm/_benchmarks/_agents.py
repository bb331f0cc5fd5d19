"""The agent that benchmarks talk to: what a run then costs is pytest-ltm's own."""

from __future__ import annotations


class Ready:
    """Answers at once, with one short text."""

    def reply(self, message: str) -> str:  # noqa: ARG002 - what is said does not matter
        """Return `OK.`, whatever is said."""
        return "OK."
