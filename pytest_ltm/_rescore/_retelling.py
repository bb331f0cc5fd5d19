"""Retelling: the conversation that follows a record instead of an agenda, and so needs no agent and no filler.

Each body is handed the recorded replies as long as it says what is recorded of it. One that says something else is
let go: its example keeps its recorded verdict, because nobody knows what the agent would have replied.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from pytest_ltm._channel import recorded_time
from pytest_ltm._conversation import Conversation
from pytest_ltm._errors import ConversationOver, Divergence
from pytest_ltm._filler import FillerExchange
from pytest_ltm._rescore._record import SPOKEN, Record, ScriptChanged, as_recorded
from pytest_ltm._scenario import Ask, Watch
from pytest_ltm._scheduler import Agenda

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from pytest_ltm._lane import Ending, Lane
    from pytest_ltm._scenario import Request, Say, Wait
    from pytest_ltm._transcript import Kind

KEEPS = "keeps its recorded verdict"
CUT_SHORT = "its record ends here: the run that is scored again has not come to its end"


class Retelling(Conversation):
    """Tells a record again; `kept_ending(example)` returns how an example ended that cannot be scored anew."""

    def __init__(self, *args: Any, record: Record, kept_ending: Callable[[str], Ending], **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self._agenda = _Unasked()
        self._record, self._kept_ending = record, kept_ending
        self.kept: dict[str, str] = {}
        """Why an example keeps its recorded verdict, by example."""
        self.cut_short = False
        """The record ends before the conversation does."""
        self.agent_wanted = False
        """Somebody wanted the agent itself, which is not there."""
        self._by_key = {lane.example.key: lane for lane in self.lanes}
        self._waiting: set[int] = set()
        self._told = 0
        """How many exchanges of the history have been told."""
        self._parts: deque[str] = deque()
        """What is left to be told of the next."""

    def _decide(self) -> None:
        if self.gone is not None:
            self._stop(self.gone)
            return
        event = self._record.next
        if event is None:
            self._end_of_record()
            return
        tell = {
            "begin": self._begin_again, "message": self._say_again, "filler": self._tell_again,
            "jump": self._jump_again, "end": self._end_again, "wait": self._go_on_again, "watcher": self._go_on_again,
            "fault": self._fail_again,
        }.get(event["event"], self._pass_over)  # fmt: skip
        tell(event)

    # --- one event of the record

    def _begin_again(self, event: Mapping[str, Any]) -> None:
        self._record.skip()
        lane = self._by_key.get(event["example"])
        if lane is not None and lane.start is None:
            self._begin(lane)

    def _say_again(self, event: Mapping[str, Any]) -> None:
        lane = self._by_key.get(event["by"])
        if event["kind"] in SPOKEN and lane is not None and lane.index in self._waiting:
            self._waiting.discard(lane.index)
            self._speak(lane, lane.body.resume(None))
        elif event["kind"] == "history":
            self._history(event["text"])
        else:
            self._retell(event)

    def _go_on_again(self, event: Mapping[str, Any]) -> None:
        """Let a waiting body go on that waited again, or began to watch, as soon as its wait was over."""
        lane = self._by_key.get(event["example"])
        if lane is None or lane.index not in self._waiting:
            self._pass_over(event)
            return
        self._waiting.discard(lane.index)
        self._speak(lane, lane.body.resume(None))

    def _retell(self, event: Mapping[str, Any]) -> None:
        """Have a message in the transcript that no body is asked about."""
        kind: Kind = event["kind"]
        numbers = event.get("about")
        about = tuple(number for number in numbers if type(number) is int) if isinstance(numbers, list) else ()
        self._attempt(lambda: self.channel.ask(event["by"], kind, event["text"], about))

    def _tell_again(self, event: Mapping[str, Any]) -> None:
        if "history" in event:
            self._history(event["message"])
        else:
            told = FillerExchange(event["message"], event["reply"])
            self._attempt(lambda: self.channel.tell(told))

    def _fail_again(self, event: Mapping[str, Any]) -> None:
        """Fail at what the agent was told and would not have: its text is not recorded, only the fault."""
        del event
        self._attempt(lambda: self.channel.tell(FillerExchange("", "")))

    def _history(self, text: str) -> None:
        """Tell the next part of the history, which must be what was told."""
        if not self._parts and self._told < len(self._pastime.history):
            self._parts.extend(self._pastime.messages(self._told))
        if not self._parts or as_recorded(self._parts[0]) != text:
            raise ConversationOver("the history that was told is not the one of the data set")
        exchange = self._pastime.tell(self._told, self._parts.popleft())
        self._told += not self._parts
        self._heard(exchange)

    def _jump_again(self, event: Mapping[str, Any]) -> None:
        self._record.skip()
        self._jump(recorded_time(event["to"]))

    def _jump(self, to: datetime) -> None:
        self.channel.journal.write("jump", to=to.isoformat())
        try:
            self.channel.clock.follow(to)
        except (ValueError, TypeError) as error:
            raise Divergence(f"the journal holds a jump that cannot be: {error}") from error
        self._advance()

    def _end_again(self, event: Mapping[str, Any]) -> None:
        lane = self._by_key.get(str(event["example"]))
        if lane is not None and lane.index in self._waiting and self._was_reached(lane):
            self._go_on_again(event)  # what it did after its wait left no trace but its end
            return
        self._record.skip()
        if lane is None or lane.ended:
            return
        key = lane.example.key
        if key in self.kept:
            self._end(lane, self._kept_ending(key))
        elif lane.start is None and self._was_unplayable(lane):
            self._begin(lane)
        elif self._record.reason and not lane.body_ended:
            self.give_up(self._record.reason)

    def _was_reached(self, lane: Lane) -> bool:
        reason = self._record.reason
        return not reason or self._record.verdicts.get(lane.example.key, {}).get("reason") != reason

    def _was_unplayable(self, lane: Lane) -> bool:
        why = lane.unplayable(self._counter, self.channel.powers)
        verdict = self._record.verdicts.get(lane.example.key, {})
        return bool(why) and (not self._record.reason or verdict.get("reason") == why)

    def _pass_over(self, event: Mapping[str, Any]) -> None:
        """Pass by a wait or a watcher of somebody who is not there, and what a whole record does not hold here."""
        if event["event"] == "reply":
            raise Divergence("the journal holds a reply to no message")
        self._record.skip()

    def _end_of_record(self) -> None:
        if self._record.complete:
            if all(lane.ended or lane.body_ended for lane in self.lanes) and not self._still_kept():
                self._finish()
                return
            self.give_up("its end is not recorded")
        elif self._record.reason:
            self.give_up(self._record.reason)
        else:
            self.cut_short = True
            self.give_up(CUT_SHORT)

    def _still_kept(self) -> bool:
        return any(not self._by_key[key].ended for key in self.kept)

    # --- one example

    def _speak(self, lane: Lane, request: Request | None) -> None:
        try:
            super()._speak(lane, request)
        except ScriptChanged as changed:
            self._keep(lane, str(changed))

    def _serve(self, lane: Lane, request: Say | Ask | Watch) -> str | None:
        self._catch_up(lane)
        if isinstance(request, Ask):
            lane.needles(request.about, self._pastime.told)  # what cannot be asked was not sent then, either
        if not isinstance(request, Watch):
            event = self._record.next or {}
            kind = "ask" if isinstance(request, Ask) else "say"
            mine = event.get("event") == "message" and event["by"] == lane.example.key
            if not mine:
                raise ScriptChanged(f"it says {_shown(request.text)}, where it said nothing")
            if (event["kind"], event["text"]) != (kind, as_recorded(request.text)):
                raise ScriptChanged(f"it says {_shown(request.text)}, where it said {_shown(event['text'])}")
        return super()._serve(lane, request)

    def _wait(self, lane: Lane, wait: Wait) -> None:
        self._catch_up(lane)
        super()._wait(lane, wait)
        self._waiting.add(lane.index)

    def _catch_up(self, lane: Lane) -> None:
        """Go through what the record holds of the ends of others before this one goes on; it may be over by then."""
        while (event := self._record.next) is not None:
            if event["event"] == "end" and event.get("example") != lane.example.key:
                self._end_again(event)
            elif event["event"] == "message" and event["kind"] == "reset" and event["by"] != lane.example.key:
                self._retell(event)
            else:
                break
            if self.gone is not None:
                raise ConversationOver(self.gone)
        if event is None and not self._record.complete:
            self.cut_short = not self._record.reason
            raise ConversationOver(self._record.reason or CUT_SHORT)
        if event is not None and event["event"] == "end" and self._record.reason:
            raise ConversationOver(self._record.reason)

    def _settle(self, lane: Lane) -> None:
        key = lane.example.key
        if key in self.kept:
            return
        if self.agent_wanted:
            self.agent_wanted = False
            raise ScriptChanged("it uses the agent itself, and there is none")
        by_itself = lane.broken is None and lane.body.error is None and lane.body.assertion is None
        if by_itself and self._record.left(key) and not lane.released:
            raise ScriptChanged("it ends where it went on")
        super()._settle(lane)

    def _release(self, lane: Lane) -> None:
        if lane.released:
            return
        lane.released = True
        event = self._record.next
        key = lane.example.key
        if event is not None and event["event"] == "message" and (event["kind"], event["by"]) == ("reset", key):
            self._retell(event)

    def _end(self, lane: Lane, ending: Ending) -> None:
        super()._end(lane, ending)
        event = self._record.next
        if event is not None and event["event"] == "end" and event["example"] == lane.example.key:
            self._record.skip()

    def _keep(self, lane: Lane, why: str) -> None:
        key = lane.example.key
        self.kept[key] = why
        self.notices.append(f"{key} {KEEPS}, because its script has changed: {why}")
        lane.body.abandon()
        lane.body_ended, lane.broken = True, None
        self._watched.pop(lane.index, None)


class _Unasked(Agenda):
    """Keeps no agenda: the record says what is next."""

    def __init__(self) -> None:
        pass

    def start(self, lane: int) -> None:
        pass

    def end(self, lane: int) -> None:
        pass

    def suspend(self, lane: int, *, tokens: int, time: datetime, told: int = 0) -> None:
        pass

    def resume(self, lane: int) -> None:
        pass

    def tell(self) -> None:
        pass

    def listen(self, change: int) -> None:
        pass

    def advance(self, *, position: int, now: datetime) -> None:
        pass


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


_LONGEST = 60
