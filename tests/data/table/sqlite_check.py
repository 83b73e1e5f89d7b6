"""Reads a table that write_table wrote, by Python's sqlite3: sqlite_check.py write_table"""
import os
import sqlite3
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "t.db")
    subprocess.run([sys.argv[1], path], check=True)
    database = sqlite3.connect(path)
    rows = database.execute('SELECT * FROM "it""ems" ORDER BY rowid').fetchall()
    columns = [row[1:4] for row in database.execute('PRAGMA table_info("it""ems")')]
    database.close()
assert rows == [(3, 0.1, 'a "cat" é', b"\xff\x00", "Cat", 1), (-7, -1e300, "", b"", "Dog", None)], rows
assert columns == [("label", "INTEGER", 1), ("weight", "REAL", 1), ("title", "TEXT", 1), ("jpeg", "BLOB", 1),
                   ("kind", "TEXT", 1), ("seen", "INTEGER", 0)], columns
