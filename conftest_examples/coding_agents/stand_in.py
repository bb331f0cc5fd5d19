"""Stands in for the programs of coding agents: accepts their arguments and prints their JSON, without a model."""

import argparse
import json
import re
import subprocess
import sys
import uuid
from pathlib import Path

USED = {"input_tokens": 5, "output_tokens": 2}


def main():
    dialect, *words = sys.argv[1:]
    asked = (asked_codex if dialect == "codex" else asked_claude)(words)
    session = asked.resume or uuid.uuid4().hex
    notes = Path(f"{session}.txt")
    if asked.resume and not notes.is_file():
        sys.exit(f"no conversation found with session id {session}")
    told = notes.read_text("utf-8") if asked.resume else ""
    message = sys.stdin.read()
    notes.write_text("" if dialect == "forgetful" else f"{told}{message}\n", "utf-8")
    text = act(message, told, asked)
    print_reply = print_codex if dialect == "codex" else print_claude
    print_reply(session, text)


def asked_claude(words):
    parser = argparse.ArgumentParser("claude", allow_abbrev=False)
    parser.add_argument("-p", action="store_true", required=True)
    parser.add_argument("--output-format", choices=["json"], required=True)
    parser.add_argument("--add-dir")
    parser.add_argument("--permission-mode", choices=["acceptEdits"])
    parser.add_argument("--mcp-config", type=json.loads)
    parser.add_argument("--allowedTools", choices=["mcp__ltm"])
    parser.add_argument("--resume")
    asked = parser.parse_args(words)
    server = (asked.mcp_config or {}).get("mcpServers", {}).get("ltm")
    asked.server = server and [server["command"], *server["args"]]
    return asked


def asked_codex(words):
    parser = argparse.ArgumentParser("codex", allow_abbrev=False)
    parser.add_argument("exec", choices=["exec"])
    parser.add_argument("--json", action="store_true", required=True)
    parser.add_argument("--skip-git-repo-check", action="store_true", required=True)
    parser.add_argument("--sandbox", choices=["workspace-write"])
    parser.add_argument("--add-dir")
    parser.add_argument("--config", action="append", default=[])
    asked, last = parser.parse_known_args(words)
    settings = dict(setting.split("=", 1) for setting in asked.config)
    command, arguments = (
        json.loads(settings.get(f"mcp_servers.ltm.{name}", "null"))
        for name in ("command", "args")
    )
    asked.server = command and [command, *arguments]
    if last[-1:] != ["-"] or last[:-1] not in ([], ["resume", *last[1:-1]]):
        parser.error(f"not understood: {last}")
    asked.resume = last[1] if len(last) == 3 else ""
    return asked


def act(message, told, asked):
    wanted = re.search(r"Write (\S+\.md)", message)
    if asked.add_dir and wanted:
        rules = re.findall(r"We (indent with \w+)", told)
        text = rules[-1] if rules else "indent as you like"
        Path(asked.add_dir, wanted[1]).write_text(f"# Style\n\n- {text}\n", "utf-8")
        return f"I wrote {wanted[1]}."
    if asked.server and "Book a table" in message:
        times = re.findall(r"Tables are always for ([\d:]+)", told)
        result = call(asked.server, "book", {"time": times[-1] if times else "20:00"})
        return f"It says: {result}"
    return "Noted."


def call(server, name, arguments):
    """Call a tool of an MCP server; return the text of the result."""
    requests = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {
            "id": 3,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        },
    ]
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests
    )
    done = subprocess.run(  # noqa: S603 - what the configuration names
        server, input=lines, capture_output=True, text=True, check=True
    )
    _, listed, called = map(json.loads, done.stdout.splitlines())
    assert name in [tool["name"] for tool in listed["result"]["tools"]]
    return called["result"]["content"][0]["text"]


def print_claude(session, text):
    answer = {"type": "result", "subtype": "success", "is_error": False, "result": text}
    print(
        json.dumps(
            {**answer, "session_id": session, "usage": USED, "total_cost_usd": 0.01}
        )
    )


def print_codex(session, text):
    for event in (
        {"type": "thread.started", "thread_id": session},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": USED},
    ):
        print(json.dumps(event))


main()
