"""A figure in addition to the score."""

from __future__ import annotations


def count_long_replies(column):
    """Return how many examples had a question with a long answer."""
    answers = [
        question.answer or "" for row in column.rows for question in row.questions
    ]
    return sum(len(answer.split()) > 50 for answer in answers)
