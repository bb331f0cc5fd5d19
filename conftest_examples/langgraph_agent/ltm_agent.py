from uuid import uuid4

from bot import graph


class Agent:
    """A graph whose state has `messages`, compiled with a checkpointer: one thread is one conversation."""

    def __init__(self):
        self.thread = {"configurable": {"thread_id": uuid4().hex}}

    def reply(self, message):
        state = graph.invoke({"messages": [("user", message)]}, self.thread)
        return state["messages"][-1].text

    def accept(
        self, message, reply
    ):  # filler goes into the state without running the graph
        graph.update_state(
            self.thread, {"messages": [("user", message), ("ai", reply)]}
        )
