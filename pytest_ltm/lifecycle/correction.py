"""Tests of corrections in five forms, each checked in up to seven ways, and of rejected values told again."""

from __future__ import annotations

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import Bench, asserted_in, first_of
from pytest_ltm.lifecycle.told_facts import Fact


def _tell_two_facts(bench: Bench) -> tuple[Scope, Fact, Fact]:
    """Tell a fact that is corrected later, and a neighbour that is not; return whose they are, and both."""
    scope = bench.user("ann")
    fact, neighbour = bench.make_facts.facts(2)
    bench.tell([fact, neighbour], scope)
    bench.row.control("old one first", bench.missing(fact, scope))
    return scope, fact, neighbour


def replace_a_value(bench: Bench) -> None:
    """Serve the new value as the current one after a user has replaced the old one."""
    scope, fact, neighbour = _tell_two_facts(bench)
    newer = fact.renamed(bench.make_facts.value())
    bench.tell_text(f"The name of my {fact.subject} is {newer.value} now.", scope)
    look_at_correction(bench, scope, fact, newer, neighbour)


def replace_by_update(bench: Bench) -> None:
    """Serve only the new value after `update()` has replaced the text."""
    scope = bench.user("ann")
    (fact, neighbour) = bench.make_facts.facts(2)
    bench.subject.need("update")
    newer = fact.renamed(bench.make_facts.value())
    keys = bench.subject.add(fact.text, scope)
    bench.tell([neighbour], scope)
    bench.row.control("old one first", bench.missing(fact, scope))
    hits = bench.subject.search(fact.question, scope)
    keys += [hit.key for hit in hits if fact.is_in(hit.text) and hit.key is not None]
    if not keys:
        bench.row.lacks("current", "neither add() nor search() gives an id")
        return
    bench.subject.update(keys[0], newer.text, scope)
    bench.subject.settle(scope)
    look_at_correction(bench, scope, fact, newer, neighbour)


def go_back_to_a_value(bench: Bench) -> None:
    """Serve the first value again after a user has returned to it."""
    scope, fact, neighbour = _tell_two_facts(bench)
    between = fact.renamed(bench.make_facts.value())
    bench.tell_text(f"The name of my {fact.subject} is {between.value} now.", scope)
    bench.row.control("new one next", bench.missing(between, scope))
    bench.tell_text(f"The name of my {fact.subject} is {fact.value} again.", scope)
    look_at_correction(bench, scope, between, fact, neighbour)


def retract_without_replacement(bench: Bench) -> None:
    """Stop serving a retracted value as current, although nothing replaces it."""
    scope, fact, neighbour = _tell_two_facts(bench)
    bench.tell_text(
        f"I misspoke: the name of my {fact.subject} is not {fact.value}.", scope
    )
    look_at_correction(bench, scope, fact, None, neighbour)


def refine_a_part(bench: Bench) -> None:
    """Change the corrected part, and no other part of the same thing."""
    scope = bench.user("ann")
    (fact, neighbour) = bench.make_facts.facts(2)
    newer = fact.renamed(bench.make_facts.value())
    colour = bench.make_facts.value()
    part = Fact(fact.subject, colour)
    question = f"What is the colour of my {fact.subject}?"
    bench.tell([fact, neighbour], scope)
    bench.subject.add(f"The colour of my {fact.subject} is {colour}.", scope)
    bench.subject.settle(scope)
    bench.row.control("old one first", bench.missing(fact, scope))
    bench.row.control("other part first", bench.missing(part, scope, question))
    bench.tell_text(f"The name of my {fact.subject} is {newer.value} now.", scope)
    bench.row.expect("other part", bench.missing(part, scope, question))
    look_at_correction(bench, scope, fact, newer, neighbour)


def prefer_what_the_user_said(bench: Bench) -> None:
    """Keep the user's statement against the assistant's, and never serve a guess as the user's word."""
    scope, fact, neighbour = _tell_two_facts(bench)
    guess = fact.renamed(bench.make_facts.value())
    if not bench.subject.takes("add", "role"):
        bench.row.lacks("guess", "add() takes no role, so the speaker is unknown")
        return
    bench.tell_text(
        f"The name of your {fact.subject} is {guess.value}.", scope, role="assistant"
    )
    bench.row.expect("told by the user", bench.missing(fact, scope))
    hits = bench.subject.search(fact.question, scope, k=20)
    from_user = [hit for hit in hits if hit.role != "assistant"]
    how = f"search({fact.question!r})"
    bench.row.expect("guess", asserted_in(from_user, guess, how, [fact]))
    bench.row.expect("neighbour", bench.missing(neighbour, scope))


def keep_rejected_values_out(bench: Bench) -> None:
    """Keep a retracted value out when the conversation is read in again, even in capitals or a month later."""
    scope, fact, neighbour = _tell_two_facts(bench)
    bench.tell_text(
        f"I misspoke: the name of my {fact.subject} is not {fact.value}.", scope
    )
    bench.row.control("rejected", bench.stale(fact, scope))
    with bench.look("read in again") as expect:
        bench.feed_again(fact, scope)
        expect(bench.stale(fact, scope))
    with bench.look("in other letters") as expect:
        shouted = Fact(fact.subject, fact.value.upper())
        bench.feed_again(shouted, scope)
        expect(bench.stale(shouted, scope))
    bench.tell_text(f"I like the {fact.subject} of my neighbour.", scope)
    bench.row.expect("a month later", bench.stale(fact, scope))
    bench.row.expect("neighbour", bench.missing(neighbour, scope))


def look_at_correction(
    bench: Bench, scope: Scope, fact: Fact, newer: Fact | None, neighbour: Fact
) -> None:
    """Check a correction: current, old, past, after maintenance, read in again, derived, neighbour."""
    row = bench.row
    subject = bench.subject
    news = [] if newer is None else [newer]

    def wrong() -> str:
        """Check that the new value is found, and the old one not served as current."""
        return bench.any_missing(news, scope) or bench.stale(fact, scope, *news)

    if news:
        row.expect("current", bench.any_missing(news, scope))
    row.expect("old as current", bench.stale(fact, scope, *news))
    question = f"What was the name of my {fact.subject} before?"
    hits = subject.search(question, scope, k=20)
    is_known = any(fact.is_in(hit.text) for hit in hits)
    row.note("past", "the past is known" if is_known else "the past is not known")
    with bench.look("after maintain") as expect:
        subject.maintain(scope)
        expect(wrong())
    with bench.look("read in again") as expect:
        bench.feed_again(fact, scope)
        expect(wrong())
    with bench.look("derived") as expect:
        kinds = subject.listed("export", scope)
        derived = {kind: hits for kind, hits in kinds.items() if is_derived(kind)}
        if not derived:
            bench.row.lacks("derived", "export() has no derived kinds")
        else:
            problems = (
                asserted_in(hits, fact, f"export(), {kind},", news)
                for kind, hits in derived.items()
            )
            expect(first_of(problems))
    row.expect("neighbour", bench.missing(neighbour, scope))


_SOURCES = ("record", "source", "message", "text", "note", "log", "tombstone")


def is_derived(kind: str) -> bool:
    """Return whether a kind of export is derived from other records: all are but the named sources."""
    return not any(word in kind.casefold() for word in _SOURCES)
