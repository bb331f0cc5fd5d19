"""Chat: a model of any provider, as a judge or a simulated user, with one question per request.

Temperature 0; structured replies if the server supports them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from pytest_ltm.agents.unbuilt import ENCODING, FRAME
from pytest_ltm.api.model import Reply, Unscored, Usage, token_counter, usage_of
from pytest_ltm.api.scenarios import CUT, Inquiry, JudgeRequest
from pytest_ltm.api.storage import AgentFault, ConfigurationError, text_of
from pytest_ltm.providers import Completions, ModelSpec, Used, open_model, read_model
from pytest_ltm.providers.completions import Message

# Status codes of a server that refuses a part of the request; the others may mean that
# it refuses the form of the reply.
_REFUSED = (400, 404, 422)
_ONLY_FORM = (403, 405, 415, 501)
# Words in the errors of a server that fails over the form of a reply (some with 500)
# instead of refusing it.
_GRAMMAR = ("grammar", "response_format", "schema", "guided", "structured")


def make_client(spec: str, role: str) -> JudgeModelClient:
    """Return the client for a spec's model; ConfigurationError if it cannot be used.

    `role`: the model's role in errors: `judge`.
    """
    return JudgeModelClient(
        read_model(spec, role=role, error=ConfigurationError, ready=True)[0]
    )


class JudgeModelClient:
    """Sends questions to one model, without history; shares the model's rate limit with all callers."""

    thread_safe = True

    def __init__(self, model: ModelSpec) -> None:
        self._model = model
        self._completions: Completions | None = None
        self._extras = ["response_format", "seed"]
        """The optional fields of a request, in the order in which they are dropped when refused."""
        self._failures = 0
        """Consecutive server errors, and replies that did not fill the form."""

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect its replies; no key."""
        return {
            "judge": self._model.provider,
            "temperature": 0,
            **self._model.configuration(),
        }

    def assess(self, question: JudgeRequest, /) -> Reply:
        """Return the model's whole reply; raises the errors of the client."""
        if self._completions is None:
            # only now: whether limits are shared is known once the run has begun
            self._completions = open_model(self._model)
        wants_form = not question.verbatim
        while True:
            extras = self._extras_for(question, wants_form=wants_form)
            has_form = wants_form and "response_format" in extras
            text = f"{question.text}\n\n{question.as_json if has_form else ''}".rstrip()
            if question.verbatim:
                text = question.text
            messages = [{"role": "user", "content": text}]
            try:
                reply = _ask(self._completions, messages, extras)
            except Exception as error:
                if self._leave_out(error):
                    continue
                if self._completions.lost is not None and isinstance(error, AgentFault):
                    error.usage = _request_usage(self._completions.lost, messages, "")
                raise
            if not has_form:
                return reply
            if _is_filled(reply.text, question):
                self._failures = 0
                return reply
            wants_form = False
            self._note_unfilled()

    def _extras_for(
        self, question: JudgeRequest, *, wants_form: bool
    ) -> dict[str, Any]:
        """Return the optional fields of a request that are still accepted, and those of a user's own prompt."""
        # a new seed for each vote, but the same in each run
        seed = (self._model.seed or 0) + question.draw
        extras = {"response_format": _grade_schema(*question.form), "seed": seed}
        if not wants_form:
            del extras["response_format"]
        fields = {name: extras[name] for name in self._extras if name in extras}
        return {**fields, **question.parameters} if question.verbatim else fields

    def own_client(self) -> JudgeModelClient:
        """Return another client of the same model, with its own connections and the known refusals."""
        client = JudgeModelClient(self._model)
        client._extras = self._extras
        return client

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        if self._completions is not None:
            self._completions.close()
            self._completions = None

    def _note_unfilled(self) -> None:
        """Stop requesting a form after several replies in a row that did not fill it."""
        self._failures += 1
        if self._failures >= _MOST_FAILURES and "response_format" in self._extras:
            self._extras.remove("response_format")

    def _leave_out(self, error: Exception) -> bool:
        """Drop a field that the server has refused from now on; False if there is none left."""
        status = getattr(error, "status_code", None)
        words = text_of(error).lower()
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self._failures += 1
        fails_over_form = (
            status in _ONLY_FORM
            or getattr(error, "account", "") == "nothing said"
            or self._failures >= _MOST_FAILURES
            or (self._failures and any(word in words for word in _GRAMMAR))
        )
        if fails_over_form and "response_format" in self._extras:
            self._failures = 0
            self._extras.remove("response_format")
            return True
        if not self._extras or status not in _REFUSED:
            return False
        named_extras = [extra for extra in self._extras if extra in text_of(error)]
        with suppress(ValueError):  # another client of the same model was faster
            self._extras.remove((named_extras or self._extras)[0])
        return True


def _ask(
    completions: Completions, messages: Sequence[Message], extras: Mapping[str, Any]
) -> Reply:
    answer = completions.complete(messages, **extras)
    # a cut reply may lack its grade: its reader should know why
    text = answer.text + CUT if answer.was_cut else answer.text
    return Reply(text, _request_usage(answer.used, messages, answer.text))


def _request_usage(used: Used, messages: Sequence[Message], text: str) -> Usage:
    """Return the usage of a request, estimated if the server does not report it."""
    count = token_counter(ENCODING).count
    prompt_tokens = sum(count(message["content"]) + FRAME for message in messages)
    return usage_of(used, prompt=prompt_tokens, reply=count(text))


# Consecutive errors after which the form of the reply is the suspected cause.
_MOST_FAILURES = 2


def _is_filled(text: str, question: JudgeRequest) -> bool:
    """Return whether a formatted reply contains the answer, in whatever format."""
    if isinstance(question, Inquiry):
        return not isinstance(question.grade_in(text), Unscored)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return True
    fields = value if isinstance(value, dict) else {}
    return any(fields.get(name) not in _EMPTY for name in question.form[1])


_EMPTY: tuple[Any, ...] = (None, "", {}, [])


def _grade_schema(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    # strict schemas require every field, and allow no others
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "strict": True, "schema": schema},
    }
