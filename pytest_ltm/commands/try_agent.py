"""`ltm try SPEC`: six short conversations with a bot, and what they show of its memory, in words."""

from __future__ import annotations

import json
import re
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil, log2, sqrt
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from msgspec import Struct, field

from pytest_ltm._core.calls.event_loop import close_loops, share_in_thread
from pytest_ltm._core.calls.retry import Retries
from pytest_ltm._core.journal.cost import Price, list_price, read_price
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.storage.clock import START, stopwatch_seconds
from pytest_ltm._core.storage.errors import AgentError, AgentFault
from pytest_ltm._core.storage.secrets import redact_secrets
from pytest_ltm.agents._adapt import AgentSource
from pytest_ltm.agents._caller import AgentCaller
from pytest_ltm.agents._profile import model_of, spec_within
from pytest_ltm.agents._project import Project, choose_candidate
from pytest_ltm.agents._registry import find_agent
from pytest_ltm.commands.arguments import add_json, add_option, token_count
from pytest_ltm.figures.text import clip_text, one_line, pluralize, wrap_text
from pytest_ltm.fillers import filler_from_spec
from pytest_ltm.language.recital import tells_nothing
from pytest_ltm.language.words import content_stems

UNUSABLE = 2
"""The exit status where the bot cannot be asked."""
_EXCHANGES = 50
_SHORT_PROBES = 20
"""At most: the exchanges of the five conversations before the one about distance."""
_NEAREST, _CHUNK, _LONG_CHUNK = 300, 500, 2_000
"""Tokens: the smallest distance, and those of a message, without and with `--to`."""
_FINEST = 1.09
"""The ratio of a distance to the next smaller one, where there is room for it."""
_SHOWN = 70
_SMALL_TALK = (
    "By the way, which is longer, a mile or a kilometre?",
    "It has been raining here since the morning.",
    "I should water the plants later.",
)
_CITIES = ("Porto", "Turku", "Brno", "Lima", "Quito", "Oslo", "Cairo", "Sapporo")
_NAMES = ("Kelvin", "Ottilie", "Bastian", "Mirela", "Thorben", "Zuzana", "Ingo", "Pilar")
_THINGS = tuple(
    f"{kind} {thing}"
    for kind in ("red", "blue", "green", "old", "new", "small")
    for thing in (
        "locker",
        "garage",
        "bicycle",
        "suitcase",
        "boathouse",
        "cellar",
        "letterbox",
        "cabinet",
        "shed",
        "workshop",
        "greenhouse",
        "attic",
    )
)


class Exchange(Struct, frozen=True):
    """A message and its reply."""

    message: str
    reply: str


class Finding(Struct, frozen=True, kw_only=True):
    """What one conversation shows."""

    topic: str
    """Two words: `newest value`."""
    text: str
    """What it shows, in words."""
    good: bool | None
    """As a user would wish; None where nothing was shown."""
    talk: list[Exchange] = field(default_factory=list)
    tokens: int | None = None
    """Of distance: the tokens after which the bot does not know it any more, or as far as was asked."""


class OutOfTime(Exception):  # noqa: N818 - no fault of anybody's
    """The time that may be taken is over."""


class Trial:
    """The conversations with the agents of one source, within a time."""

    def __init__(
        self, source: AgentSource, rng: Random, seconds: float, reach: int | None
    ) -> None:
        self._source, self.rng, self.reach = source, rng, reach
        self._began, self._seconds = stopwatch_seconds(), seconds
        self.exchanges = 0
        self.count = token_counter("cl100k_base").count
        self._only: AgentCaller | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return stopwatch_seconds() - self._began

    @property
    def pace(self) -> float:
        """Seconds that an exchange took so far."""
        return self.elapsed / max(1, self.exchanges)

    @property
    def serves_many(self) -> bool:
        """Whether another conversation can have a bot of its own."""
        return self._source.serves_many

    def exchanges_left(self) -> int:
        """Return how many more exchanges there is time for."""
        most = _EXCHANGES - self.exchanges if self.reach is None else 10_000
        in_time = (self._seconds - self.elapsed) / max(self.pace, 1e-4)
        return max(0, min(most, int(0.9 * in_time)))

    @contextmanager
    def conversation(self, folder: Path) -> Iterator[Talk]:
        """Yield a conversation, which is the same as any other with that folder."""
        if self._only is not None:  # one object for all: nothing starts anew
            yield Talk(self, self._only)
            return
        caller = AgentCaller(
            self._source.make(folder=folder),
            timeout=max(1.0, self._seconds),
            name=self._source.spec,
            owned=self._source.owned,
            retries=Retries(most=2, rng=self.rng),
        )
        if not self.serves_many:
            self._only = caller
        try:
            yield Talk(self, caller)
        finally:
            if self._only is None:
                caller.close()

    def close(self) -> None:
        """Let go of a bot that served all conversations."""
        if self._only is not None:
            self._only.close()

    def check_time(self) -> None:
        """Raise OutOfTime once it is over."""
        if self.elapsed > self._seconds:
            raise OutOfTime


