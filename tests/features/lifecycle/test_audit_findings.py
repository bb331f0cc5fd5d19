"""Faults are planted in a made-up memory at known rates; each is found, and nothing else."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

import pytest

from pytest_ltm.lifecycle.audit.fields import Memory
from pytest_ltm.lifecycle.audit.findings import (
    KINDS,
    Finding,
    find_faults,
    quote_safely,
)

NAMES = [
    "Ann",
    "Bela",
    "Carla",
    "Dmitri",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kaja",
    "Liam",
]
TOWNS = [
    "Riga",
    "Oslo",
    "Lyon",
    "Porto",
    "Graz",
    "Turin",
    "Ghent",
    "Basel",
    "Cork",
    "Lodz",
    "Malmo",
    "Split",
]
THINGS = [
    "violin",
    "kayak",
    "loom",
    "telescope",
    "bicycle",
    "greenhouse",
    "canoe",
    "lathe",
    "kiln",
]
DEEDS = [
    "bought",
    "repaired",
    "sold",
    "painted",
    "borrowed",
    "lost",
    "found",
    "cleaned",
    "lent",
]
WASTE = (
    "User said hello",
    "The user greeted the assistant.",
    "ok thanks",
    '{"tool": "search", "arguments": {}}',
    "What is the weather like?",
    "...",
    "</tool_call>",
)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS = 1_000


class Planter:
    """Creates memories, and remembers the fault of each."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.memories: list[Memory] = []
        self.planted: dict[str, set[int]] = defaultdict(set)
        self.told: set[str] = set()
        self.pairs = 0

    def fact(self) -> str:
        """Return a sentence not used before."""
        while True:
            choose = self.rng.choice
            text = (
                f"{choose(NAMES)} {choose(DEEDS)} a {choose(THINGS)} near the harbour of "
                f"{choose(TOWNS)} in {self.rng.randrange(1950, 2026)} for {self.rng.randrange(20, 9999)} euros."
            )
            if text not in self.told:
                self.told.add(text)
                return text

    def add(self, text: str, kind: str = "", *, minute: int | None = None) -> None:
        """Add a memory with a fault of this kind."""
        place = len(self.memories)
        if kind:
            self.planted[kind].add(place)
        date = START + timedelta(minutes=place if minute is None else minute)
        links = ("m9999999",) if kind == "orphan" else ()
        is_used = kind != "never retrieved"
        memory = Memory(place=f"row {place}", text=text, id=f"m{place}", date=date)
        self.memories.append(_replace(memory, links=links, is_used=is_used))

    def plant(self, kind: str) -> None:
        """Add the memories that make up one fault of a kind."""
        rng = self.rng
        if kind == "duplicate":
            text = self.fact()
            self.add(text)
            self.add(text.upper() if rng.random() < 0.5 else text, kind)
        elif kind == "near duplicate":
            text = self.fact()
            self.add(text)
            self.add(text.replace(" a ", " the ", 1), kind)
        elif kind == "echo":
            text = self.fact()
            self.add(text)
            self.add(f"The assistant recalled the memory: {text}", kind)
        elif kind in {"contradiction", "stale"}:
            self.pairs += 1
            subject = f"The dog of neighbour {self.pairs} is called"
            older = "" if kind == "contradiction" else kind
            self.add(f"{subject} Rex", older, minute=self.pairs)
            later = self.pairs + (kind == "stale")
            newer = kind if kind == "contradiction" else ""
            self.add(f"{subject} Bella", newer, minute=later)
        elif kind == "other value":
            self.pairs += 1
            self.add(f"Neighbour {self.pairs} likes the music of brass bands")
            self.add(f"Neighbour {self.pairs} likes the music of brass quintets", kind)
        elif kind == "secret":
            self.add(
                f"{self.fact()[:-1]}, and the password is x{rng.randrange(10**8)}", kind
            )
        elif kind == "personal data":
            self.add(f"{self.fact()} Mail: a{rng.randrange(10**6)}@post.example", kind)
        elif kind == "junk":
            self.add(rng.choice(WASTE), kind)
        else:
            self.add(self.fact(), kind)


def _replace(memory: Memory, **values: object) -> Memory:
    from msgspec import structs

    return structs.replace(memory, **values)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_planted_fault_is_found_and_no_other(seed: int) -> None:
    planter = Planter(seed)
    while len(planter.memories) < ROWS:
        planter.plant(planter.rng.choice(["", *KINDS]))

    found: dict[str, set[int]] = defaultdict(set)
    for finding in find_faults(planter.memories):
        found[finding.kind].add(finding.place)

    differences = {
        kind: sorted(found[kind] ^ planter.planted[kind])
        for kind in KINDS
        if found[kind] != planter.planted[kind]
    }
    assert differences == {}


