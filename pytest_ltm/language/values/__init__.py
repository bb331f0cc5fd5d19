"""Values: numbers, amounts, dates, names; what of a text is one, and whether two texts state the same one."""

from pytest_ltm.language.values.comparison import (
    FoundValue,
    compare_values,
    differ_in_bound,
    find_values,
    may_be_unread,
)
from pytest_ltm.language.values.sameness import Sameness

__all__ = [
    "FoundValue",
    "Sameness",
    "compare_values",
    "differ_in_bound",
    "find_values",
    "may_be_unread",
]
