"""Replays recorded replies: strictly for our own runs, approximately for published master logs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from os.path import commonprefix
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from pytest_ltm.agents.sources import AgentSource, grant_capabilities
from pytest_ltm.api.journal import (
    JOURNAL,
    LATEST,
    ConversationName,
    ConversationRecord,
    conversations_in,
    events,
    find_run,
)
from pytest_ltm.api.model import (
    Announced,
    Count,
    ExpectedReply,
    Prompted,
    Reply,
    Tools,
    is_cut,
)
from pytest_ltm.api.scenarios import JudgeRequest
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    ConfigurationError,
    LtmError,
    UserError,
    did_you_mean,
    join_some,
    open_regular,
    read_regular,
)
from pytest_ltm.datasets.published import scenario_of
from pytest_ltm.fillers import answers_of, reply_of
from pytest_ltm.records.playback import Playback, as_recorded

_AROUND, _MIDDLE = 40, 200
"""Characters that a diff shows on either side of the difference, and of the difference itself."""
# Only the words in this many characters of a message decide which one is nearest.
_WORDS = 2_000


def nearest_message(
    messages: Sequence[tuple[str, str]], speaker: str, message: str
) -> str | None:
    """Return the recorded message with the most words in common, of the same speaker if that one has any."""
    texts_of_speaker = [text for by, text in messages if by == speaker]
    words_of_message = frozenset(message[:_WORDS].split())

    def likeness(text: str) -> float:
        words = frozenset(text[:_WORDS].split())
        return len(words & words_of_message) / (len(words | words_of_message) or 1)

    return max(
        texts_of_speaker or [text for _, text in messages], key=likeness, default=None
    )


def _count_equal(first: str, second: str) -> int:
    """Return the length of two texts' common prefix."""
    return len(commonprefix([first, second]))  # noqa: RUF071 - of texts, not of paths


def text_difference(recorded: str, current: str) -> str:
    """Return the differing part of two texts, with some context, on two lines."""
    prefix = _count_equal(recorded, current)
    after = _count_equal(recorded[prefix:][::-1], current[prefix:][::-1])
    lines = []
    for sign, text in (("-", recorded), ("+", current)):
        start = max(0, prefix - _AROUND)
        end = min(len(text), len(text) - after + _AROUND)
        excerpt = text[start:end]
        if len(excerpt) > 2 * _AROUND + _MIDDLE:
            excerpt = f"{excerpt[: _AROUND + _MIDDLE]} … {excerpt[-_AROUND:]}"
        excerpt = f"{'…' if start > 0 else ''}{excerpt}{'…' if end < len(text) else ''}"
        lines.append(f"{sign} {excerpt}".replace("\n", "\\n"))
    return "\n".join(lines)


# --- Recordings: the run or journal that `replay:ARGUMENT` names, and the journal of
# each conversation.

LTM_DIR = ".ltm"
_FEW = 6


class Recordings(Struct, frozen=True):
    """The recorded conversations that an argument names."""

    argument: str
    where: Path
    by_place: dict[str, Path]
    """Journals by memory span and trial, as in folder names (`32k~0`); a single file by ""."""

    @property
    def only_journal(self) -> Path:
        """The only journal; AgentError if there are several."""
        if len(self.by_place) > 1:
            places = join_some(sorted(self.by_place), _FEW)
            raise AgentError(
                f"agent 'replay:{self.argument}' holds several conversations: {places}"
            )
        return next(iter(self.by_place.values()))

    def journal_in(self, conversation: str) -> Path:
        """Return the journal for the conversation in a folder of this name; AgentError if there is none."""
        if "" in self.by_place:
            return self.by_place[""]
        name = ConversationName.of_folder(conversation)
        place = "" if name is None else name.place
        if place not in self.by_place:
            raise AgentError(
                f"agent 'replay:{self.argument}': {self.where} holds no conversation at {place!r}. It holds "
                f"{join_some(sorted(self.by_place), _FEW)}. "
                "Run the same memory spans and trials, or record again with the agent itself"
            )
        return self.by_place[place]


