class LangChainAgent:
    """A runnable that takes the messages so far and returns the next one: a chat model, or a chain that ends in one."""

    def __init__(self, runnable):
        self.runnable, self.messages = runnable, []

    def reply(self, message):
        answer = self.runnable.invoke([*self.messages, ("user", message)]).text
        self.accept(message, answer)
        return answer

    def accept(self, message, reply):
        self.messages += [("user", message), ("ai", reply)]