class Talk:
    """What is said in one conversation."""

    def __init__(self, trial: Trial, caller: AgentCaller) -> None:
        self._trial, self.caller = trial, caller
        self.exchanges: list[Exchange] = []

    def say(self, message: str) -> str:
        """Send a message and return the reply."""
        self._trial.check_time()
        self.caller.tell_time(START)
        reply = self.caller.ask(message).text
        self._trial.exchanges += 1
        self.exchanges.append(Exchange(message, reply))
        return reply


# --- The conversations


def try_newest_value(trial: Trial, folder: Path) -> Finding:
    """Tell where somebody lives, then that she has moved, and ask."""
    old, new = trial.rng.sample(_CITIES, 2)
    with trial.conversation(folder / "newest") as talk:
        talk.say(f"My sister lives in {old}.")
        talk.say(_SMALL_TALK[0])
        talk.say(f"My sister has moved from there. She lives in {new} now.")
        talk.say(_SMALL_TALK[1])
        answer = talk.say("Which city does my sister live in now?")
    says_old, says_new = _names(old, answer), _names(new, answer)
    if says_new and not says_old:
        text, good = f"keeps the newest value, {new}", True
    elif says_new:
        text, good = f"names the old value, {old}, beside the new one, {new}", False
    elif says_old:
        text, good = f"still says {old}, after it was told {new}", False
    else:
        text, good = f"says neither {new} nor {old} two messages later", False
    return Finding(topic="newest value", text=text, good=good, talk=talk.exchanges)


def try_other_user(trial: Trial, folder: Path) -> Finding:
    """Tell a name in one conversation, and ask for it in another."""
    topic = "other users"
    if not trial.serves_many:
        text = "not tried: it is one object for all users. Name its class or a factory"
        return Finding(topic=topic, text=text, good=None)
    name = trial.rng.choice(_NAMES)
    question = "What is the name of my parrot?"
    with trial.conversation(folder / "first-user") as first:
        first.say(f"The name of my parrot is {name}.")
        first.say(_SMALL_TALK[2])
        own = first.say(question)
    with trial.conversation(folder / "second-user") as second:
        other = second.say(question)
    talk = [*first.exchanges, *second.exchanges]
    if _names(name, other):
        text, good = f"mixes users: it told another one {name}", False
    elif _names(name, own):
        text, good = f"keeps users apart: only the one who said it hears {name}", True
    else:
        text, good = "tells other users nothing, nor the one who said it", None
    return Finding(topic=topic, text=text, good=good, talk=talk)


def try_restart(trial: Trial, folder: Path) -> Finding:
    """Tell a name, have the bot made again for the same conversation, and ask."""
    topic = "a restart"
    if not trial.serves_many:
        text = "not tried: it cannot be made again. Name its class or a factory"
        return Finding(topic=topic, text=text, good=None)
    name = trial.rng.choice(_NAMES)
    with trial.conversation(folder / "restart") as before:
        before.say(f"My dentist is called {name}.")
        before.say(_SMALL_TALK[0])
        known = before.say("What is my dentist called?")
        can_load = "Checkpointable" in before.caller.capabilities
        state = before.caller.save() if can_load else None
    with trial.conversation(folder / "restart") as after:
        if state is not None:
            after.caller.load(state)
        answer = after.say("Tell me again: what is my dentist called?")
    talk = [*before.exchanges, *after.exchanges]
    if _names(name, answer):
        text, good = f"still knows {name} after it was made again", True
    elif _names(name, known):
        text, good = f"loses {name} when it is made again", False
    else:
        text, good = f"does not know {name}, before a restart or after it", False
    return Finding(topic=topic, text=text, good=good, talk=talk)


