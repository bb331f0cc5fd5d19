"""`ltm try SPEC`: six short conversations with a bot, and what they show of its memory, in words."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from math import ceil, log2, sqrt
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from msgspec import Struct, field

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.agents.spec_facts import model_of, spec_within
from pytest_ltm.api.calls import Retries, close_loops, share_in_thread
from pytest_ltm.api.journal import Price, read_price
from pytest_ltm.api.model import content_stems, token_counter
from pytest_ltm.api.storage import (
    START,
    AgentError,
    AgentFault,
    fields_of,
    one_line,
    pluralize,
    redact_secrets,
    stopwatch_seconds,
)
from pytest_ltm.commands.arguments import (
    add_json,
    add_option,
    add_own_agent,
    choose_spec,
    positive_integer,
    token_count,
)
from pytest_ltm.figures.text import clip_text, wrap_text
from pytest_ltm.fillers import filler_from_spec
from pytest_ltm.language.recital import tells_nothing

UNUSABLE = 2
"""The exit status if the bot cannot be reached."""
_EXCHANGES = 50
_SHORT_PROBES = 20
"""The maximum number of exchanges in the five conversations before the one about distance."""
_NEAREST, _CHUNK, _LONG_CHUNK = 300, 1_500, 2_000
"""In tokens: the smallest distance, and the size of a message, without and with `--to`."""
_FINEST = 1.09
"""The ratio of a distance to the next smaller one, if there is room for it."""
_VAGUE = 4
"""The ratio of two distances above which no figure in between is reported."""
_SHOWN = 70
_LEAST_TALK = 30
"""Small talk below this number of tokens is not worth a message."""
_SMALL_TALK = (
    "By the way, which is longer, a mile or a kilometre?",
    "It has been raining here since the morning.",
    "I should water the plants later.",
)
_CITIES = ("Porto", "Turku", "Brno", "Lima", "Quito", "Oslo", "Cairo", "Sapporo")
_NAMES = (
    "Kelvin",
    "Ottilie",
    "Bastian",
    "Mirela",
    "Thorben",
    "Zuzana",
    "Ingo",
    "Pilar",
)
# Long words, which even a bot that matches words takes for telling.
_LONG_WORDS = """
locker garage bicycle suitcase boathouse cellar letterbox cabinet workshop greenhouse
caravan gazebo marina pantry laundry studio gallery archive stable hangar balcony
printer tablet scooter tractor trailer projector chalet bunker terrace veranda cottage
library harpsichord telescope microscope freezer dishwasher thermostat doorbell
intercom elevator turnstile briefcase toolbox moneybox lighthouse windmill snowmobile
hammock aquarium aviary beehive wardrobe pavilion scarecrow sandpit carport birdhouse
chessboard typewriter binoculars accordion rucksack
"""
_THINGS = tuple(_LONG_WORDS.split())


class Exchange(Struct, frozen=True):
    """A message with its reply."""

    message: str
    reply: str


class Finding(Struct, frozen=True, kw_only=True):
    """The finding of one conversation."""

    text: str
    """The finding in words."""
    good: bool | None
    """Whether it is what a user would want; None if nothing was shown."""
    talk: list[Exchange] = field(default_factory=list)
    tokens: int | None = None
    """For distance: the tokens after which the bot no longer knows a code, or the largest distance tested."""
    failed: bool = False
    """Whether an error ended the conversation."""


class OutOfTime(Exception):
    """The available time is over."""


class Trial:
    """The conversations with the agents of one source, within a time limit."""

    def __init__(
        self, source: AgentSource, rng: Random, seconds: float, reach: int | None
    ) -> None:
        self._source = source
        self.rng = rng
        self.reach = reach
        self._began = stopwatch_seconds()
        self._seconds = seconds
        self.exchanges = 0
        # Each text is counted again for each distance.
        self.count = lru_cache(maxsize=None)(token_counter("cl100k_base").count)
        self._only: AgentCaller | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return stopwatch_seconds() - self._began

    @property
    def pace(self) -> float:
        """Seconds per exchange so far."""
        return self.elapsed / max(1, self.exchanges)

    @property
    def serves_many(self) -> bool:
        """Whether another conversation can have its own bot."""
        return self._source.serves_many

    def exchanges_left(self) -> int:
        """Return how many more exchanges are planned and fit into the time."""
        limit = _EXCHANGES - self.exchanges if self.reach is None else 10_000
        return max(0, min(limit, self.exchanges_in_time()))

    def exchanges_in_time(self) -> int:
        """Return how many more exchanges fit into the time, however many are planned."""
        return int(0.9 * (self._seconds - self.elapsed) / max(self.pace, 1e-4))

    @contextmanager
    def conversation(self, folder: Path) -> Iterator[Talk]:
        """Yield a conversation; conversations with equal folders are the same one."""
        if self._only is not None:  # one object for all: nothing starts anew
            yield Talk(self, self._only)
            return
        folder.mkdir(exist_ok=True)  # for files that a process leaves
        caller = AgentCaller(
            self._source.make(folder=folder),
            timeout=max(1.0, self._seconds),
            name=self._source.spec,
            owned=self._source.owned,
            retries=Retries(most=2, rng=self.rng),
            placed=True,
        )
        if not self.serves_many:
            self._only = caller
        try:
            yield Talk(self, caller)
        finally:
            if self._only is None:
                caller.close()

    def close(self) -> None:
        """Close a bot that served all conversations."""
        if self._only is not None:
            self._only.close()

    def check_time(self) -> None:
        """Raise OutOfTime if the time is over."""
        if self.elapsed > self._seconds:
            raise OutOfTime


class Talk:
    """The exchanges of one conversation."""

    def __init__(self, trial: Trial, caller: AgentCaller) -> None:
        self._trial = trial
        self.caller = caller
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
    """Tell where a person lives, then that she has moved, and ask."""
    old, new = trial.rng.sample(_CITIES, 2)
    with trial.conversation(folder / "newest") as talk:
        talk.say(f"My sister lives in {old}.")
        talk.say(_SMALL_TALK[0])
        talk.say(f"My sister has moved from there. She lives in {new} now.")
        talk.say(_SMALL_TALK[1])
        answer = talk.say("Which city does my sister live in now?")
    says_old = _names(old, answer)
    says_new = _names(new, answer)
    is_newest = says_new and not says_old
    if is_newest:
        text = f"keeps the newest value, {new}"
    elif says_new:
        text = f"names the old value, {old}, beside the new one, {new}"
    elif says_old:
        text = f"still says {old}, after it was told {new}"
    else:
        text = f"says neither {new} nor {old} two messages later"
    return Finding(text=text, good=is_newest, talk=talk.exchanges)


def try_other_user(trial: Trial, folder: Path) -> Finding:
    """Tell a name in one conversation, and ask for it in another."""
    if not trial.serves_many:
        text = "not tried: it is one object for all users. Name its class or a factory"
        return Finding(text=text, good=None)
    name = trial.rng.choice(_NAMES)
    question = "What is the name of my parrot?"
    with trial.conversation(folder / "first-user") as first:
        first.say(f"The name of my parrot is {name}.")
        first.say(_SMALL_TALK[2])
        own_answer = first.say(question)
    with trial.conversation(folder / "second-user") as second:
        other_answer = second.say(question)
    talk = [*first.exchanges, *second.exchanges]
    good: bool | None = None
    text = "tells other users nothing, nor the one who said it"
    if _names(name, other_answer):
        good = False
        text = f"mixes users: it told another one {name}"
    elif _names(name, own_answer):
        good = True
        text = f"keeps users apart: only the one who said it hears {name}"
    return Finding(text=text, good=good, talk=talk)


def try_restart(trial: Trial, folder: Path) -> Finding:
    """Tell a name, create the bot again for the same conversation, and ask."""
    if not trial.serves_many:
        text = "not tried: it cannot be made again. Name its class or a factory"
        return Finding(text=text, good=None)
    name = trial.rng.choice(_NAMES)
    with trial.conversation(folder / "restart") as first_talk:
        first_talk.say(f"My dentist is called {name}.")
        first_talk.say(_SMALL_TALK[0])
        answer_before = first_talk.say("What is my dentist called?")
        can_load = "Checkpointable" in first_talk.caller.capabilities
        state = first_talk.caller.save() if can_load else None
    with trial.conversation(folder / "restart") as after:
        if state is not None:
            after.caller.load(state)
        answer = after.say("Tell me again: what is my dentist called?")
    talk = [*first_talk.exchanges, *after.exchanges]
    is_known = _names(name, answer)
    if is_known:
        text = f"still knows {name} after it was made again"
    elif _names(name, answer_before):
        text = f"loses {name} when it is made again"
    else:
        text = f"does not know {name}, before a restart or after it"
    return Finding(text=text, good=is_known, talk=talk)


def try_invention(trial: Trial, folder: Path) -> Finding:
    """Tell one dog's name, and ask for the unknown name of another."""
    name = trial.rng.choice(_NAMES)
    statement = f"My sister's dog is called {name}."
    question = "What is my brother's dog called?"
    with trial.conversation(folder / "invention") as talk:
        talk.say(statement)
        answer = talk.say(question)
    quotation = f"{clip_text(one_line(answer), _SHOWN)!r}"
    new_words = content_stems(answer) - content_stems(f"{statement} {question}")
    is_honest = tells_nothing(answer)
    if is_honest:
        text = "says that it was never told, where it was not"
    elif _names(name, answer):
        text = f"gives one dog's name, {name}, as another's"
    elif new_words and re.search(r"\b[A-Z][a-z]{2,}\b", answer[1:]):
        text = f"invents what it was never told: {quotation}"
    else:
        text = f"does not say that it was never told: {quotation}"
    return Finding(text=text, good=is_honest, talk=talk.exchanges)