def find_recordings(argument: str, ltm_dir: Path | None = None) -> Recordings:
    """Return the recordings that a journal, a folder, a run's id or `latest` names.

    A run of several agents is followed by the `/LABEL` of one. Raises AgentError if
    nothing is found.
    """
    if not argument:
        raise AgentError(
            "agent 'replay:' names no recording. Write a run's id, its folder, 'latest', or a journal"
        )
    path = Path(argument)
    # A path takes precedence over a run's id: users mean what they can see.
    for file in (path, path / JOURNAL):
        if file.is_file():
            return Recordings(argument, path, {"": file})
    runs = ltm_dir or Path(LTM_DIR)
    recording, slash, label = argument.rpartition("/")
    is_id = recording == LATEST or (
        Path(recording).name == recording and (runs / "runs" / recording).is_dir()
    )
    if (
        path.is_dir()
        or not slash
        or not (is_id or any(Path(recording).glob(f"*/{JOURNAL}")))
    ):
        return _of_run(argument, _recording_folder(argument, argument, runs), None)
    return _of_run(argument, _recording_folder(argument, recording, runs), label)


def resolve_latest(spec: str, ltm_dir: Path) -> str:
    """Return a spec with `latest` replaced by the latest run's id.

    Soon, `latest` will mean another run.
    """
    kind, _, argument = spec.partition(":")
    recording, slash, label = argument.partition("/")
    if (kind, recording) != ("replay", LATEST) or Path(argument).exists():
        return spec
    return (
        f"{kind}:{_recording_folder(argument, recording, ltm_dir).name}{slash}{label}"
    )


def _recording_folder(argument: str, text: str, ltm_dir: Path) -> Path:
    try:
        return find_run(text, ltm_dir)
    except ConfigurationError as error:
        raise AgentError(
            f"agent 'replay:{argument}': cannot be read: it is not a file, and {error}"
        ) from error


def _of_run(argument: str, run: Path, label: str | None) -> Recordings:
    paths = conversations_in(run, JOURNAL)
    labels = sorted({name.agent for name in paths})
    if not labels:
        raise AgentError(
            f"agent 'replay:{argument}': {run} holds no recorded conversation"
        )
    if label is None and len(labels) > 1:
        raise AgentError(
            f"agent 'replay:{argument}': {run} holds the replies of several agents: {', '.join(labels)}. "
            f"Say which, as in replay:{argument}/{labels[0]}"
        )
    chosen = labels[0] if label is None else label
    if chosen not in labels:
        hint = did_you_mean(chosen, labels)
        raise AgentError(
            f"agent 'replay:{argument}': {run} has no agent {chosen!r}.{hint} It has {', '.join(labels)}"
        )
    by_place = {}
    for name, path in paths.items():
        if name.agent == chosen:
            by_place[name.place] = path
    return Recordings(argument, run, by_place)


# --- Replaying a published master log, as closely as its texts allow.

_MESSAGE, _REPLY, _FILLER, _FILLER_REPLY = 0, 4, 3, 5
"""Event types of a published master log."""


class MasterLogReplay(Announced):
    """Gives the replies of a published master log.

    Exact messages come first, then the nearest one of the same test.

    Each recorded exchange is used once, equal texts in the order of the recording. Our
    own filler gets the answers it asks for; opening and reset messages are
    acknowledged.
    """

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self._exchanges: dict[str, list[tuple[str, str]]] = {}
        self._speaker = ""
        questions: dict[str, str] = {}
        for event in events:
            kind = event["type"]
            text = event["data"].get("message", "")
            folder, dash, example = event["test_id"].rpartition(" - ")
            speaker = f"{scenario_of(folder)}/{example}" if dash else ""
            if kind in {_MESSAGE, _FILLER}:
                questions[speaker] = text
            elif kind in {_REPLY, _FILLER_REPLY} and speaker in questions:
                exchange = (questions.pop(speaker), text)
                self._exchanges.setdefault(speaker, []).append(exchange)

    def announce(self, speaker: str) -> None:
        """Set the example that speaks next."""
        self._speaker = speaker

    def reply(self, message: str) -> str:
        """Return the recorded reply, or a neutral one if nothing was recorded."""
        exchanges = self._exchanges.get(self._speaker, [])
        messages = [text for text, _ in exchanges]
        # Exact texts first: many messages of one test differ in a single word, so the
        # nearest may be another message.
        if message in messages:
            return exchanges.pop(messages.index(message))[1]
        answers = answers_of(message)
        if answers is not None:
            return reply_of(answers)
        if not exchanges:
            return "Understood."
        # Imported here: only master logs need it.
        from rapidfuzz import fuzz, process

        place = process.extractOne(message, messages, scorer=fuzz.ratio)[2]
        return exchanges.pop(place)[1]