def try_invention(trial: Trial, folder: Path) -> Finding:
    """Ask for a name that was never told."""
    told, question = "I have a brother, who is a baker.", "What is my brother's dog called?"
    with trial.conversation(folder / "invention") as talk:
        talk.say(told)
        answer = talk.say(question)
    shown = f"{clip_text(one_line(answer), _SHOWN)!r}"
    invented = content_stems(answer) - content_stems(f"{told} {question}")
    names = re.findall(r"(?<=[a-z,] )[A-Z][a-z]{2,}", answer)
    if tells_nothing(answer):
        text, good = "says that it was never told, where it was not", True
    elif names and invented:
        text, good = f"invents what it was never told: {shown}", False
    else:
        text, good = f"does not say that it was never told: {shown}", False
    return Finding(topic="invention", text=text, good=good, talk=talk.exchanges)


def try_order(trial: Trial, folder: Path) -> Finding:
    """Tell three events, and ask for the one in the middle."""
    first, second, third = trial.rng.sample(_NAMES, 3)
    with trial.conversation(folder / "order") as talk:
        talk.say(f"This morning I phoned {first} first.")
        talk.say(f"Then I phoned {second}.")
        talk.say(f"After that I phoned {third}.")
        answer = talk.say("Whom did I phone second this morning?")
    named = [name for name in (first, second, third) if _names(name, answer)]
    if named == [second]:
        text, good = f"keeps the order of three events: {second} was second", True
    elif named:
        text, good = f"mixes up three events: {second} was second, not {named[0]}", False
        if second in named:
            text = f"does not say which of three events was second: {', '.join(named)}"
    else:
        text, good = "names none of three events it was told of", False
    return Finding(topic="order", text=text, good=good, talk=talk.exchanges)


class Planted(Struct, frozen=True):
    """A code that was told, and where."""

    thing: str
    code: str
    exchange: int
    """The number of its message, from 0."""
    after: int
    """Tokens of its message behind it."""


class DistanceSearch:
    """One conversation with codes at growing distances from its end, which are asked for by bisection."""

    def __init__(self, trial: Trial, talk: Talk, reach: int, chunk: int) -> None:
        self._trial, self._talk = trial, talk
        self._reach, self._chunk = reach, chunk
        self._filler = filler_from_spec("letters", trial.rng, token_counter("cl100k_base"))
        self._planted: list[Planted] = []
        self._asked: dict[int, bool] = {}

    def plant(self, most: int) -> None:
        """Tell `most` codes at most, the farthest one first."""
        distances = [float(_NEAREST)]
        ratio = max(_FINEST, (self._reach / _NEAREST) ** (1 / max(1, most - 1)))
        while distances[-1] < self._reach:
            distances.append(distances[-1] * ratio)
        things = self._trial.rng.sample(_THINGS, min(len(distances), len(_THINGS)))
        distances = distances[-len(things) :]
        codes = self._trial.rng.sample(range(1000, 10_000), len(things))
        sizes = [
            round(further - nearer)
            for nearer, further in zip([0.0, *distances], distances, strict=False)
        ]
        for thing, code, size in zip(things, codes, reversed(sizes), strict=True):
            told = f"The code of my {thing} is {code}."
            texts = [told, *self._small_talk(size - self._trial.count(told), told)]
            message, later = texts[0], texts[1:]
            if later:
                message = f"{told} {later.pop(0)}"
            number = len(self._talk.exchanges)
            behind = self._trial.count(message) - self._trial.count(told)
            self._planted.append(Planted(thing, str(code), number, behind))
            self._talk.say(message)
            for text in later:
                self._talk.say(text)
        self._planted.reverse()  # the nearest first

    def _small_talk(self, tokens: int, told: str) -> Iterator[str]:
        """Yield texts of so many tokens together, each short enough for a message."""
        most = min(self._chunk, self._talk.caller.max_message_tokens)
        room = most - self._trial.count(told)
        while tokens > 30:
            text = self._filler.make(min(tokens, room), room).message
            tokens -= self._trial.count(text)
            room = most
            yield text

    def distance(self, number: int) -> int:
        """Return the tokens between a code and what is said next."""
        planted = self._planted[number]
        told, *later = self._talk.exchanges[planted.exchange :]
        texts = [told.reply, *(f"{one.message} {one.reply}" for one in later)]
        return planted.after + sum(map(self._trial.count, texts))

    def bisect(self, votes: int) -> tuple[int, int, bool]:
        """Return between which distances less than half is known, and whether any was known at all.

        The second distance is 0 where the farthest code is known.
        """
        low, high = 0, len(self._planted) - 1
        if not self._knows(low, votes):
            return 0, self.distance(low), False
        if self._knows(high, votes):
            return self.distance(high), 0, True
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._knows(middle, votes) else (low, middle)
        return self.distance(low), self.distance(high), True

    def _knows(self, number: int, votes: int) -> bool:
        """Return whether most of the codes next to a distance are known."""
        nearest = sorted(range(len(self._planted)), key=lambda other: abs(other - number))
        asked = [self._knows_one(other) for other in nearest[:votes]]
        return 2 * sum(asked) > len(asked)

    def _knows_one(self, number: int) -> bool:
        if number not in self._asked:
            planted = self._planted[number]
            answer = self._talk.say(f"What is the code of my {planted.thing}?")
            others = {one.code for one in self._planted} - {planted.code}
            # Who recites all codes does not know which one is asked for.
            recited = others & set(re.findall(r"\d{4}", answer))
            self._asked[number] = planted.code in answer and not recited
        return self._asked[number]


