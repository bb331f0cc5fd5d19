"""Correct stores of five designs, and stores with one planted fault each, for the suite lifecycle.

A fault is a small class that overrides one part of a correct store. Nothing here knows
how the suite words its facts, except for statements like `My X is V`, which all correct
stores parse alike.
"""

# ruff: noqa: ARG002 - a fault leaves out what a right store uses

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

_UTC = timezone.utc
_TELLS = re.compile(
    r"(?P<how>the (?:\w+ )?\w+ of (?:my|your) [\w ]+?) is (?P<not>not )?(?P<value>[\w-]+)(?: now| again)?\.",
    re.IGNORECASE,
)
_PRIVATE = re.compile(r"off the record|do not store", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    _WORD.findall("the of my is what a i do and that in it to name now how")
)


@dataclass(frozen=True)
class Kept:
    """A record."""

    key: int
    user: str
    text: str
    at: datetime
    role: str
    subject: str = ""
    value: str = ""
    expires: datetime | None = None


def words_of(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - _COMMON


def subject_of(text: str) -> tuple[str, str, bool]:
    """Return the subject of a text, its value, and whether the text denies it."""
    told = _TELLS.search(text)
    if told is None:
        return "", "", False
    about = told["how"].casefold().replace("your", "my")
    return about, told["value"], bool(told["not"])


class RightStore:
    """Keeps the newest text per subject and user; a deleted or denied text stays out unless told again later."""

    def __init__(self) -> None:
        self.records: list[Kept] = []
        self.gone: dict[tuple[str, str], datetime] = {}
        """When a text, or a value of a subject, was withdrawn, by user."""
        self.summaries: dict[str, list[str]] = {}
        self.next = 0
        self.now: datetime | None = None
        self.lock = threading.RLock()

    def tell_time(self, now: datetime) -> None:
        self.now = now

    # --- writing

    def add(
        self,
        text: str,
        *,
        role: str,
        at: datetime,
        session: str,
        user: str,
        agent: str = "",
        expires: datetime | None = None,
    ) -> Any:
        with self.lock:
            if not self.may_keep(text, role, at, user):
                return None
            about, value, denies = subject_of(text)
            if denies:
                self.withdraw(user, about, value, at)
                return None
            if about and not self.replaces(user, about, at):
                return None
            return self.keep(text, role, at, user, about, value, expires)

    def may_keep(self, text: str, role: str, at: datetime, user: str) -> bool:
        about, value, _ = subject_of(text)
        if _PRIVATE.search(text) or (role == "assistant" and about):
            return False
        keys = (text.casefold(), f"{about}={value}".casefold())
        withdrawn = [self.gone[user, key] for key in keys if (user, key) in self.gone]
        return not any(at <= moment for moment in withdrawn)

    def withdraw(self, user: str, about: str, value: str, at: datetime) -> None:
        self.gone[user, f"{about}={value}".casefold()] = at
        self.drop(lambda record: record.user == user and record.subject == about)

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        """Make room for a newer text of a subject; return False if a newer one is stored."""
        rivals = [
            record
            for record in self.records
            if (record.user, record.subject) == (user, about)
        ]
        if any(rival.at > at for rival in rivals):
            return False
        self.drop(lambda record: record in rivals)
        return True

    def keep(
        self,
        text: str,
        role: str,
        at: datetime,
        user: str,
        about: str,
        value: str,
        expires: datetime | None,
    ) -> int:
        same = [
            record
            for record in self.records
            if (record.user, record.text) == (user, text)
        ]
        if same:
            return same[0].key
        self.next += 1
        self.records.append(
            Kept(self.next, user, text, at, role, about, value, expires)
        )
        return self.next

    def drop(self, fits: Callable[[Kept], bool]) -> None:
        dropped = [record for record in self.records if fits(record)]
        self.records = [record for record in self.records if record not in dropped]
        for record in dropped:
            lines = self.summaries.get(record.user, [])
            self.summaries[record.user] = [
                line for line in lines if record.text not in line
            ]

    # --- reading

    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        with self.lock:
            return [self.served(record) for record in self.ranked(query, user, at)[:k]]

    def served(self, record: Kept) -> Any:
        return record.key, record.text, None, record.at

    def seen(self, user: str) -> list[Kept]:
        """Return the records visible to a user."""
        return [record for record in self.records if record.user == user]

    def ranked(self, query: str, user: str, at: datetime) -> list[Kept]:
        asked = words_of(query)
        live = [
            record
            for record in self.seen(user)
            if record.expires is None or record.expires > at
        ]
        fits = [record for record in live if words_of(record.text) & asked]
        return sorted(fits, key=lambda record: -len(words_of(record.text) & asked))

    # --- life cycle

    def delete(self, key: Any, *, user: str) -> None:
        with self.lock:
            doomed = [record for record in self.seen(user) if record.key == key]
            for record in doomed:
                self.gone[user, record.text.casefold()] = self.now or record.at
                about = f"{record.subject}={record.value}".casefold()
                self.gone[user, about] = self.now or record.at
            self.drop(lambda record: record in doomed)

    def update(self, key: Any, text: str, *, user: str, at: datetime) -> None:
        about, value, _ = subject_of(text)
        self.records = [
            replace(record, text=text, at=at, subject=about, value=value)
            if record.key == key and record.user == user
            else record
            for record in self.records
        ]
        self.summaries.pop(user, None)

    def maintain(self, *, user: str) -> None:
        self.summaries[user] = [
            f"about you: {record.text}" for record in self.seen(user)
        ]

    def export(self, *, user: str) -> dict[str, list[Any]]:
        records = [
            {"id": record.key, "text": record.text} for record in self.seen(user)
        ]
        return {"records": records, "summaries": list(self.summaries.get(user, []))}

    def get(self, key: Any, *, user: str) -> str | None:
        return next(
            (record.text for record in self.seen(user) if record.key == key), None
        )

    def size(self) -> int:
        return sum(len(record.text.encode()) + 40 for record in self.records)

    def restore(self, backup: Any, *, user: str) -> None:
        texts = {record.text for record in self.seen(user)}
        for record in backup["records"]:
            text = record["text"]
            about, value, _ = subject_of(text)
            keys = (text.casefold(), f"{about}={value}".casefold())
            if text not in texts and not any((user, key) in self.gone for key in keys):
                moment = self.now or datetime.min.replace(tzinfo=_UTC)
                self.keep(text, "user", moment, user, about, value, None)

    def reopen(self) -> None:
        state = copy.deepcopy((self.records, self.gone, self.summaries, self.next))
        self.records, self.gone, self.summaries, self.next = state

    def list(self, *, user: str) -> Any:
        return [self.served(record) for record in self.seen(user)]


# --- Four more correct designs.


class ByQuery(RightStore):
    """Takes the text to delete instead of an id, and returns mappings."""

    def served(self, record: Kept) -> Any:
        return {"memory": record.text, "created_at": record.at, "role": record.role}

    def keep(self, *values: Any) -> Any:
        super().keep(*values)

    def delete(self, query: str, *, user: str) -> None:
        for record in self.seen(user):
            if record.text == query:
                super().delete(record.key, user=user)

    get = update = None  # type: ignore[assignment]


class Awaited(RightStore):
    """Like RightStore, but async."""

    async def add(self, text: str, **more: Any) -> Any:
        return super().add(text, **more)

    async def search(self, query: str, *, k: int, user: str, at: datetime) -> Any:  # type: ignore[override]
        return super().search(query, k=k, user=user, at=at)

    async def delete(self, key: Any, *, user: str) -> Any:  # type: ignore[override]
        return super().delete(key, user=user)


class ByScope(RightStore):
    """Takes a single scope object instead of time, session and user."""

    def add(self, text: str, *, role: str, scope: Any) -> Any:  # type: ignore[override]
        return super().add(
            text, role=role, at=scope.at, session=scope.session, user=scope.user
        )

    def search(self, query: str, *, k: int, scope: Any) -> Any:  # type: ignore[override]
        return super().search(query, k=k, user=scope.user, at=scope.at)

    def delete(self, key: Any, scope: Any) -> Any:  # type: ignore[override]
        super().delete(key, user=scope.user)

    maintain = export = update = restore = None  # type: ignore[assignment]


class Journalled(RightStore):
    """Appends sessions to a log from which everything can be rebuilt; marks outdated rows instead of dropping them."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[Any, ...]] = []
        self.rows: list[Any] = []

    def add_session(
        self, messages: list[dict[str, Any]], *, at: datetime, session: str, user: str
    ) -> None:
        self.log.append((messages, session, user))
        self._take(messages, session, user)

    def _take(self, messages: list[dict[str, Any]], session: str, user: str) -> None:
        for message in messages:
            key = super().add(
                message["content"],
                role=message["role"],
                at=message["at"],
                session=session,
                user=user,
            )
            if key is not None:
                self.rows.append(("added", key, message["content"]))

    def written(self) -> list[Any]:
        rows, self.rows = self.rows, []
        return rows

    def settle(self) -> None:
        self.summaries = {user: lines[:] for user, lines in self.summaries.items()}

    def delete(self, key: Any, *, user: str) -> None:
        super().delete(key, user=user)
        self.log.append((key, user))

    def reopen(self) -> Any:
        made = type(self)()
        made.now = self.now
        made.__dict__.update(
            {
                name: copy.deepcopy(getattr(self, name))
                for name in ("gone", "log", "next")
            }
        )
        made.records, made.summaries = list(self.records), dict(self.summaries)
        return made

    update = restore = None  # type: ignore[assignment]


RIGHT = (RightStore, ByQuery, Awaited, ByScope, Journalled)


# --- Planted faults: leaks.


class ForgetsFilter(RightStore):
    def ranked(self, query: str, user: str, at: datetime) -> list[Kept]:
        asked = words_of(query)
        fits = [record for record in self.records if words_of(record.text) & asked]
        return sorted(fits, key=lambda record: -len(words_of(record.text) & asked))


class FallsBackToAll(RightStore):
    """Searches all records if the user has none."""

    def seen(self, user: str) -> list[Kept]:
        return super().seen(user) or self.records


class FillsUp(RightStore):
    """Fills up to k with other users' records."""

    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        own = super().search(query, k=k, user=user, at=at)
        if not own and not self.seen(user):
            return own
        others = [record for record in self.records if record.user != user]
        return (own + [self.served(record) for record in others])[:k]


class NamedInQuery(RightStore):
    """Obeys a user named in the query."""

    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        named = re.search(r"user:(\S+)", query)
        return super().search(query, k=k, user=named[1] if named else user, at=at)


class Wildcards(RightStore):
    def seen(self, user: str) -> list[Kept]:
        return self.records if user in {"*", "%", ""} else super().seen(user)


class Prefixes(RightStore):
    """Matches users by prefix."""

    def seen(self, user: str) -> list[Kept]:
        return [
            record
            for record in self.records
            if user and (record.user.startswith(user) or user.startswith(record.user))
        ]


class FoldsCase(RightStore):
    def seen(self, user: str) -> list[Kept]:
        return [
            record
            for record in self.records
            if record.user.casefold() == user.casefold()
        ]


class StripsBlanks(RightStore):
    def seen(self, user: str) -> list[Kept]:
        return super().seen(user.strip())


class CachesByQuery(RightStore):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[str, list[Any]] = {}

    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        key = f"{query}/{k}"
        if key not in self.cache:
            self.cache[key] = super().search(query, k=k, user=user, at=at)
        return self.cache[key]

    def add(self, text: str, **more: Any) -> Any:
        self.cache.clear()
        return super().add(text, **more)


class BySession(RightStore):
    """Separates sessions instead of users."""

    def add(self, text: str, **more: Any) -> Any:
        more["user"] = more["session"]
        return super().add(text, **more)

    def search(  # type: ignore[override]
        self, query: str, *, k: int, user: str, session: str, at: datetime
    ) -> list[Any]:
        return super().search(query, k=k, user=session, at=at)


class ListsAll(RightStore):
    def list(self, *, user: str) -> Any:
        return [self.served(record) for record in self.records]


class ExportsAll(RightStore):
    def export(self, *, user: str) -> dict[str, list[Any]]:
        records = [{"id": record.key, "text": record.text} for record in self.records]
        return {"records": records, "summaries": self.summaries.get(user, [])}


class GetsAny(RightStore):
    def get(self, key: Any, *, user: str) -> str | None:
        return next((record.text for record in self.records if record.key == key), None)


class SharedSummary(RightStore):
    """Writes one summary of all users."""

    def maintain(self, *, user: str) -> None:
        text = "Summary. " + " ".join(record.text for record in self.records)
        self.summaries = {record.user: [text] for record in self.records}

    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        own = super().search(query, k=k, user=user, at=at)
        lines = [(None, text, None, None) for text in self.summaries.get(user, ())]
        return (own + lines)[:k]


class MergesAlike(RightStore):
    """Merges records of two users on the same subject."""

    def maintain(self, *, user: str) -> None:
        subjects = {record.subject for record in self.records if record.subject}
        for subject in subjects:
            alike = [record for record in self.records if record.subject == subject]
            if len({record.user for record in alike}) > 1:
                text = " ".join(record.text for record in alike)
                self.records = [
                    replace(record, text=text) if record in alike else record
                    for record in self.records
                ]


class ReopensShared(RightStore):
    """Forgets the owners of records when reopened."""

    shared = False

    def reopen(self) -> None:
        self.shared = True

    def seen(self, user: str) -> list[Kept]:
        return self.records if self.shared else super().seen(user)


class LastUserWins(RightStore):
    """Keeps the current user in a field shared by concurrent writers."""

    def add(self, text: str, **more: Any) -> Any:
        with self.lock:
            before, self.writer = getattr(self, "writer", ""), more["user"]
            busy = threading.active_count() > self.threads
            more["user"] = before if busy and before else more["user"]
            return super().add(text, **more)

    threads = 1


class DeletesForAll(RightStore):
    def delete(self, key: Any, *, user: str) -> None:
        texts = {record.text for record in self.records if record.key == key}
        self.drop(lambda record: record.text in texts)


class UpdatesAny(RightStore):
    def update(self, key: Any, text: str, *, user: str, at: datetime) -> None:
        self.records = [
            replace(record, text=text, at=at) if record.key == key else record
            for record in self.records
        ]


# --- Planted faults: keeping, correcting, deleting.


class Empty(RightStore):
    def search(self, query: str, **more: Any) -> list[Any]:
        return []


class KeepsTen(RightStore):
    def keep(self, *values: Any) -> int:
        key = super().keep(*values)
        self.records = self.records[-10:]
        return key


class ForgetsSessions(RightStore):
    def add(self, text: str, **more: Any) -> Any:
        more["user"] += more["session"]
        return super().add(text, **more)

    def search(  # type: ignore[override]
        self, query: str, *, k: int, user: str, session: str, at: datetime
    ) -> list[Any]:
        return super().search(query, k=k, user=user + session, at=at)


class LosesOnReopen(RightStore):
    def reopen(self) -> None:
        self.records = self.records[:-1]


class MaintainsAway(RightStore):
    def maintain(self, *, user: str) -> None:
        self.records = self.records[1:]


class IgnoresK(RightStore):
    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        return super().search(query, k=999, user=user, at=at)


class Invents(RightStore):
    def search(self, query: str, *, k: int, user: str, at: datetime) -> list[Any]:
        found = super().search(query, k=k - 1, user=user, at=at)
        return [
            *found,
            (None, "Perhaps every zeppelin adores purple marmalade", None, None),
        ]


class DatesNow(RightStore):
    def served(self, record: Kept) -> Any:
        return record.key, record.text, None, self.now


class NeverExpires(RightStore):
    def ranked(self, query: str, user: str, at: datetime) -> list[Kept]:
        self.records = [replace(record, expires=None) for record in self.records]
        return super().ranked(query, user, at)


class KeepsPrivate(RightStore):
    def may_keep(self, text: str, role: str, at: datetime, user: str) -> bool:
        return super().may_keep(_PRIVATE.sub("", text), role, at, user)


class Duplicates(RightStore):
    """Stores each repetition, which then crowds out other records."""

    def add(self, text: str, **more: Any) -> Any:
        self.next += 1
        at, user, role = more["at"], more["user"], more["role"]
        about, value, denies = subject_of(text)
        if denies or not self.may_keep(text, role, at, user):
            return super().add(text, **more)
        rivals = [record for record in self.records if record.text != text]
        self.records = [
            record for record in self.records if record in rivals or record.text == text
        ]
        if not [record for record in self.records if record.text == text]:
            return super().add(text, **more)
        self.records.insert(0, Kept(self.next, user, text, at, role, about, value))
        return self.next

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        rivals = [
            record
            for record in self.records
            if (record.user, record.subject) == (user, about)
        ]
        return not any(rival.at > at for rival in rivals) and (
            len({rival.text for rival in rivals}) < 2
            and super().replaces(user, about, at)
        )


class Hoards(RightStore):
    """Stores its own results and a thought about each record at every assistant message."""

    def add(self, text: str, **more: Any) -> Any:
        key = super().add(text, **more)
        if more["role"] == "assistant":
            for record in list(self.records)[:60]:
                self.next += 1
                self.records.append(
                    replace(record, key=self.next, subject="", value="")
                )
        return key


class DropsWhenBusy(RightStore):
    def add(self, text: str, **more: Any) -> Any:
        if threading.current_thread() is not threading.main_thread() and self.skip():
            return None
        return super().add(text, **more)

    def skip(self) -> bool:
        self.calls = getattr(self, "calls", 0) + 1
        return self.calls % 4 == 0


class LosesUnsettled(RightStore):
    """Loses records in a crash unless they were settled."""

    settled = 0

    def settle(self) -> None:
        self.settled = self.next

    def reopen(self) -> None:
        self.records = [record for record in self.records if record.key <= self.settled]


class Appends(RightStore):
    """Keeps all values of a subject."""

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        return True


class KeepsFirst(RightStore):
    """Never accepts a newer value."""

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        return not any(
            (record.user, record.subject) == (user, about) for record in self.records
        )


class NewestArrivalWins(RightStore):
    """Treats the last arrival as the newest."""

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        self.drop(lambda record: (record.user, record.subject) == (user, about))
        return True


class IgnoresRetraction(RightStore):
    def withdraw(self, *values: Any) -> None:
        return


class RejectsForever(RightStore):
    """Never accepts a value again that was once replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.replaced: set[tuple[str, str]] = set()

    def add(self, text: str, **more: Any) -> Any:
        about, value, _ = subject_of(text)
        if (about, value) in self.replaced:
            return None
        for record in self.records:
            if record.subject == about and record.value != value:
                self.replaced.add((about, record.value))
        return super().add(text, **more)


class ReplacesAll(RightStore):
    """Applies a correction of one part to the whole."""

    def replaces(self, user: str, about: str, at: datetime) -> bool:
        thing = about.rpartition(" ")[2]
        kept = super().replaces(user, about, at)
        if at > self.first_time():
            self.drop(lambda record: record.subject.rpartition(" ")[2] == thing)
        return kept

    def first_time(self) -> datetime:
        return min(
            (record.at for record in self.records),
            default=datetime.max.replace(tzinfo=_UTC),
        )


class BelievesAssistant(RightStore):
    def may_keep(self, text: str, role: str, at: datetime, user: str) -> bool:
        return super().may_keep(text, "user", at, user)


class UpdateAppends(RightStore):
    def update(self, key: Any, text: str, *, user: str, at: datetime) -> None:
        self.keep(text, "user", at, user, "", "", None)


class ComesBackInMaintenance(RightStore):
    """Rebuilds its records from everything it ever stored, deleted records included."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: list[Kept] = []

    def keep(self, *values: Any) -> int:
        key = super().keep(*values)
        self.ever += [record for record in self.records if record not in self.ever]
        return key

    def maintain(self, *, user: str) -> None:
        newest = {
            (record.user, record.subject): record
            for record in self.ever
            if record.subject
        }
        self.records = list(newest.values())
        super().maintain(user=user)


class ComesBackOnReopen(RightStore):
    """Deletes in memory only."""

    def delete(self, key: Any, *, user: str) -> None:
        self.lost = [record for record in self.records if record.key == key]
        super().delete(key, user=user)

    def reopen(self) -> None:
        self.records += getattr(self, "lost", [])


class ComesBackFromBackup(RightStore):
    def restore(self, backup: Any, *, user: str) -> None:
        self.gone.clear()
        super().restore(backup, user=user)


class ComesBackWhenFed(RightStore):
    """Does not remember deletions, so a deleted text can be stored again."""

    def delete(self, key: Any, *, user: str) -> None:
        super().delete(key, user=user)
        self.gone.clear()


class HidesOnly(RightStore):
    """Hides a deleted record from searches only."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden: set[int] = set()

    def delete(self, key: Any, *, user: str) -> None:
        self.hidden.add(key)

    def ranked(self, query: str, user: str, at: datetime) -> list[Kept]:
        found = super().ranked(query, user, at)
        return [record for record in found if record.key not in self.hidden]


class KeepsSummaries(RightStore):
    """Keeps summaries derived from a deleted record."""

    def drop(self, fits: Callable[[Kept], bool]) -> None:
        self.records = [record for record in self.records if not fits(record)]


class DeletesTooMuch(RightStore):
    def delete(self, key: Any, *, user: str) -> None:
        super().delete(key, user=user)
        self.drop(lambda record: record.user == user)


class DeleteIsLazy(RightStore):
    """Postpones deletions to the next maintenance."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[tuple[Any, str]] = []

    def delete(self, key: Any, *, user: str) -> None:
        self.due.append((key, user))

    def maintain(self, *, user: str) -> None:
        for key, owner in self.due:
            super().delete(key, user=owner)
        self.due.clear()
        super().maintain(user=user)


class Raises(RightStore):
    def delete(self, key: Any, *, user: str) -> None:
        raise RuntimeError("the index is gone")


LEAKS = {
    ForgetsFilter: "apart",
    FallsBackToAll: "apart",
    FillsUp: "apart",
    NamedInQuery: "apart",
    Wildcards: "names",
    Prefixes: "names",
    FoldsCase: "names",
    StripsBlanks: "names",
    CachesByQuery: "cache",
    BySession: "sessions",
    ListsAll: "lists",
    ExportsAll: "lists",
    GetsAny: "lists",
    SharedSummary: "maintenance",
    MergesAlike: "maintenance",
    ReopensShared: "reopened",
    LastUserWins: "race",
    DeletesForAll: "changes",
    UpdatesAny: "changes",
}
"""By store: the test that detects its fault."""
FAULTS = {
    Empty: "found",
    KeepsTen: "found",
    ForgetsSessions: "found",
    LosesOnReopen: "crash",
    MaintainsAway: "found",
    IgnoresK: "limit",
    Invents: "source",
    DatesNow: "source",
    NeverExpires: "expiry",
    KeepsPrivate: "off_the_record",
    Duplicates: "growth",
    Hoards: "growth",
    DropsWhenBusy: "writers",
    LosesUnsettled: "crash",
    Appends: "replaced",
    KeepsFirst: "replaced",
    NewestArrivalWins: "replaced",
    IgnoresRetraction: "retracted",
    RejectsForever: "back",
    ReplacesAll: "refined",
    BelievesAssistant: "sources",
    UpdateAppends: "update",
    ComesBackInMaintenance: "deleted",
    ComesBackOnReopen: "deleted",
    ComesBackFromBackup: "deleted",
    ComesBackWhenFed: "deleted",
    HidesOnly: "deleted",
    KeepsSummaries: "derived",
    DeletesTooMuch: "deleted",
    DeleteIsLazy: "deleted",
    Raises: "deleted",
}
