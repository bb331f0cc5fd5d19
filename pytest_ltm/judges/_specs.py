"""Judges by name: what `--ltm-judge` may say, looked up."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._dotted import DottedPath, is_dotted
from pytest_ltm._errors import ConfigurationError, LtmError, did_you_mean, told
from pytest_ltm._judge import PROMPTS, Judge
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._powers import takes
from pytest_ltm.agents._protocols import Configured
from pytest_ltm.judges._fixed import Always
from pytest_ltm.judges._rules import RulesJudge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_ltm._judge import Inquiry

NONE = "none"
EMBEDDED: Mapping[str, Callable[[], Judge]] = {
    "rules": RulesJudge,
    "always-yes": lambda: Always(yes=True),
    "always-no": lambda: Always(yes=False),
}
"""Judges that need no model: what a judge must beat."""


@dataclass(frozen=True, slots=True)
class NamedJudge:
    """A judge with what is known about it."""

    spec: str
    judge: Judge
    configuration: Mapping[str, Any] | None
    """What its replies depend on, JSON values without secrets; None where it does not tell: no reply is kept then."""

    @property
    def described(self) -> str:
        """What a plan says: the spec, and the versions of the prompts."""
        return f"{redacted(self.spec)} ({', '.join(prompt.id for prompt in PROMPTS.values())})"


@dataclass(frozen=True, slots=True)
class FunctionJudge:
    """A plain function from a question to the whole reply, as a judge."""

    function: Callable[[str], Any]

    def assess(self, inquiry: Inquiry, /) -> Any:
        """Return what the function makes of the question."""
        return self.function(inquiry.text)


def find(spec: str, *, base: Path | None = None) -> NamedJudge | None:
    """Return the judge that a spec names, None for `none`; ConfigurationError with a cure if there is none such.

    `base` is where modules are looked for that are not on `sys.path`.
    """
    name, colon, argument = spec.partition(":")
    if spec == NONE:
        return None
    if spec in EMBEDDED:
        return NamedJudge(spec, EMBEDDED[spec](), None)
    if name == "openai" and colon:
        from pytest_ltm.judges._openai import openai_judge  # noqa: PLC0415 - only whoever asks a model pays for it

        return _named(spec, openai_judge(argument))
    names = [NONE, *EMBEDDED, "openai:MODEL"]
    hint = did_you_mean(spec, names)
    if not is_dotted(spec):
        raise ConfigurationError(
            f"unknown judge {spec!r}.{hint} There are {', '.join(names)}; any other is a dotted path, as mypkg:Judge"
        )
    return _named(
        spec, _adapted(DottedPath(spec, what="judge", error=ConfigurationError, hint=hint).resolve(base), spec)
    )


def _named(spec: str, judge: Judge) -> NamedJudge:
    return NamedJudge(spec, judge, judge.configuration() if isinstance(judge, Configured) else None)


def _adapted(found: Any, spec: str) -> Judge:
    """Return what a dotted path names as a judge; a class or a function without arguments is called."""
    if inspect.isclass(found) or (not isinstance(found, Judge) and takes(found, 0)):
        try:
            found = found()
        except LtmError:
            raise
        except Exception as error:
            raise ConfigurationError(f"judge {spec!r} cannot be made: {told(error)}") from error
    if isinstance(found, Judge):
        return found
    if takes(found, 1):
        return FunctionJudge(found)
    raise ConfigurationError(
        f"judge {spec!r} is a {type(found).__name__}, which cannot judge. It needs assess(inquiry) -> str, or to be a "
        "function from the question to the reply"
    )