def try_distance(trial: Trial, folder: Path) -> Finding:
    """Tell codes, small talk between them, and look for the distance at which they are lost."""
    left = trial.exchanges_left()
    chunk = _CHUNK if trial.reach is None else _LONG_CHUNK
    votes = 1 if trial.reach is None and trial.pace > 0.2 else 3
    questions = votes * (2 + ceil(log2(max(2, left))))
    told = max(2, left - questions)
    reach = trial.reach or min(told * chunk, 16_000)
    most = told if trial.reach is None else len(_THINGS)
    with trial.conversation(folder / "distance") as talk:
        search = DistanceSearch(trial, talk, reach, chunk)
        search.plant(most)
        known, lost, is_known = search.bisect(votes)
    finding = {"topic": "distance", "talk": talk.exchanges}
    if not is_known:
        text = f"does not know a code it was told {lost:,} tokens before"
        return Finding(text=text, good=False, tokens=lost, **finding)
    if not lost:
        text = f"reaches back {known:,} tokens or more, which is as far as this went"
        return Finding(text=text, good=True, tokens=known, **finding)
    middle = round(sqrt(known * lost))
    text = f"reaches back about {middle:,} tokens: {known:,} yes, {lost:,} no"
    return Finding(text=text, good=None, tokens=middle, **finding)


PROBES: Sequence[Callable[[Trial, Path], Finding]] = (
    try_newest_value,
    try_other_user,
    try_restart,
    try_invention,
    try_order,
    try_distance,
)


