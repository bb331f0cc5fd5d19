"""Paging: an agent that manages its own memory through tools, as MemGPT does (Packer et al., 2023).

It sees two core blocks, a summary, and a queue of messages; tools search older messages
and an archive. It continues as long as it requests a heartbeat or a tool fails; the
reply is everything sent with `send_message`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from pytest_ltm.agents.memory.memories import Memories, MemoryItem, Range
from pytest_ltm.agents.memory.pipeline import Thinks
from pytest_ltm.agents.memory.prompts import PROMPTS, Prompts
from pytest_ltm.agents.memory.reading import (
    MemoryHit,
    NoteReading,
    Utterance,
    format_moment,
    read_moment,
    shorten_to_tokens,
)
from pytest_ltm.agents.memory.roles import Summary, asks_something, own_statements
from pytest_ltm.agents.memory.thinker import Replying, prompt_tokens
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.api.model import Reply
from pytest_ltm.api.storage import did_you_mean, load_packaged_yaml
from pytest_ltm.providers import ModelResponse, ToolCall
from pytest_ltm.providers.completions import Message

if TYPE_CHECKING:
    from pytest_ltm.agents.memory.parameters import Pressure


TOOLS: Sequence[Mapping[str, Any]] = load_packaged_yaml(__file__, "tools.yml")
"""The tool definitions for a model, in the form that an endpoint takes."""
STEPS = 10
"""The maximum number of steps per message."""


@cache
def _tools_size() -> int:
    return count_tokens(json.dumps(TOOLS))


class MemoryToolCall(Struct, frozen=True):
    """A tool call."""

    tool: str
    arguments: Mapping[str, Any] | None
    """None: they could not be parsed."""
    id: str = ""


class StepResult(Struct, frozen=True):
    """The result of a step: tool calls, and the text outside of them."""

    calls: tuple[MemoryToolCall, ...]
    text: str = ""


class Step(Struct, frozen=True, kw_only=True):
    """The next step of a message: tool calls.

    By rules: first the user's statements on themselves are written to the core memory,
    or to the archive if it is full, and a brief question is searched for; then the
    reply is sent, derived from core memory, summary, queue and search results in order
    of time.
    """

    core: Mapping[str, str]
    room: int
    """Characters that each block may have."""
    summary: str
    messages: tuple[Message, ...]
    """The queue, including the message and the steps taken for it so far."""
    counts: tuple[int, int]
    """The numbers of older messages and of texts in the archive."""
    message: str
    now: datetime | None
    recent: tuple[Utterance, ...]
    """The utterances in the queue before the message."""
    found: tuple[MemoryHit, ...]
    """The memories found for the message so far."""
    first: bool
    """Whether it is the message's first step."""
    reading: NoteReading
    role: str = "step"
    prompts: Prompts = PROMPTS

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """Return all tools."""
        return TOOLS

    def prompt(self) -> list[Message]:
        """Return core memory, summary and queue."""
        words = self.prompts[self.role]
        messages, archive = self.counts
        system = words["system"].format(**self.core, messages=messages, archive=archive)
        if self.summary:
            system += "\n" + words["summary"].format(summary=self.summary)
        return [{"role": "system", "content": system}, *self.messages]

    def result(self, answer: ModelResponse) -> StepResult:
        """Return the calls unchanged: an unparsable call, or one of an unknown tool, fails on execution."""
        calls = []
        for call in answer.calls:
            try:
                arguments = json.loads(call.arguments or "{}")
            except (ValueError, RecursionError):
                arguments = None
            calls.append(
                MemoryToolCall(
                    call.name,
                    arguments if isinstance(arguments, dict) else None,
                    call.id,
                )
            )
        return StepResult(tuple(calls), answer.text)

    def by_rules(self) -> StepResult:
        """Return the notes to write and the searches to make; the reply if none are left."""
        calls: list[MemoryToolCall] = []

        def call(tool: str, **arguments: str) -> None:
            calls.append(MemoryToolCall(tool, arguments | {"request_heartbeat": True}))

        if self.first:
            room = self.room - len(self.core["human"])
            for statement in own_statements(self.message):
                room -= len(statement) + 1
                if room >= 0:
                    call("core_memory_append", name="human", content=statement)
                else:
                    call("archival_memory_insert", content=statement)
            places = zip(
                ("conversation_search", "archival_memory_search"),
                self.counts,
                strict=True,
            )
            for tool, count in places if asks_something(self.message) else ():
                if count:
                    call(tool, query=self.message)
        if calls:
            return StepResult(tuple(calls))
        notes = tuple(sorted(self.found, key=lambda note: note.begin_time or _LONG_AGO))
        read = Replying(
            message=self.message,
            now=self.now,
            notes=notes,
            recent=self.recent,
            about="\n".join(filter(None, [self.core["human"], self.summary])),
            reading=self.reading,
        )
        return StepResult(
            (MemoryToolCall("send_message", {"message": read.by_rules()}),)
        )