def try_order(trial: Trial, folder: Path) -> Finding:
    """Tell three events, and ask for the one in the middle."""
    first, second, third = trial.rng.sample(_NAMES, 3)
    with trial.conversation(folder / "order") as talk:
        talk.say(f"This morning I phoned {first} first.")
        talk.say(f"Then I phoned {second}.")
        talk.say(f"After that I phoned {third}.")
        answer = talk.say("Whom did I phone second this morning?")
    named_people = [name for name in (first, second, third) if _names(name, answer)]
    is_right = named_people == [second]
    if is_right:
        text = f"keeps the order of three events: {second} was second"
    elif second in named_people:
        text = (
            f"does not say which of three events was second: {', '.join(named_people)}"
        )
    elif named_people:
        text = f"mixes up three events: {second} was second, not {named_people[0]}"
    else:
        text = "names none of three events it was told of"
    return Finding(text=text, good=is_right, talk=talk.exchanges)


class Planted(Struct, frozen=True):
    """A code and its position."""

    thing: str
    code: str
    exchange: int
    """The number of the message that ends with it, from 0."""


class DistanceSearch:
    """One conversation with codes at increasing distances from its end, found by bisection."""

    def __init__(self, trial: Trial, talk: Talk, reach: int, chunk: int) -> None:
        self._trial = trial
        self._talk = talk
        self._reach = reach
        self._chunk = chunk
        self._filler = filler_from_spec(
            "letters", trial.rng, token_counter("cl100k_base")
        )
        self._planted: list[Planted] = []
        self._asked: set[int] = set()
        self.known_at = 0
        self.lost_at = 0
        self.recites = False
        """Whether a code came only among others."""

    def plant(self, limit: int, questions: int) -> None:
        """Tell at most `limit` codes, the farthest one first.

        Small talk fills the distances as long as time remains for all codes and `questions`.
        """
        distances = [float(_NEAREST)]
        ratio = max(_FINEST, (self._reach / _NEAREST) ** (1 / max(1, limit - 1)))
        while distances[-1] < self._reach:
            distances.append(distances[-1] * ratio)
        things = self._trial.rng.sample(_THINGS, min(len(distances), len(_THINGS)))
        distances = distances[-len(things) :]
        codes = self._trial.rng.sample(range(1000, 10_000), len(things))
        gaps: list[int] = []
        for nearer, farther in pairwise([0.0, *distances]):
            gaps.append(round(farther - nearer))
        for thing, code, gap in zip(things, codes, reversed(gaps), strict=True):
            self._talk.say(f"The code of my {thing} is {code}.")
            number = len(self._talk.exchanges) - 1
            self._planted.append(Planted(thing, str(code), number))
            needed = len(things) - len(self._planted) + questions
            for text in self._small_talk(gap - self.distance(-1)):
                if self._trial.exchanges_in_time() <= needed:
                    break
                self._talk.say(text)
        talk = " ".join(part.message for part in self._talk.exchanges).lower()
        # Asking for a thing mentioned in small talk would not test memory.
        farthest_last = reversed(self._planted)
        self._planted = [code for code in farthest_last if talk.count(code.thing) == 1]

    def _small_talk(self, tokens: int) -> Iterator[str]:
        """Yield texts of `tokens` in total, each short enough for a message."""
        longest = min(self._chunk, self._talk.caller.max_message_tokens)
        end = self._tokens + tokens
        while end - self._tokens > _LEAST_TALK:
            yield self._filler.make(min(end - self._tokens, longest), longest).message

    @property
    def _tokens(self) -> int:
        """The tokens of the conversation so far."""
        return self._tokens_from(0)

    def _tokens_from(self, exchange: int) -> int:
        count = self._trial.count
        exchanges = self._talk.exchanges[exchange:]
        return sum(count(part.message) + count(part.reply) for part in exchanges)

    def distance(self, number: int) -> int:
        """Return the tokens between a code and the next message."""
        planted = self._planted[number]
        message = self._talk.exchanges[planted.exchange].message
        return self._tokens_from(planted.exchange) - self._trial.count(message)

    def bisect(self, votes: int) -> None:
        """Find the largest distance at which most codes are known, and the next one at which they are lost.

        The results are `known_at` and `lost_at`, even if the search ran out of time; either is 0 if there is none.
        """
        self.known_at, self.lost_at = self._ask_near(0, max(votes, 3))
        if not self.known_at:
            return
        if not self.lost_at:
            farther, self.lost_at = self._ask_near(
                self._reach, votes, above=self.known_at
            )
            self.known_at = max(self.known_at, farther)
        while self.lost_at > _FINEST * self.known_at:
            farther, nearer = self._ask_near(
                sqrt(self.known_at * self.lost_at),
                votes,
                above=self.known_at,
                below=self.lost_at,
            )
            if not farther and not nearer:
                return
            self.known_at = max(self.known_at, farther)
            self.lost_at = min(self.lost_at, nearer or self.lost_at)

    def _ask_near(
        self, target: float, votes: int, *, above: int = 0, below: int = 10**9
    ) -> tuple[int, int]:
        """Ask for the codes nearest to a distance; return the largest distance known and the smallest one lost.

        Either is 0 if there is none; the majority decides if a code is known beyond a lost one. Each question increases
        the distance of all codes, so distances are those at the moment of asking.
        """
        numbers: list[int] = []
        for number in range(len(self._planted)):
            if number not in self._asked and above < self.distance(number) < below:
                numbers.append(number)
        numbers.sort(key=lambda number: abs(self.distance(number) - target))
        known_distances: list[int] = []
        lost_distances: list[int] = []
        for number in numbers[:votes]:
            distance = self.distance(number)
            (known_distances if self._is_known(number) else lost_distances).append(
                distance
            )
        if (
            known_distances
            and lost_distances
            and max(known_distances) > min(lost_distances)
        ):
            if len(known_distances) > len(lost_distances):
                return (max(known_distances), 0)
            return (0, min(lost_distances))
        return max(known_distances, default=0), min(lost_distances, default=0)

    def _is_known(self, number: int) -> bool:
        planted = self._planted[number]
        self._asked.add(number)
        answer = self._talk.say(f"What is the code of my {planted.thing}?")
        other_codes = {rival.code for rival in self._planted} - {planted.code}
        # A bot that recites all codes does not know which one is asked for.
        recited = other_codes & set(re.findall(r"\d{4}", answer))
        if planted.code not in answer:
            return False
        if recited:
            self.recites = True
        return not recited


