"""UserConnection: the models of a conversation's simulated users; replies are recorded and counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_ltm.api.journal import SCRIPTED, Journal, Tariff, Timings, UserTime, events
from pytest_ltm.api.model import Reply
from pytest_ltm.api.storage import (
    ConfigurationError,
    DottedPath,
    ScenarioError,
    UserError,
    did_you_mean,
    is_dotted,
    redact_secrets,
    stopwatch_seconds,
)
from pytest_ltm.judges.model_calls import BudgetedCaller, ModelUse, on_record
from pytest_ltm.providers import model_forms, names_model, suggest_provider
from pytest_ltm.users.simulated_user import ModelledUser, UserQuestion

# Its name in errors.
USER_MODEL_NAME = "the model of the simulated user"
# Returns another record's reply to exactly this question of an example.
Recalled: TypeAlias = "Callable[[str, UserQuestion], events.UserModelAsked | None]"


class ScriptedUser(Struct, frozen=True):
    """Sends prepared messages, one per turn: a user without a model."""

    messages: tuple[str, ...]

    def assess(self, question: UserQuestion, /) -> str:
        """Return the message of this turn; the last message, or a missing one, is the end."""
        texts = self.messages[question.turn :]
        text = texts[0] if texts else ""
        return json.dumps({"message": text, "done": len(texts) < 2})


def name_of(model: object) -> str:
    """Return the name of a user's model in records and prices; ScenarioError for an invalid one."""
    if isinstance(model, str) and model:
        if not (names_model(model) or is_dotted(model)):
            hint = suggest_provider(model) or did_you_mean(model, model_forms())
            raise ScenarioError(
                f"ltm.user(model={redact_secrets(model)!r}): there is no such model.{hint} There are "
                f"{', '.join(model_forms())}, and dotted paths such as mypkg:function"
            )
        return redact_secrets(model)  # a spec may have a key in its address
    if (
        isinstance(model, Sequence)
        and model
        and all(isinstance(message, str) and message.strip() for message in model)
    ):
        return SCRIPTED
    if callable(model) or hasattr(model, "assess"):
        definition: Any = model if hasattr(model, "__qualname__") else type(model)
        return f"{definition.__module__}:{definition.__qualname__}"
    raise ScenarioError(
        f"ltm.user(model={model!r}): a user's model is a spec such as 'openai:MODEL' or 'mypkg:function', a list of "
        "messages, or a function from the prompt to the reply"
    )


def find_user_model(model: Any, *, base: Path | None = None) -> Any:
    """Return the model of a user; ConfigurationError with a cure if there is none.

    `base`: where to look for modules that are not on `sys.path`.
    """
    from pytest_ltm.judges.chat import make_client
    from pytest_ltm.judges.judge_registry import adapt_judge

    subject = f"user {name_of(model)!r}"
    if not isinstance(model, str):
        if isinstance(model, Sequence):
            return ScriptedUser(tuple(model))
        return adapt_judge(model, subject)
    if names_model(model):
        return make_client(model, "user")
    hint = did_you_mean(model, model_forms())
    path = DottedPath(model, what="user", error=ConfigurationError, hint=hint)
    return adapt_judge(path.resolve(base), subject)


@dataclass(kw_only=True, slots=True)
class UserConnection:
    """Sends questions to the models of simulated users, for the examples of one conversation.

    A message comes from the journal if the conversation is being replayed, else from
    `recalled`, else from what `open` returns for a model and its name. `seed_of`: the
    seed of an example's users; `tariff_of`: prices for a model's replies that report no
    cost.
    """

    open: Callable[[Any, str], BudgetedCaller] = field(kw_only=False)
    journal: Journal
    timings: Timings
    seed_of: Callable[[str], int]
    tariff_of: Callable[[str], Tariff] = lambda _: Tariff()
    recalled: Recalled = lambda _example, _question: None
    spent: dict[str, ModelUse] = field(init=False, default_factory=dict)
    """By example."""
    _opened: dict[object, tuple[object, BudgetedCaller]] = field(
        init=False, default_factory=dict
    )
    """By spec, or by the identity of a model object, which is kept alive with it."""

    def handle(self, example: str) -> Callable[..., ModelledUser]:
        """Return a factory for the users of one example."""
        return partial(self._make_user, example)

    def _make_user(
        self, example: str, goal: str, *, model: object, **terms: Any
    ) -> ModelledUser:
        ask = partial(self._ask, example, model, name_of(model))
        return ModelledUser(goal, ask=ask, **terms)

    def result_fields(self, example: str) -> dict[str, Any]:
        """Return the users' fields of an example's result."""
        if example in self.spent:
            return self.spent[example].result_fields("user")
        return {}

    def close(self) -> None:
        """Close the models."""
        for _, purchase in self._opened.values():
            purchase.close()

    def _ask(
        self, example: str, model: object, name: str, question: UserQuestion
    ) -> str:
        question = replace(question, seed=self.seed_of(example))

        def buy() -> Reply:
            # objects need not be hashable; the model is kept alive, so its id stays
            # unique
            key = model if isinstance(model, str) else id(model)
            if key not in self._opened:
                self._opened[key] = model, self.open(model, name)
            purchase = self._opened[key][1]
            began = stopwatch_seconds()
            reply = purchase(question)
            if name != SCRIPTED:
                self.timings.write(
                    UserTime(
                        example=example,
                        model=name,
                        seconds=round(stopwatch_seconds() - began, 6),
                        usage=reply.usage,
                        cost_usd=reply.cost_usd,
                        lost=purchase.lost,
                    )
                )
            return reply

        reply = on_record(
            events.UserModelAsked,
            question,
            buy,
            journal=self.journal,
            error=UserError,
            example=example,
            model=name,
            recorded=self.journal.upcoming(events.UserModelAsked)
            or self.recalled(example, question),
        )
        if name != SCRIPTED:  # prepared messages cost nothing, and are not calls
            self.spent.setdefault(example, ModelUse()).add(
                reply, self.tariff_of(name).cost(reply)
            )
        return reply.text