WAY_OUT = "The messages have changed since: restore them, or record again with the agent itself"
# The default message limit if the recording has none; and how much of a message an
# error shows.
_MOST = 4096
_SHOWN = 200


class _Recorded(Struct, frozen=True):
    """A message of the recording, and what came of it."""

    number: int
    by: str
    text: str
    answer: events.ReplyReceived | events.Fault | None
    """None: the recording ends with the message."""


class JournalReplay(Announced):
    """Gives the replies in one of our journals; a message that it lacks is a fault with a diff."""

    def __init__(self, record: ConversationRecord, digest: str = "") -> None:
        """`digest`: of the journal, for the fingerprint."""
        fingerprint = ""
        capabilities: frozenset[str] = frozenset()
        self.max_message_tokens = _MOST
        if record.header is not None:
            fingerprint = record.header.agent_fingerprint
            if agent := record.header.agent:
                capabilities = frozenset(agent.capabilities)
                self.max_message_tokens = agent.max_message_tokens or _MOST
        self._configuration = {"replayed": fingerprint, "journal": digest}
        self._messages: list[_Recorded] = []
        self._fillers = set()
        self._compactions = []
        self._places: dict[tuple[str, str], list[int]] = {}
        """The places of the messages of a speaker with a text."""
        for place, (number, message) in enumerate(record.messages.items()):
            answer = record.replies.get(number) or record.faults.get(number)
            recorded = _Recorded(number, message.by, message.text, answer)
            self._messages.append(recorded)
            self._places.setdefault((message.by, message.text), []).append(place)
            if message.kind == "filler":
                self._fillers.add(message.text)
            elif message.kind == "compact":
                self._compactions.append(message.text)
        self._speaker = ""
        # A number, not a set, because it is saved with every reply.
        self._message_bits = 0
        """One bit for each recorded message that has been sent."""
        self._last = 0
        """The place of the last message sent."""
        self._unshown: int | None = None
        """The same, until its memory operations have been requested."""
        if any(exchange.told for exchange in record.transcript):
            capabilities |= {"AcceptsHistory"}
        # It saves its own number, whatever the recorded agent saved.
        grant_capabilities(self, capabilities - {"Checkpointable"})

    def announce(self, speaker: str) -> None:
        """Set the example that speaks next."""
        self._speaker = speaker

    def reply(self, message: str) -> Reply:
        """Return the recorded reply; AgentFault if there is none (left), and for a recorded fault."""
        return self._reply(message)

    def answer_alone(self, message: str) -> Reply:
        """Return the same: a recorded reply depends on no earlier message."""
        return self._reply(message)

    def save(self) -> bytes:
        """Return the set of messages already sent."""
        return f"{self._message_bits:x}".encode()

    def load(self, state: bytes) -> None:
        """Restore that set."""
        self._message_bits = int(state, 16)

    def configuration(self) -> Mapping[str, Any]:
        """Return the fingerprint of the recorded agent and the journal's digest."""
        return self._configuration

    # --- capabilities, if the recorded agent had them

    def _reply(self, message: str, user: str = "") -> Reply:  # noqa: ARG002 - the message tells it
        recorded = as_recorded(message)
        places = self._places.get((self._speaker, recorded), ())
        place = next(
            (place for place in places if not self._message_bits >> place & 1), None
        )
        if place is None:
            raise AgentFault(self._why_not(recorded))
        self._message_bits |= 1 << place
        self._last = self._unshown = place
        answer = self._messages[place].answer
        if answer is None:
            raise AgentFault("the recording ends with this message, without a reply")
        if isinstance(answer, events.Fault):
            fault = AgentFault(answer.text, fatal=answer.fatal)
            fault.leak = answer.leak
            raise fault
        # by the recorded run, not by this one
        spent = answer.usage is not None or answer.cost_usd is not None
        return Reply(
            answer.text,
            answer.usage,
            answer.cost_usd,
            spent,
            answer.finish_reason,
            answer.thoughts,
            answer.mishaps,
        )

    def _reply_with_tools(
        self, message: str, user: str = "", tools: Tools | None = None
    ) -> Reply:
        reply = self._reply(message, user)
        recorded = self._messages[self._last].answer
        if tools is not None and isinstance(recorded, events.ReplyReceived):
            tools.replay(recorded.calls)
        return reply

    def _compact(self) -> Reply:
        return self._reply(self._compactions[0] if self._compactions else "")

    def _accept(self, message: str, reply: str, user: str = "") -> None:
        """Accept filler or history; there is nothing to store."""

    def _tell_time(self, now: datetime) -> None:
        """Do nothing."""

    def _retrieved(self) -> list[str]:
        """Return the retrieved texts of the recorded reply; truncated texts still contain their needles."""
        answer = self._messages[self._last].answer
        if not isinstance(answer, events.ReplyReceived):
            return []
        recorded_texts = {message.number: message.text for message in self._messages}
        needles: dict[int, list[str]] = {}
        for number, rank in answer.places:
            if number in recorded_texts:
                needles.setdefault(rank, []).append(recorded_texts[number])
        texts = []
        for rank, text in enumerate(answer.retrieved or (), start=1):
            if is_cut(text):
                texts.append("\n".join([text, *needles.get(rank, ())]))
            else:
                texts.append(text)
        return texts

    def _written(self) -> list[tuple[str, str, str | None]]:
        """Return the memory operations up to the recorded reply, as far as they are recorded in full."""
        place = self._unshown
        self._unshown = None
        answer = None if place is None else self._messages[place].answer
        operations = answer.memory if isinstance(answer, events.ReplyReceived) else ()
        written: list[tuple[str, str, str | None]] = []
        for operation in operations:
            if operation.text is not None or operation.what == "deleted":
                written.append((operation.what, operation.record, operation.text))
        return written

    def _in_context(self) -> list[str]:
        """Return the speaker's earlier messages, except those recorded as retrieved."""
        last = self._messages[self._last]
        if not isinstance(last.answer, events.ReplyReceived):
            return []
        retrieved = {number for number, _ in last.answer.places}
        texts = []
        for earlier in self._messages[: self._last]:
            if earlier.by == last.by and earlier.number not in retrieved:
                texts.append(earlier.text)
        return texts

    def _reset(self) -> None:
        self._message_bits = 0

    def _why_not(self, text: str) -> str:
        speaker = f" of {self._speaker}" if self._speaker else ""
        if (self._speaker, text) in self._places:
            return f"the recording holds no further reply to {text[:_SHOWN]!r}{speaker}. {WAY_OUT}"
        messages = [(message.by, message.text) for message in self._messages]
        near = nearest_message(messages, self._speaker, text)
        diff = "Nothing is recorded"
        if near is not None:
            diff = (
                f"Nearest recorded (-) and this one (+):\n{text_difference(near, text)}"
            )
        if not self._speaker and near in self._fillers:
            return (
                f"the recording does not hold this filler. {diff}\nHow much filler is needed depends on all that is "
                "said: replay the whole conversation as it was, or record it again with the agent itself"
            )
        return f"the recording does not hold this message{speaker}. {diff}\n{WAY_OUT}"


