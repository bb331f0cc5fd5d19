"""Small LoCoMo conversations of our own, for tests."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

SECRET = "zebra-crossing-search"
"""Occurs only in fields that an agent must never see."""

TALK: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ines",
        "speaker_b": "Tomas",
        "session_1_date_time": "9:05 am on 3 March, 2024",
        "session_1": [
            {
                "speaker": "Ines",
                "dia_id": "D1:1",
                "text": "I have begun to keep quails in the yard.",
            },
            {
                "speaker": "Tomas",
                "dia_id": "D1:2",
                "text": "My cello came back from the workshop.",
                "blip_caption": "a cello on a chair",
                "img_url": ["https://img.test/cello.jpg"],
                "query": SECRET,
            },
            {"speaker": "Ines", "dia_id": "D1:3", "text": "Lovely, play me the Elgar."},
        ],
        "session_2_date_time": "7:40 pm on 21 April, 2024",
        "session_2": [
            {
                "speaker": "Tomas",
                "dia_id": "D2:1",
                "text": "Last Friday I played the Elgar in Lisbon.",
            },
            {
                "speaker": "Ines",
                "dia_id": "D2:2",
                "text": "And I have sold two quails to Marta.",
            },
        ],
        "session_3_date_time": "8:00 am on 1 May, 2024",
    },
    "qa": [
        {
            "question": "Which birds and people does Ines deal with?",
            "answer": "quails, Marta",
            "evidence": ["D1:1", "D2:2"],
            "category": 1,
        },
        {
            "question": "When did Tomas play in Lisbon?",
            "answer": "19 April 2024",
            "evidence": ["D2:1"],
            "category": 2,
        },
        {
            "question": "Would Tomas enjoy a concert?",
            "answer": "Yes; he plays the cello",
            "evidence": ["D1:2; D2:1"],
            "category": 3,
        },
        {
            "question": "How many quails did Ines sell?",
            "answer": 2,
            "evidence": ["D02:02"],
            "category": 4,
        },
        {
            "question": "What did Tomas sell to Marta?",
            "evidence": ["D2:2"],
            "category": 5,
            "adversarial_answer": "two quails",
        },
        {
            "question": "How many quails did Ines sell?",
            "answer": 2,
            "evidence": [],
            "category": 4,
        },
    ],
    "event_summary": {
        "events_session_1": {
            "Ines": [f"Ines {SECRET}"],
            "Tomas": [],
            "date": "3 March, 2024",
        }
    },
    "observation": {"session_1_observation": {"Ines": [[f"Ines {SECRET}", "D1:1"]]}},
    "session_summary": {"session_1_summary": f"They talk. {SECRET}"},
}


def talk(**changes: Any) -> dict[str, Any]:
    """Return the conversation with its fields replaced by `changes`."""
    return deepcopy(TALK) | changes


def second() -> dict[str, Any]:
    """Return another conversation, with a single session."""
    return {
        "sample_id": "conv-2",
        "conversation": {
            "speaker_a": "Olga",
            "speaker_b": "Per",
            "session_1_date_time": "12:00 pm on 7 July, 2023",
            "session_1": [
                {
                    "speaker": "Olga",
                    "dia_id": "D1:1",
                    "text": "I row on the fjord every Sunday.",
                }
            ],
        },
        "qa": [
            {
                "question": "Where does Olga row?",
                "answer": "the fjord",
                "evidence": ["D1:1"],
                "category": 4,
            }
        ],
    }


AUDIT: list[dict[str, Any]] = [
    {
        "question_id": "locomo_0_qa1",
        "question": "When did Tomas play in Lisbon?",
        "error_type": "TEMPORAL_ERROR",
        "correct_answer": "12 April 2024 (the Friday before)",
        "correct_evidence": ["D2:1"],
    },
    {
        "question_id": "locomo_0_qa0",
        "question": "Which birds and people does Ines deal with?",
        "error_type": "WRONG_CITATION",
        "correct_answer": "quails, Marta",
        "correct_evidence": ["D2:2"],
    },
    {
        "question_id": "locomo_7_qa0",
        "question": "Who?",
        "error_type": "AMBIGUOUS",
        "correct_answer": "x",
        "correct_evidence": [],
    },
]
"""Corrections: one of an answer, one of a citation, and one of a question that does not exist."""


def written(path: Path, data: object) -> Path:
    """Write JSON and return the path."""
    path.write_text(json.dumps(data), encoding="utf-8")
    return path
