import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONVERSATIONS = {}


class Bot(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != "Bearer open sesame":
            self.answer(401, {"error": "who are you?"})
            return
        notes = CONVERSATIONS.setdefault(request["session"]["id"], [])
        notes.append(request["input"])
        known = " ".join(note for note in notes if "Ghent" in note)
        text = known if request["input"].endswith("?") else "Noted."
        self.answer(
            200, {"output": [{"text": text}], "usage": {"in": len(notes), "out": 1}}
        )

    def answer(self, status, data):
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args, **_named):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bot)
    print(f"127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
