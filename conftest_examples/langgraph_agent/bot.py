import re

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph


def answer(state):
    """Stand in for a model node: reply with the newest message that shares a long word with the question."""
    *told, asked = [
        message.text for message in state["messages"] if message.type == "human"
    ]
    words = set(re.findall(r"\w{6,}", asked))
    return {
        "messages": [
            (
                "ai",
                next(
                    (text for text in reversed(told) if words & {*text.split()}),
                    "Noted.",
                ),
            )
        ]
    }


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
graph = graph.compile(checkpointer=InMemorySaver())
