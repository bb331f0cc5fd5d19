"""Inquiry: one question to a judge; Prompt: what it is made from; Judge: who answers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import Formatter
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pytest_ltm._judge._fence import fenced

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm.agents._protocols import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """One question to a judge, as it is asked."""

    prompt: str
    """The name of the prompt that it was made from."""
    version: int
    text: str
    """The whole question, the agent's words fenced; it says how the reply is to end."""
    grades: tuple[str, ...]
    """What the judge may say, in lower case."""
    fail: str
    """The grade that means failure: only this one is confirmed by further votes."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What was put into the prompt, for judges that are no language models."""
    vote: int = 0
    """How often the same was asked before."""


@runtime_checkable
class Judge(Protocol):
    """Gives its opinion of an agent's answer."""

    def assess(self, inquiry: Inquiry, /) -> str | Reply:
        """Return the whole reply to `inquiry.text`, which ends with a line such as `GRADE: yes`.

        A `pytest_ltm.Reply` tells usage and cost, too. Raises whatever its model's client raises: that leaves
        the example Unscored, and is never a zero.
        """
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question for a judge, with a name and a version of its own."""

    name: str
    version: int
    text: str
    """Names its parts as `{part}`."""
    grades: tuple[str, ...] = ("yes", "no")
    """What the judge may say after `GRADE:`, in lower case."""
    fail: str = "no"
    """The grade that means failure."""
    quoted: tuple[str, ...] = ("answer",)
    """The parts that an agent wrote: fenced, so that nothing in them can pass for our words."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what is filled in, in the order in which the text has them."""
        return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(self.text) if name))

    @property
    def id(self) -> str:
        """`answer/1`."""
        return f"{self.name}/{self.version}"

    def inquiry(self, **parts: str) -> Inquiry:
        """Return the question about these parts."""
        return Inquiry(
            prompt=self.name, version=self.version, text=self.fill(**parts), grades=self.grades, fail=self.fail,
            parts=parts,
        )  # fmt: skip

    def fill(self, **parts: str) -> str:
        """Return the text with its parts, and with the way in which the reply is to end."""
        shown = {name: fenced(part, name.upper()) if name in self.quoted else part for name, part in parts.items()}
        whole = self.text.format_map(shown)
        menu = " or ".join(f"GRADE: {grade}" for grade in self.grades)
        return f"{whole}\n\nThink first, in at most three sentences. Then end with one line, {menu}."
