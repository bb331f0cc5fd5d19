"""The tests of the suite in the order of the matrix: what each proves, and what a pass leaves open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_ltm.lifecycle import correction, deletion, keeping, separation
from pytest_ltm.lifecycle.bench import Bench


@dataclass(frozen=True, slots=True)
class LifeTest:
    """One test."""

    name: str
    group: str
    run: Callable[[Bench], None]
    not_proven: str
    """What a pass leaves open."""

    @property
    def proves(self) -> str:
        """What a pass proves, in one sentence."""
        return (self.run.__doc__ or "").strip()


TESTS = (
    LifeTest("found", "kept", keeping.find_what_was_written, "other wordings"),
    LifeTest("limit", "kept", keeping.serve_at_most_k, "that they are the best ones"),
    LifeTest(
        "source", "kept", keeping.trace_what_is_served, "that the source is right"
    ),
    LifeTest("many", "kept", keeping.hold_many, "larger stores"),
    LifeTest("growth", "kept", keeping.grow_with_facts, "months of use"),
    LifeTest("expiry", "kept", keeping.let_expire, "bytes in the engine"),
    LifeTest("off_the_record", "kept", keeping.keep_off_the_record, "other wordings"),
    LifeTest("crash", "kept", keeping.survive_a_crash, "a loss of power"),
    LifeTest("writers", "kept", keeping.take_concurrent_writers, "rarer races"),
    LifeTest("replaced", "corrected", correction.replace_a_value, "that models use it"),
    LifeTest("update", "corrected", correction.replace_by_update, "that models use it"),
    LifeTest("back", "corrected", correction.go_back_to_a_value, "longer histories"),
    LifeTest(
        "retracted",
        "corrected",
        correction.retract_without_replacement,
        "other wordings",
    ),
    LifeTest("refined", "corrected", correction.refine_a_part, "other parts"),
    LifeTest(
        "sources",
        "corrected",
        correction.prefer_what_the_user_said,
        "that users are right",
    ),
    LifeTest(
        "rejected", "corrected", correction.keep_rejected_values_out, "paraphrases"
    ),
    LifeTest("deleted", "deleted", deletion.stay_deleted, "bytes in the engine"),
    LifeTest("derived", "deleted", deletion.delete_what_was_derived, "hidden copies"),
    LifeTest("apart", "apart", separation.keep_searches_apart, "authentication"),
    LifeTest("names", "apart", separation.keep_names_apart, "other alphabets"),
    LifeTest("cache", "apart", separation.keep_caches_apart, "caches before the store"),
    LifeTest(
        "sessions", "apart", separation.keep_sessions_apart, "concurrent sessions"
    ),
    LifeTest("lists", "apart", separation.keep_lists_apart, "other endpoints"),
    LifeTest("changes", "apart", separation.let_nobody_change_others, "authentication"),
    LifeTest("maintenance", "apart", separation.keep_maintenance_apart, "other jobs"),
    LifeTest("reopened", "apart", separation.keep_reopened_apart, "migrations"),
    LifeTest("race", "apart", separation.keep_concurrent_users_apart, "rarer races"),
)
