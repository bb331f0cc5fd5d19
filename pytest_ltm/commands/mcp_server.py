"""`mcp`: the commands that a coding agent needs, as tools of an MCP server over stdio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from pytest_ltm.api.storage import ConfigurationError, for_screen
from pytest_ltm.commands.arguments import (
    add_flags,
    add_ltm_dir,
    add_option,
    positive_integer,
)
from pytest_ltm.figures.text import shorten_text
from pytest_ltm.reports.summary_page import STEP_SUMMARY

# Characters of a tool's answer; a longer one loses its middle, or whole examples.
LONGEST = 40_000
_LEFT_OUT = (
    "{count:,} more examples are left out: choose a trial, or see `ltm show --json`"
)
_READING_SECONDS = 120
_ENDING_SECONDS = 30  # for an interrupted run to write its results
_REFUSED = (
    "This server only reads runs. {tool} starts the agent and sends it messages, which may cost money: "
    "the person who starts the server allows it with `ltm mcp --allow-runs`."
)
INSTRUCTIONS = """Tests the long-term memory of conversational agents, and reads the results.
Begin with `runs`, or with `check_agent` and `run` for an agent that has none. `show` lists what failed in a run,
`explain` says for one item what the agent was told, how many tokens ago, what it was asked and what it answered.
An agent is named as for pytest's --ltm-agent: `package.module:Class`, `openai:MODEL`, `http://...`, `full`."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the permissions of the tools, and the folder of runs."""
    add_flags(
        parser,
        allow_runs="also check agents and play runs; without it the tools only read runs",
    )
    tokens = "most tokens of one run, input and output (default: 1000000)"
    add_option(parser, "--max-tokens", "N", tokens, 1_000_000, type=positive_integer)
    cost = "most dollars of one run; agents whose cost is unknown are then refused (default: no limit but tokens)"
    add_option(parser, "--max-cost", "DOLLARS", cost, None, type=float)
    minutes = "most minutes of one run, which can be resumed (default: 15)"
    add_option(parser, "--max-minutes", "N", minutes, 15, type=positive_integer)
    add_ltm_dir(parser)


def serve_tools(arguments: Namespace) -> int:
    """Serve a coding agent over the Model Context Protocol, on standard input and output.

    The tools are runs, show, explain, compare, check_agent and run. The last two need --allow-runs, and each run is
    limited in tokens, time and, with --max-cost, dollars. Needs pip install 'pytest-ltm[mcp]'.
    """
    make_server(arguments).run()
    return 0