class PromptedReplay(JournalReplay, Prompted):
    """The replies of a control."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Do nothing: the recorded control was already prompted."""


def replay_agent(path: Path) -> JournalReplay | MasterLogReplay:
    """Return an agent that replays a file; AgentError if it cannot be read."""
    if "type" in _first_event(path):
        with _readable(path, "log"):
            # Not splitlines: a text may contain U+2028.
            lines = read_regular(path).decode().replace("\r\n", "\n").split("\n")
            logged = []
            for event in map(json.loads, filter(None, lines)):
                if isinstance(event, dict):
                    logged.append(event)
        return MasterLogReplay(logged)
    with _readable(path):
        digest = hashlib.sha256(read_regular(path)).hexdigest()
        try:
            record = ConversationRecord.read_record(path)
        except LtmError as error:
            raise AgentError(f"not a journal: {error}") from error
    if not record.messages:
        raise AgentError(f"nothing is recorded in {path}")
    agent = None if record.header is None else record.header.agent
    is_control = agent is not None and "Prompted" in agent.capabilities
    return (PromptedReplay if is_control else JournalReplay)(record, f"sha256:{digest}")


def replay_source(argument: str, *, ltm_dir: Path | None = None) -> AgentSource:
    """Return the source of the agents of `replay:ARGUMENT`; AgentError if there is no such recording.

    Each conversation gets the recording of the same memory span and trial.
    """
    recordings = find_recordings(argument, ltm_dir)
    # Checked now, not when the conversation that needs it begins.
    for path in recordings.by_place.values():
        with _readable(f"agent 'replay:{argument}': {path}"):
            open_regular(path).close()
    return AgentSource(
        lambda: replay_agent(recordings.only_journal),
        spec=f"replay:{argument}",
        kind="replay",
        owned=True,
        definition=JournalReplay,
        produce_in=lambda folder: replay_agent(recordings.journal_in(folder.name)),
    )


