"""Tests of scope: one user's statements are not served to another, by any path."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import chain

from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.lifecycle.bench import Bench, first_of, found_in, shown
from pytest_ltm.lifecycle.keeping import run_writers
from pytest_ltm.lifecycle.subject import NotSupported, StoreRaised
from pytest_ltm.lifecycle.told_facts import Fact

_WILDCARDS = ("*", "%", "", "all", ".*")
_EACH = 12


def whose(owner: Scope) -> str:
    """Return a clause that names the owner of a text."""
    return f"which only {owner.user!r} had told"


def _tell_as_one_of_two(bench: Bench) -> tuple[Scope, Scope, Fact]:
    """Let one of two users tell a fact; return her, the other one, and the fact."""
    ann, bo = bench.two_users()
    fact = bench.make_facts.fact()
    bench.tell([fact], ann)
    bench.row.control("own", bench.missing(fact, ann))
    return ann, bo, fact


def keep_searches_apart(bench: Bench) -> None:
    """Serve no other user's texts, whether the user said nothing, said little, or names the other."""
    ann, bo, fact = _tell_as_one_of_two(bench)
    row = bench.row
    row.expect("another who told nothing", bench.present(fact, bo, whose(ann)))
    fact_of_bo = bench.make_facts.fact()
    bench.tell([fact_of_bo], bo)
    row.control("own of the other", bench.missing(fact_of_bo, bo))
    row.expect("another who told little", bench.present(fact, bo, whose(ann)))
    query = f"user:{ann.user} {fact.question}"
    row.expect("naming the user", bench.present(fact, bo, whose(ann), query))
    quoted = bench.present(fact, bo, whose(ann), fact.text)
    row.expect("word by word", quoted)
    row.expect("own again", bench.missing(fact, ann))


def keep_names_apart(bench: Bench) -> None:
    """Serve nothing to users whose name is a wildcard, empty, or similar to the owner's."""
    ann, _, fact = _tell_as_one_of_two(bench)
    for look, names in (
        ("wildcard", _WILDCARDS),
        ("longer", (f"{ann.user}2", f"{ann.user}:1", f"x{ann.user}")),
        ("shorter", (ann.user[:-1], "ann")),
        ("case", (ann.user.upper(), ann.user.title())),
        ("blanks", (f" {ann.user}", f"{ann.user} ")),
    ):
        scopes = [Scope(user=name, session="1") for name in names]
        leaks = (_refused(bench, fact, scope, ann) for scope in scopes)
        bench.row.expect(look, first_of(leaks))


def _refused(bench: Bench, fact: Fact, other_scope: Scope, owner: Scope) -> str:
    """Check that another name is not served a fact; a store that raises has refused it."""
    try:
        return bench.present(fact, other_scope, whose(owner))
    except StoreRaised:
        return ""


def keep_caches_apart(bench: Bench) -> None:
    """Serve no other user's texts after that user searched for the same words, in either order."""
    ann, bo = bench.two_users()
    row = bench.row
    mine = bench.make_facts.fact()
    theirs = mine.renamed(bench.make_facts.value())
    bench.tell([mine], ann)
    bench.tell([theirs], bo)
    row.control("own", bench.missing(mine, ann))
    bench.subject.search(mine.question, ann, k=20)
    row.expect("same words", bench.present(mine, bo, whose(ann)))
    row.expect("own of the other", bench.missing(theirs, bo))
    row.expect("the other way", bench.present(theirs, ann, whose(bo)))
    row.expect("own again", bench.missing(mine, ann))


def keep_sessions_apart(bench: Bench) -> None:
    """Serve no texts of another user with the same session id, but a user's own in all their sessions."""
    bench.two_users()
    row = bench.row
    (first, second) = bench.make_facts.facts(2)
    ann = bench.user("ann", session="shared")
    bo = bench.user("bo", session="shared")
    bench.tell([first], ann)
    bench.tell([second], bo)
    row.control("own", bench.missing(first, ann))
    row.expect("same session id", bench.present(first, bo, whose(ann)))
    row.expect("the other way", bench.present(second, ann, whose(bo)))
    row.expect("own, next session", bench.missing(first, replace(ann, session="2")))


def keep_lists_apart(bench: Bench) -> None:
    """List, export and get nothing of another user."""
    ann, bo = bench.two_users()
    row = bench.row
    (mine, theirs) = bench.make_facts.facts(2)
    keys = bench.subject.add(mine.text, ann)
    bench.tell([theirs], bo)
    bench.subject.settle(ann)
    row.control("own", bench.missing(mine, ann))
    for power in ("list", "export"):
        with bench.look(power) as expect:
            if not (bench.subject.can(power) and bench.subject.takes(power, "user")):
                raise NotSupported(f"no {power}() that takes a user")
            kinds = bench.subject.listed(power, bo)
            how = f"{power}() as {bo.user!r}"
            leaks = (
                found_in(hits, mine, f"{how}, {kind},", whose(ann))
                for kind, hits in kinds.items()
            )
            expect(first_of(leaks))
            hits_of_ann = chain.from_iterable(bench.subject.listed(power, ann).values())
            is_there = any(mine.is_in(hit.text) for hit in hits_of_ann)
            problem = f"{power}() as {ann.user!r} does not have {mine.text!r}"
            row.expect(f"{power}, own", "" if is_there else problem)
    with bench.look("get") as expect:
        if not (keys and bench.subject.takes("get", "user")):
            raise NotSupported("no get() that takes a user")
        text = ""
        with suppress(StoreRaised):  # refused, as it should be
            text = bench.subject.get(keys[0], bo)
        leak = f"get({keys[0]!r}) as {bo.user!r} gave {shown(text)}, {whose(ann)}"
        expect(leak if mine.is_in(text) else "")


