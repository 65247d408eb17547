"""The repository as a table, for a server that reads databases or CSV files and no code.

Its files hold none, so before such a server starts, every line of them is written down where it
may read it: as `lines` of a SQLite database, and as lines.csv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.records import WarmUp

FOLDER = "{state}/tables"
DATABASE = f"{FOLDER}/repository.db"
_KIND = re.compile(
    r"\b(sqlite|csv)\b(?!`?\W{0,3}(?:fts|full.text|index|search|backed|based|cache|stor|vec|persist))",
    re.IGNORECASE,
)
"""Not of one that only keeps its own index there."""
_MENTIONS = 3
_README_CHARS = 4000
_SCRIPT = """\
mkdir -p FOLDER && python3 - FOLDER <<'END'
import csv, os, sqlite3, subprocess, sys
rows = []
for path in subprocess.run(["git", "ls-files"], capture_output=True, text=True).stdout.splitlines():
    data = open(path, "rb").read() if os.path.isfile(path) else b"\\0"
    if b"\\0" not in data and len(data) < 200000:
        text = data.decode("utf-8", "replace").splitlines()
        rows += [(path, number, line) for number, line in enumerate(text, 1)]
database = sqlite3.connect(sys.argv[1] + "/repository.db")
database.execute("create table lines (path text, line integer, text text)")
database.executemany("insert into lines values (?, ?, ?)", rows)
database.commit()
writer = csv.writer(open(sys.argv[1] + "/lines.csv", "w", newline=""))
writer.writerows([("path", "line", "text"), *rows])
END
""".replace("FOLDER", FOLDER)
MADE = WarmUp(shell=_SCRIPT)


def reads_tables(title: str, readme: str) -> bool:
    """Does it say at once, and again and again, that tables are what it reads?"""
    said = _KIND.findall(f"{title}\n{readme[:_README_CHARS]}")
    return len(said) >= _MENTIONS and bool(_KIND.search(f"{title}\n{readme[:600]}"))


def placed(word: str) -> str:
    """Where a README has a path to a database or to a folder of CSV files of its author's."""
    if re.search(r"\.(?:db|sqlite3?)\b|sqlite|database|\bdb\b", word, re.IGNORECASE):
        return DATABASE
    return FOLDER if re.search("csv", word, re.IGNORECASE) else ""


def ways() -> Iterator[tuple[str, ...]]:
    """What may stand behind the program."""
    yield (DATABASE,)
    yield (FOLDER,)
    yield ("--db-path", DATABASE)
    yield ("--database", DATABASE)