class RecordedUsers:
    """The replies of simulated users' models in the recording for a conversation; read on first use."""

    def __init__(
        self, argument: str, folder: Path, ltm_dir: Path | None = None
    ) -> None:
        self._argument = argument
        self._folder = folder
        self._ltm_dir = ltm_dir

    def __call__(self, example: str, question: JudgeRequest) -> events.UserModelAsked:
        """Return the reply to exactly this question; UserError if it is not recorded."""
        user_model_asked = self._playback.reply(
            events.UserModelAsked, example, question.digest, question.vote
        )
        if user_model_asked is None:
            raise UserError(
                f"the recording does not hold what this simulated user says next. {WAY_OUT}"
            )
        return user_model_asked

    @cached_property
    def _playback(self) -> Playback:
        path = find_recordings(self._argument, self._ltm_dir).journal_in(
            self._folder.name
        )
        return Playback.open_playback(path) or Playback(ConversationRecord(), ())


def recorded_count(argument: str, ltm_dir: Path | None = None) -> Count:
    """Return the part of replies that the recording of `replay:ARGUMENT` counted; AgentError without one."""
    path = next(iter(find_recordings(argument, ltm_dir).by_place.values()))
    plan = _first_event(path).get("plan")
    if isinstance(plan, dict):
        return cast("Count", plan.get("count", "all"))
    return "all"


def _first_event(path: Path) -> dict[str, Any]:
    with _readable(path), open_regular(path) as file:
        line = file.readline()
        data = json.loads(line) if line.strip() else None
    if data is None:
        raise AgentError(f"nothing is recorded in {path}")
    if not isinstance(data, dict):
        raise AgentError(
            f"{path}: not a journal of JSON lines: its first line is not an object"
        )
    return data


@contextmanager
def _readable(place: object, kind: str = "journal") -> Iterator[None]:
    """Turn the errors of reading a file into AgentError: unreadable, or not a valid `kind`."""
    try:
        yield
    except OSError as error:
        raise AgentError(f"{place}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{place}: not a {kind} of JSON lines: {error}") from error
