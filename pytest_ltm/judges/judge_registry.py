"""Judges by name: resolves the values of `--ltm-judge`, and asks a judge outside of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

from msgspec import Struct

from pytest_ltm.agents.answers import check_configuration
from pytest_ltm.agents.capabilities import accepts_arguments
from pytest_ltm.api.calls import ForeignCaller, Retries, class_name
from pytest_ltm.api.model import Configured
from pytest_ltm.api.scenarios import PROMPTS, AnsweredBy, Inquiry, Judge
from pytest_ltm.api.storage import (
    ConfigurationError,
    DottedPath,
    JudgeError,
    did_you_mean,
    is_dotted,
    lazy,
    redact_secrets,
)
from pytest_ltm.judges.chat import make_client
from pytest_ltm.judges.model_calls import ModelCaller
from pytest_ltm.providers import model_forms, names_model, suggest_provider


class Always(Struct, frozen=True):
    """Passes everything, or nothing."""

    yes: bool

    def assess(self, inquiry: Inquiry, /) -> str:
        """Return the first grade that passes, or the one that fails."""
        if self.yes:
            for grade in inquiry.grades:
                if grade != inquiry.fail:
                    return f"GRADE: {grade}"
        return f"GRADE: {inquiry.fail}"


_RETRIES = 4
NONE = "none"
# Its name in errors.
JUDGE_NAME = "the judge"


# Judges that need no model: baselines for others.
EMBEDDED: Mapping[str, Callable[[], Judge]] = {
    # imported lazily: it imports evaluators, and the rulings of data sets
    "rules": lazy("pytest_ltm.judges.by_rules:RulesJudge"),
    "always-yes": lambda: Always(yes=True),
    "always-no": lambda: Always(yes=False),
}


class NamedJudge(Struct, frozen=True):
    """A judge with its spec and configuration."""

    spec: str
    judge: Judge
    configuration: Mapping[str, Any] | None
    """The settings that affect its replies, JSON without secrets.

    None if unknown: replies are not cached then.
    """

    @property
    def plan_entry(self) -> str:
        """The entry in a plan: the spec, and the versions of the prompts."""
        return f"{redact_secrets(self.spec)} ({', '.join(prompt.id for prompt in PROMPTS.values())})"


class FunctionJudge(Struct, frozen=True):
    """A plain function from a question to the whole reply, as a judge."""

    function: Callable[[str], Any]

    def assess(self, inquiry: Inquiry, /) -> Any:
        """Return the function's reply to the question."""
        return self.function(inquiry.text)


def find_judge(spec: str, *, base: Path | None = None) -> NamedJudge | None:
    """Return the judge that a spec names, None for `none`.

    Raises ConfigurationError with a cure if there is none.

    `base`: where to look for modules that are not on `sys.path`.
    """
    if spec == NONE:
        return None
    if spec in EMBEDDED:
        return NamedJudge(spec, EMBEDDED[spec](), None)
    if names_model(spec):
        return _name_judge(spec, make_client(spec, "judge"))
    names = [NONE, *EMBEDDED, *model_forms()]
    hint = suggest_provider(spec) or did_you_mean(spec, names)
    if not is_dotted(spec):
        raise ConfigurationError(
            f"unknown judge {spec!r}.{hint} Choose from {', '.join(names)}; any other is a dotted path, as mypkg:Judge"
        )
    result = DottedPath(
        spec, what="judge", error=ConfigurationError, hint=hint
    ).resolve(base)
    return _name_judge(spec, adapt_judge(result, f"judge {spec!r}"))


@contextmanager
def judge_session(spec: str, *, timeout: float | None = 300.0) -> Iterator[AnsweredBy]:
    """Yield a function that asks a spec's judge outside of a run.

    Raises ConfigurationError if there is no such judge.

    `timeout`: seconds for each call (None: no limit).
    """
    run_judge = find_judge(spec, base=Path.cwd())
    if run_judge is None:
        raise ConfigurationError(f"--ltm-judge={NONE} judges nothing")
    call = ModelCaller(
        run_judge.judge,
        who=JUDGE_NAME,
        error=JudgeError,
        timeout=timeout,
        retries=Retries(most=_RETRIES, rng=Random()),
    )
    try:
        yield lambda inquiry: call(inquiry).text
    finally:
        call.close()


# Seconds for creating a judge and reading its configuration.
_MAKING = 60.0


@contextmanager
def _judge_door(subject: str) -> Iterator[ForeignCaller[ConfigurationError]]:
    """Yield the caller for code of a judge that is not in use yet."""
    door = ForeignCaller(
        subject, error=ConfigurationError, timeout=_MAKING, placed=True
    )
    with closing(door):
        yield door


def _name_judge(spec: str, judge: Judge) -> NamedJudge:
    subject = f"judge {spec!r}"
    with _judge_door(subject) as door:
        configuration = None
        if door.examine("could not be examined", _tells_configuration, judge):
            configuration = door.call_method(
                judge,
                "configuration",
                admit=partial(check_configuration, where=subject),
            )
    return NamedJudge(spec, judge, configuration)


def _tells_configuration(judge: Judge) -> bool:
    return isinstance(judge, Configured)


def adapt_judge(judge: Any, subject: str) -> Judge:
    """Return the object of a dotted path as a judge; a class, or a function without arguments, is called.

    `subject`: its name in errors. Raises ConfigurationError if it cannot be asked.
    """
    with _judge_door(subject) as door:
        is_factory = door.examine("could not be examined", _makes_judge, judge)
        if is_factory:
            judge = door.call("cannot be made", judge)
        return cast(
            "Judge", door.examine("could not be examined", _as_judge, judge, subject)
        )


def _makes_judge(judge: Any) -> bool:
    return inspect.isclass(judge) or (
        not isinstance(judge, Judge) and accepts_arguments(judge, 0)
    )


def _as_judge(judge: Any, subject: str) -> Judge:
    if isinstance(judge, Judge):
        return judge
    if accepts_arguments(judge, 1):
        return FunctionJudge(judge)
    raise ConfigurationError(
        f"{subject} is a {class_name(judge)}, which cannot be asked. It needs assess(question) -> str, or must be a "
        "function from the question to the reply"
    )