_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


class _Failed(Exception):
    pass


class Paging(Thinks):
    """One conversation.

    Resettable, Checkpointable, AnswersAlone, AcceptsHistory, TimeAware, ReportsUsage,
    ShowsRetrieval, ShowsContext, LimitsMessages, Configured.
    """

    @property
    def _pressure(self) -> Pressure:
        assert self._settings.pressure is not None
        return self._settings.pressure

    def reset(self) -> None:
        """Forget the conversation."""
        words = self._thinker.prompts["step"]
        self._core = {"persona": words["core"]["persona"], "human": ""}
        if self._settings.mode == "code":
            self._core["human"] = words["core"]["human"]
        self._messages = Memories(self._settings, self._embeds)
        self._archive = Memories(self._settings, self._embeds)
        self._lines = []
        self._queue: list[Message] = []
        self._summary = ""
        self._warned = False
        self._said: list[str] = []
        self._found: list[MemoryHit] = []
        self._retrieved: list[str] = []
        self._in_context: tuple[str, ...] = ()
        self._now = None

    def reply(self, message: str) -> Reply:
        """Return everything sent with `send_message`, "" if nothing is; text outside of tools is a thought."""
        usage = self.usage()
        text, start, prompt_size = self._answered(message)
        self._keep(message, text)
        if self._pressure.at and prompt_size > self._pressure.at:
            self._evict(start)
        return self._since(usage, text)

    def answer_alone(self, message: str) -> Reply:
        """Return the same, then restore the queue, the core memory and the archive."""
        usage = self.usage()
        archived = len(self._lines)
        # Not by save and load, which process the whole archive; the archive rarely
        # grows here.
        state = [*self._queue], dict(self._core), self._summary, self._warned
        try:
            return self._since(usage, self._answered(message)[0])
        finally:
            self._queue, self._core, self._summary, self._warned = state
            if len(self._lines) > archived:  # only the archive can grow before a reply
                lines = self._lines[:archived]
                self._lines = []
                self._archive = Memories(self._settings, self._embeds)
                for line in map(json.loads, lines):
                    if isinstance(line, dict):
                        self._file(line["archive"], read_moment(line["at"]))
                self._lines = lines

    def _answered(self, message: str) -> tuple[str, int, int]:
        """Return the reply to a message, the message's place in the queue, and the tokens of the last prompt."""
        start = self._begin(message)
        for number in range(STEPS):
            step = self._step(message, start, first=not number)
            # Before each step: search results may have filled the window.
            start -= self._relieve(step, start)
            step = self._step(message, start, first=not number)
            prompt_size = prompt_tokens(step.prompt()) + _tools_size()
            if not self._carried_out(self._think(step)):
                break
        self._in_context = (
            *step.core.values(),
            *(message_fields["content"] for message_fields in step.messages[:start]),
        )
        return "\n".join(self._said), start, prompt_size

    def accept(self, message: str, reply: str) -> Reply | None:
        """Add an exchange to the queue and the record; the agent takes no step for it."""
        if self._settings.filler == "skipped":
            return None
        usage = self.usage()
        start = self._begin(message)
        self._queue.append({"role": "assistant", "content": reply or _SILENCE})
        self._keep(message, reply)
        step = self._step(message, start, first=True)
        self._relieve(step, start)
        return self._since(usage)

    def retrieved(self) -> list[str]:
        """Return the texts found for the last reply."""
        return list(dict.fromkeys(self._retrieved))

    def in_context(self) -> list[str]:
        """Return the non-retrieved part of the last reply's prompt: core memory and earlier messages."""
        return list(self._in_context)

    # --- One message.

    def _begin(self, message: str) -> int:
        """Add a message to the queue; return its place."""
        self._said = []
        self._found = []
        self._retrieved = []
        if self._now is not None and self._settings.reading.age:
            message = f"[{self._now.isoformat(' ', 'minutes')}] {message}"
        self._queue.append({"role": "user", "content": message or _SILENCE})
        return len(self._queue) - 1

    def _step(self, message: str, start: int, *, first: bool) -> Step:
        # The utterances in the queue before the message: each user message with its
        # reply.
        sides = sum(queued["role"] == "user" for queued in self._queue[:start])
        utterances = self._messages.log.utterances
        return Step(
            core=dict(self._core),
            room=self._settings.notebook.size,
            summary=self._summary,
            messages=tuple(self._queue),
            counts=(len(self._messages.items), len(self._archive.items)),
            message=message,
            now=self._now,
            reading=self._settings.reading,
            recent=tuple(utterances[len(utterances) - 2 * sides :]),
            found=tuple(self._found),
            first=first,
            prompts=self._thinker.prompts,
        )

    def _carried_out(self, thought: StepResult) -> bool:
        """Execute calls in order; return whether the agent continues."""
        self.observe(
            "text outside of tools, not said",
            failed=not thought.calls and bool(thought.text.strip()),
        )
        reason, thoughts = self._ending
        self._ending = reason, f"{thoughts}\n\n{thought.text}".strip()
        if not thought.calls:
            self._queue.append(
                {"role": "assistant", "content": thought.text or _SILENCE}
            )
            return False
        fresh = f"call_{len(self._queue)}_"
        calls = []
        call_fields = []
        for n, requested in enumerate(thought.calls):
            call = structs.replace(requested, id=requested.id or f"{fresh}{n}")
            calls.append(call)
            tool_call = ToolCall(call.id, call.tool, json.dumps(call.arguments))
            call_fields.append(tool_call.to_message())
        self._queue.append(
            {"role": "assistant", "content": thought.text, "tool_calls": call_fields}
        )
        goes_on = False
        for call in calls:
            try:
                output = self._called(call)
                failed = False
            except _Failed as failure:
                output = f"Failed: {failure}"
                failed = True
            self.observe("tool calls failed", failed=failed)
            self._queue.append(
                {"role": "tool", "tool_call_id": call.id, "content": output}
            )
            goes_on |= failed or bool((call.arguments or {}).get("request_heartbeat"))
        return goes_on

    def _called(self, call: MemoryToolCall) -> str:
        """Return the output of a tool; raises _Failed with the reason if it fails."""
        tools = [tool["function"]["name"] for tool in TOOLS]
        arguments = call.arguments
        if call.tool not in tools:
            raise _Failed(
                f"there is no tool {call.tool!r}.{did_you_mean(call.tool, tools)} Choose from {', '.join(tools)}"
            )
        if arguments is None:
            raise _Failed("the arguments are not a JSON object")
        match call.tool:
            case "send_message":
                self._said.append(_text_argument(arguments, "message"))
                return "Sent."
            case "core_memory_append" | "core_memory_replace":
                self._edit_core(arguments, adds=call.tool == "core_memory_append")
            case "archival_memory_insert":
                self._file(_text_argument(arguments, "content"))
            case "conversation_search_date":
                numbers = self._numbers_by_date(arguments)
                return self._page(self._messages, numbers, arguments)
            case _:
                if call.tool == "archival_memory_search":
                    where = self._archive
                else:
                    where = self._messages
                ranked = where.search(
                    [_text_argument(arguments, "query")],
                    before=len(where.log.utterances),
                )
                return self._page(where, [number for number, _ in ranked], arguments)
        return "Done."

    def _numbers_by_date(self, arguments: Mapping[str, Any]) -> list[int]:
        """Return the numbers of the messages between two dates of the arguments."""
        start = _date_argument(arguments, "start_date")
        end = _date_argument(arguments, "end_date") + timedelta(days=1)
        # The user means days in the conversation's time zone.
        zone = None if self._now is None else self._now.tzinfo
        within = Range(
            datetime.combine(start, time(), zone), datetime.combine(end, time(), zone)
        )
        numbers = []
        for number, item in enumerate(self._messages.items):
            moment = self._messages.log.utterances[item.span.first].at
            if moment is not None and within.contains_moment(moment):
                numbers.append(number)
        return numbers

    # --- The tools.

    def _edit_core(self, arguments: Mapping[str, Any], *, adds: bool) -> None:
        """Add a line to a block, or replace a part of it; fails if the block would be too long."""
        block = _text_argument(arguments, "name")
        room = self._settings.notebook.size
        if block not in self._core:
            raise _Failed(
                f"there is no block {block!r}. Choose from {', '.join(self._core)}"
            )
        content = self._core[block]
        if adds:
            content = f"{content}\n{_text_argument(arguments, 'content')}".strip()
        else:
            old = _text_argument(arguments, "old_content")
            new = _text_argument(arguments, "new_content", empty=True)
            if old not in content:
                raise _Failed(f"block {block!r} does not hold {old!r}")
            content = content.replace(old, new, 1)
        if len(content) > room:
            raise _Failed(
                f"block {block!r} would have {len(content)} characters, and has room for {room}"
            )
        self._core[block] = content

    def _page(
        self, where: Memories, numbers: Sequence[int], arguments: Mapping[str, Any]
    ) -> str:
        reading = self._settings.reading
        page = arguments.get("page", 0)
        if not isinstance(page, int) or isinstance(page, bool) or page < 0:
            raise _Failed("page is a whole number from 0")
        page_numbers = numbers[page * reading.k : (page + 1) * reading.k]
        limit = self._settings.window // (4 * reading.k)
        notes = []
        for note in where.notes(page_numbers, len(where.log.utterances)):
            utterances = []
            for utterance in note.utterances:
                text = shorten_to_tokens(utterance.text, limit)
                utterances.append(structs.replace(utterance, text=text))
            notes.append(structs.replace(note, utterances=tuple(utterances)))
        self._found += notes
        for number in page_numbers:
            self._retrieved += where.sources(number)
        if not notes:
            return "Nothing was found."
        return f"{len(numbers)} found; page {page}:\n{reading.format_notes(notes, self._now)}"

    def _file(self, content: str, moment: datetime | None = None) -> None:
        number = self._archive.log.add(Utterance("", content, moment or self._now))
        self._archive.add(
            MemoryItem(span=self._archive.log.span(number, number), session=0)
        )
        self._lines.append(
            json.dumps(
                {
                    "archive": content,
                    "at": format_moment(self._archive.log.utterances[number].at),
                }
            )
        )

    # --- Pressure: a warning, then a summary replaces the oldest messages.

    def _relieve(self, step: Step, start: int) -> int:
        """Warn or make room if the queue has grown; return the number of messages removed before `start`."""
        used = prompt_tokens(step.prompt()) + _tools_size()
        window = self._settings.window
        if used > window:
            evicted = self._evict(start)
            # If the window is still too small, drop the search results of the message's
            # earlier steps.
            over = (
                prompt_tokens(self._step("", start - evicted, first=False).prompt())
                + _tools_size()
                - window
            )
            for queued in self._queue[start - evicted :]:
                if over > 0 and queued["role"] == "tool":
                    over -= count_tokens(queued["content"])
                    queued["content"] = "(no longer shown)"
            return evicted
        if used > self._pressure.warn * window and not self._warned:
            self._warned = True
            self._queue.append(
                {"role": "system", "content": self._thinker.prompts["step"]["warning"]}
            )
        return 0

    def _evict(self, start: int) -> int:
        """Summarize the oldest messages before `start`; return the number removed."""
        keep = max(0, min(start, len(self._queue) - self._pressure.keep))
        total = sum(map(_message_tokens, self._queue))
        evicted = 0
        freed = 0
        while evicted < keep and freed < self._pressure.evict * total:
            freed += _message_tokens(self._queue[evicted])
            evicted += 1
        while 0 < evicted < start and self._queue[evicted]["role"] != "user":
            # a tool's answer stays with its call
            evicted += 1
        if not evicted:
            return 0
        utterances = []
        for queued in self._queue[:evicted]:
            if queued["content"] and queued["role"] in {"user", "assistant"}:
                utterances.append(Utterance(queued["role"], queued["content"]))
        limit = self._settings.window // 16
        task = Summary(
            said=tuple(utterances), of="queue", earlier=self._summary, size=limit
        )
        self._summary = self._think(task)
        del self._queue[:evicted]
        self._warned = False
        return evicted

    # --- State.

    def _keep(self, message: str, reply: str) -> None:
        number = self._messages.say(message, reply, self._now)
        self._lines.append(json.dumps([message, reply, format_moment(self._now)]))
        self._index(number)

    def _index(self, number: int) -> None:
        log = self._messages.log
        for place in (number, number + 1):
            if log.utterances[place].text.strip():
                self._messages.add(MemoryItem(span=log.span(place, place), session=0))

    def save(self) -> bytes:
        """Return all state: a line of JSON, then one for each exchange and each text in the archive."""
        return self.all_state(
            core=self._core,
            queue=self._queue,
            summary=self._summary,
            warned=self._warned,
            retrieved=self._retrieved,
            vectors=[self._messages.save(), self._archive.save()],
        )

    def load(self, state: bytes) -> None:
        """Restore what `save` returned; AgentError if other settings saved it."""
        head, lines = self.begin_from(state)
        for line in map(json.loads, lines):
            if isinstance(line, dict):
                self._file(line["archive"], read_moment(line["at"]))
            else:
                message, reply, time_text = line
                self._index(self._messages.say(message, reply, read_moment(time_text)))
        self._lines = lines
        for memories, vectors in zip(
            (self._messages, self._archive), head["vectors"], strict=True
        ):
            memories.load(vectors)
        self._core = head["core"]
        self._queue = head["queue"]
        self._summary = head["summary"]
        self._warned = head["warned"]
        self._retrieved = head["retrieved"]


_SILENCE = "(nothing)"


def _text_argument(
    arguments: Mapping[str, Any], name: str, *, empty: bool = False
) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not (value.strip() or empty):
        raise _Failed(f"{name} is a text that must be given")
    return value


def _date_argument(arguments: Mapping[str, Any], name: str) -> date:
    try:
        return date.fromisoformat(_text_argument(arguments, name)[:10])
    except ValueError:
        raise _Failed(f"{name} is a day, as in 2024-03-04") from None


def _message_tokens(message: Message) -> int:
    return prompt_tokens([message])
