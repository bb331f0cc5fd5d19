"""Memory policies: the earlier exchanges that the embedded reader may still see."""

from __future__ import annotations

import json
import math
import random
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.model import TextFile
from pytest_ltm.api.storage import ConfigurationError, did_you_mean, lazy_pattern

if TYPE_CHECKING:
    from pytest_ltm.api.model import TokenCounter

# --- BM25 (Robertson and Zaragoza, 2009; k1 = 1.5, b = 0.75, rarities above 0) over
# texts added incrementally.

SATURATION, LENGTH = 1.5, 0.75
"""k1 and b."""


class WordIndex:
    """Ranks texts by the words that they share with a query.

    Texts are numbered from 0, in order of addition.
    """

    def __init__(self) -> None:
        # Arrays: in a list each number would be an object, eight times the size.
        self._once: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        """By word, the texts with one occurrence: nearly all texts, and quick to score."""
        self._often: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
        """By word, the texts with several occurrences, each followed by its count."""
        self._sizes = array("I")
        self._norms: array[float] = array("d")
        self._worth_once: array[float] = array("d")

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, words: Sequence[str]) -> None:
        """Add a text, given as its words."""
        number = len(self._sizes)
        for word, times in Counter(words).items():
            if times == 1:
                self._once[word].append(number)
            else:
                self._often[word].extend((number, times))
        self._sizes.append(max(len(words), 1))

    def rank(self, words: Sequence[str]) -> list[int]:
        """Return the texts that share a word with the query, best first; of equals the older first."""
        size = len(self._sizes)
        if len(self._norms) < size:
            # Only after additions: it takes time linear in all texts.
            slope = SATURATION * LENGTH * size / sum(self._sizes)
            self._norms = array(
                "d",
                (SATURATION * (1 - LENGTH) + slope * length for length in self._sizes),
            )
            self._worth_once = array("d", (1 / (1 + norm) for norm in self._norms))
        norms = self._norms
        worth_once = self._worth_once
        scores = [0.0] * size
        for word, weight in Counter(words).items():
            once = self._once.get(word, ())
            often = self._often.get(word, ())
            holders = len(once) + len(often) // 2
            rarity = weight * math.log(1 + (size - holders + 0.5) / (holders + 0.5))
            for number in once:
                scores[number] += rarity * worth_once[number]
            for number, times in zip(often[::2], often[1::2], strict=True):
                scores[number] += rarity * times / (times + norms[number])
        return sorted(
            (n for n, score in enumerate(scores) if score),
            key=scores.__getitem__,
            reverse=True,
        )


_WORD = lazy_pattern(r"\w+")
# The index catches up once the missing texts are this share of it, which keeps the
# total time for its norms linear.
_GROWTH = 0.05
# The share of the tokens reserved for the newest exchanges, whatever their words.
_RECENT = 0.25


class Memory:
    """Decides which exchanges are still visible, from the conversation's text alone."""

    def add_message(self, message: str) -> None:
        """Add the message of the next exchange, before it is answered."""

    def leave(self, reply: str) -> None:
        """Add the reply to it."""

    def ignore_last(self) -> None:
        """Exclude the last message from retrieval: a mere question contains nothing to find."""

    def can_see(self, position: int) -> bool:
        """Return whether this exchange is visible while the last message is answered."""
        raise NotImplementedError

    def state(self) -> Any:
        """Return all state as JSON values."""

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""

    def held(self) -> dict[str, Any]:
        """Return all state, for `put_back` on the same memory, without encoding it as JSON."""
        # Shallow copies: the items are never changed in place.
        kinds = (list, set, dict, deque, array)
        state = {}
        for name, value in vars(self).items():
            state[name] = copy(value) if isinstance(value, kinds) else value
        return state

    def put_back(self, state: dict[str, Any]) -> None:
        """Restore what `held` returned."""
        vars(self).update(state)

    def lines(self) -> list[str]:
        """Return the exchanges that the memory itself stores, one line of JSON each."""
        return []

    def take(self, lines: Sequence[str]) -> None:
        """Replace the stored exchanges by those of `lines`."""


