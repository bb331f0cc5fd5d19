"""Everything that pytest-ltm raises on purpose.

LtmError
 +- ConfigurationError   an option, ini value, marker or hook result that cannot work
 +- ScenarioError        a scenario that breaks the rules (asks nothing, waits backwards ...)
 +- DefinitionError      a definition, suite or scenario file that cannot be read
 +- DatasetError         a data set file that cannot be read
 +- AgentError           an object that cannot be used as an agent
 |   +- AgentFault       the agent did not answer: exception, timeout, None, not a text
 |       +- TransientFault  it did not answer now, but may if asked again
 +- ConversationOver     the conversation cannot continue: nothing more is sent in it
 |   +- Divergence       a resumed conversation does not repeat its journal
 |   +- DiskFault        the disk cannot be written: the run ends
 |   +- BudgetSpent      the budget of the run is spent
 +- FillerError          a filler that cannot fill
 +- Unmeasured           an example failed through something other than the agent: it is left unscored
 |   +- JudgeError       a judge that could not decide, failed, or is missing
 |   +- UserError        a simulated user that failed, or wrote no usable message
 +- TokenizerError       an encoding that is unknown or not available here
 +- LtmInternalError     our own bug
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pytest_ltm._core.storage.secrets import redact_secrets

# The maximum length of an error's text on one line, in characters.
_LONGEST = 300


class LtmError(Exception):
    """The root of all errors of this package; secrets are removed from its `words`, so that none is ever shown."""

    # Details of the failed call of foreign code.
    fatal = False
    """The conversation cannot continue after it."""
    interrupted = False
    """The call was interrupted, so its effect is unknown."""
    refused = False
    """A reply arrived, but could not be used."""
    passing = False
    """The same message may be answered later."""
    usage: Any = None
    """The Usage of failed attempts, as far as known."""
    leak = False
    """The agent revealed another user's data: the example fails, and the conversation continues."""
    account: Any = ""
    """How an unusable reply was produced (docs/replies.md); "" if no reply came."""

    def __init__(self, *words: object) -> None:
        super().__init__(
            *(redact_secrets(word) if isinstance(word, str) else word for word in words)
        )


class ConfigurationError(LtmError):
    """An option, ini value, marker or hook result that cannot work; becomes `pytest.UsageError`."""


class ScenarioError(LtmError):
    """A scenario that breaks the rules: asks nothing, waits backwards, speaks outside its body."""


class DefinitionError(LtmError):
    """A definition, suite or scenario file that cannot be read: names the file, the field and the expected value."""


class DatasetError(LtmError):
    """A data set file that cannot be read: names the file, the record and the expected value."""


class AgentError(LtmError):
    """An object given as an agent that cannot be used as one."""


class AgentFault(AgentError):
    """The agent did not answer a message; never scored as a zero.

    Args:
        message: What happened.
        fatal: Whether the conversation cannot continue after it.
        interrupted: Whether it was stopped in the middle of the message, so that what
            it remembers of it is unknown.
    """

    def __init__(
        self, message: str, *, fatal: bool = False, interrupted: bool = False
    ) -> None:
        super().__init__(message)
        self.fatal = fatal
        self.interrupted = interrupted


class TransientFault(AgentFault):
    """The agent did not accept the message now, but may if it is sent again; for adapters to raise.

    Args:
        message: What happened.
        retry_after: Seconds to wait before the next attempt; None if the agent gives
            none.
        taken: Whether it accepted the message after all.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, taken: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.taken = taken


class ConversationOver(LtmError):
    """The conversation cannot continue, through no fault of an example: unfinished examples were not reached."""


class Divergence(ConversationOver):
    """A resumed conversation does not repeat its journal."""


class DiskFault(ConversationOver):
    """The disk cannot be written: the run ends before another message is sent."""


class BudgetSpent(ConversationOver):
    """The budget of the run is spent: no further message is sent in any of its conversations."""


class FillerError(LtmError):
    """A filler that cannot fill: it adds no tokens, or its source cannot be read."""


# Why an example has no score: it could not be judged; nothing is proven; the judge gave
# no grade; an evaluator ran out of time; the judge or a simulated user failed; a judge,
# or a capability of the agent, is missing.
WhyUnscored: TypeAlias = Literal[
    "unscored", "undecided", "ungraded", "evaluator", "judge", "user", "requires"
]


class Stopped(KeyboardInterrupt):
    """The pytest session is stopping, and another message was about to be sent; passes wherever Ctrl-C does."""


class Unmeasured(LtmError):
    """An example failed through something other than the agent: it is left unscored, never a zero.

    Args:
        message: What happened.
        cause: The party at fault, as in results.
    """

    def __init__(self, message: str, *, cause: WhyUnscored) -> None:
        super().__init__(message)
        self.cause = cause


class JudgeError(Unmeasured):
    """A judge that did not give a grade: never scored as a zero.

    Args:
        message: What happened.
        cause: "judge" if the judge failed, "ungraded" if it gave no grade, "unscored"
            if its grade cannot be used, "requires" if there is none.
    """

    def __init__(self, message: str, *, cause: WhyUnscored = "judge") -> None:
        super().__init__(message, cause=cause)


class UserError(Unmeasured):
    """A simulated user without a usable message: never scored as a zero.

    Args:
        message: What happened.
        cause: "user" if its model failed, "unscored" if its message cannot be used.
    """

    def __init__(self, message: str, *, cause: WhyUnscored = "user") -> None:
        super().__init__(message, cause=cause)


class TokenizerError(LtmError):
    """An encoding that is unknown or not available here."""


class LtmInternalError(LtmError):
    """A bug in pytest-ltm, never the agent's or the scenario's; `message` says what happened."""

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message} (a bug in pytest-ltm: please report it with this text)"
        )


class Traceback(Exception):
    """A traceback from the agent's process."""