def let_nobody_change_others(bench: Bench) -> None:
    """Keep a user's texts whatever another user deletes or updates."""
    ann, bo = bench.two_users()
    subject = bench.subject
    row = bench.row
    mine, fact_of_bo = bench.make_facts.facts(2)
    keys = subject.add(mine.text, ann)
    bench.tell([fact_of_bo], bo)
    subject.settle(ann)
    row.control("own", bench.missing(mine, ann))
    with bench.look("deleted by another") as expect:
        if not subject.takes("delete", "user"):
            raise NotSupported("no delete() that takes a user")
        with suppress(StoreRaised):  # refused, as it should be
            subject.delete(mine.text, bo, owner=ann)
        problem = bench.missing(mine, ann)
        expect(problem and f"delete() as {bo.user!r}: {problem}")
    with bench.look("updated by another") as expect:
        if not (keys and subject.takes("update", "user")):
            raise NotSupported("no update() that takes a user, or no ids")
        changed = mine.renamed(bench.make_facts.value())
        with suppress(StoreRaised):  # refused, as it should be
            subject.update(keys[0], changed.text, bo)
        problem = bench.missing(mine, ann)
        expect(problem and f"update() as {bo.user!r}: {problem}")
        wrote = f"which {bo.user!r} wrote into it"
        row.expect("written into", bench.present(changed, ann, wrote))


def keep_maintenance_apart(bench: Bench) -> None:
    """Never mix two users in background work: summaries, merged copies, derived facts."""
    ann, bo = bench.two_users()
    row = bench.row
    subject = bench.subject
    mine = bench.make_facts.fact()
    theirs = mine.renamed(bench.make_facts.value())
    shared = bench.make_facts.fact()
    bench.tell([mine, shared], ann)
    bench.tell([theirs, shared], bo)
    row.control("own", bench.missing(mine, ann))
    subject.maintain(ann)
    subject.maintain(bo)
    for scope, own_fact, foreign, owner in (
        (ann, mine, theirs, bo),
        (bo, theirs, mine, ann),
    ):
        name = scope.user.partition("-")[0]
        row.expect(f"own of {name}", bench.missing(own_fact, scope))
        row.expect(f"served to {name}", bench.present(foreign, scope, whose(owner)))
        summary = f"What do you know about my {mine.subject}? Summarize."
        row.expect(
            f"summary for {name}", bench.present(foreign, scope, whose(owner), summary)
        )
    with bench.look("derived records") as expect:
        problems = []
        for kind, hits in subject.listed("export", ann).items():
            for hit in hits:
                if mine.is_in(hit.text) and theirs.is_in(hit.text):
                    problems.append(
                        f"export(), {kind}, has {shown(hit.text)}, of two users in one record"
                    )
        expect(first_of(problems))


def keep_reopened_apart(bench: Bench) -> None:
    """Keep users apart after the store was closed and reopened."""
    ann, bo = bench.two_users()
    row = bench.row
    (mine, theirs) = bench.make_facts.facts(2)
    bench.tell([mine], ann)
    bench.tell([theirs], bo)
    row.control("own", bench.missing(mine, ann))
    bench.subject.reopen()
    row.expect("own, reopened", bench.missing(mine, ann))
    row.expect("another, reopened", bench.present(mine, bo, whose(ann)))
    row.expect("the other way", bench.present(theirs, ann, whose(bo)))


def keep_concurrent_users_apart(bench: Bench) -> None:
    """Keep users apart who write and search concurrently."""
    ann, bo = bench.two_users()
    row = bench.row
    subject = bench.subject
    mine = list(bench.make_facts.many(_EACH))
    theirs = list(bench.make_facts.many(_EACH))
    alone = bench.make_facts.fact()
    bench.tell([alone], ann)
    row.control("one user", bench.missing(alone, ann))
    leaks: list[str] = []

    def live(
        facts: list[Fact], foreign_facts: list[Fact], scope: Scope, other_scope: Scope
    ) -> None:
        for fact, strange in zip(facts, foreign_facts, strict=True):
            subject.add(fact.text, scope)
            leaks.append(bench.present(strange, scope, whose(other_scope)))

    raised = run_writers(
        [lambda: live(mine, theirs, ann, bo), lambda: live(theirs, mine, bo, ann)]
    )
    if any(leaks) or not raised:
        row.expect("meanwhile", first_of(leaks))
    if raised:
        raise NotSupported(f"another thread may not write: {raised}")
    subject.settle(ann)
    subject.settle(bo)
    problems = [bench.missing(fact, ann) for fact in mine]
    problems += [bench.missing(fact, bo) for fact in theirs]
    row.expect("own of both", first_of(problems))
    row.expect(
        "afterwards", first_of(bench.present(fact, bo, whose(ann)) for fact in mine)
    )
