"""Judges and simulated users' models, as the conversations of a run ask them."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.api.calls import Failed, Retries
from pytest_ltm.api.journal import SCRIPTED, Journal, JudgeRetry, Timings, UserRetry
from pytest_ltm.api.scenarios import definition_rng, user_seed
from pytest_ltm.api.session import (
    ConversationInputs,
    KnownQuestions,
    OpenConversation,
    RunJudge,
    RunSettings,
    run_judge,
)
from pytest_ltm.api.storage import errors as _errors
from pytest_ltm.api.storage import redact_secrets

if TYPE_CHECKING:
    from pytest_ltm.judges.connection import JudgeConnection
    from pytest_ltm.judges.hidden_checks import HiddenChecks
    from pytest_ltm.judges.model_calls import ModelCaller
    from pytest_ltm.users.user_connection import UserConnection


def hidden_checks(
    inputs: ConversationInputs, questions: KnownQuestions
) -> HiddenChecks | None:
    """Return the known answers for checking the judge in this conversation; None if it is not checked."""
    if not inputs.settings.judge.has_canaries:
        return None
    from pytest_ltm.judges.hidden_checks import HiddenChecks, share_of_checks

    rng = definition_rng(
        inputs.settings.seed.value,
        inputs.place.trial,
        "judge checks",
        inputs.place.conversation.folder,
    )
    return HiddenChecks(questions, rng, share_of_checks(inputs.conversations))


def judge_for(
    inputs: ConversationInputs,
    opened: OpenConversation,
    questions: KnownQuestions,
    **options: Any,
) -> JudgeConnection | None:
    """Return the connection to the run's judge, None if there is none; `options`: further arguments."""
    judge = run_judge(inputs.config)
    if judge is None:
        return None
    return connection_of(
        judge,
        inputs.settings,
        opened.journal,
        opened.timings,
        of=inputs.place.agent,
        trial=inputs.place.trial,
        tariff=inputs.costs.judge.tariff,
        account=inputs.account,
        checks=hidden_checks(inputs, questions),
        **options,
    )


def users_for(
    inputs: ConversationInputs, opened: OpenConversation, **options: Any
) -> UserConnection:
    """Return the connection to simulated users' models; `options`: further arguments."""
    from pytest_ltm.judges.model_calls import BudgetedCaller
    from pytest_ltm.users.user_connection import (
        USER_MODEL_NAME,
        UserConnection,
        find_user_model,
    )

    settings = inputs.settings
    place = inputs.place
    timings = opened.timings

    def opening(model: Any, name: str) -> BudgetedCaller:
        rng = definition_rng(
            settings.seed.value, place.trial, "user retries", place.agent
        )
        result = find_user_model(model, base=inputs.config.rootpath)
        cost = inputs.costs.user(name)
        call = call_of(
            result,
            settings,
            timings,
            rng=rng,
            note=UserRetry,
            who=USER_MODEL_NAME,
            error=_errors.UserError,
        )
        # A list of messages costs nothing.
        account = None if name == SCRIPTED else inputs.account
        return BudgetedCaller(
            call,
            "user",
            opened.journal,
            tariff=cost.tariff,
            account=account,
            refused=cost.refused,
        )

    return UserConnection(
        **{
            "open": opening,
            "journal": opened.journal,
            "timings": timings,
            "seed_of": lambda example: user_seed(
                settings.seed.value, place.trial, example
            ),
            "tariff_of": lambda name: inputs.costs.user(name).tariff,
            **options,
        }
    )


def connection_of(
    judge: RunJudge,
    settings: RunSettings,
    journal: Journal,
    timings: Timings,
    *,
    of: str,
    trial: int = 0,
    **options: Any,
) -> JudgeConnection:
    """Return a connection to a judge; `of`: the caller, from which the retry delays' random numbers are derived."""
    from pytest_ltm.judges.connection import JudgeCache, JudgeConnection
    from pytest_ltm.judges.judge_registry import JUDGE_NAME

    rng = definition_rng(settings.seed.value, trial, "judge retries", of)
    call = call_of(
        judge.judge,
        settings,
        timings,
        rng=rng,
        note=JudgeRetry,
        who=JUDGE_NAME,
        error=_errors.JudgeError,
    )
    cache = None
    if settings.judge.is_cached:
        cache = JudgeCache(settings.ltm_dir / "judge-cache")
    return JudgeConnection(
        call,
        configuration=judge.configuration,
        cache=cache,
        journal=journal,
        timings=timings,
        trial=str(trial),
        **{"votes": settings.judge.votes, **options},
    )


def call_of(
    model: Any,
    settings: RunSettings,
    timings: Timings,
    *,
    rng: Random,
    note: type[JudgeRetry],
    **names: Any,
) -> ModelCaller:
    """Return the caller of a model other than the agent; each attempt that is retried is recorded in the timings.

    `rng`: the random numbers of retry delays. `names`: the names and types used for its
    faults.
    """
    from pytest_ltm.judges.model_calls import ModelCaller

    def retried(failed: Failed) -> None:
        error = redact_secrets(_errors.describe_error(failed.error))
        timings.write(
            note(attempt=failed.attempt, wait=round(failed.wait, 3), error=error)
        )

    return ModelCaller(
        model,
        timeout=settings.reply_timeout,
        fatal=fatal_exceptions(),
        retried=retried,
        retries=Retries(most=settings.retries, rng=rng) if settings.retries else None,
        **names,
    )


def fatal_exceptions() -> tuple[type[BaseException], ...]:
    """Return the exceptions that end the pytest session when they are raised in a call."""
    # A worker that leaves the session breaks xdist, which waits for it: there,
    # `pytest.exit` is a fault like any other.
    in_worker = "PYTEST_XDIST_WORKER" in os.environ
    if in_worker:
        return (KeyboardInterrupt,)
    return (KeyboardInterrupt, pytest.exit.Exception)
