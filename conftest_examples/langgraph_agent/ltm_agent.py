from uuid import uuid4

from bot import graph


class Agent:
    """A graph whose state has `messages`.

    With a checkpointer, a thread is a conversation; otherwise all messages are sent again.
    """

    def __init__(self):
        self.thread = {"configurable": {"thread_id": uuid4().hex}}
        self.messages = []

    def reply(self, message):
        messages = [*self.messages, ("user", message)]
        state = graph.invoke({"messages": messages}, self.thread)
        if not graph.checkpointer:
            self.messages = state["messages"]
        return state["messages"][-1].text

    def accept(self, message, reply):
        exchange = [("user", message), ("ai", reply)]
        if graph.checkpointer:  # the state is updated without running the graph
            graph.update_state(self.thread, {"messages": exchange})
        else:
            self.messages += exchange
