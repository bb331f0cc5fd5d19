"""A judge behind any OpenAI-compatible server: temperature 0, structured replies where the server gives them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._protocols import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._judge import Inquiry

_AS_JSON = "Give the reply as a JSON object: your thoughts in the field `thoughts`, then the grade alone in `grade`."
_EXTRAS = ("response_format", "seed", "temperature")
"""What a server may not know, in the order in which it is left out."""
_REFUSED = (400, 404, 422)
_RETRIES = 4


def openai_judge(argument: str) -> OpenAIJudge:
    """Return the judge of `MODEL` or `MODEL@URL`; ConfigurationError if the client cannot be made.

    The key is read from OPENAI_API_KEY by the client; a server at a URL of its own may do without.
    """
    model, _, url = argument.partition("@http")
    base_url = f"http{url}" if url else None
    if not model:
        raise ConfigurationError(f"judge 'openai:{argument}' names no model. Write openai:MODEL or openai:MODEL@URL")
    try:
        import openai  # noqa: PLC0415 - only whoever asks a model pays for it
    except ImportError as error:
        raise ConfigurationError("openai: judges need the package openai: pip install openai") from error
    key = os.environ.get("OPENAI_API_KEY") or ("none" if base_url else None)
    try:
        client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=_RETRIES)
    except openai.OpenAIError as error:
        raise ConfigurationError(f"judge 'openai:{argument}': {error}") from error
    return OpenAIJudge(client, model, {"base_url": redacted(str(client.base_url))})


class OpenAIJudge:
    """Asks one model, without any history."""

    def __init__(self, client: Any, model: str, configuration: Mapping[str, Any]) -> None:
        self._client, self._model, self._told = client, model, configuration
        self._left_out: set[str] = set()

    def configuration(self) -> Mapping[str, Any]:
        """Return what its replies depend on; no key."""
        return {**self._told, "judge": "openai", "model": self._model, "temperature": 0}

    def assess(self, inquiry: Inquiry, /) -> Reply:
        """Return the model's whole reply; raises what the client raises."""
        while True:
            try:
                return _reply(self._client.chat.completions.create(model=self._model, **self._request(inquiry)))
            except Exception as error:
                extra = self._refused(error)
                if extra is None:
                    raise
                self._left_out.add(extra)

    def _request(self, inquiry: Inquiry) -> dict[str, Any]:
        extras = {"temperature": 0, "seed": inquiry.vote, "response_format": _schema(inquiry.grades)}
        kept = {name: value for name, value in extras.items() if name not in self._left_out}
        text = f"{inquiry.text}\n\n{_AS_JSON}" if "response_format" in kept else inquiry.text
        return {"messages": [{"role": "user", "content": text}], **kept}

    def _refused(self, error: Exception) -> str | None:
        """Return what to leave out from now on, None if the error is not about anything that could be."""
        left = [extra for extra in _EXTRAS if extra not in self._left_out]
        if getattr(error, "status_code", None) not in _REFUSED or not left:
            return None
        named = [extra for extra in left if extra in str(error)]
        return named[0] if named else left[0]


def _schema(grades: tuple[str, ...]) -> dict[str, Any]:
    fields = {"thoughts": {"type": "string"}, "grade": {"type": "string", "enum": list(grades)}}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}


def _reply(completion: Any) -> Reply:
    text = completion.choices[0].message.content or ""
    used = completion.usage
    if used is None:
        return Reply(text)
    cached = getattr(getattr(used, "prompt_tokens_details", None), "cached_tokens", None) or 0
    usage = Usage(input_tokens=used.prompt_tokens, output_tokens=used.completion_tokens, cached_tokens=cached)
    return Reply(text, usage)
