"""What /readyz says, and that nobody who holds the database keeps it, or an
interrupt, from answering."""

import contextlib
import shutil
import sqlite3
import time

from tests.http.problems import check_problem
from tests.instance import wait_for

WAITS = "open('here', 'w').close()\nwhile True: __import__('time').sleep(0.01)"


@contextlib.contextmanager
def foreign_lock(service):
    database = sqlite3.connect(service.database, timeout=30, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    yield
    database.execute("ROLLBACK")
    database.close()


def timed(call):
    begin = time.monotonic()
    return call(), time.monotonic() - begin


def test_a_foreign_lock_keeps_neither_readiness_nor_an_interrupt(make_instance, task):
    service = make_instance()
    run = service.send(task, WAITS, wait=False).json()["run"]
    wait_for(lambda: (service.task_directory(task) / "files" / "here").exists(), "the cell")
    with foreign_lock(service):
        response, seconds = timed(lambda: service.get("/readyz"))
        check_problem(response, 503, "locked")
        assert seconds < 5
        response, seconds = timed(lambda: service.request("POST", f"/v1/tasks/{task}/interrupt"))
        assert response.status_code == 200 and seconds < 5
        for path in ("/healthz", "/metrics", "/v1/tasks", f"/v1/runs/{run}"):
            response, seconds = timed(lambda path=path: service.get(path))
            assert response.status_code == 200 and seconds < 5, path
    assert service.wait_run(run)["status"] == "interrupted"
    assert service.get("/readyz").status_code == 200


def test_a_database_that_is_away_or_damaged_is_not_ready(make_instance, task):
    service = make_instance()
    service.post(task, "1")
    kept = service.database.with_suffix(".kept")
    service.database.rename(kept)
    check_problem(service.get("/readyz"), 503, "database")
    assert service.send(task, "2").status_code in (500, 503)
    kept.rename(service.database)
    assert service.get("/readyz").status_code == 200
    assert service.post(task, "3")["status"] == "ok"
    shutil.copy(service.database, kept)
    with open(service.database, "r+b") as file:
        file.write(b"x" * 8192)
    check_problem(service.get("/readyz"), 503, "database")
    with open(service.database, "r+b") as file:
        file.write(kept.read_bytes()[:8192])
    assert service.get("/readyz").status_code == 200
