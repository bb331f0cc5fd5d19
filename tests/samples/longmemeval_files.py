"""Small LongMemEval records of our own, for tests."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

KILN: dict[str, Any] = {
    "question_id": "kiln",
    "question_type": "knowledge-update",
    "question": "How many shelves does my kiln have?",
    "answer": 5,
    "question_date": "2024/06/10 (Mon) 09:00",
    # The lists of S files are not in time order.
    "haystack_dates": [
        "2024/05/20 (Mon) 18:30",
        "2024/03/02 (Sat) 10:15",
        "2024/04/01 (Mon) 08:00",
    ],
    "haystack_session_ids": ["answer_kiln_2", "answer_kiln_1", "filler_tea"],
    "haystack_sessions": [
        [
            {
                "role": "user",
                "content": "My kiln has five shelves now.",
                "has_answer": True,
            },
            {
                "role": "assistant",
                "content": "Nice, more room for bowls.",
                "has_answer": False,
            },
        ],
        [
            {"role": "user", "content": "I fired bowls today.", "has_answer": False},
            {
                "role": "assistant",
                "content": "How did they turn out?",
                "has_answer": False,
            },
            {
                "role": "user",
                "content": "Well, though my kiln has three shelves only.",
                "has_answer": True,
            },
            {"role": "assistant", "content": "Then fire twice.", "has_answer": False},
        ],
        [
            {"role": "user", "content": "How hot should green tea be?"},
            {"role": "assistant", "content": "About 75 degrees."},
        ],
    ],
    "answer_session_ids": ["answer_kiln_1", "answer_kiln_2"],
}
MOSS: dict[str, Any] = {
    "question_id": "moss_abs",
    "question_type": "single-session-user",
    "question": "What did my aunt name her parrot?",
    "answer": "You told me of your aunt's cat, never of a parrot.",
    # Earlier than the last session.
    "question_date": "2024/04/15 (Mon) 12:00",
    "haystack_dates": ["2024/04/10 (Wed) 20:00", "2024/05/02 (Thu) 07:45"],
    "haystack_session_ids": ["answer_moss", "filler_tea"],
    "haystack_sessions": [
        [
            {"role": "assistant", "content": "Welcome back!"},
            {"role": "user", "content": "My aunt named her cat Moss."},
            {"role": "user", "content": "Is that usual?"},
            {"role": "assistant", "content": "It is a charming name."},
        ],
        [
            {"role": "user", "content": "How hot should green tea be?"},
            {"role": "assistant", "content": "About 75 degrees."},
        ],
    ],
    "answer_session_ids": ["answer_moss"],
}
ROOM: dict[str, Any] = {
    "question_id": "room",
    "question_type": "single-session-preference",
    "question": "Can you suggest a room for my stay?",
    "answer": "The user likes rooms that face a courtyard.",
    "question_date": "2024/07/01 (Mon) 10:00",
    "haystack_dates": ["2024/06/20 (Thu) 10:00"],
    "haystack_session_ids": ["answer_room"],
    "haystack_sessions": [
        [
            {
                "role": "user",
                "content": "I slept so well above that courtyard.",
                "has_answer": True,
            },
            {"role": "assistant", "content": "Quiet rooms help."},
        ]
    ],
    "answer_session_ids": ["answer_room"],
}


def records() -> list[dict[str, Any]]:
    """Return copies of all records, which the caller may change."""
    return deepcopy([KILN, MOSS, ROOM])


def written(path: Path, data: object) -> Path:
    """Write a file and return its path."""
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
