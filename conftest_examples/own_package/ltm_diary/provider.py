"""Models with a protocol of their own: `listener:MODEL`, for agents, judges and simulated users."""

from __future__ import annotations

from pytest_ltm.providers import (
    Provider,
    ServiceEndpoint,
    Used,
    no_answer,
    response_of,
)


class Listeners(Provider):
    name = "listener"
    path = "/listen"
    lengths = ("words",)  # the parameter that limits a reply
    default_address = ServiceEndpoint("http://localhost:8765", "LISTENER_KEY")
    address_env = "LISTENER_URL"  # may override the address

    def parameters(self, model):
        words = {"words": model.max_tokens} if model.max_tokens else {}
        return {**words, **model.extra}

    def body(self, model, messages, fields):
        lines = [f"{message['role']}: {message['content']}" for message in messages]
        return {"listener": model.name, "lines": lines, **fields}

    def read(self, answer, asked):
        if "line" not in answer:
            raise no_answer(answer, asked.model, "a line")
        ended = answer.get("ended", "stop")
        return response_of(
            asked, answer["line"], self.used(answer), finish_reason=ended
        )

    def used(self, answer):
        return Used(answer.get("read"), answer.get("written"))
