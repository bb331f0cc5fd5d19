"""Tests of correction: five shapes, each looked at in up to seven ways; and of what was rejected, told again."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import Bench, asserted_in, first_of
from pytest_ltm.lifecycle.facts import Fact


def replace_a_value(bench: Bench) -> None:
    """Serve the new value as the current one once a user has replaced the old one."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    newer = fact.renamed(bench.make_facts.value())
    bench.tell([fact, neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    bench.tell_text(f"The name of my {fact.subject} is {newer.value} now.", who)
    look_at_correction(bench, who, [fact], newer, neighbour)


def replace_by_update(bench: Bench) -> None:
    """Serve the new value alone once `update()` has replaced the text."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    bench.subject.need("update")
    newer = fact.renamed(bench.make_facts.value())
    keys = bench.subject.add(fact.text, who)
    bench.tell([neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    hits = bench.subject.search(fact.question, who)
    keys += [hit.key for hit in hits if fact.is_in(hit.text) and hit.key is not None]
    if not keys:
        bench.row.lacks("current", "neither add() nor search() gives an id")
        return
    bench.subject.update(keys[0], newer.text, who)
    bench.subject.settle(who)
    look_at_correction(bench, who, [fact], newer, neighbour)


def go_back_to_a_value(bench: Bench) -> None:
    """Serve the first value again once a user has gone back to it."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    between = fact.renamed(bench.make_facts.value())
    bench.tell([fact, neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    bench.tell_text(f"The name of my {fact.subject} is {between.value} now.", who)
    bench.row.control("new one next", bench.missing(between, who))
    bench.tell_text(f"The name of my {fact.subject} is {fact.value} again.", who)
    look_at_correction(bench, who, [between], fact, neighbour)


def retract_without_replacement(bench: Bench) -> None:
    """Serve a retracted value no longer as current, although nothing replaces it."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    bench.tell([fact, neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    bench.tell_text(
        f"I misspoke: the name of my {fact.subject} is not {fact.value}.", who
    )
    look_at_correction(bench, who, [fact], None, neighbour)


def refine_a_part(bench: Bench) -> None:
    """Change the part that was corrected, and no other of the same thing."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    newer = fact.renamed(bench.make_facts.value())
    colour = bench.make_facts.value()
    part = Fact(fact.subject, colour)
    asked = f"What is the colour of my {fact.subject}?"
    bench.tell([fact, neighbour], who)
    bench.subject.add(f"The colour of my {fact.subject} is {colour}.", who)
    bench.subject.settle(who)
    bench.row.control("old one first", bench.missing(fact, who))
    bench.row.control("other part first", bench.missing(part, who, asked))
    bench.tell_text(f"The name of my {fact.subject} is {newer.value} now.", who)
    bench.row.expect("other part", bench.missing(part, who, asked))
    look_at_correction(bench, who, [fact], newer, neighbour)


def prefer_what_the_user_said(bench: Bench) -> None:
    """Keep what a user said where the assistant says otherwise, and serve its guess not as the user's word."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    guess = fact.renamed(bench.make_facts.value())
    bench.tell([fact, neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    if not bench.subject.takes("add", "role"):
        bench.row.lacks("guess", "add() takes no role, so nothing tells who spoke")
        return
    bench.tell_text(
        f"The name of your {fact.subject} is {guess.value}.", who, role="assistant"
    )
    bench.row.expect("told by the user", bench.missing(fact, who))
    hits = bench.subject.search(fact.question, who, k=20)
    others = [hit for hit in hits if hit.role != "assistant"]
    how = f"search({fact.question!r})"
    bench.row.expect("guess", asserted_in(others, guess, how, [fact]))
    bench.row.expect("neighbour", bench.missing(neighbour, who))


def keep_rejected_values_out(bench: Bench) -> None:
    """Keep a retracted value out when the conversation is read in again, also in other letters, and past a month."""
    who, (fact, neighbour) = bench.user("ann"), bench.make_facts.facts(2)
    bench.tell([fact, neighbour], who)
    bench.row.control("old one first", bench.missing(fact, who))
    bench.tell_text(
        f"I misspoke: the name of my {fact.subject} is not {fact.value}.", who
    )
    bench.row.control("rejected", bench.stale(fact, who))
    with bench.look("read in again"):
        bench.feed_again(fact, who)
        bench.row.expect("read in again", bench.stale(fact, who))
    with bench.look("in other letters"):
        shouted = Fact(fact.subject, fact.value.upper())
        bench.feed_again(shouted, who)
        bench.row.expect("in other letters", bench.stale(shouted, who))
    bench.tell_text(f"I like the {fact.subject} of my neighbour.", who)
    bench.row.expect("a month later", bench.stale(fact, who))
    bench.row.expect("neighbour", bench.missing(neighbour, who))


def look_at_correction(
    bench: Bench, who: Scope, old: Sequence[Fact], newer: Fact | None, neighbour: Fact
) -> None:
    """Look at a correction: current, old, past, after maintenance, read in again, derived, neighbour."""
    row, subject = bench.row, bench.subject
    fact = old[0]
    news = [] if newer is None else [newer]
    if newer is not None:
        row.expect("current", bench.missing(newer, who))
    row.expect("old as current", bench.stale(fact, who, *news))
    asked = f"What was the name of my {fact.subject} before?"
    hits = subject.search(asked, who, k=20)
    is_known = any(fact.is_in(hit.text) for hit in hits)
    row.note("past", "the past is known" if is_known else "the past is not known")
    with bench.look("after maintain"):
        subject.maintain(who)
        lost = "" if newer is None else bench.missing(newer, who)
        row.expect("after maintain", lost or bench.stale(fact, who, *news))
    with bench.look("read in again"):
        bench.feed_again(fact, who)
        lost = "" if newer is None else bench.missing(newer, who)
        row.expect("read in again", lost or bench.stale(fact, who, *news))
    with bench.look("derived"):
        kinds = subject.listed("export", who)
        derived = {kind: hits for kind, hits in kinds.items() if is_derived(kind)}
        if not derived:
            bench.row.lacks("derived", "export() has no derived kinds")
        else:
            row.expect(
                "derived",
                first_of(
                    asserted_in(hits, fact, f"export(), {kind},", news)
                    for kind, hits in derived.items()
                ),
            )
    row.expect("neighbour", bench.missing(neighbour, who))


_SOURCES = ("record", "source", "message", "text", "note", "log", "tombstone")


def is_derived(kind: str) -> bool:
    """Return whether a kind of an export is made of other records: all are but those named as what was said."""
    return not any(word in kind.casefold() for word in _SOURCES)