class Retrieving(Memory):
    """Shows the newest exchanges, then older ones ranked by BM25, that fit into that many tokens.

    With `top` it shows that number of ranked exchanges, of any length, and no newest
    ones.
    """

    def __init__(
        self, tokens: int, count: Callable[[str], int], top: int | None = None
    ) -> None:
        self._tokens = tokens
        self._count = count
        self._top = top
        self._written = TextFile()
        """A line of JSON for each exchange but the newest, in the form in which it is saved: text and size."""
        self._newest: str | None = None
        self._sizes = array("I")
        self._index = WordIndex()
        self._seen: frozenset[int] | None = None
        self._best: list[int] = []
        self._overlooked: set[int] = set()

    def add_message(self, message: str) -> None:
        """Add the message, which determines what is visible."""
        if self._newest is not None:
            self._written.append(self._newest_line())
        self._newest = message
        self._sizes.append(self._count(message))
        self._seen = None
        self._best = []

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        self._newest = f"{self._newest}\n{reply}"
        self._sizes[-1] += self._count(reply)

    def put_back(self, state: dict[str, Any]) -> None:
        """Restore the state, but keep the index, which contains nothing newer, and the last retrieval."""
        super().put_back(
            state | {name: getattr(self, name) for name in ("_index", "_best")}
        )
        self._written.truncate(max(len(self._sizes) - 1, 0))

    def ignore_last(self) -> None:
        """Never retrieve the last message: it only asks."""
        self._overlooked.add(len(self._sizes) - 1)

    def can_see(self, position: int) -> bool:
        """Return whether the exchange is among those retrieved for the message being answered."""
        if self._seen is None:
            self._seen = frozenset(self._retrieved())
        return position in self._seen

    def shown(self) -> list[str]:
        """Return the texts of the earlier exchanges that were retrieved, message and reply, best match first.

        Empty if visibility was never checked: a message that needs no memory retrieves
        nothing.
        """
        return [self._text(position) for position in self._best]

    def state(self) -> list[int]:
        """Return the exchanges that are never retrieved."""
        return sorted(self._overlooked)

    def lines(self) -> list[str]:
        """Return each exchange as a line of JSON."""
        return [
            *self._written,
            *([] if self._newest is None else [self._newest_line()]),
        ]

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""
        self._overlooked = set(state)

    def take(self, lines: Sequence[str]) -> None:
        """Replace the stored exchanges by those of `lines`."""
        self._written = TextFile()
        self._sizes = array("I")
        self._newest = None
        for line in lines:
            if self._newest is not None:
                self._written.append(self._newest_line())
            self._newest, size = json.loads(line)
            self._sizes.append(size)
        self._index = WordIndex()
        self._seen = None
        self._best = []

    def _newest_line(self) -> str:
        return json.dumps([self._newest, self._sizes[-1]])

    def _text(self, number: int) -> str:
        newest = number == len(self._written)
        return str(self._newest if newest else json.loads(self._written[number])[0])

    def _retrieved(self) -> list[int]:
        newest = len(self._sizes) - 1
        message = self._newest or ""
        if self._top is not None:
            self._best = self._ranked(message)[: self._top]
            return [newest, *self._best]
        chosen = [newest]
        room = self._tokens - self._sizes[newest]
        recent = room * (1 - _RECENT)
        for position in range(newest - 1, -1, -1):
            if position in self._overlooked:
                continue
            # The first that does not fit ends the run: the newest are shown without
            # gaps.
            if room - self._sizes[position] < recent:
                break
            chosen.append(position)
            room -= self._sizes[position]
        taken_positions = set(chosen)
        ranked = self._ranked(message)
        for position in ranked:
            if position not in taken_positions and self._sizes[position] <= room:
                chosen.append(position)
                room -= self._sizes[position]
        places = {position: place for place, position in enumerate(ranked)}
        self._best = sorted(
            chosen[1:],
            key=lambda position: (places.get(position, len(places)), -position),
        )
        return chosen

    def _ranked(self, message: str) -> list[int]:
        missing = range(len(self._index), len(self._written))
        # Without newest exchanges, a single missing exchange requires an update of the
        # index.
        if (
            self._overlooked.issuperset(missing)
            if self._top is not None
            else len(missing) <= _GROWTH * missing.start
        ):
            return self._index.rank(_folded_words(message))
        for number in missing:
            self._index.add(
                [] if number in self._overlooked else _folded_words(self._text(number))
            )
        return self._index.rank(_folded_words(message))


def _folded_words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


ENCODING = "cl100k_base"
"""The encoding that measures memory, whatever measures the conversation."""

