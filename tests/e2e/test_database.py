"""What happens around the database: locked by others, deleted, damaged, on a full
disk, of another schema."""

import contextlib
import shutil
import sqlite3
import subprocess
import time

import pytest

from tests.instance import Instance, wait_for


@pytest.fixture
def own(make_instance):
    return make_instance({"retention.interval": 0})


@contextlib.contextmanager
def locked(instance):
    """As an auditor's BEGIN IMMEDIATE keeps it."""
    database = sqlite3.connect(instance.database, isolation_level=None, timeout=10)
    try:
        database.execute("BEGIN IMMEDIATE")
        yield
    finally:
        database.close()


def ready(instance):
    reply = instance.get("/readyz")
    return reply.status_code, reply.json().get("detail", "")


def test_a_lock_of_others_is_told_within_the_patience(own):
    assert own.post("a", "x = 1; x")["text"].strip() == "1"
    with locked(own):
        begin = time.monotonic()
        status, detail = ready(own)
        assert status == 503 and "another process holds its lock" in detail
        assert own.get("/v1/tasks/a/runs").status_code == 200
        assert time.monotonic() - begin < 5
        begin = time.monotonic()
        reply = own.send("a", "2")
        assert reply.status_code == 503 and "another process holds its lock" in reply.json()["detail"]
        assert time.monotonic() - begin < 15
    wait_for(lambda: ready(own)[0] == 200, "readiness")
    assert own.post("a", "x")["kernel"]["state"] == "kept"


def test_a_deleted_database_is_noticed(own):
    own.post("a", "1")
    aside = own.database.with_name("aside.db")
    own.database.rename(aside)
    status, detail = ready(own)
    assert status == 503 and "deleted or replaced" in detail
    reply = own.send("a", "2")
    assert reply.status_code == 503 and "deleted or replaced" in reply.json()["detail"]
    assert not own.database.exists()
    aside.rename(own.database)
    wait_for(lambda: ready(own)[0] == 200, "readiness")
    assert own.post("a", "2")["status"] == "ok"


def test_a_damaged_database_is_told(own):
    own.post("a", "1")
    with open(own.database, "r+b") as file:
        file.write(b"x" * 4096)
    status, detail = ready(own)
    assert status == 503 and "damaged" in detail


@pytest.fixture
def on_a_disk(tmp_path):
    """An instance whose state stands on a disk of its own."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tmpfs", tmp_path], capture_output=True)
    if done.returncode != 0:
        pytest.skip("mounting a disk takes root")
    tmp_path.parent.parent.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    try:
        with Instance({"retention.interval": 0}, directory=tmp_path) as instance:
            yield instance, tmp_path
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_full_disk_is_not_ready(on_a_disk):
    instance, disk = on_a_disk
    instance.post("a", "1")
    with contextlib.suppress(OSError), open(disk / "big", "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 65536)
    status, detail = ready(instance)
    assert status == 503 and "make room" in detail
    (disk / "big").unlink()
    wait_for(lambda: ready(instance)[0] == 200, "readiness")


def test_a_database_of_another_schema_is_refused_with_words(own):
    own.post("a", "1")
    own.down()
    with contextlib.closing(sqlite3.connect(own.database)) as database:
        database.execute("ALTER TABLE runs ADD COLUMN of_another_build TEXT")
        database.commit()
    done = subprocess.run([own.program("cellpost"), "-c", own.conf, "serve"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "its table runs is not this program's" in done.stdout + done.stderr
    shutil.rmtree(own.database.parent)


def test_a_lock_during_a_run_loses_nothing(own):
    own.post("a", "x = 1")
    sent = own.request("POST", "/v1/tasks/a/execute", json={"code": "import time; time.sleep(2); x += 1; x", "wait": False})
    assert sent.status_code == 202
    run = sent.json()["run"]
    own.wait_run(run, "running")
    with locked(own):
        begin = time.monotonic()
        assert own.send("b", "1").status_code == 503  # and by then the run is over
        assert time.monotonic() - begin < 15
    assert own.wait_run(run)["status"] == "ok"
    answer = own.post("a", "x")
    assert answer["text"].strip() == "2" and answer["kernel"]["state"] == "kept"
