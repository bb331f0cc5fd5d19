"""Agents whose memory is a folder of text files: a rule-based reader, and a wrapper.

The files are read when a session begins.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import partial
from typing import Any

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.reader.memory_policies import Full
from pytest_ltm.agents.reader.reader import Reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource, agent_source, require_spec
from pytest_ltm.agents.wrapping import AgentWrapper, await_result
from pytest_ltm.api.model import COMPACTION, Reply, Tool, Tools
from pytest_ltm.api.storage import COMMAND_SCHEMA, AgentError, TemporaryFolder

# The files that are read when a session begins, if they exist.
READ_FIRST = ("AGENTS.md", "CLAUDE.md", "MEMORY.md")
_NOTES = READ_FIRST[-1]
_TOOL = "memory"
_ITEM = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)
_SAVE = (
    f"{COMPACTION} Write it into files of your memory folder with the tool {_TOOL!r}; "
    f"what {_NOTES} says is shown to you again."
)


class MemoryFolder:
    """The files of one conversation, which last from session to session."""

    def __init__(self) -> None:
        self.folder = TemporaryFolder()

    def read_first(self) -> str:
        """Return the contents of the files that are read first, each under its name."""
        texts = self.folder.texts()
        parts = []
        for name in READ_FIRST:
            if texts.get(name):
                parts.append(f"{name}:\n{texts[name]}")
        return "\n\n".join(parts)

    def note(self, text: str) -> None:
        """Add an item to MEMORY.md."""
        item = "- " + text.replace("\n", "\n  ")
        if _NOTES not in self.folder.texts():
            self.folder("create", path=_NOTES, file_text="")
        self.folder("insert", path=_NOTES, insert_text=item)

    def items(self) -> list[str]:
        """Return the items in the files that are read first."""
        texts = self.folder.texts()
        items = []
        for name in READ_FIRST:
            items += _ITEM.findall(texts.get(name, ""))
        return [item.replace("\n  ", "\n") for item in items]

    def fill(self, texts: Mapping[str, str]) -> None:
        """Replace all files by these."""
        for name in self.folder.texts():
            self.folder.remove(name)
        for name, text in texts.items():
            self.folder.write(name, text)


class FolderReader(Reader):
    """The embedded reader, whose memory folder is all that it keeps from session to session.

    A message from which the reader notes anything becomes an item of MEMORY.md.
    `folders`: the folders of all conversations. KeepsUsers, Compacts.
    """

    def __init__(self, folders: dict[str, MemoryFolder]) -> None:
        self._folders = folders
        self._files = MemoryFolder()
        super().__init__(Full, "folder")

    def begin_session(self, user: str) -> None:
        """Begin a session of this user with the contents of the user's files."""
        self._files = self._folders.setdefault(user, self._files)
        self.compact()

    def reply(self, message: str, user: str = "", tools: Tools | None = None) -> str:
        """Return the reader's reply, and write the message down if the reader noted anything."""
        notes = self._notes.lines()
        reply = super().reply(message, user, tools)
        self._write_down(message, user, notes)
        return reply

    def accept(self, message: str, reply: str, user: str = "") -> None:
        """Accept an exchange, and write the message down if the reader noted anything."""
        notes = self._notes.lines()
        super().accept(message, reply, user)
        self._write_down(message, user, notes)

    def answer_alone(self, message: str) -> str:
        """Return the reply to a question, then restore the state, including the files."""
        texts = self._files.folder.texts()
        reply = super().answer_alone(message)
        self._files.fill(texts)
        return reply

    def compact(self) -> str:
        """Begin a new session from the memory folder; return the items in its files."""
        items = self._files.items()
        super().reset()
        for item in items:
            super().accept(item, "Noted.")
        return "\n".join(items)

    def reset(self) -> None:
        """Forget everything, including the files."""
        self._files.fill({})
        super().reset()

    def save(self) -> bytes:
        """Return the files and the state of the session."""
        files = self._files.folder.texts()
        return json.dumps([files, super().save().decode()]).encode()

    def load(self, state: bytes) -> None:
        """Restore the state that `save` returned."""
        files, session = json.loads(state)
        super().load(session.encode())
        self._files.fill(files)

    def _write_down(self, message: str, user: str, notes: list[str]) -> None:
        if len(self._notes.lines()) > len(notes):
            self._files.note(f"{user} here: {message}" if user else message)


