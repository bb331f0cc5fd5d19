"""Stands in for a coding agent's program: the same words in, the same JSON out, no model and no network."""

import json
import re
import sys
import uuid
from pathlib import Path

USED = {"input_tokens": 5, "output_tokens": 2}


def main():
    dialect, *words = sys.argv[1:]
    resumed = re.search(r"(?:--)?resume ([0-9a-f]{32})", " ".join(words))
    session = resumed[1] if resumed else uuid.uuid4().hex
    notes = Path(f"{session}.txt")
    if resumed and not notes.is_file():
        sys.exit(f"no conversation found with session id {session}")
    message = words[1] if dialect == "claude" else words[-1]
    told = notes.read_text("utf-8") if resumed else ""
    notes.write_text(f"{told}{message}\n", "utf-8")
    text = act(message, told)
    if dialect == "claude":
        answer = {"type": "result", "is_error": False, "result": text}
        print(json.dumps({**answer, "session_id": session, "usage": USED}))
        return
    item = {"type": "agent_message", "text": text}
    for event in (
        {"type": "thread.started", "thread_id": session},
        {"type": "item.completed", "item": item},
        {"type": "turn.completed", "usage": USED},
    ):
        print(json.dumps(event))


def act(message, told):
    workspace = re.search(r"Your workspace is (.+)\.\n", message)
    wanted = re.search(r"Write (\S+\.md)", message)
    if workspace is None or wanted is None:
        return "Noted."
    rules = re.findall(r"We (indent with \w+)", told)
    text = rules[-1] if rules else "indent as you like"
    Path(workspace[1], wanted[1]).write_text(f"# Style\n\n- {text}\n", "utf-8")
    return f"I wrote {wanted[1]}."


main()
