"""Stands in for a chat model that extracts facts: `python model.py PORT`. It misses about one in ten."""

import json
import re
import sys
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer

FACT = re.compile(r"The (\w+ of my .+) is (\w+)(?: now)?\.")


def extract(text):
    if zlib.crc32(text.encode()) % 10 == 0:
        return []
    return [
        {"subject": subject, "value": value} for subject, value in FACT.findall(text)
    ]


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps(extract(body["messages"][-1]["content"]))
        message = {"role": "assistant", "content": content}
        text = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