def make_server(arguments: Namespace) -> Any:
    """Return the server; ConfigurationError without its package."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "it needs the package mcp: pip install 'pytest-ltm[mcp]'"
        ) from error
    server = MCPServer("pytest-ltm", instructions=INSTRUCTIONS)
    tools = _Tools(arguments)
    for tool in (
        tools.runs,
        tools.show,
        tools.explain,
        tools.compare,
        tools.check_agent,
        tools.run,
    ):
        reads = tool not in (tools.check_agent, tools.run)
        hints = ToolAnnotations(
            read_only_hint=reads, destructive_hint=False, open_world_hint=not reads
        )
        server.add_tool(tool, annotations=hints, structured_output=False)
    return server


class _Tools:
    """Runs each tool as a command in its own process: an agent that prints, hangs or dies cannot affect it."""

    def __init__(self, arguments: Namespace) -> None:
        self._given = arguments
        self._place = f"--ltm-dir={arguments.ltm_dir}"

    async def runs(self) -> str:
        """List the runs of this project as JSON, newest first: when, agents, totals, how each ended."""
        return await self._read("runs", "--json", str(self._given.ltm_dir))

    async def show(
        self, run: str = "latest", failed: bool = True, trial: str = ""
    ) -> str:
        """Show the totals and examples of a run as JSON.

        run: a run ID or 'latest'. failed: only examples that did not pass. trial: only
        this one.
        """
        words = ["-m", "pytest_ltm", "show", "--json", f"--trial={trial}", self._place]
        if failed:
            words.append("--failed")
        text = await _answer([*words, "--", run], _READING_SECONDS)
        values = json.loads(text)
        # JSON cut in its middle is invalid, so whole examples are left out.
        room = (
            LONGEST - len(json.dumps({**values, "examples": []})) - len(_LEFT_OUT) - 20
        )
        fitting = 0
        for example in values["examples"]:
            room -= len(json.dumps(example)) + 2
            fitting += room >= 0
        if left_out := len(values["examples"]) - fitting:
            values["examples"] = values["examples"][:fitting]
            values["notes"].append(_LEFT_OUT.format(count=left_out))
        return json.dumps(values)

    async def explain(
        self,
        item: str,
        run: str = "latest",
        agent: str = "",
        span: str = "",
        trial: str = "",
    ) -> str:
        """Explain a lost mark as JSON: the needle, its distance from the question, the answer, the verdict.

        item: as `show` lists it, or scenario/example such as colours/0. agent, span,
        trial: if several items match.
        """
        labels = (f"--agent={agent}", f"--span={span}", f"--trial={trial}")
        return await self._read("show", "--json", *labels, self._place, "--", run, item)

    async def compare(self, before: str, after: str) -> str:
        """Compare two runs or baselines of equal plans: the changes, and whether chance explains them (Markdown).

        before, after: run IDs, 'latest' or names of baselines; X@AGENT takes one agent
        of several.
        """
        return await self._read(
            "compare", "--markdown", self._place, "--", before, after
        )

    async def check_agent(self, agent: str) -> str:
        """Send an agent a few messages; return as JSON whether a run can use it, what it can do, what to fix."""
        self._require_runs("check_agent")
        return await self._read("check-agent", "--json", "--timeout=30", "--", agent)

    async def run(
        self,
        agent: str,
        span: str = "2k",
        suite: str = "",
        seed: int = 0,
        examples: int = 1,
        max_tokens: int = 0,
    ) -> str:
        """Play memory tests with an agent; return the Markdown summary of the run, or what went wrong.

        agent: as for --ltm-agent; several with commas, such as 'bot:Bot,full'. span: memory spans in tokens, such as
        '2k,32k'. suite: a suite such as 'standard'; '' plays it with the project's own scenarios, 'none' these alone.
        examples: of each scenario. max_tokens: a limit below the server's.
        """
        self._require_runs("run")
        limit = self._given.max_tokens
        cost = self._given.max_cost
        if max_tokens > 0:
            limit = min(max_tokens, limit)
        words = ["-m", "pytest", "-q", "--tb=no", "-rN", "-p", "no:cacheprovider"]
        words += [
            "--ltm-summary=-",
            f"--ltm-agent={agent}",
            f"--ltm-span={span}",
            f"--ltm-seed={seed}",
            f"--ltm-examples={examples}",
            self._place,
            f"--ltm-max-tokens={limit}",
        ]
        if suite:
            words.append(f"--ltm-suite={suite}")
        if cost is not None:
            words.append(f"--ltm-max-cost={cost}")
        return shorten_text(await _answer(words, 60 * self._given.max_minutes), LONGEST)

    def _require_runs(self, tool: str) -> None:
        if not self._given.allow_runs:
            from mcp.server.mcpserver.exceptions import ToolError

            raise ToolError(_REFUSED.format(tool=tool))

    @staticmethod
    async def _read(*words: str) -> str:
        return shorten_text(
            await _answer(["-m", "pytest_ltm", *words], _READING_SECONDS), LONGEST
        )


async def _answer(words: list[str], seconds: float) -> str:
    """Return the output of a Python process without blocking the server; ToolError if it printed nothing.

    A process that takes too long is interrupted, like by Ctrl-C, and then killed.
    """
    from anyio import to_thread
    from mcp.server.mcpserver.exceptions import ToolError

    output, errors = map(
        for_screen, await to_thread.run_sync(_run_python, words, seconds)
    )
    if not output.strip():
        raise ToolError(shorten_text(errors.strip() or "nothing was printed", LONGEST))
    return output.strip()


def _run_python(words: list[str], seconds: float) -> tuple[str, str]:
    """Return stdout and stderr of a Python process."""
    environ = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    environ.pop(STEP_SUMMARY, None)  # a question about results is not a CI step
    late = ""
    with subprocess.Popen(  # noqa: S603 - no shell: each argument of a tool is one word
        [sys.executable, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environ,
    ) as process:
        for limit, end in (
            (seconds, process.terminate),
            (_ENDING_SECONDS, process.kill),
            (None, process.kill),
        ):
            try:
                output, errors = process.communicate(timeout=limit)
                break
            except subprocess.TimeoutExpired:
                late = f"\nended after {seconds:g} seconds, the most that this server allows"
                end()
    return output + late, errors
