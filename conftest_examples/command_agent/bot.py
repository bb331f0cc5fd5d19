import json
import sys

notes = []
for line in sys.stdin:
    request = json.loads(line)
    if "accept" in request:  # filler, to be stored without an answer
        notes.append(request["accept"]["message"])
        answer: dict[str, object] = {"ok": True}
    else:
        notes.append(request["message"])
        known = " ".join(note for note in notes if "Ghent" in note)
        answer = {"reply": known if request["message"].endswith("?") else "Noted."}
    print(json.dumps(answer), flush=True)
