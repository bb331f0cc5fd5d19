from bot import model


class Agent:
    """A chat model, or a chain that ends in one, which is shown the messages so far."""

    def __init__(self):
        self.messages = []

    def reply(self, message):
        answer = model.invoke([*self.messages, ("user", message)]).text
        self.accept(message, answer)
        return answer

    def accept(self, message, reply):  # filler is remembered without calling the model
        self.messages += [("user", message), ("ai", reply)]