def did_you_mean(wrong: str, names_known: object) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, else ""."""
    nearest = nearest_name(wrong, names_known)
    return f" Did you mean {nearest!r}?" if nearest else ""


def nearest_name(wrong: str, names_known: object) -> str:
    """Return the known name that begins with `wrong` or is nearest to it, else ""."""
    import difflib

    names = sorted(map(str, names_known))  # type: ignore[call-overload]
    continued = [name for name in names if name.startswith(f"{wrong}-")]
    near = continued or difflib.get_close_matches(wrong, names, n=1)
    return near[0] if near else ""


def text_of(error: BaseException) -> str:
    """Return the text of an exception, even if its `__str__` fails."""
    try:
        # `__str__` may return a `str` with methods of its own.
        return str.__str__(str(error))
    except (Exception, SystemExit, GeneratorExit):  # noqa: BLE001 - an error message must not fail on what it reports
        return "(its text cannot be read)"


def describe_error(error: BaseException) -> str:
    """Return type and text of an exception on one printable line of limited length, even if its `__str__` fails."""
    # Before it is cut: half a secret is not recognised.
    text = redact_secrets(text_of(error)).strip().partition("\n")[0].rstrip()
    if isinstance(error, SyntaxError) and isinstance(error.text, str):
        text = f"{text}: {redact_secrets(error.text.strip())}"
    name = type(error).__name__
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    # Control characters of a foreign text must not affect the terminal that shows the
    # error.
    short = "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in short
    )
    # The first exception of a group: the group's own text only counts them.
    parts = getattr(error, "exceptions", None)
    within = ""
    if isinstance(parts, tuple) and parts and isinstance(parts[0], BaseException):
        within = f" [{describe_error(parts[0])}]"
    return f"{name}: {short}{within}" if short else f"{name}{within}"


def cure_for(error: BaseException) -> str:
    """Return a cure for an error caused by where the user's code runs; else ""."""
    if isinstance(error, EOFError):
        return ". It reads from the keyboard, which nobody uses here: return the reply instead"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f". Install it into {sys.prefix}, or correct the name {package!r}"
    if isinstance(error, ImportError) and "relative import" in text_of(error):
        return ". Name it with its package, from the folder above: 'package.module:Bot'"
    if isinstance(error, KeyError) and _is_of_environment(error):
        return ". Set that environment variable"
    return ""


def _is_of_environment(error: KeyError) -> bool:
    """Return whether the error comes from looking up an environment variable that is not set."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_frame.f_globals.get("__name__") == "os"


def line_of_error(error: BaseException, ours: tuple[str, ...] = ()) -> str:
    """Return where the user's code raised, ` (bot.py:3)`; "" if none of it ran.

    `ours`: path prefixes to ignore. A line of the user's own code is preferred to one
    of an installed package.
    """
    import sysconfig

    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<frozen ", *ours))
    ]
    installed = tuple(map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))
    project = [frame for frame in frames if not frame.filename.startswith(installed)]
    nearest = (project or frames)[-1:]
    return "".join(
        f" ({Path(frame.filename).name}:{frame.lineno})" for frame in nearest
    )


for _public in (
    LtmError,
    ConfigurationError,
    ScenarioError,
    DefinitionError,
    DatasetError,
    AgentError,
    AgentFault,
    TransientFault,
    FillerError,
    JudgeError,
    UserError,
    TokenizerError,
    LtmInternalError,
):
    # The module that users import it from, as shown in tracebacks and pytest's summary.
    _public.__module__ = "pytest_ltm"
