import json
import subprocess
import sys
import tempfile
from pathlib import Path

from pytest_ltm import Reply, Usage

HERE = Path(__file__).parent


# What was read from a cache, or written into one, Claude Code counts apart.
READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def tokens_of(used):
    sent = sum(used.get(name, 0) for name in READ)
    return Usage(input_tokens=sent, output_tokens=used.get("output_tokens", 0))


class Headless:
    """A coding agent that is called once for each message, prints JSON, and resumes a session by its id."""

    program = ()
    seconds = 600

    def __init__(self):
        self.session = ""
        # Sessions belong to the folder in which they were begun.
        self.home = tempfile.TemporaryDirectory()

    def reply(self, message, tools=None):
        workspace = tools.workspace if tools is not None else None
        if workspace is not None:
            message = f"Your workspace is {workspace}.\n\n{message}"
        done = subprocess.run(  # noqa: S603 - a program that the class names
            [*self.program, *self.arguments(message, workspace)],
            cwd=self.home.name,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=self.seconds,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr[-500:]}")
        return self.read(done.stdout)

    def close(self):
        self.home.cleanup()


class ClaudeCode(Headless):
    program = ("claude",)

    def arguments(self, message, workspace):
        words = ["-p", message, "--output-format", "json"]
        if workspace is not None:
            words += ["--add-dir", str(workspace), "--permission-mode", "acceptEdits"]
        return [*words, *(["--resume", self.session] if self.session else [])]

    def read(self, output):
        answer = json.loads(output)
        if answer.get("is_error"):
            raise RuntimeError(answer["result"])
        self.session, used = answer["session_id"], answer.get("usage", {})
        usage = tokens_of(used)
        return Reply(answer["result"], usage, answer.get("total_cost_usd"))


class Codex(Headless):
    program = ("codex",)

    def arguments(self, message, workspace):
        words = ["exec", "--json", "--skip-git-repo-check"]
        if workspace is not None:
            words += ["--sandbox", "workspace-write", "--add-dir", str(workspace)]
        return [*words, *(["resume", self.session] if self.session else []), message]

    def read(self, output):
        text, usage = "", None
        for event in map(json.loads, output.splitlines()):
            item = event.get("item", {})
            if event["type"] == "thread.started":
                self.session = event["thread_id"]
            elif event["type"] == "item.completed" and item["type"] == "agent_message":
                text = item["text"]
            elif event["type"] == "turn.completed":
                usage = tokens_of(event["usage"])
            elif event["type"] == "turn.failed":
                raise RuntimeError(event["error"]["message"])
        return Reply(text, usage)


class ScriptedClaude(ClaudeCode):
    program = (sys.executable, str(HERE / "stand_in.py"), "claude")


class ScriptedCodex(Codex):
    program = (sys.executable, str(HERE / "stand_in.py"), "codex")


class Forgetful(ScriptedClaude):
    """Begins a new session with each message."""

    def read(self, output):
        reply = super().read(output)
        self.session = ""
        return reply