class FolderAgent(AgentWrapper):
    """A wrapper with a memory folder: six commands as a tool, and files read when a session begins.

    `folders`: the folders of all conversations. TakesTools, KeepsUsers, Compacts,
    Configured. Checkpointable if the agent is, and then AcceptsHistory, too: replayed
    history restores no files, only a state does.
    """

    def __init__(
        self, model: AgentSource, agent: Any, folders: dict[str, MemoryFolder]
    ) -> None:
        super().__init__(model, agent)
        missing = {"TakesTools", "Resettable"} - capabilities_of(agent)
        if missing:
            raise AgentError(
                f"agent 'with-folder:{model.spec}': {model.spec!r} is not {' and '.join(sorted(missing))}, "
                "so it has no use for a memory folder"
            )
        if "Checkpointable" in capabilities_of(agent):
            self.save = self._save
            self.load = self._load
            if "AcceptsHistory" in capabilities_of(agent):
                self.accept = agent.accept
        self._folders = folders
        self._files = MemoryFolder()
        self._is_new = True

    def begin_session(self, user: str) -> None:
        """Begin a session of this user, whose files precede the first message."""
        self._files = self._folders.setdefault(user, self._files)
        self._is_new = True

    async def reply(self, message: str, tools: Tools | None = None) -> Reply:
        """Return the agent's reply; the first message of a session follows the contents of the files."""
        text = self._opened(message)
        self._is_new = False
        return await self._reply_with_tools(text, () if tools is None else tools)

    async def compact(self) -> str:
        """Make the agent write down what it needs, then begin a new session; return the files read first."""
        await self._reply_with_tools(_SAVE, ())
        await await_result(self._agent.reset())
        self._is_new = True
        return self._files.read_first()

    def configuration(self) -> Mapping[str, Any]:
        """Return the wrapped agent's configuration."""
        return {"with-folder": self._model.configuration(self._agent)}

    async def _save(self) -> bytes:
        session: bytes = await await_result(self._agent.save())
        files = self._files.folder.texts()
        return json.dumps([files, self._is_new, b64encode(session).decode()]).encode()

    async def _load(self, state: bytes) -> None:
        files, self._is_new, session = json.loads(state)
        await await_result(self._agent.load(b64decode(session)))
        self._files.fill(files)

    def _opened(self, message: str) -> str:
        head = self._files.read_first() if self._is_new else ""
        return f"{head}\n\n{message}" if head else message

    async def _reply_with_tools(
        self, message: str, offered: Tools | tuple[()]
    ) -> Reply:
        passed = [_PassedOn.of(tool, offered) for tool in offered]
        tools = Tools([*passed, self._memory_tool()])
        turns: list[Reply] = []
        while not turns or turns[-1].calls:
            reply = await await_result(self._agent.reply(message, tools=tools))
            turns.append(reply if isinstance(reply, Reply) else Reply(reply))
            tools.answer(turns[-1].calls)
        from pytest_ltm.agents.caller import join_turns

        return join_turns(turns)

    def _memory_tool(self) -> Tool:
        return Tool(
            name=_TOOL,
            description="Your memory: a folder of text files, which is all that you keep from session to session.",
            schema=COMMAND_SCHEMA,
            returns=self._files.folder,
        )


class _PassedOn(Tool):
    """A tool of the scenario, which answers for itself, even to refuse a call."""

    @classmethod
    def of(cls, tool: Tool, tools: Any) -> _PassedOn:
        return cls(
            name=tool.name,
            description=tool.description,
            schema=tool.schema,
            returns=partial(tools.call, tool.name),
        )

    def complaint(self, _arguments: Mapping[str, Any]) -> str:
        """Return "": the scenario's tool validates the arguments itself."""
        return ""


def make_folder_reader(argument: str) -> AgentSource:
    """Return the source of `folder`; AgentError if it has an argument."""
    if argument:
        raise AgentError(
            f"agent 'folder:{argument}': 'folder' takes nothing; an agent of yours with a memory folder is "
            f"'with-folder:{argument}'"
        )
    folders: dict[str, MemoryFolder] = {}
    return agent_source(lambda: FolderReader(folders), spec="folder")


def make_with_folder(argument: str) -> AgentSource:
    """Return the source of `with-folder:SPEC`; AgentError if SPEC is missing."""
    require_spec("with-folder", argument, example="openai:MODEL")
    model = find_agent(argument)
    folders: dict[str, MemoryFolder] = {}
    return agent_source(
        lambda: FolderAgent(model, model.make(), folders),
        spec=f"with-folder:{argument}",
    )
