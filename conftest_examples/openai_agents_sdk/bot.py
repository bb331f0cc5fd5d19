import re

from agents import Agent, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(disabled=True)  # otherwise each run is sent to OpenAI


class StandIn(Model):
    """Stands in for a model: replies with the newest message that shares a long word with the question."""

    async def get_response(self, *args, **call):
        said = call["input"] if "input" in call else args[1]
        *told, asked = [
            message["content"] for message in said if message["role"] == "user"
        ]
        words = set(re.findall(r"\w{6,}", asked))
        known = next(
            (text for text in reversed(told) if words & {*text.split()}), "Noted."
        )
        text = ResponseOutputText(text=known, type="output_text", annotations=[])
        reply = ResponseOutputMessage(
            id="1", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args, **call):
        raise NotImplementedError


agent = Agent("assistant", model=StandIn())
