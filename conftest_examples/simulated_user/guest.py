import json


def writes(prompt):
    """Stand in for a language model: write the user's next message, depending on the number of turns."""
    said = prompt.count("Person: ")
    lines = [
        "Hi! I am planning a birthday party for ten people.",
        "It is on Sunday, in the garden. Ana is allergic to nuts, so I am still looking for a cake.",
        "Good. Then I will order the chairs now, thank you!",
    ]
    return json.dumps({"message": lines[said], "done": said == 2})
