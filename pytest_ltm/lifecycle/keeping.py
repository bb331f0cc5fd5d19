"""Tests of storage: facts are found, limited, traced, expired, not hoarded, not lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from statistics import median

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import DAY, Bench, first_of, shown
from pytest_ltm.lifecycle.subject import NotSupported, StoreRaised
from pytest_ltm.lifecycle.told_facts import Fact

_K = 3
_FITTING = 12
_WRITERS = 4
_EACH = 8
_TIMES = 12
_ROUNDS = 6


def find_what_was_written(bench: Bench) -> None:
    """Find facts at once, after others, in another session, a week later, after maintenance and reopening."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    facts = bench.make_facts.facts(5)
    bench.tell(facts, scope)
    row.control("at once", bench.any_missing(facts, scope))
    bench.tell(bench.make_facts.facts(20), scope)
    row.expect("after 20 others", bench.any_missing(facts, scope))
    later = bench.user("ann", session="2")
    row.expect("next session", bench.any_missing(facts, later))
    subject.pass_time(7 * DAY)
    row.expect("a week later", bench.any_missing(facts, later))
    with bench.look("after maintain") as expect:
        subject.maintain(scope)
        expect(bench.any_missing(facts, scope))
    with bench.look("after reopening") as expect:
        subject.reopen()
        expect(bench.any_missing(facts, scope))


def serve_at_most_k(bench: Bench) -> None:
    """Serve at most k of many matching texts, and at least one."""
    scope = bench.user("ann")
    subject = bench.subject
    facts = [Fact("boat", bench.make_facts.value()) for _ in range(_FITTING)]
    texts = [f"My boat has seen the port of {fact.value}." for fact in facts]
    for text in texts:
        subject.add(text, scope)
    subject.settle(scope)
    subject.find("Which port has my boat seen?", scope, facts[-1].value, k=_FITTING)
    hits = subject.search("Which port has my boat seen?", scope, k=_K)
    bench.row.control("more than none", "" if hits else "search() served nothing")
    if not subject.takes("search", "k"):
        bench.row.lacks("at most k", "search() takes no k")
        return
    over = f"search(k={_K}) served {len(hits)} texts" if len(hits) > _K else ""
    bench.row.expect("at most k", over)


def trace_what_is_served(bench: Bench) -> None:
    """Serve only texts that were stated, with the time of the statement, even after maintenance."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    facts = bench.make_facts.facts(4)
    times = {}
    for fact in facts:
        times[fact.value] = subject.now
        subject.add(fact.text, scope)
        subject.pass_time(DAY)
    subject.settle(scope)
    row.control("found", bench.any_missing(facts, scope))
    row.expect("source", first_of(_untold(bench, fact, scope) for fact in facts))
    is_dated = False
    problems = []
    for fact in facts:
        for hit in subject.search(fact.question, scope):
            is_dated |= hit.at is not None and fact.is_in(hit.text)
            if hit.text == fact.text and hit.at not in (None, times[fact.value]):
                problems.append(
                    f"{shown(hit.text)} was said at {times[fact.value]}, and is dated {hit.at}"
                )
    if is_dated:
        row.expect("time", first_of(problems))
    else:
        row.lacks("time", "search() returns no times")
    with bench.look("after maintain") as expect:
        subject.maintain(scope)
        expect(first_of(_untold(bench, fact, scope) for fact in facts))


def _untold(bench: Bench, fact: Fact, scope: Scope) -> str:
    """Check that no text is served most of whose words were never stated."""
    vocabulary = set(" ".join(bench.subject.texts).casefold().split())
    for hit in bench.subject.search(fact.question, scope):
        words = hit.text.casefold().split()
        told_words = sum(word in vocabulary for word in words)
        is_traced = any(text in hit.text for text in bench.subject.texts)
        long_words = [word.strip(".,;:") for word in words if len(word) > 8]
        has_value = any(word in " ".join(vocabulary) for word in long_words)
        if not is_traced and not has_value and told_words * 2 < len(words):
            return f"search({fact.question!r}) served {shown(hit.text)}, which was never said"
    return ""


def let_expire(bench: Bench) -> None:
    """Serve a text until it expires and not afterwards, without affecting its neighbour."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    fact, neighbour = bench.make_facts.facts(2)
    if not (subject.takes("add", "expires") or subject.takes("add", "ttl")):
        raise NotSupported("add() takes neither expires nor ttl")
    life = timedelta(hours=6)
    if subject.takes("add", "expires"):
        subject.add(fact.text, scope, expires=subject.now + life)
    else:
        subject.add(fact.text, scope, ttl=life.total_seconds())
    bench.tell([neighbour], scope)
    row.control("before", bench.missing(fact, scope))
    subject.pass_time(2 * life)
    row.expect(
        "expired", bench.present(fact, scope, "which had expired six hours before")
    )
    with bench.look("after maintain") as expect:
        subject.maintain(scope)
        expect(bench.present(fact, scope, "which had expired"))
    row.expect("neighbour", bench.missing(neighbour, scope))


