"""Chat: a model of any provider, asked one question at a time: as a judge or a simulated user.

Temperature 0, structured replies where the server gives them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from pytest_ltm.agents.unbuilt import ENCODING, FRAME
from pytest_ltm.api.model import Reply, Usage, token_counter, usage_of
from pytest_ltm.api.scenarios import CUT, JudgeRequest
from pytest_ltm.api.storage import AgentFault, ConfigurationError, text_of
from pytest_ltm.providers import Completions, ModelSpec, Used, open_model, read_model
from pytest_ltm.providers.completions import Message

# Status codes of a server that does not take what it was given; with the others it may
# be the form of a reply that it does not take.
_REFUSED = (400, 404, 422)
_ONLY_FORM = (403, 405, 415, 501)
# What a server speaks of that fails over the form of a reply (500, as some do) instead
# of refusing it.
_GRAMMAR = ("grammar", "response_format", "schema", "guided", "structured")


def make_client(spec: str, role: str) -> JudgeModelClient:
    """Return the model of a spec, as of an agent; ConfigurationError if it cannot be asked.

    `role`: what it is asked as, for errors: `judge`.
    """
    return JudgeModelClient(
        read_model(spec, role=role, error=ConfigurationError, ready=True)[0]
    )


class JudgeModelClient:
    """Asks one model, without any history; in turn with all others who ask it."""

    thread_safe = True

    def __init__(self, model: ModelSpec) -> None:
        self._model = model
        self._completions: Completions | None = None
        self._extras = ["response_format", "seed"]
        """What the server is given until it refuses it, in the order in which it is left out."""
        self._failures = 0
        """Errors of the server in a row, while it was given all of that."""

    def configuration(self) -> Mapping[str, Any]:
        """Return what its replies depend on; no key."""
        return {
            "judge": self._model.provider,
            "temperature": 0,
            **self._model.configuration(),
        }

    def assess(self, question: JudgeRequest, /) -> Reply:
        """Return the model's whole reply; raises what the client raises."""
        if self._completions is None:
            # only now, because where limits are shared is known once the run has begun
            self._completions = open_model(self._model)
        while True:
            try:
                extras_given = {
                    "response_format": _grade_schema(*question.form),
                    "seed": (self._model.seed or 0)
                    + question.draw,  # each vote is drawn anew, and as in the last run
                }
                extras: dict[str, Any] = {
                    extra: extras_given[extra] for extra in self._extras
                }
                text = question.text
                if question.verbatim:
                    extras.pop("response_format", None)
                    extras |= question.parameters
                elif "response_format" in extras:
                    text = f"{text}\n\n{question.as_json}".rstrip()
                else:
                    text = text.rstrip()
                messages = [{"role": "user", "content": text}]
                answer = self._completions.complete(messages, **extras)
                if "response_format" in extras and _is_unfilled(
                    answer.text, question.form[1]
                ):
                    self._extras.remove("response_format")
                    continue
                self._failures = 0
                # a cut reply may lack its grade: who reads it should know why
                text = answer.text + CUT if answer.was_cut else answer.text
                return Reply(text, _request_usage(answer.used, messages, answer.text))
            except Exception as error:
                if self._leave_out(error):
                    continue
                if self._completions.lost is not None and isinstance(error, AgentFault):
                    error.usage = _request_usage(self._completions.lost, messages, "")
                raise

    def own_client(self) -> JudgeModelClient:
        """Return another that asks the same model, over connections of its own, and knows what the server refuses."""
        client = JudgeModelClient(self._model)
        client._extras = self._extras
        return client

    def close(self) -> None:
        """Close the connections; asking again opens new ones."""
        if self._completions is not None:
            self._completions.close()
            self._completions = None

    def _leave_out(self, error: Exception) -> bool:
        """Leave out what the server has refused from now on; false if there is nothing that could be."""
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
        with suppress(ValueError):  # another of the same model was first
            self._extras.remove((named_extras or self._extras)[0])
        return True


def _request_usage(used: Used, messages: Sequence[Message], text: str) -> Usage:
    """Return what a request took, estimated where the server does not report it."""
    count = token_counter(ENCODING).count
    prompt_tokens = sum(count(message["content"]) + FRAME for message in messages)
    return usage_of(used, prompt=prompt_tokens, reply=count(text))


# Errors in a row after which the form of the reply may be what a server fails over.
_MOST_FAILURES = 2


def _is_unfilled(text: str, fields: Mapping[str, Any]) -> bool:
    """Return whether a text is a JSON object without any of these fields: `{}`, or the schema itself."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and fields.keys().isdisjoint(value)


def _grade_schema(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    # strict schemas want every field named as required, and no other allowed
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