def try_distance(trial: Trial, folder: Path) -> Finding:
    """Tell codes with small talk in between, and find the distance at which they are lost."""
    remaining = trial.exchanges_left()
    chunk = _CHUNK if trial.reach is None else _LONG_CHUNK
    votes = 1 if trial.reach is None else 3
    questions = votes * (2 + ceil(log2(max(2, remaining / 3))))
    # A message per code, and up to two for the text between them.
    code_count = max(2, (remaining - questions) // 3)
    # Beyond the tested distance, so that it lies between two answers.
    reach = code_count * chunk if trial.reach is None else round(1.2 * trial.reach)
    limit = code_count if trial.reach is None else len(_THINGS)
    with trial.conversation(folder / "distance") as talk:
        search = DistanceSearch(trial, talk, reach, chunk)
        search.plant(limit, questions)
        try:
            search.bisect(votes)
        except OutOfTime:
            if not search.known_at and not search.lost_at:
                raise
    known_at = search.known_at
    lost_at = search.lost_at
    good: bool | None = None
    tokens = known_at or lost_at
    if not known_at and search.recites:
        good = False
        text = f"names a code it was told {lost_at:,} tokens before only among others"
    elif not known_at:
        good = False
        text = f"does not know a code it was told {lost_at:,} tokens before"
    elif not lost_at:
        good = True
        text = f"reaches back {known_at:,} tokens or more, which is as far as this went"
    else:
        tokens = round(sqrt(known_at * lost_at))
        about = f"about {tokens:,} tokens"
        if lost_at > _VAGUE * known_at:
            about = f"{known_at:,} to {lost_at:,} tokens"
        text = f"reaches back {about}: {known_at:,} yes, {lost_at:,} no"
    return Finding(text=text, good=good, talk=talk.exchanges, tokens=tokens)


PROBES: Mapping[str, Callable[[Trial, Path], Finding]] = {
    "newest value": try_newest_value,
    "other users": try_other_user,
    "a restart": try_restart,
    "invention": try_invention,
    "order": try_order,
    "distance": try_distance,
}
"""The conversations, by topic."""


def _names(word: str, answer: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", answer, re.IGNORECASE) is not None


# --- The command


def add_arguments(parser: ArgumentParser) -> None:
    """Add the agent, the distance to test, and the time limit."""
    add_own_agent(parser)
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
        type=positive_integer,
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


def try_agent(arguments: Namespace) -> int:
    """Hold six short conversations with a bot, and report what they show.

    Does it keep the newest value, mix up users, forget after a restart, invent facts, keep the order of events, and how
    far back does it remember? The price and time are shown before the first message. Nothing is written. Exit status 1
    if an error ended a conversation, 2 if the bot cannot be reached.
    """
    spec = choose_spec(arguments, "ltm try SPEC")
    seconds = arguments.seconds or (60.0 if arguments.to is None else 600.0)
    share_in_thread()  # shared objects belong to one loop, as in a run
    try:
        source = find_agent(spec, base=Path.cwd())
        plan = _plan_sentence(source, arguments, seconds)
        print("\n".join(wrap_text(plan, _width(), indent="  ")), flush=True)
        with TemporaryDirectory(prefix="ltm-try-") as folder:
            findings = _hold_conversations(source, arguments, seconds, Path(folder))
    except AgentError as error:
        print(f"{spec}: cannot be asked\n{redact_secrets(str(error))}", file=sys.stderr)
        return UNUSABLE
    finally:
        close_loops()
    if arguments.json:
        rows = []
        for topic, finding in findings.items():
            talk = [[exchange.message, exchange.reply] for exchange in finding.talk]
            fields = fields_of(finding, "text", "good", "tokens", "failed")
            rows.append({"topic": topic, **fields, "talk": talk})
        print(redact_secrets(json.dumps({"agent": spec, "findings": rows}, indent=1)))
    else:
        _print_rest(spec, findings, arguments.show)
    return int(any(finding.failed for finding in findings.values()))


def _hold_conversations(
    source: AgentSource, arguments: Namespace, seconds: float, folder: Path
) -> dict[str, Finding]:
    """Hold each conversation and print its finding; AgentError if the bot does not answer at all.

    Returns the findings by topic.
    """
    trial = Trial(source, Random(), seconds, arguments.to)
    findings: dict[str, Finding] = {}
    try:
        for topic, probe in PROBES.items():
            try:
                finding = probe(trial, folder)
            except OutOfTime:
                text = f"not finished within {seconds:g} s"
                finding = Finding(text=text, good=None)
            except AgentFault as fault:
                if not trial.exchanges:
                    raise
                text = f"failed: {fault}"
                finding = Finding(text=text, good=False, failed=True)
            findings[topic] = finding
            if not arguments.json:
                _print_finding(len(findings), topic, finding)
    finally:
        trial.close()
    if not arguments.json:
        took = f"{pluralize(trial.exchanges, 'message')} in {trial.elapsed:.0f} s"
        print(f"\n{took}", flush=True)
    return findings


_SIGNS = {True: "+", False: "-", None: " "}


def _print_finding(number: int, topic: str, finding: Finding) -> None:
    label = f"{number} {_SIGNS[finding.good]} {topic:13} "
    text = label + one_line(finding.text)
    lines = wrap_text(text, _width(), indent=" " * len(label))
    print("\n".join(map(redact_secrets, lines)), flush=True)


def _width() -> int:
    """Return the maximum width of a line, in columns."""
    return max(60, min(shutil.get_terminal_size((100, 24)).columns, 100))


def _plan_sentence(source: AgentSource, arguments: Namespace, seconds: float) -> str:
    """Return the expected effort, before anything is sent."""
    messages = _EXCHANGES
    tokens = _EXCHANGES * _CHUNK // 4
    if arguments.to is not None:
        messages = _SHORT_PROBES + len(_THINGS) + arguments.to // _LONG_CHUNK
        tokens = arguments.to + messages * 30
    price = read_price(arguments.price) if arguments.price else _known_price(source)
    # A chat is sent again with each message, at worst all of it.
    resent_tokens = tokens * messages // 2
    if source.embedded:
        cost = "free"
    elif price is None:
        cost = "price unknown (--price=IN/OUT names it)"
    else:
        cost = f"at most ${price.cost_of_tokens(resent_tokens, messages * 100):.2f}"
    return (
        f"{source.spec}: about {messages} messages with {tokens:,} tokens, {messages} s at a second a reply, "
        f"at most {seconds:g} s; {cost}"
    )


def _known_price(source: AgentSource) -> Price | None:
    from pytest_ltm.providers import list_price

    model = model_of(spec_within(source))
    if model is None:
        return None
    return list_price(model.name, model.base_url)


def _print_rest(spec: str, findings: Mapping[str, Finding], show: str) -> None:
    """Print the requested transcripts, and suggestions for next steps."""
    transcripts: dict[str, str] = {}
    for number, (topic, finding) in enumerate(findings.items(), 1):
        if finding.talk:
            transcripts[str(number)] = _transcript(f"{number} {topic}", finding)
    for key in transcripts if show == "all" else [show]:
        print(transcripts.get(key, ""), end="")
    quoted = shlex.quote(spec)
    print(
        f"\nnext: pytest --ltm-agent={quoted} --ltm-span=2k,8k    # scores, with a report\n"
        f"      ltm init --agent={quoted}    # a gate for CI"
    )
    if sys.stdin.isatty() and sys.stdout.isatty():
        question = f"transcript ({', '.join(transcripts)}; Enter: none): "
        with suppress(EOFError):
            while (key := input(question)) != "":
                print(transcripts.get(key, ""), end="")


def _transcript(title: str, finding: Finding) -> str:
    lines = [f"\n--- {title}: {finding.text}"]
    for exchange in finding.talk:
        lines.append(f"you:   {clip_text(one_line(exchange.message), 400)}")
        lines.append(f"agent: {clip_text(one_line(exchange.reply), 400)}")
    return redact_secrets("\n".join(lines)) + "\n"
