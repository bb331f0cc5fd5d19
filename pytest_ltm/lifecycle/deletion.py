"""Tests of deletion: thirteen steps at which a deleted text may come back."""

from __future__ import annotations

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import DAY, Bench, first_of, found_in
from pytest_ltm.lifecycle.told_facts import Fact

_WHOSE = "which had been deleted"


def stay_deleted(bench: Bench) -> None:
    """Keep a deleted text away through background work, derived copies, reopening, backup and re-feeding."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    fact, sibling, later = bench.make_facts.facts(3)

    def returned() -> str:
        """Check that the deleted text is not found."""
        return bench.present(fact, scope, _WHOSE)

    bench.tell([fact, sibling], scope)
    other_user = _copy_of_another(bench, fact)
    row.control("found before", bench.missing(fact, scope))
    row.control("sibling before", bench.missing(sibling, scope))
    is_known = not bench.missing(fact, scope, fact.other_words)
    subject.need("delete")
    if subject.can("maintain"):
        subject.maintain(scope)  # to create derived copies
    backup = subject.exported(scope) if subject.can("restore") else None
    subject.delete(fact.text, scope)
    subject.settle(scope)
    row.expect("at once", returned())
    _check_other_words(bench, fact, scope, is_known=is_known)
    row.expect("word by word", bench.present(fact, scope, _WHOSE, fact.text))
    row.expect("sibling at once", bench.missing(sibling, scope))
    subject.pass_time(DAY)
    with bench.look("after maintain") as expect:
        subject.maintain(scope)
        expect(returned())
    with bench.look("in what is kept") as expect:
        expect(_kept(bench, fact, scope))
    with bench.look("in a list") as expect:
        hits = subject.listed("list", scope)
        expect(
            first_of(found_in(hit, fact, "list()", _WHOSE) for hit in hits.values()),
        )
    with bench.look("reopened") as expect:
        subject.reopen()
        expect(returned())
    with bench.look("from a backup") as expect:
        subject.restore(backup, scope)
        subject.settle(scope)
        expect(returned())
    with bench.look("read in again") as expect:
        bench.feed_again(fact, scope)
        expect(returned())
    bench.tell([later], scope)
    row.expect("after the next write", returned())
    row.expect("sibling", bench.missing(sibling, scope))
    row.expect("written later", bench.missing(later, scope))
    if other_user is None:
        row.lacks("another user's copy", "tested as one user")
    else:
        row.expect("another user's copy", bench.missing(fact, other_user))


def _check_other_words(
    bench: Bench, fact: Fact, scope: Scope, *, is_known: bool
) -> None:
    """Check that the fact is not found by other words, if it was found by them before."""
    if is_known:
        words = bench.present(fact, scope, _WHOSE, fact.other_words)
        bench.row.expect("by other words", words)
    else:
        bench.row.lacks("by other words", "it was not found by other words before")


def _copy_of_another(bench: Bench, fact: Fact) -> Scope | None:
    """Let another user state the same fact; None if there is only one user."""
    if not bench.subject.separates_users:
        return None
    other_user = bench.user("bo")
    bench.tell([fact], other_user)
    return other_user


def _kept(bench: Bench, fact: Fact, scope: Scope) -> str:
    """Check each kind of exported record."""
    kinds = bench.subject.listed("export", scope)
    return first_of(
        found_in(hits, fact, f"export(), {kind},", _WHOSE)
        for kind, hits in kinds.items()
        if "tombstone" not in kind.casefold()
    )


def delete_what_was_derived(bench: Bench) -> None:
    """Delete with a text everything derived from it, by kind, and nothing derived from other texts."""
    scope = bench.user("ann")
    row = bench.row
    subject = bench.subject
    subject.need("delete")
    subject.need("maintain")
    fact, sibling = bench.make_facts.facts(2)
    bench.tell([fact, sibling], scope)
    subject.maintain(scope)
    row.control("found before", bench.missing(fact, scope))
    subject.delete(fact.text, scope)
    subject.settle(scope)
    summary = "Summarize what you know about me and the names of my things."
    row.expect("served", bench.present(fact, scope, _WHOSE))
    row.expect("in a summary", bench.present(fact, scope, _WHOSE, summary))
    with bench.look("in what is kept") as expect:
        expect(_kept(bench, fact, scope))
    subject.maintain(scope)
    row.expect("rebuilt", bench.present(fact, scope, _WHOSE, summary))
    row.expect("sibling", bench.missing(sibling, scope))
