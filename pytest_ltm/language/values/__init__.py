"""Values (numbers, amounts, dates, names): finding them in a text, and comparing two texts that state them."""

from pytest_ltm.language.values.comparison import (
    FoundValue,
    asked_units,
    asks_for_name,
    compare_values,
    differ_in_bound,
    find_days,
    find_values,
    may_be_unread,
    names_only_another,
    restate_value,
    state_same_values,
)
from pytest_ltm.language.values.labels import (
    differs_in_sign,
    is_closed_name,
    names_other_closed,
)
from pytest_ltm.language.values.sameness import Sameness

__all__ = [
    "FoundValue",
    "Sameness",
    "asked_units",
    "asks_for_name",
    "compare_values",
    "differ_in_bound",
    "differs_in_sign",
    "find_days",
    "find_values",
    "is_closed_name",
    "may_be_unread",
    "names_only_another",
    "names_other_closed",
    "restate_value",
    "state_same_values",
]
