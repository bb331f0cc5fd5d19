from bot import model


class Agent:
    """A chat model, or a chain that ends in one, which gets all previous messages."""

    def __init__(self):
        self.messages = []

    def reply(self, message, tools=None):
        messages = [*self.messages, ("user", message)]
        asked = model.bind_tools(tools.functions) if tools else model
        answer = asked.invoke(messages)
        while tools and answer.tool_calls:
            messages.append(answer)
            for call in answer.tool_calls:
                result = tools.call(call["name"], **call["args"])
                messages.append(
                    {"role": "tool", "content": result, "tool_call_id": call["id"]}
                )
            answer = asked.invoke(messages)
        self.messages = [*messages, ("ai", answer.text)]
        return answer.text

    def accept(self, message, reply):  # filler is stored without a model call
        self.messages += [("user", message), ("ai", reply)]
