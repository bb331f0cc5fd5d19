"""Recording: the contents of a started conversation's folder, and the part that is kept when it is resumed.

External events (replies, told filler, judge calls, faults) are kept. Events after the
last of them are recreated when the conversation is replayed, so they are cut off. So
are final faults of a lost agent, or transient ones: the agent is asked again. The part
cut off is first written to `timings.jsonl`, so a kill at any instant loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm.api.engine import MAX_CONSECUTIVE_FAULTS, Checkpoints, RecordedAgent
from pytest_ltm.api.journal import (
    CHECKPOINTS,
    JOURNAL,
    TIMINGS,
    ConversationRecord,
    Resumed,
    Timings,
    events,
)
from pytest_ltm.api.model import (
    NAMED_WHERE_NEEDED,
    NOT_RESTORABLE,
    Capabilities,
    Exchange,
)
from pytest_ltm.api.scenarios import Plan, plan_differences
from pytest_ltm.api.storage import (
    DefinitionError,
    LtmError,
    disk_fault,
    open_regular,
    show_value,
)

_OUTSIDE = (
    events.Header,
    events.ReplyReceived,
    events.FillerSent,
    events.ModelAsked,
    events.Fault,
)


class Recording(Struct, frozen=True, kw_only=True):
    """A journal that can be resumed."""

    record: ConversationRecord
    header: events.Header
    kept: int
    """The number of bytes kept when it is resumed."""
    size: int
    """The size of the file in bytes."""
    torn: int
    """The size of an incomplete last line in bytes."""
    heard: bool
    """The agent has heard something that a new one would not know."""
    lost: int = 0
    """Messages at its end that were lost to transient faults, and are sent again."""

    @property
    def complete(self) -> bool:
        """The conversation has ended: nothing remains to be sent."""
        return self.record.complete and not self.lost

    @property
    def verdicts(self) -> Mapping[str, events.VerdictRecorded]:
        """The verdict of each example that has one."""
        verdicts = {}
        for key, example in self.record.examples.items():
            if example.verdict is not None:
                verdicts[key] = example.verdict
        return verdicts

    @property
    def exchanges(self) -> int:
        """The number of replies and told fillers."""
        return len(self.record.transcript)


def read_recording(path: Path) -> Recording | None:
    """Read a journal; None if there is none or it has no whole header.

    An incomplete last line is ignored. LtmError for anything but a journal of this
    version.
    """
    if not path.is_file():
        return None
    record = ConversationRecord()
    lost_messages = _LostMessages()
    end = outside = before_faults = 0
    for end, event in record.follow_journal(path):
        # The position before a row of faults: an agent that was lost is asked again
        # from there.
        if isinstance(event, events.Fault) and record.faults_in_a_row == 1:
            before_faults = outside
        lost_messages.follow(event, outside)
        if isinstance(event, _OUTSIDE):
            outside = end
    if record.header is None:
        return None
    is_gone = (
        record.fatal
        or record.faults_in_a_row >= MAX_CONSECUTIVE_FAULTS
        or bool(record.ended_early)
    )
    kept_bytes = outside
    if record.complete:
        kept_bytes = end
    elif is_gone and record.faults_in_a_row:
        kept_bytes = before_faults
    asks_again = lost_messages.count > 0 and _is_restorable(record, path.parent)
    if asks_again:
        kept_bytes = min(kept_bytes, lost_messages.begin)
    size = path.stat().st_size
    has_faults = (
        record.faults_in_a_row > lost_messages.count * asks_again and not is_gone
    )
    return Recording(
        record=record,
        header=record.header,
        kept=kept_bytes,
        size=size,
        torn=size - end,
        heard=len(record.transcript) > 0 or has_faults,
        lost=lost_messages.count if asks_again else 0,
    )


class _LostMessages:
    """The messages at the end of a journal that transient faults left without a reply.

    Told filler does not end the row: most agents only store it, so it does not prove
    that a server was up. Telling with usage does.
    """

    def __init__(self) -> None:
        self.count = self.begin = 0

    def follow(self, event: events.Event, place: int) -> None:
        """Add the next event; earlier external events end at `place`."""
        match event:
            case events.ReplyReceived():
                self.count = 0
            case events.FillerSent(usage=usage) if usage is not None:
                self.count = 0
            case events.Fault(passing=False):
                self.count = 0
            case events.Fault():
                if not self.count:
                    self.begin = place
                self.count += 1


def _is_restorable(record: ConversationRecord, folder: Path) -> bool:
    """Return whether an agent can be restored to its state at the last reply."""
    if record.header is None or record.header.agent is None:
        return False
    capabilities = Capabilities(record.header.agent.capabilities)
    exchanges = record.transcript.remembered
    states = Checkpoints(folder / CHECKPOINTS)
    return not exchanges or not _restoring_obstacle(capabilities, exchanges, states)


def cut_back(folder: Path, recording: Recording | None) -> None:
    """Truncate a journal to its kept part, after writing the rest to the timings."""
    path = folder / JOURNAL
    kept_bytes = recording.kept if recording else 0
    if not path.exists() or path.stat().st_size == kept_bytes:
        return
    with open_regular(path) as file:
        file.seek(kept_bytes)
        cut = file.read().decode("utf-8", "backslashreplace")
    # Written to disk first: only then may it be removed from the journal.
    timings = Timings.resuming(folder / TIMINGS)
    try:
        timings.write(Resumed(kept=kept_bytes, cut=cut))
    finally:
        timings.close()
    try:
        with path.open("r+b") as file:
            file.truncate(kept_bytes)
    except OSError as error:
        raise disk_fault(path, error) from error


# --- Whether a recorded conversation can be resumed: its plan and agent must be the
# original ones.


class AgentRecord(Struct, frozen=True, kw_only=True):
    """A journal header's data about an agent."""

    fingerprint: str
    facts: events.AgentFacts


