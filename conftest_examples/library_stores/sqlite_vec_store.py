import tempfile
from datetime import datetime

import apsw
import sqlite_vec
from word_vectors import SIZE, vector

TABLE = f"vec0(vector float[{SIZE}], user text partition key, +text text, +at text)"


class SqliteVecStore:
    package = "sqlite-vec"

    def __init__(self):
        self.path = tempfile.mkdtemp()
        self.reopen()

    def reopen(self):
        self.rows = apsw.Connection(f"{self.path}/texts.db")
        self.rows.enable_load_extension(True)
        self.rows.load_extension(sqlite_vec.loadable_path())
        self.rows.execute(f"create virtual table if not exists texts using {TABLE}")

    def add(self, text, *, role, at, session, user):
        row = (sqlite_vec.serialize_float32(vector(text)), user, text, at.isoformat())
        self.rows.execute(
            "insert into texts(vector, user, text, at) values (?, ?, ?, ?)", row
        )
        return self.rows.last_insert_rowid()

    def search(self, query, *, k, user):
        rows = self.rows.execute(
            "select rowid, text, distance, at from texts where vector match ? and k = ? and user = ? order by distance",
            (sqlite_vec.serialize_float32(vector(query)), k, user),
        )
        return [(i, text, d, datetime.fromisoformat(at)) for i, text, d, at in rows]

    def delete(self, key):
        self.rows.execute("delete from texts where rowid = ?", (key,))