_TOKENS = lazy_pattern(r"(\d+(?:\.\d+)?)(k?)")
_TOP = lazy_pattern(r"top([1-9]\d{0,5})")


class Full(Memory):
    """Shows everything."""

    def can_see(self, position: int) -> bool:  # noqa: ARG002 - the protocol's signature
        """Return True."""
        return True


class Window(Memory):
    """Shows the newest exchanges that fit whole into that many tokens.

    The message being answered counts as well.
    """

    def __init__(self, tokens: int) -> None:
        self._tokens = tokens
        self._sizes: deque[int] = deque()
        self._used = 0
        self._first = 0

    def add_message(self, message: str) -> None:
        """Add the message, dropping the oldest exchanges to make room."""
        self._sizes.append(count_tokens(message))
        self._used += self._sizes[-1]
        while self._used > self._tokens and len(self._sizes) > 1:
            self._used -= self._sizes.popleft()
            self._first += 1

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        size = count_tokens(reply)
        self._sizes[-1] += size
        self._used += size

    def can_see(self, position: int) -> bool:
        """Return whether the exchange is in the window."""
        return position >= self._first

    def state(self) -> list[Any]:
        """Return the first visible exchange's number, and the sizes in the window."""
        return [self._first, list(self._sizes)]

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""
        self._first, sizes = state
        self._sizes = deque(sizes)
        self._used = sum(sizes)


class Forgetful(Memory):
    """Forgets each exchange permanently with the same probability.

    Equal conversations forget the same exchanges.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._newest = -1
        self._forgotten: set[int] = set()

    def add_message(self, message: str) -> None:
        """Decide, by its text and position, whether the exchange will be forgotten."""
        self._newest += 1
        # Seeded with position and text, so that a resumed conversation forgets the same
        # ones.
        if random.Random(f"forgetful {self._newest} {message}").random() < self._share:
            self._forgotten.add(self._newest)

    def can_see(self, position: int) -> bool:
        """Return whether the exchange is remembered; the one being answered always is."""
        return position == self._newest or position not in self._forgotten

    def state(self) -> list[Any]:
        """Return the newest exchange's number, and those that are forgotten."""
        return [self._newest, sorted(self._forgotten)]

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""
        self._newest, forgotten = state
        self._forgotten = set(forgotten)


def make_memory(policy: str, argument: str) -> Callable[[], Memory]:
    """Return a factory of memories, one for each conversation.

    Raises ConfigurationError for an unknown policy, or an argument that is invalid for
    the policy.
    """
    match policy:
        case "full":
            if argument:
                raise ConfigurationError(
                    f"'full:{argument}': the policy 'full' takes no argument. Write 'full'"
                )
            return Full
        case "window":
            return partial(Window, tokens_of("window", argument))
        case "bm25":
            if best := _TOP.fullmatch(argument.strip().lower()):
                return partial(Retrieving, 0, lambda _: 0, top=int(best[1]))
            return partial(Retrieving, tokens_of("bm25", argument), count_tokens)
        case "forgetful":
            try:
                share = float(argument)
            except ValueError:
                share = -1.0
            if not 0 <= share <= 1:
                cure = "Write it as in 'forgetful:0.2'"
                raise ConfigurationError(
                    f"'forgetful:{argument}': {argument!r} is not a share from 0 to 1. {cure}"
                )
            return partial(Forgetful, share)
    hint = did_you_mean(policy, _POLICIES)
    raise ConfigurationError(
        f"unknown memory policy {policy!r}.{hint} There are: {', '.join(_POLICIES)}"
    )


_POLICIES = ("bm25", "forgetful", "full", "window")


def tokens_of(policy: str, argument: str) -> int:
    """Return the number of tokens in `8k` or `500`."""
    match = _TOKENS.fullmatch(argument.strip().lower())
    if match:
        tokens = round(float(match.group(1)) * (1000 if match.group(2) else 1))
    else:
        tokens = 0
    if tokens < 1:
        cure = f"Write it as in '{policy}:8k'"
        raise ConfigurationError(
            f"'{policy}:{argument}': {argument!r} is not a number of tokens. {cure}"
        )
    return tokens


def count_tokens(text: str) -> int:
    """Return the text's tokens in `ENCODING`."""
    return _token_counter().count(text)


@cache
def _token_counter() -> TokenCounter:
    # Imported here: a reader with full memory counts nothing.
    from pytest_ltm.api.model import token_counter

    return token_counter(ENCODING)