def _names(word: str, answer: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", answer, re.IGNORECASE) is not None


# --- The command


def add_arguments(parser: ArgumentParser) -> None:
    """Add the agent, how far it is asked, and how long that may take."""
    parser.add_argument(
        "spec",
        nargs="?",
        metavar="SPEC",
        help="an agent, as for --ltm-agent (default: the only bot of the project)",
    )
    add_option(
        parser,
        "--to",
        "TOKENS",
        "how far back to ask, such as 64k (default: as far as 50 messages reach)",
        None,
        type=token_count,
    )
    add_option(
        parser,
        "--seconds",
        "N",
        "how long it may take (default: 60; with --to: 600)",
        None,
        type=float,
    )
    add_option(
        parser,
        "--price",
        "IN/OUT",
        "dollars for a million tokens in and out, to name the price",
        None,
    )
    add_option(
        parser,
        "--show",
        "N",
        "print the transcript of conversation N as well; `all`: of each",
        "",
    )
    add_json(parser)


def try_agent(given: Namespace) -> int:
    """Hold six short conversations with a bot, and say what they show.

    Does it keep the newest value, does it mix users, does it lose things after a
    restart, what does it invent, does it keep the order of events, how far back does it
    reach? Price and time are named before the first message. Nothing is written. Exit
    status 2 if the bot cannot be asked.
    """
    spec = given.spec
    if spec is None:
        found = choose_candidate(Project.read(Path.cwd()), "ltm try SPEC")
        print(f"found {found.what}: {found.spec}")
        spec = found.spec
    seconds = given.seconds or (60.0 if given.to is None else 600.0)
    share_in_thread()  # what is shared belongs to one loop, as in a run
    try:
        source = find_agent(spec, base=Path.cwd())
        print(_plan_sentence(source, given, seconds), flush=True)
        with TemporaryDirectory(prefix="ltm-try-") as folder:
            findings = _hold_conversations(source, given, seconds, Path(folder))
    except AgentError as error:
        print(f"{spec}: cannot be asked\n{redact_secrets(str(error))}", file=sys.stderr)
        return UNUSABLE
    finally:
        close_loops()
    if given.json:
        rows = [
            {
                "topic": finding.topic,
                "text": finding.text,
                "good": finding.good,
                "tokens": finding.tokens,
                "talk": [[one.message, one.reply] for one in finding.talk],
            }
            for finding in findings
        ]
        print(redact_secrets(json.dumps({"agent": spec, "findings": rows}, indent=1)))
        return 0
    _print_rest(spec, findings, given.show)
    return 0


def _hold_conversations(
    source: AgentSource, given: Namespace, seconds: float, folder: Path
) -> list[Finding]:
    """Hold each conversation and print its finding; AgentError if the bot does not answer at all."""
    trial = Trial(source, Random(), seconds, given.to)
    findings: list[Finding] = []
    try:
        for probe in PROBES:
            topic = probe.__name__.removeprefix("try_").replace("_", " ")
            try:
                finding = probe(trial, folder)
            except OutOfTime:
                text = f"not finished within {seconds:g} s"
                finding = Finding(topic=topic, text=text, good=None)
            except AgentFault as fault:
                if not trial.exchanges:
                    raise
                finding = Finding(topic=topic, text=f"failed: {fault}", good=False)
            findings.append(finding)
            if not given.json:
                _print_finding(len(findings), finding)
    finally:
        trial.close()
    if not given.json:
        took = f"{pluralize(trial.exchanges, 'message')} in {trial.elapsed:.0f} s"
        print(f"\n{took}", flush=True)
    return findings


_SIGNS = {True: "+", False: "-", None: " "}


def _print_finding(number: int, finding: Finding) -> None:
    label = f"{number} {_SIGNS[finding.good]} {finding.topic:13} "
    lines = wrap_text(label + one_line(finding.text), 100, indent=" " * len(label))
    print("\n".join(map(redact_secrets, lines)), flush=True)


def _plan_sentence(source: AgentSource, given: Namespace, seconds: float) -> str:
    """Return what it will take, before anything is sent."""
    messages, tokens = _EXCHANGES, _EXCHANGES * _CHUNK // 2
    if given.to is not None:
        messages = _SHORT_PROBES + len(_THINGS) + given.to // _LONG_CHUNK
        tokens = given.to + messages * 30
    price = read_price(given.price) if given.price else _known_price(source)
    # A chat is sent again with each message, at worst all of it.
    again = tokens * messages // 2
    if source.embedded:
        cost = "free"
    elif price is None:
        cost = "price: what your bot pays for that (--price=IN/OUT names it)"
    else:
        cost = f"at most ${_dollars(price, again, messages * 100):.2f}"
    return (
        f"{source.spec}: about {messages} messages with {tokens:,} tokens, {messages} s at a second a reply, "
        f"at most {seconds:g} s; {cost}"
    )


def _dollars(price: Price, sent: int, replied: int) -> float:
    return (price.input_usd * sent + price.output_usd * replied) / 1e6


def _known_price(source: AgentSource) -> Price | None:
    model = model_of(spec_within(source))
    return None if model is None else list_price(model.model, model.base_url)


def _print_rest(spec: str, findings: Sequence[Finding], show: str) -> None:
    """Print the transcripts that are wanted, and what goes further."""
    numbers = [str(number) for number, finding in enumerate(findings, 1) if finding.talk]
    _print_talks(findings, numbers if show == "all" else [show] * (show in numbers))
    quoted = shlex.quote(spec)
    print(
        f"\nnext: pytest --ltm-agent={quoted} --ltm-span=2k,8k    # scores, with a report\n"
        f"      ltm init --agent={quoted}    # a gate for CI"
    )
    if sys.stdin.isatty() and sys.stdout.isatty():
        while (key := input(f"transcript ({', '.join(numbers)}; Enter: none): ")) != "":
            _print_talks(findings, [key] * (key in numbers))


def _print_talks(findings: Sequence[Finding], numbers: Sequence[str]) -> None:
    for number in numbers:
        finding = findings[int(number) - 1]
        print(f"\n--- {number} {finding.topic}: {finding.text}")
        for exchange in finding.talk:
            print(redact_secrets(f"you:   {clip_text(one_line(exchange.message), 400)}"))
            print(redact_secrets(f"agent: {clip_text(one_line(exchange.reply), 400)}"))