def findings(*texts: str, **more: object) -> list[tuple[str, int, int | None]]:
    """Return the kind and both places of each finding in texts of one date."""
    memories = [_replace(Memory(str(n), text), **more) for n, text in enumerate(texts)]
    return [
        (finding.kind, finding.place, finding.other)
        for finding in find_faults(memories)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann bought 3 lamps in Riga in May", "Ann bought 4 lamps in Riga in May"),
        (
            "The user likes tea in the morning",
            "The user does not like tea in the morning",
        ),
        (
            "Ann met Bela at the station in Oslo",
            "Bela met Carla at the station in Oslo",
        ),
    ],
)
def test_texts_that_differ_in_what_they_tell_are_no_duplicates(
    first: str, second: str
) -> None:
    kinds = {kind for kind, _, _ in findings(first, second)}
    assert kinds.isdisjoint({"duplicate", "near duplicate"})


def test_a_denial_contradicts() -> None:
    assert findings("The user is vegetarian", "The user is not vegetarian") == [
        ("contradiction", 1, 0)
    ]


def test_a_favourite_is_one_at_a_time_whatever_its_value() -> None:
    kinds = findings("My favourite colour is blue", "My favourite colour is green")
    assert kinds == [("contradiction", 1, 0)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann is a nurse", "Ann is a mother"),
        ("The user visited Riga", "The user visited Oslo"),
        ("The user speaks French", "The user speaks Dutch"),
    ],
)
def test_what_may_both_be_true_is_no_contradiction(first: str, second: str) -> None:
    assert [kind for kind, _, _ in findings(first, second)] in (["other value"], [])


def test_memories_of_two_users_are_not_compared() -> None:
    memories = [
        Memory("1", "Likes black tea with milk", scope=("ann",)),
        Memory("2", "Likes black tea with milk", scope=("bela",)),
    ]
    assert find_faults(memories) == []


def test_a_log_of_what_was_retrieved_decides_over_the_dump() -> None:
    memories = [
        Memory("1", "Ann lives in Riga near the port", id="a", is_used=True),
        Memory("2", "Bela plays the violin in a band", id="b", is_used=True),
        Memory("3", "Carla keeps eleven hens at home", id="c", is_used=True),
    ]
    unused = find_faults(memories, {"a", "Carla keeps eleven hens at home"})
    assert [(finding.kind, finding.place) for finding in unused] == [
        ("never retrieved", 1)
    ]


SECRETS = {
    "The password of the router is hunter2!": "hunter2",
    "The wifi password of Vuna is: kx82hfk3hd": "kx82hfk3hd",
    "API key: sk-proj-abcdef0123456789abcdef": "abcdef0123456789",
    "Her number is +371 2612 3456, mail ann@post.example": "ann@post.example",
}


@pytest.mark.parametrize("text", SECRETS)
def test_evidence_shows_no_secret(text: str) -> None:
    found: list[Finding] = find_faults([Memory("1", text)])
    assert {finding.kind for finding in found} & {"secret", "personal data"}
    for finding in found:
        assert SECRETS[text] not in finding.evidence
    assert SECRETS[text] not in quote_safely(text)


CODE = [
    "def f(x):\n    return x + 1",
    "for i in range(3): print(i)",
    "function f() {\n  return 1;\n}",
    "SELECT * FROM users WHERE id = 3;",
    '{"tool": "search"}',
    "with open('\\d') as file: print(file)",
]


@pytest.mark.parametrize("text", CODE)
def test_code_is_junk(text: str) -> None:
    [finding] = find_faults([Memory("1", text)])
    assert finding.kind == "junk"
    assert finding.evidence.startswith("code or data: ")


@pytest.mark.parametrize(
    "text",
    ["import goods from China", "return the book", "Note: call Ben", "dog = Rex"],
)
def test_a_sentence_that_python_could_read_is_not_code(text: str) -> None:
    assert find_faults([Memory("1", text)]) == []


def shuffled_words(rng: random.Random) -> str:
    words = [*"ab1", "Riga", "not", "is", "?", ".", "\n", "é", "{", "password", "@", ""]
    return " ".join(rng.choices(words, k=rng.randrange(9)))


@pytest.mark.parametrize("make", [shuffled_words])
def test_no_text_is_too_strange(make: Callable[[random.Random], str]) -> None:
    rng = random.Random(5)
    memories = [Memory(str(number), make(rng)) for number in range(300)]
    by_kind: Mapping[str, list[Finding]] = defaultdict(list)
    for finding in find_faults(memories):
        by_kind[finding.kind].append(finding)
    for kind in by_kind:
        places = [finding.place for finding in by_kind[kind]]
        assert len(places) == len(set(places)), kind