def recorded_agent(recording: Recording) -> RecordedAgent:
    """Return the recorded agent; LtmError if the data are unusable."""
    agent = recording.header.agent
    if agent is None or agent.max_message_tokens < 1:
        raise LtmError("the journal's header does not list its agent's capabilities")
    return RecordedAgent(Capabilities(agent.capabilities), agent.max_message_tokens)


def recording_differences(recording: Recording, plan: Plan) -> list[str]:
    """Return a sentence for each difference between the recorded plan and this one."""
    if recording.header.plan_fingerprint == plan.fingerprint:
        return []
    try:
        recorded = Plan.from_json(recording.header.plan, where="the recorded plan")
        plans = ("the recorded plan", "the current plan")
        texts = plan_differences(recorded, plan, names=("recorded", "now"), plans=plans)
    except DefinitionError as error:
        texts = [str(error)]
    return texts or ["The plan's fingerprint is different."]


def agent_differences(recording: Recording, agent: AgentRecord) -> list[str]:
    """Return a sentence for each difference between the recorded agent and this one."""
    same = recording.header.agent_fingerprint == agent.fingerprint
    texts: list[str] = []
    facts = _comparable_facts(agent.facts, recording.header.agent)
    # An equal fingerprint means that spec and configuration, which come first, are
    # equal: records hide secrets.
    for name in events.AgentFacts.__struct_fields__[2 if same else 0 :]:
        recorded = _listed(getattr(recording.header.agent, name, None))
        current = _listed(getattr(facts, name))
        if isinstance(recorded, dict) and isinstance(current, dict):
            texts += value_changes(recorded, current, "The agent's configuration, {}:")
        else:
            texts += value_changes({name: recorded}, {name: current}, "The agent's {}")
    if not same and not texts:
        texts.append(
            "The agent's configuration differs in a value that is not shown because it may be secret."
        )
    return texts


def _listed(fact: object) -> object:
    return list(fact) if isinstance(fact, tuple) else fact


def _comparable_facts(
    facts: events.AgentFacts, recorded: events.AgentFacts | None
) -> events.AgentFacts:
    """Return the facts without the capabilities that the record may omit, and does."""
    recorded_names = () if recorded is None else recorded.capabilities
    capabilities = []
    for name in facts.capabilities:
        if name not in NAMED_WHERE_NEEDED or name in recorded_names:
            capabilities.append(name)
    return replace(facts, capabilities=tuple(capabilities))


def value_changes(
    then: Mapping[str, Any], now: Mapping[str, Any], subject: str = "{}"
) -> list[str]:
    """Return a sentence for each changed value; `subject`: the format of a name in it."""
    sentences = []
    for name in {**then, **now}:
        old = then.get(name)
        new = now.get(name)
        if old != new:
            changed = f"was {show_value(old)} and is {show_value(new)}"
            sentences.append(f"{subject.format(name)} {changed}.")
    return sentences


def cannot_go_on(recording: Recording, checkpoints: Checkpoints) -> str:
    """Return why no agent could resume the recording, or ""."""
    if recording.complete or not recording.heard:
        return ""
    return _restoring_obstacle(
        recorded_agent(recording).capabilities,
        recording.record.transcript.remembered,
        checkpoints,
    )


def _restoring_obstacle(
    capabilities: Capabilities, exchanges: Sequence[Exchange], checkpoints: Checkpoints
) -> str:
    """Return why an agent cannot be restored to a conversation, or "".

    A question asked alone is not in `exchanges`: it does not change the agent.
    """
    if "AcceptsHistory" not in capabilities and capabilities.saves:
        is_lost = exchanges and not checkpoints.has_state(exchanges[-1].number)
        if is_lost:
            return f"there is no checkpoint of exchange {exchanges[-1].number}"
        return ""
    return "" if capabilities.restorable else NOT_RESTORABLE