def keep_off_the_record(bench: Bench) -> None:
    """Keep nothing that the user asked to keep off the record in the same message; note what else is kept."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    neighbour, private, secret = bench.make_facts.facts(3)
    bench.tell([neighbour], scope)
    row.control("neighbour", bench.missing(neighbour, scope))
    subject.add(f"Off the record, do not store this: {private.text}", scope)
    key = f"sk-{secret.value}{bench.make_facts.value()}"
    subject.add(f"The API key of my {secret.subject} is {key}.", scope)
    subject.add("Nice weather today, isn't it?", scope)
    subject.settle(scope)
    reason = "which the user had asked it not to store"
    row.expect("asked not to", bench.present(private, scope, reason))
    hits = subject.search(f"What is the API key of my {secret.subject}?", scope)
    is_kept = any(key in hit.text for hit in hits)
    row.note("secrets", "an API key is kept" if is_kept else "an API key is not kept")
    hits = subject.search("How is the weather today?", scope)
    is_kept = any("weather" in hit.text for hit in hits)
    row.note(
        "small talk", "small talk is kept" if is_kept else "small talk is not kept"
    )


def grow_with_facts(bench: Bench) -> None:
    """Grow no faster than the input: a repeated fact hides no other, and results do not multiply."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    often = bench.make_facts.fact()
    rare = bench.make_facts.fact()
    bench.tell([rare], scope)
    row.control("found", bench.missing(rare, scope))
    for _ in range(_TIMES):
        subject.add(often.text, scope)
    subject.settle(scope)
    both = f"What is the name of my {often.subject}, and of my {rare.subject}?"
    hits = subject.search(both, scope)
    copies = sum(hit.text == often.text for hit in hits)
    hidden = not any(rare.is_in(hit.text) for hit in hits)
    problem = f"of {len(hits)} texts {copies} are copies of {often.text!r}; {rare.text!r} is not among them"
    row.expect("repeated", problem if hidden and copies > 1 else "")
    with bench.look("loop of recall") as expect:
        subject.need("export")
        record_count = _count_records(bench, scope)
        for _ in range(_ROUNDS):
            for hit in subject.search(rare.question, scope):
                subject.add(hit.text, scope, role="assistant")
            subject.settle(scope)
        added = _count_records(bench, scope) - record_count
        text_count = _ROUNDS * 10
        grown = f"{added:,} records came of at most {text_count} texts that it had served itself"
        expect(grown if added > 3 * text_count else "")
    with bench.look("bytes a fact"):
        size = subject.size()
        bench.tell(bench.make_facts.many(50), scope)
        row.note("bytes a fact", f"{(subject.size() - size) / 50:,.0f}")
    with bench.look("tokens a fact"):
        tokens, calls = subject.tokens()
        bench.tell(bench.make_facts.many(50), scope)
        tokens_now, calls_now = subject.tokens()
        spent = (tokens_now - tokens) / 50
        calls_each = (calls_now - calls) / 50
        row.note("tokens a fact", f"{spent:,.0f} in {calls_each:,.1f} calls")


def _count_records(bench: Bench, scope: Scope) -> int:
    return sum(map(len, bench.subject.listed("export", scope).values()))


def hold_many(bench: Bench) -> None:
    """Find facts among many others, some hundred by default."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    fact = bench.make_facts.fact()
    bench.tell([fact], scope)
    row.control("alone", bench.missing(fact, scope))
    sampled = set(bench.rng.sample(range(bench.capacity), min(20, bench.capacity)))
    sample = []
    for number, other_fact in enumerate(bench.make_facts.many(bench.capacity)):
        subject.add(other_fact.text, scope)
        if number in sampled:
            sample.append(other_fact)
    subject.settle(scope)
    row.expect(f"among {bench.capacity:,}", bench.missing(fact, scope))
    problems = [bench.missing(other_fact, scope) for other_fact in sample]
    row.expect("any of them", first_of(problems))
    row.note("found", f"{problems.count('')} of {len(sample)}")
    seconds = subject.usage.seconds["search"][-len(sample) :]
    row.note("seconds a search", f"{median(seconds):.4f}")


def survive_a_crash(bench: Bench) -> None:
    """Keep everything that was acknowledged before a crash, and accept more."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    facts = bench.make_facts.facts(6)
    bench.tell(facts, scope)
    row.control("before", bench.any_missing(facts, scope))
    with bench.look("after a crash") as expect:
        subject.need("reopen")
        # Added and acknowledged, but neither settled nor closed.
        last = bench.make_facts.fact()
        subject.add(last.text, scope)
        subject.reopen()
        expect(bench.any_missing([*facts, last], scope))
        newer = bench.make_facts.fact()
        bench.tell([newer], scope)
        row.expect("written after it", bench.missing(newer, scope))


def take_concurrent_writers(bench: Bench) -> None:
    """Keep the texts that several writers of one user add concurrently, each intact."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    alone = bench.make_facts.fact()
    bench.tell([alone], scope)
    row.control("one writer", bench.missing(alone, scope))
    parts = [list(bench.make_facts.many(_EACH)) for _ in range(_WRITERS)]
    raised = run_writers([partial(_write, bench, part, scope) for part in parts])
    if raised:
        raise NotSupported(f"another thread may not write: {raised}")
    subject.settle(scope)
    row.expect("all found", bench.any_missing(chain.from_iterable(parts), scope))


def _write(bench: Bench, facts: list[Fact], scope: Scope) -> None:
    for fact in facts:
        bench.subject.add(fact.text, scope)


def run_writers(writers: list[Callable[[], None]]) -> str:
    """Run functions concurrently; return an error that one of them raised, or ""."""
    raised: list[str] = []

    def run(writer: Callable[[], None]) -> None:
        try:
            writer()
        except StoreRaised as error:
            raised.append(str(error))

    threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised[0] if raised else ""
