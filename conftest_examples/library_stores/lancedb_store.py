import tempfile
from datetime import datetime
from uuid import uuid4

import lancedb
import pyarrow as pa
from word_vectors import SIZE, vector

FIELDS = [(name, pa.string()) for name in ("id", "text", "user", "at")]
FIELDS.append(("vector", pa.list_(pa.float32(), SIZE)))


class LanceStore:
    package = "lancedb"

    def __init__(self):
        self.path = tempfile.mkdtemp()
        self.reopen()

    def reopen(self):
        schema = pa.schema(FIELDS)
        database = lancedb.connect(self.path)
        self.table = database.create_table("texts", schema=schema, exist_ok=True)

    def add(self, text, *, role, at, session, user):
        row = {"id": str(uuid4()), "text": text, "user": user, "at": at.isoformat()}
        self.table.add([{**row, "vector": vector(text)}])
        return row["id"]

    def search(self, query, *, k, user):
        own = "user = '{}'".format(user.replace("'", "''"))
        rows = self.table.search(vector(query)).where(own, prefilter=True).limit(k)
        times = datetime.fromisoformat
        return [(r["id"], r["text"], None, times(r["at"])) for r in rows.to_list()]

    def delete(self, key):
        self.table.delete(f"id = '{key}'")
