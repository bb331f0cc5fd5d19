"""RecordScript: repeats a recorded conversation in order to rescore it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from pytest_ltm.api.engine import (
    Action,
    Close,
    Conversation,
    ConversationScript,
    Ending,
    GiveUp,
    Lane,
    Renew,
    ScriptChanged,
    Send,
    SendFiller,
    TellHistoryPart,
)
from pytest_ltm.api.journal import ConversationRecord, events
from pytest_ltm.api.model import (
    SCORED,
    Exchange,
    FillerExchange,
    Finish,
    JumpTime,
    ResumeLane,
    Start,
    account_of,
)
from pytest_ltm.api.scenarios import Ask, Compact, Say, kind_of_request
from pytest_ltm.api.storage import AgentFault, ConversationOver, Divergence
from pytest_ltm.records.playback import SPOKEN, Playback, as_recorded, example_of_event

NO_USER = "it asks its simulated user's model something else"
_HEARD = (events.MessageSent, events.ReplyReceived, events.FillerSent, events.Fault)
# Events that follow from the bodies in a repeated conversation; beginnings, jumps and
# ends come from the record.
_TAKEN = (*_HEARD, events.WaitBegan, events.SessionBegan, events.Watcher)


# --- RecordScript: follows a record instead of an agenda, so it needs no agent and no
# filler.

CUT_SHORT = "its record ends here: the run that is scored again is not finished"


class RecordScript(ConversationScript):
    """Repeats a record; `kept_ending(example)` returns the ending of an example that cannot be rescored.

    `skip_passed` must observe the conversation, so that the record keeps up with it.
    """

    def __init__(
        self, playback: Playback, kept_ending: Callable[[str], Ending]
    ) -> None:
        self._playback = playback
        self._kept_ending = kept_ending
        self.cut_short = False
        """The record ends before the conversation does."""
        self._lanes: dict[str, Lane] = {}
        self._waiting: set[int] = set()
        self._history_count = 0
        """The number of exchanges of the history told so far."""
        self._parts: deque[str] = deque()
        """The remaining parts of the current exchange."""

    @property
    def has_early_end(self) -> bool:
        """Whether the recorded conversation ended early, with a reason."""
        return bool(self._playback.record.ended_early)

    def skip_passed(self, event: events.Event) -> None:
        """Advance in the record past an event that was repeated."""
        recorded = self._playback.next
        same = type(recorded) is type(event)
        if (same and isinstance(event, _TAKEN)) or (
            isinstance(event, events.End) and event == recorded
        ):
            self._playback.skip()

    def next(self, conversation: Conversation) -> Action | None:
        """Return the next action in the record."""
        lanes = conversation.lanes
        self._lanes = self._lanes or {lane.example.key: lane for lane in lanes}
        action: Action | None = None
        match self._playback.next:
            case None if self._playback.record.complete:
                over = _is_over(conversation)
                action = Finish() if over else GiveUp("its end is not recorded")
            case None:
                action = GiveUp(self._why_over())
            case events.Begin(example=name):
                self._playback.skip()
                lane = self._lanes.get(name)
                if lane is not None and lane.start is None:
                    action = Start(lane.index)
                else:
                    action = None
            case events.TimeJumped(to=to):
                self._playback.skip()
                action = JumpTime(to)
            case events.End(example=str(name)):
                action = self._end(conversation, name)
            case events.SessionBegan(example=""):
                action = Renew()
            case (
                events.WaitBegan(example=name)
                | events.SessionBegan(example=name)
                | events.Watcher(example=name)
            ):
                # A waiting body that waited again, or began to watch, continued as soon
                # as its wait was over.
                action = self._resumed(name)
                if action is None:
                    self._playback.skip()  # of an example that is not selected
            case event:
                action = self._repeat_event(conversation, event)
        return action

    def decide_ahead(self, conversation: Conversation, lane: Lane) -> Iterator[Action]:
        """Yield recorded ends of other examples before this one continues; ConversationOver if the record ends here."""
        while (event := self._playback.next) is not None:
            match event:
                case events.End(example=str(name)) if name != lane.example.key:
                    action = self._end(conversation, name)
                    if action is not None:
                        yield action
                case events.MessageSent(kind="reset", by=by) if by != lane.example.key:
                    yield _repeat_send(event)
                case _:
                    break
        record = self._playback.record
        if event is None and not record.complete:
            raise ConversationOver(self._why_over())
        if isinstance(event, events.End) and record.ended_early:
            raise ConversationOver(record.ended_early)

    def check(
        self,
        lane: Lane,
        event_made: Say
        | Ask
        | Compact
        | events.WaitBegan
        | events.SessionBegan
        | events.Watcher,
    ) -> None:
        """Raise ScriptChanged if the record differs."""
        event = self._playback.next
        if isinstance(event_made, events.SessionBegan):
            if event_made != event:
                raise ScriptChanged("it begins a session where it did not")
        elif isinstance(event_made, (events.WaitBegan, events.Watcher)):
            if event_made != event:
                is_same = (
                    type(event) is type(event_made)
                    and example_of_event(event) == event_made.example
                )
                change = "for something else" if is_same else "where it did not"
                raise ScriptChanged(f"it waits or watches {change}")
        elif not isinstance(event, events.MessageSent) or event.by != lane.example.key:
            raise ScriptChanged(
                f"it says {_shorten_repr(event_made.text)}, where it said nothing"
            )
        elif (event.kind, event.text) != (
            kind_of_request(event_made),
            as_recorded(event_made.text),
        ):
            raise ScriptChanged(
                f"it says {_shorten_repr(event_made.text)}, where it said {_shorten_repr(event.text)}"
            )

    def admit(self, record: ConversationRecord, exchange: Exchange) -> None:
        """Raise AgentFault for a recorded reply that was scored at the time, but is not an answer by its account."""
        reply = record.replies[exchange.number]
        outcome = account_of(
            reply.text,
            reply.finish_reason,
            thoughts=reply.thoughts,
            says=record.reading.says_something,
        )
        is_silence = not (reply.text or reply.thoughts or outcome.reason)
        if outcome.account not in SCORED and not (is_silence or reply.calls):
            end = f" (finish_reason {outcome.reason!r})" if outcome.reason else ""
            raise AgentFault(
                f"the recorded reply is not an answer: {outcome.account}{end}"
            )

    def wait(
        self, conversation: Conversation, lane: Lane, wait: events.WaitBegan
    ) -> None:
        """Remember that the example waits."""
        del conversation, wait
        self._waiting.add(lane.index)

    def release(self, lane: Lane) -> str:
        """Return its recorded reset message."""
        match self._playback.next:
            case events.MessageSent(kind="reset", by=lane.example.key, text=text):
                return text
        return ""

    def settle(self, lane: Lane) -> None:
        """Raise ScriptChanged if it used the agent itself, or had more messages."""
        missing = self._playback.wanted
        self._playback.wanted = ""
        if missing:
            raise ScriptChanged(missing)
        # An example that failed midway had more messages; that is not a change of its
        # script.
        by_itself = (
            lane.broken is None
            and lane.body.error is None
            and lane.body.assertion is None
        )
        if (
            by_itself
            and self._playback.count_remaining(lane.example.key)
            and not lane.released
        ):
            raise ScriptChanged("it ends where it went on")

    # --- one event of the record

    def _resumed(self, example: str) -> ResumeLane | None:
        lane = self._lanes.get(example)
        if lane is None or lane.index not in self._waiting:
            return None
        self._waiting.discard(lane.index)
        return ResumeLane(lane.index)

    def _repeat_event(self, conversation: Conversation, event: events.Event) -> Action:
        match event:
            case events.MessageSent(kind="history", text=text):
                return self._history(conversation, text)
            case events.MessageSent(by=by, kind=kind):
                return (self._resumed(by) if kind in SPOKEN else None) or _repeat_send(
                    event
                )
            case events.FillerSent(history=history, message=message, reply=reply):
                if history:
                    return self._history(conversation, message)
                return SendFiller(FillerExchange(message, reply))
            # A told message that the agent refused: its text is not recorded.
            case events.Fault():
                return SendFiller(FillerExchange("", ""))
        raise Divergence("the journal holds a reply to no message")

    def _history(self, conversation: Conversation, text: str) -> TellHistoryPart:
        """Return the next part of the history, which must equal the recorded text."""
        # The parts depend on the agent's message limit: they are cut as they were then.
        if not self._parts and self._history_count < len(
            conversation.filler_sender.history
        ):
            self._parts.extend(conversation.filler_sender.messages(self._history_count))
        if not self._parts or as_recorded(self._parts[0]) != text:
            raise ConversationOver("the recorded history is not the data set's")
        part = TellHistoryPart(self._history_count, self._parts.popleft())
        self._history_count += not self._parts
        return part

    def _end(self, conversation: Conversation, example: str) -> Action | None:
        lane = self._lanes.get(example)
        record = self._playback.record
        early = record.ended_early
        verdict = record.example(example).verdict
        reason = None if verdict is None else verdict.reason
        # Its body's last stretch left no trace but its end; an example that was not
        # reached did nothing.
        if (
            lane is not None
            and not (early and reason == early)
            and (action := self._resumed(example))
        ):
            return action
        self._playback.skip()
        if lane is None or lane.ended:
            return None
        if example in conversation.changed_scripts:
            return Close(lane.index, self._kept_ending(example))
        obstacle = ""
        if lane.start is None:
            obstacle = lane.unplayable(
                conversation.counter, conversation.channel.capabilities
            )
        if obstacle and (not early or reason == obstacle):
            return Start(lane.index)
        if early and not lane.body_ended:
            return GiveUp(early)
        return None

    def _why_over(self) -> str:
        """Return why the record ends here, noting whether it was cut short."""
        early = self._playback.record.ended_early
        self.cut_short = not early
        return early or CUT_SHORT


def _is_over(conversation: Conversation) -> bool:
    """Return whether the body of each open lane has ended, and was that of the record."""
    for lane in conversation.lanes:
        changed = lane.example.key in conversation.changed_scripts
        if not lane.ended and (changed or not lane.body_ended):
            return False
    return True


def _repeat_send(event: events.MessageSent) -> Send:
    return Send(event.by, event.kind, event.text, event.about, event.alone)


def _shorten_repr(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
