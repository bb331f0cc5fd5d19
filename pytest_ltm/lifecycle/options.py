"""The options for memory stores."""

from __future__ import annotations

from pytest_ltm.api import Option, lazy

PACE = Option(
    "--ltm-pace",
    "settle|poll|SECONDS",
    "real time for a memory store between the last message and a search: what its settle() takes,"
    " until its newest text is found, or a number of seconds",
    "settle",
    parse=lazy("pytest_ltm.agents.memory.pace:parse_pace"),
)
USERS = Option(
    "--ltm-users",
    "N",
    "number of users of one memory store, each in a conversation of their own (default 1)",
    "1",
    parse=lazy("pytest_ltm.agents.memory.backends:parse_users"),
)
