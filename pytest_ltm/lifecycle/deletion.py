"""Tests of deletion: thirteen steps at which what was deleted may come back, and the step that brings it back."""

from __future__ import annotations

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import DAY, Bench, first_of, found_in
from pytest_ltm.lifecycle.facts import Fact

_WHOSE = "which had been deleted"


def stay_deleted(bench: Bench) -> None:
    """Keep a deleted text away through background work, derived copies, reopening, a backup and feeding again."""
    who, row, subject = bench.user("ann"), bench.row, bench.subject
    fact, sibling, later = bench.make_facts.facts(3)
    bench.tell([fact, sibling], who)
    other = _copy_of_another(bench, fact)
    row.control("found before", bench.missing(fact, who))
    row.control("sibling before", bench.missing(sibling, who))
    is_known = not bench.missing(fact, who, fact.other_words)
    subject.need("delete")
    if subject.can("maintain"):
        subject.maintain(who)  # so that there are derived copies
    backup = subject.exported(who) if subject.can("restore") else None
    subject.delete(fact.text, who)
    subject.settle(who)
    row.expect("at once", bench.present(fact, who, _WHOSE))
    if is_known:
        words = bench.present(fact, who, _WHOSE, fact.other_words)
        row.expect("by other words", words)
    else:
        row.lacks("by other words", "it was not found by other words before")
    row.expect("word by word", bench.present(fact, who, _WHOSE, fact.text))
    row.expect("sibling at once", bench.missing(sibling, who))
    subject.pass_time(DAY)
    with bench.look("after maintain"):
        subject.maintain(who)
        row.expect("after maintain", bench.present(fact, who, _WHOSE))
    with bench.look("in what is kept"):
        row.expect("in what is kept", _kept(bench, fact, who))
    with bench.look("in a list"):
        hits = subject.listed("list", who)
        row.expect(
            "in a list",
            first_of(found_in(hit, fact, "list()", _WHOSE) for hit in hits.values()),
        )
    with bench.look("reopened"):
        subject.reopen()
        row.expect("reopened", bench.present(fact, who, _WHOSE))
    with bench.look("from a backup"):
        subject.restore(backup, who)
        subject.settle(who)
        row.expect("from a backup", bench.present(fact, who, _WHOSE))
    with bench.look("read in again"):
        bench.feed_again(fact, who)
        row.expect("read in again", bench.present(fact, who, _WHOSE))
    bench.tell([later], who)
    row.expect("after the next write", bench.present(fact, who, _WHOSE))
    row.expect("sibling", bench.missing(sibling, who))
    row.expect("written later", bench.missing(later, who))
    if other is None:
        row.lacks("another user's copy", "tested as one user")
    else:
        row.expect("another user's copy", bench.missing(fact, other))


def _copy_of_another(bench: Bench, fact: Fact) -> Scope | None:
    """Have another user say the same; None where there is one user only."""
    if not bench.subject.separates_users:
        return None
    other = bench.user("bo")
    bench.tell([fact], other)
    return other


def _kept(bench: Bench, fact: Fact, who: Scope) -> str:
    """Look into each kind of what is kept."""
    kinds = bench.subject.listed("export", who)
    return first_of(
        found_in(hits, fact, f"export(), {kind},", _WHOSE)
        for kind, hits in kinds.items()
        if "tombstone" not in kind.casefold()
    )


def delete_what_was_derived(bench: Bench) -> None:
    """Delete with a text all that was made of it, by kind, and nothing that was made of others."""
    who, row, subject = bench.user("ann"), bench.row, bench.subject
    subject.need("delete")
    subject.need("maintain")
    fact, sibling = bench.make_facts.facts(2)
    bench.tell([fact, sibling], who)
    subject.maintain(who)
    row.control("found before", bench.missing(fact, who))
    subject.delete(fact.text, who)
    subject.settle(who)
    summary = "Summarize what you know about me and the names of my things."
    row.expect("served", bench.present(fact, who, _WHOSE))
    row.expect("in a summary", bench.present(fact, who, _WHOSE, summary))
    with bench.look("in what is kept"):
        row.expect("in what is kept", _kept(bench, fact, who))
    subject.maintain(who)
    row.expect("rebuilt", bench.present(fact, who, _WHOSE, summary))
    row.expect("sibling", bench.missing(sibling, who))
