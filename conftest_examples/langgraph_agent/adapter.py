from uuid import uuid4


class LangGraphAgent:
    """A graph whose state has `messages`, compiled with a checkpointer: one thread is one conversation."""

    def __init__(self, graph):
        self.graph, self.thread = graph, {"configurable": {"thread_id": uuid4().hex}}

    def reply(self, message):
        state = self.graph.invoke({"messages": [("user", message)]}, self.thread)
        return state["messages"][-1].text

    def accept(self, message, reply):
        self.graph.update_state(self.thread, {"messages": [("user", message), ("ai", reply)]})
