"""Judges by name: what `--ltm-judge` may say, looked up; and asking one outside of a run."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm._engine.agent import Configured
from pytest_ltm._storage.dotted import DottedPath, is_dotted
from pytest_ltm._storage.errors import ConfigurationError, JudgeError, LtmError, did_you_mean, told
from pytest_ltm._storage.secrets import redacted
from pytest_ltm._text.numbers import COUNTS
from pytest_ltm._text.words import content_of, phrases, words
from pytest_ltm.agents._capabilities import takes
from pytest_ltm.agents._retry import Retries
from pytest_ltm.datasets.locomo.strict import verdict
from pytest_ltm.evaluators import Menu, RecallsJoke, orders_drink
from pytest_ltm.judges._asking import Call
from pytest_ltm.judges._chat import chat
from pytest_ltm.judges._inquiry import Judge
from pytest_ltm.judges._prompts import PROMPTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pytest_ltm.judges._ask import AnsweredBy
    from pytest_ltm.judges._inquiry import Inquiry


_ENOUGH = 0.75
"""The share of the right answer's own words that an answer must have."""
_DECLINES = phrases(
    "(?:dont|do not|didnt|did not|cant|cannot|couldnt|not able to|unable to) (?:\\w+ ){0,2}"
    "(?:know|recall|remember|find|tell|say|have|see|help|answer)",
    "(?:no|any) (?:idea|memory|record|information|mention)",
    "not (?:sure|certain|told|mentioned)",
    "(?:never|havent|have not) (?:told|mentioned|said|shared)",
    "im sorry|i am sorry|sorry",
    "didnt (?:tell|mention|say)",
)
_DENIES = phrases("not", "isnt", "wasnt", "never", "no longer", "instead of", "rather than", "doesnt", "didnt", "wont")


@dataclass(frozen=True, slots=True)
class RulesJudge:
    """Says yes if an answer has most words of the right one, denies nothing and does not decline."""

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return a grade for the prompts whose parts can be compared; `unknown`, which is on no menu, for others."""
        judged = {"answer": _answer, "jokes": _joke, "restaurant-drink": _drink}.get(inquiry.prompt)
        if judged is not None:
            return f"By its words. GRADE: {'yes' if judged(inquiry.parts) else 'no'}"
        if inquiry.prompt == "statement" or inquiry.prompt.startswith(("longmemeval-", "locomo-events-")):
            return "Words alone do not tell. GRADE: unknown"
        if inquiry.prompt.startswith("locomo-"):
            return _locomo(inquiry.parts)
        return f"The rules have found nothing. GRADE: {inquiry.fail}"


def _answer(parts: Mapping[str, str]) -> bool:
    reference, answer = _content(parts["reference"]), _content(parts["answer"])
    own = (reference - _content(parts["question"])) or reference
    declines = _DECLINES.search(" ".join(words(parts["answer"]))) is not None
    if _DECLINES.search(" ".join(words(parts["reference"]))):
        return declines
    denies = _count(parts["answer"]) > _count(parts["reference"])
    numbers = {word for word in own if word.isdigit()}
    return not declines and not denies and numbers <= answer and len(own & answer) >= len(own) * _ENOUGH


def _locomo(parts: Mapping[str, str]) -> str:
    ruling = verdict(
        category=int(parts["category"]),
        question=parts["question"],
        answer=parts.get("reference", ""),
        prediction=parts["answer"],
    )
    return f"It {ruling.reason}. GRADE: {'unknown' if ruling.verdict == 'unscored' else ruling.verdict}"


def _joke(parts: Mapping[str, str]) -> bool:
    others = tuple(joke for joke in _listed(parts["jokes"]) if joke != parts["joke"])
    return getattr(RecallsJoke(parts["joke"], others)([parts["answer"]]), "value", 0.0) == 1.0


def _drink(parts: Mapping[str, str]) -> bool:
    menu = Menu(_listed(parts["dishes"]), _listed(parts["drinks"]))
    return bool(orders_drink(parts["answer"], menu).ok)


def _listed(lines: str) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ") for line in lines.splitlines())


def _content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning, numbers as digits."""
    return content_of(str(COUNTS.get(word, word)) for word in words(text))


def _count(text: str) -> int:
    return len(_DENIES.findall(" ".join(words(text))))


@dataclass(frozen=True, slots=True)
class Always:
    """Passes everything, or nothing."""

    yes: bool

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the first grade that passes, or the one that fails."""
        passing = next((grade for grade in inquiry.grades if grade != inquiry.fail), inquiry.fail)
        return f"GRADE: {passing if self.yes else inquiry.fail}"


_RETRIES = 4
NONE = "none"
WHO = "the judge"
"""What errors call it."""
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
        return _named(spec, chat(argument, "judge"))
    names = [NONE, *EMBEDDED, "openai:MODEL"]
    hint = did_you_mean(spec, names)
    if not is_dotted(spec):
        raise ConfigurationError(
            f"unknown judge {spec!r}.{hint} There are {', '.join(names)}; any other is a dotted path, as mypkg:Judge"
        )
    found = DottedPath(spec, what="judge", error=ConfigurationError, hint=hint).resolve(base)
    return _named(spec, adapted(found, f"judge {spec!r}"))


@contextmanager
def asking(spec: str, *, timeout: float | None = 300.0) -> Iterator[AnsweredBy]:
    """Give what asks the judge of a spec where there is no run; ConfigurationError if there is no such judge.

    `timeout`: in seconds for each call (None: no limit).
    """
    named = find(spec, base=Path.cwd())
    if named is None:
        raise ConfigurationError(f"--ltm-judge={NONE} judges nothing")
    call = Call(named.judge, who=WHO, error=JudgeError, timeout=timeout, retries=Retries(most=_RETRIES, rng=Random()))
    try:
        yield lambda inquiry: call(inquiry).text
    finally:
        call.close()


def _named(spec: str, judge: Judge) -> NamedJudge:
    return NamedJudge(spec, judge, judge.configuration() if isinstance(judge, Configured) else None)


def adapted(found: Any, what: str) -> Judge:
    """Return what a dotted path names as something to ask; a class or a function without arguments is called.

    `what`: how errors call it. ConfigurationError if it cannot be asked.
    """
    if inspect.isclass(found) or (not isinstance(found, Judge) and takes(found, 0)):
        try:
            found = found()
        except LtmError:
            raise
        except Exception as error:
            raise ConfigurationError(f"{what} cannot be made: {told(error)}") from error
    if isinstance(found, Judge):
        return found
    if takes(found, 1):
        return FunctionJudge(found)
    raise ConfigurationError(
        f"{what} is a {type(found).__name__}, which cannot be asked. It needs assess(question) -> str, or must be a "
        "function from the question to the reply"
    )
