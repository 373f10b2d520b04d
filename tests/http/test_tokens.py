"""Tokens: made, listed, changed and revoked on the command line, beside or
without the service."""

import contextlib
import getpass
import re
import sqlite3
import subprocess
import zlib

import pytest

from tests.instance import ROOT, MODE

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Place:
    """A state directory of its own, and the command for it."""

    def __init__(self, directory):
        self.directory = directory
        self.conf = directory / "cellpost.conf"
        user = getpass.getuser()  # the directory is this one's, not the service's
        self.conf.write_text(f"[server]\nuser = {user}\n[state]\nstate_directory = {directory}\nrun_directory = {directory}\n")

    def run(self, *words, status=0):
        done = subprocess.run(
            [ROOT / "build" / MODE / "cellpost", "-c", self.conf, "token", *words],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(self.directory / "cellpost.db")) as database:
            return database.execute(sql).fetchall()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def checksum(text):
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        digits = DIGITS[number % 62] + digits
        number //= 62
    return digits


def test_a_token_is_shown_once_and_kept_nowhere(place):
    secret = place.run("add", "anna").strip()
    assert re.fullmatch(r"cp_[0-9A-Za-z]{38}", secret)
    assert secret[-6:] == checksum(secret[:-6])
    assert secret not in place.run("list")
    for file in place.directory.iterdir():
        assert secret.encode() not in file.read_bytes()
    assert place.rows("select name, tenant, scopes, tasks, limits from tokens") == [
        ("anna", "anna", "read,run", "own", "{}")
    ]


def test_options_stand_anywhere(place):
    place.run("add", "--scopes", "read", "bert", "--tasks=b-*,own", "--tenant", "crew", "--expires", "90d",
              "--limit", "runs=2", "--limit", "file_bytes=1000")
    assert place.rows("select tenant, scopes, tasks, limits, (expires_at - created_at + 60000000) / 86400000000 from tokens") == [
        ("crew", "read", "b-*,own", '{"runs":2,"file_bytes":1000}', 90)
    ]
    line = place.run("list")
    assert "bert" in line and "good" in line and "b-*,own" in line and '"runs":2' in line


def test_a_rotated_token_has_another_text(place):
    first = place.run("add", "anna").strip()
    second = place.run("rotate", "anna", "--grace", "24h").strip()
    assert first != second
    assert place.rows("select previous_hash is not null, previous_expires_at > rotated_at from tokens") == [(1, 1)]


def test_a_revoked_name_is_not_given_again(place):
    place.run("add", "anna")
    place.run("revoke", "anna")
    assert "revoked" in place.run("list")
    assert "history knows it" in place.run("add", "anna", status=1)
    assert "no token" in place.run("rotate", "anna", status=1)
    assert "no token" in place.run("revoke", "nobody", status=1)
    kinds = [kind for (kind,) in place.rows("select kind from journal order by id")]
    assert kinds == ["token.added", "token.revoked"]
    assert place.rows("select caller like 'command line (%' from journal where id = 1") == [(1,)]


@pytest.mark.parametrize(
    "words, told",
    [
        ([], "wanted is"),
        (["add"], "token add NAME"),
        (["ad", "x"], "wanted is"),
        (["add", "a b"], "no name of a token"),
        (["add", "anonymous"], "no name of a token"),
        (["add", "x", "--scopes", "write"], '"write" is no scope'),
        (["add", "x", "--tasks", "a/b"], "no pattern"),
        (["add", "x", "--expires", "soon"], "no duration"),
        (["add", "x", "--limit", "cpus=2"], 'no limit "cpus"'),
        (["add", "x", "--grace", "1h"], "does not take"),
        (["list", "x"], "token list"),
    ],
)
def test_what_is_wrong_is_named(place, words, told):
    assert told in place.run(*words, status=1)


def test_a_database_from_before_gets_its_tables(place):
    """As the program before tokens left it: its tasks and runs stay as they are."""
    database = place.directory / "cellpost.db"
    steps = sorted((ROOT / "sql" / "migrations").glob("000[123]_*.sql"))
    assert len(steps) == 3
    with contextlib.closing(sqlite3.connect(database)) as connection:
        for step in steps:
            connection.executescript(step.read_text())
        connection.executescript(
            "PRAGMA application_id = 0x43656c6c; PRAGMA user_version = 3;"
            "INSERT INTO tasks VALUES ('demo', 'python3', '{}', 'anonymous', 1, NULL);"
        )
    assert place.run("list") == ""
    place.run("add", "anna")
    assert place.rows("select id, created_by from tasks") == [("demo", "anonymous")]
    assert place.rows("select kind from journal") == [("token.added",)]
