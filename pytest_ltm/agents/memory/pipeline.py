"""Pipeline: an agent whose memory has four control points: value, key, query and reading.

Each message, asked or told, takes the same steps: what has ended (a session, a day) is
written up, the notebook is updated, memories are searched, the reply is read from them,
and both sides of the exchange are stored.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import convert, structs, to_builtins

from pytest_ltm.agents.memory import roles
from pytest_ltm.agents.memory.memories import Memories, MemoryItem, Range, Span
from pytest_ltm.agents.memory.reading import (
    MemoryHit,
    Utterance,
    format_moment,
    read_moment,
    shorten_to_tokens,
)
from pytest_ltm.agents.memory.searching import EmbeddingFunction
from pytest_ltm.agents.memory.thinker import Replying, Task, Thinker, prompt_tokens
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.unbuilt import FRAME
from pytest_ltm.api.model import Mishap, Reply, ReportsUsage, TakesTurns, Usage
from pytest_ltm.api.storage import AgentError, AgentFault

if TYPE_CHECKING:
    from pytest_ltm.agents.memory.parameters import MemorySettings


R = TypeVar("R")
VERSION = 2
"""Increase when replies change: part of the fingerprint."""
# Maximum tokens of the age shown before a message.
_AGE = 16
# Maximum tokens around notes and the notebook.
_HEADING = 24
# A session is written up once it fills this fraction of the window, even if it
# continues.
_SESSION = 8
_LONGEST = 4096
# What a model writes for the memory, by role.
_WRITTEN = {
    "queries": "queries",
    "user": "notebooks",
    "scratchpad": "scratchpads",
    "facts": "facts",
    "range": "time ranges",
    "keyphrases": "keyphrases",
    "events": "events",
    "summary": "summaries",
    "note": "notes",
}


class Thinks(TakesTurns):
    """Base of the memory systems: a thinker whose usage and calls are counted, and the time."""

    def __init__(
        self,
        settings: MemorySettings,
        thinker: Thinker,
        embeds: EmbeddingFunction | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings
        self._thinker = thinker
        # a function, which may also have usage() and close()
        self._embeds: Any = embeds
        self._configured = configuration or {}
        self._used = Usage()
        self._now: datetime | None = None
        self._calls = Counter[str]()
        self._ending = "", ""
        """The finish reason of the reply, and the thoughts for it."""
        self._observed: dict[str, tuple[int, int]] = {}
        """Problems since the last reply, with the number of times they occurred and could have."""
        self._lines: list[str] = []
        """What was stored, one line of JSON each, encoded once: saving just joins them."""
        self.reset()

    def reset(self) -> None:
        """Forget the conversation."""
        raise NotImplementedError

    def tell_time(self, now: datetime) -> None:
        """Set the conversation's time."""
        self._now = now

    def usage(self) -> Usage:
        """Return the total usage of thinking and embeddings; for rules, what a model would have used."""
        return self._used + self._embedded()

    def _embedded(self) -> Usage:
        if isinstance(self._embeds, ReportsUsage):
            return self._embeds.usage()
        return Usage()

    def calls(self) -> Mapping[str, int]:
        """Return the number of calls of the thinker so far, by role."""
        return dict(self._calls)

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the replies; no secrets."""
        return {
            "memory": VERSION,
            **self._settings.record(),
            **self._thinker.configuration(),
            **self._configured,
        }

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint, if there is one."""
        return self._thinker.turn()

    def close(self) -> None:
        """Close all connections."""
        self._thinker.close()
        # an endpoint has it, a function does not
        close = getattr(self._embeds, "close", None)
        if close is not None:
            close()

    @property
    def max_message_tokens(self) -> int:
        """The maximum tokens of a message: a quarter of the window, at most the usual maximum."""
        return min(_LONGEST, self._settings.window // 4)

    def _think(self, task: Task[R]) -> R:
        self._calls[task.role] += 1
        try:
            thought = self._thinker.think(task)
        except AgentFault as fault:
            if fault.usage is not None:
                self._used += fault.usage
            raise
        self._used += thought.usage
        reason, thoughts = self._ending
        reason = thought.finish_reason if task.role in {"reply", "step"} else reason
        self._ending = reason, f"{thoughts}\n\n{thought.thoughts}".strip()
        if task.role in _WRITTEN:
            self.observe(
                f"{_WRITTEN[task.role]} unreadable, rules took over",
                failed=not thought.understood,
            )
        return thought.result

    def _since(self, before: Usage, text: str = "") -> Reply:
        """Return a text with the usage since then."""
        # Embeddings of an endpoint cost something even if rules think.
        free = self._thinker.free and not isinstance(self._embeds, ReportsUsage)
        ending = self._ending
        self._ending = ("", "")
        observed = self._observed
        self._observed = {}
        mishaps = tuple(
            Mishap(mishap, *numbers) for mishap, numbers in observed.items()
        )
        return Reply(text, self.usage() - before, None, free, *ending, mishaps)

    def observe(self, mishap: str, *, failed: bool) -> None:
        """Count something that a model may do wrong without a fault."""
        if not self._thinker.free:
            times, of = self._observed.get(mishap, (0, 0))
            self._observed[mishap] = times + failed, of + 1

    def ingested(self) -> bytes:
        """Return the ingested state, for an agent that differs only in `reading`."""
        return self.save()

    def adopt(self, ingested: bytes) -> None:
        """Adopt the state of an agent of the same kind; this agent's own usage stays."""
        # Only the first line differs: the rest may be a million tokens, and is not
        # parsed twice.
        first, _, lines = ingested.partition(b"\n")
        own_head = self._head()
        head = json.loads(first)
        for name in ("settings", "used", "calls"):
            head[name] = own_head[name]
        self.load(json.dumps(head).encode() + b"\n" * bool(lines) + lines)

    def save(self) -> bytes:
        """Return all state."""
        raise NotImplementedError

    def load(self, state: bytes) -> None:
        """Restore what `save` returned."""
        raise NotImplementedError

    def _head(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "settings": self._settings.record(),
            "now": format_moment(self._now),
            "used": structs.astuple(self.usage()),
            "calls": self._calls,
        }

    def all_state(self, **more: Any) -> bytes:
        """Return all state: a line of JSON, then a line for each stored item."""
        return "\n".join([json.dumps(self._head() | more), *self._lines]).encode()

    def begin_from(self, state: bytes) -> tuple[dict[str, Any], list[str]]:
        """Forget everything; return the first line of a state, parsed, and the other lines."""
        first, *lines = state.decode().split("\n")
        head = json.loads(first)
        self.reset()
        if (head.get("version"), head.get("settings")) != (
            VERSION,
            json.loads(json.dumps(self._settings.record())),
        ):
            raise AgentError(
                "this state was saved by a memory system with other settings, or of another version"
            )
        self._now = read_moment(head["now"])
        self._used = (
            Usage(**dict(zip(Usage.__struct_fields__, head["used"], strict=True)))
            - self._embedded()
        )
        self._calls = Counter(head["calls"])
        return head, lines


class Pipeline(Thinks):
    """One conversation.

    Resettable, Checkpointable, AnswersAlone, AcceptsHistory, TimeAware, ReportsUsage,
    ShowsRetrieval, ShowsContext, LimitsMessages, Configured.
    """

    def reset(self) -> None:
        """Forget the conversation."""
        self._memories = Memories(self._settings, self._embeds)
        self._lines = []
        self._user: Mapping[str, Any] = {}
        self._pad = ""
        self._portrait = {"history": "", "portrait": ""}
        self._strength: dict[int, tuple[int, int]] = {}
        """One more than the number of times a memory was recalled, and the day of the last time."""
        self._checked = 0
        """The day on which memories were last forgotten."""
        self._extra_days = self._tokens_today = 0
        """Days that passed by tokens, not by the clock, and the tokens of the current day."""
        self._days: list[int] = []
        """The day of each utterance."""
        self._session = self._session_from = self._day_from = 0
        self._spoke: datetime | None = None
        self._found: list[int] = []
        self._in_context: tuple[str, ...] = ()
        self._now = None

    def reply(self, message: str) -> Reply:
        """Return the reply, read from the memories found."""
        before = self.usage()
        self._write_up_the_past()
        text = self._think(self._shown(message))
        self._keep(message, text)
        return self._since(before, text)

    def answer_alone(self, message: str) -> Reply:
        """Return the same; only a session or day that has ended is written up permanently."""
        before = self.usage()
        self._write_up_the_past()
        notes = self._user, self._pad, dict(self._strength), self._day_from
        try:
            return self._since(before, self._think(self._shown(message)))
        finally:
            self._user, self._pad, self._strength, self._day_from = notes

    def accept(self, message: str, reply: str) -> Reply | None:
        """Store an exchange that is told, in the same way as any other."""
        if self._settings.filler == "skipped":
            return None
        before = self.usage()
        self._write_up_the_past()
        recalls = self._settings.forgetting != "off"
        _, queries = self._note_down(message, looks=recalls)
        if recalls:
            self._recall(
                message,
                queries,
                len(self._memories.log.utterances),
                self._settings.reading.budget,
            )
        self._keep(message, reply)
        return self._since(before)

    def retrieved(self) -> list[str]:
        """Return the source texts of the memories shown for the last reply, best first."""
        texts: list[str] = []
        for number in self._found:
            texts += self._memories.sources(number)
        return list(dict.fromkeys(texts))

    def in_context(self) -> list[str]:
        """Return the non-retrieved part of the last reply's prompt: the notebook, and the latest exchanges."""
        return list(self._in_context)

    # --- Before the message: what has ended.

    def _write_up_the_past(self) -> None:
        """Write up a session and a day that have ended since the last message."""
        last_time = self._spoke
        self._spoke = self._now
        if last_time is None or self._now is None:
            return
        if self._now - last_time > self._settings.pause:
            self._end_session()
        is_same_date = self._now.date() == last_time.date()
        is_full = 0 < self._settings.day <= self._tokens_today
        if is_full or not is_same_date:
            self._extra_days += is_same_date
            self._end_day()

    def _end_day(self) -> None:
        self._tokens_today = 0
        self._sum_up()
        utterances = self._memories.log.utterances
        has_news = self._day_from < len(utterances)
        if self._settings.notebook.kind == "portrait" and has_news:
            self._paint_portrait()
        self._day_from = len(utterances)
        if self._settings.forgetting != "off":
            self._forget_faded()

    def _new_utterances(self) -> tuple[Utterance, ...]:
        """Return the utterances since the last update, without empty ones."""
        utterances = self._memories.log.utterances[self._day_from :]
        return tuple(utterance for utterance in utterances if utterance.text)

    def _paint_portrait(self) -> None:
        """Store a summary of the day, and update history and portrait of the user."""
        utterances = self._memories.log.utterances
        day = self._new_utterances()
        limit = self._settings.notebook.size // 4
        text = self._think(roles.Summary(said=day, of="day", size=limit))
        span = self._memories.log.span(self._day_from, len(utterances) - 1)
        self._store(MemoryItem(span=span, session=self._session, text=text))
        mood = self._think(roles.Summary(said=day, of="personality", size=limit))
        for part, news in (("history", text), ("portrait", mood)):
            task = roles.Summary(
                said=(Utterance("", news),),
                of=part,
                earlier=self._portrait[part],
                size=2 * limit,
            )
            self._portrait[part] = self._think(task)

    def _forget_faded(self) -> None:
        """Forget each memory with the probability of the forgetting curve, at a change of day.

        In the code's version, a new chance is drawn each day from the days since the
        last recall, so that the chances multiply, strength has three levels, and no
        memory lasts 30 days; in the paper's, memories fade along the curve itself.
        """
        today = self._today()
        for number in list(self._memories.remembered_numbers()):
            draw = random.Random(f"{self._settings.draw} {today} {number}").random()
            if draw >= self._chance_to_last(number, today):
                self._memories.forget_memory(number)
        self._checked = today

    def _chance_to_last(self, number: int, today: int) -> float:
        told_day = self._days[self._memories.items[number].span.first]
        strength, recalled = self._strength.get(number, (1, told_day))
        if self._settings.forgetting == "code":
            days = today - recalled
            return math.exp(-days / strength) if days < _GONE else 0.0
        return math.exp(-(today - max(recalled, self._checked)) / strength)

    def _end_session(self) -> None:
        utterances = self._memories.log.utterances
        if self._settings.value.unit in _OF_SESSIONS and self._session_from < len(
            utterances
        ):
            span = self._memories.log.span(self._session_from, len(utterances) - 1)
            match self._settings.value.unit:
                case "session":
                    items: Iterable[MemoryItem] = [self._keyed(span)]
                case "summary":
                    text = self._think(
                        roles.Summary(said=self._memories.log.parts(span))
                    )
                    items = [MemoryItem(span=span, session=self._session, text=text)]
                case _:
                    items = self._facts(span)
            for item in items:
                self._store(item)
        self._sum_up()
        self._session += 1
        self._session_from = len(utterances)

    def _facts(self, span: Span) -> Iterator[MemoryItem]:
        log = self._memories.log
        numbers = []
        for number in range(span.first, span.last + 1):
            if log.utterances[number].text.strip():
                numbers.append(number)
        for fact in self._think(roles.Facts(said=log.parts(span))):
            cites = [numbers[place] for place in fact.cites if place < len(numbers)]
            yield MemoryItem(
                span=span, session=self._session, text=fact.text, cites=tuple(cites)
            )

    def _keyed(self, span: Span) -> MemoryItem:
        """Return utterances as a memory, with additional keys."""
        parts = self._memories.log.parts(span)
        if not parts:
            return MemoryItem(span=span, session=self._session)
        keys = {}
        for kind in self._settings.key:
            if kind != "value":
                keys[kind] = self._key(kind, parts)
        times: tuple[Range, ...] = ()
        at = self._memories.log.utterances[span.first].at
        if self._settings.query.kind == "time-aware" and at is not None:
            times = self._think(roles.EventDater(said=parts, now=at))
        return MemoryItem(span=span, session=self._session, keys=keys, times=times)

    def _key(self, kind: str, utterances: tuple[Utterance, ...]) -> str:
        """Return a key of utterances; `user` and `user-...`: only of the user's."""
        side, _, subkind = kind.partition("-")
        if side == "user":
            of_user = [
                utterance for utterance in utterances if utterance.role == "user"
            ]
            utterances = tuple(of_user)
            if not (subkind and utterances):
                return "\n".join(utterance.text for utterance in utterances)
            kind = subkind
        if kind == "facts":
            facts = self._think(roles.Facts(said=utterances))
            return "\n".join(fact.text for fact in facts)
        if kind == "keyphrases":
            return "\n".join(self._think(roles.Keyphrases(said=utterances)))
        return self._think(roles.Summary(said=utterances))

    def _sum_up(self) -> None:
        """Update a notebook that is one summary of everything with the utterances since the last update."""
        new = self._new_utterances()
        if self._settings.notebook.kind == "summary" and new:
            task = roles.Summary(
                said=new,
                of="history",
                earlier=self._pad,
                size=self._settings.notebook.size,
            )
            self._pad = self._think(task)
            self._day_from = len(self._memories.log.utterances)

    def _today(self) -> int:
        if self._now is None:
            return 0
        return self._now.toordinal() + self._extra_days

    # --- The message: what is noted, searched for, and shown.

    def _last_reply(self) -> str:
        for utterance in reversed(self._memories.log.utterances):
            if utterance.role == "assistant":
                return utterance.text
        return ""

    def _note_down(
        self, message: str, *, looks: bool = True
    ) -> tuple[str, tuple[str, ...]]:
        """Update the notebook; return its shown text, and further queries if `looks`."""
        notebook = self._settings.notebook
        query = self._settings.query
        limit = min(notebook.size, self._settings.window // 4)
        last = self._last_reply()
        queries: tuple[str, ...] = ()
        if looks:
            self._sum_up()
        old = self._known(limit)
        if notebook.kind == "json" and limit:
            task = roles.Describe(
                user=self._user,
                message=message,
                last=last,
                count=query.count,
                size=limit,
            )
            self._user, queries = structs.astuple(self._think(task))
        elif query.kind == "generated" and looks:
            queries = self._think(
                roles.Queries(message=message, last=last, count=query.count)
            )
        elif query.kind == "keyphrases" and looks:
            utterances = (Utterance("user", message),)
            phrases = " ".join(self._think(roles.Keyphrases(said=utterances)))
            queries = (phrases,) if phrases else ()
        if notebook.kind == "text" and limit:
            self._pad = self._think(
                roles.Jot(pad=self._pad, message=message, last=last, size=limit)
            )
        return (old if self._settings.mode == "code" else self._known(limit)), queries

    def _known(self, limit: int) -> str:
        match self._settings.notebook.kind:
            case "json":
                return roles.shown_user(self._user)
            case "text" | "summary":
                return self._pad
            case "portrait":
                return shorten_to_tokens(
                    "\n".join(filter(None, self._portrait.values())), limit
                )
        return ""

    def _shown(self, message: str) -> Replying:
        about, queries = self._note_down(message)
        reading = self._settings.reading
        window = self._settings.window
        bare = Replying(
            message=message,
            now=self._now,
            about=about,
            reading=reading,
            prompts=self._thinker.prompts,
        )
        used = prompt_tokens(bare.prompt()) + _HEADING
        if reading.notes == "con":
            used += count_tokens(self._thinker.prompts["reply"]["con"])
        recent, first = self._recent(used)
        self._in_context = (about, *(utterance.text for utterance in recent))
        used += sum(map(_shown_tokens, recent))
        budget = min(reading.budget, window - used)
        notes = self._recall(message, queries, first, budget)
        if reading.notes == "per-item":
            read = self._reread(message, notes)
            reading = structs.replace(reading, budget=max(1, budget))
            notes = reading.choose_notes(read, self._now)
        return structs.replace(bare, notes=notes, recent=recent)

    def _reread(self, message: str, notes: Iterable[MemoryHit]) -> list[MemoryHit]:
        """Return the notes as the model reads them for a message; it may drop some."""
        result = []
        for note in notes:
            task = roles.Reread(message=message, note=note, now=self._now)
            text = self._think(task)
            if not text:
                continue
            if text == note.text:
                result.append(note)
            else:
                utterance = Utterance("", text, note.begin_time)
                result.append(structs.replace(note, utterances=(utterance,)))
        return result

    def _recent(self, used: int) -> tuple[tuple[Utterance, ...], int]:
        """Return the latest utterances to show, and the number of the first one.

        Utterances that are not stored as memories yet are always shown, as far as they
        fit into half of the window.
        """
        utterances = self._memories.log.utterances
        share = self._settings.recent
        is_count = isinstance(share, int)
        room = self._settings.window * (0.5 if is_count else share)
        if self._settings.value.unit in _OF_SESSIONS:
            pending = self._session_from
        else:
            pending = len(utterances)
        earliest = min(pending, len(utterances) - 2 * share) if is_count else 0
        first = len(utterances)
        while first > max(0, earliest):
            used += _shown_tokens(utterances[first - 1])
            limit = self._settings.window / 2 if first - 1 >= pending else room
            if used > limit:
                break
            first -= 1
        return tuple(utterances[first:]), first

    def _recall(
        self, message: str, queries: Sequence[str], first: int, budget: int
    ) -> tuple[MemoryHit, ...]:
        """Return the notes to show from before an utterance; recalled memories gain strength."""
        self._found = []
        if budget <= 0 or not first:
            return ()
        limit = self._settings.retrieval.query
        texts = [message, *queries]
        if limit:
            texts = [shorten_to_tokens(text, limit) for text in texts]
        within = None
        if self._settings.query.kind == "time-aware" and self._now is not None:
            within = self._think(roles.TimeRange(message=message, now=self._now))
        hits = self._memories.search(texts, before=first, within=within)
        ranked = [number for number, _ in hits]
        reading = structs.replace(self._settings.reading, budget=budget)
        chosen = reading.choose_notes(self._memories.notes(ranked, first), self._now)
        chosen_ids = {note.id for note in chosen}
        self._found = [number for number in ranked if str(number) in chosen_ids]
        if self._settings.forgetting != "off" and self._now is not None:
            for number in self._found:
                strength, _ = self._strength.get(number, (1, 0))
                most = _LEVELS if self._settings.forgetting == "code" else math.inf
                self._strength[number] = (int(min(strength + 1, most)), self._today())
        return chosen

    # --- After the message: both sides are stored.

    def _keep(self, message: str, reply: str) -> None:
        number = self._memories.say(message, reply, self._now)
        self._days += [self._today()] * 2
        if self._settings.day:
            self._tokens_today += count_tokens(message) + count_tokens(reply)
        line = [
            message,
            reply,
            format_moment(self._now),
            self._session,
            *([self._extra_days] if self._extra_days else []),
        ]
        self._lines.append(json.dumps(line))
        for item in self._of_exchange(number):
            self._store(item)
        count = len(self._memories.log.utterances)
        if self._settings.value.unit in _OF_SESSIONS:
            fresh = 0
            for utterance in range(self._session_from, count):
                fresh += self._memories.log.tokens(utterance)
            if fresh > self._settings.window // _SESSION:
                self._end_session()

    def _of_exchange(self, number: int) -> Iterator[MemoryItem]:
        log = self._memories.log
        value = self._settings.value
        sides = []
        for side in (number, number + 1):
            if log.utterances[side].text.strip():
                sides.append(side)
        match value.unit:
            case "turn":
                for side in sides:
                    yield self._keyed(log.span(side, side))
            case "round" if sides:
                yield self._keyed(log.span(number, number + 1))
            case "fact" if sides:
                yield from self._facts(log.span(number, number + 1))
            case "chunk":
                step = max(1, round(value.size * (1 - value.overlap)))
                for side in sides:
                    for span in log.chunks(side, value.size, step):
                        yield MemoryItem(span=span, session=self._session)

    def _store(self, item: MemoryItem) -> None:
        self._memories.add(item)
        if not self._derived():
            self._lines.append(json.dumps(to_builtins(item)))

    def _derived(self) -> bool:
        """Return whether all memories can be derived from the conversation, so that none must be saved."""
        settings = self._settings
        is_plain = settings.key == ("value",) and settings.query.kind != "time-aware"
        return (
            is_plain
            and settings.value.unit in {"turn", "round", "chunk"}
            and settings.notebook.kind != "portrait"
        )

    # --- State.

    def save(self) -> bytes:
        """Return all state: a line of JSON, then one for each exchange and each memory derived from it."""
        return self.all_state(
            user=self._user,
            pad=self._pad,
            portrait=self._portrait,
            checked=self._checked,
            found=self._found,
            strength={
                str(number): strength for number, strength in self._strength.items()
            },
            spoke=format_moment(self._spoke),
            session=[self._session, self._session_from, self._day_from],
            days=[self._extra_days, self._tokens_today],
            vectors=self._memories.save(),
            forgotten=[]
            if self._settings.forgetting == "off"
            else self._memories.forgotten_numbers(),
        )

    def load(self, state: bytes) -> None:
        """Restore what `save` returned; AgentError if other settings saved it."""
        head, lines = self.begin_from(state)
        for line in map(json.loads, lines):
            if isinstance(line, dict):
                self._memories.add(convert(line, MemoryItem))
                continue
            message, reply, at, self._session, *extra = line
            when = read_moment(at)
            number = self._memories.say(message, reply, when)
            self._days += [0 if when is None else when.toordinal() + sum(extra)] * 2
            for item in self._of_exchange(number) if self._derived() else ():
                self._memories.add(item)
        self._lines = lines
        self._memories.load(head["vectors"])
        self._user = head["user"]
        self._pad = head["pad"]
        self._portrait = head["portrait"]
        self._strength = {}
        for number, (strength, day) in head["strength"].items():
            self._strength[int(number)] = (strength, day)
        self._checked = head["checked"]
        self._found = head["found"]
        self._session, self._session_from, self._day_from = head["session"]
        self._extra_days, self._tokens_today = head["days"]
        self._spoke = read_moment(head["spoke"])
        for number in head["forgotten"]:
            self._memories.forget_memory(number)


def _shown_tokens(utterance: Utterance) -> int:
    return count_tokens(utterance.text) + FRAME + _AGE


_OF_SESSIONS = frozenset({"session", "observation", "summary"})
_LEVELS = 3
_GONE = 30
