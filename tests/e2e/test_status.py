"""An error that the user's code raised is an error, wherever the kernel tells it."""

import concurrent.futures
import contextlib
import sqlite3

import pytest

from tests.e2e import notebooks
from tests.instance import wait_for

BROKEN = "class Broken:\n    def __repr__(self): raise ValueError('no repr')\nBroken()"


@pytest.mark.parametrize(
    "code, ename",
    [
        ("%%time\n1/0", "ZeroDivisionError"),
        ("%%capture\n1/0", "ZeroDivisionError"),
        ("%time 1/0", "ZeroDivisionError"),
        (BROKEN, "ValueError"),
        ("1/0", "ZeroDivisionError"),
    ],
)
def test_an_error_is_an_error_wherever_it_is_told(service, task, code, ename):
    answer = service.post(task, code)
    assert answer["status"] == "error"
    assert answer["error"]["ename"] == ename
    assert ename in answer["text"]
    assert service.get(f"/v1/runs/{answer['run']}").json()["status"] == "error"
    about = service.get(f"/v1/tasks/{task}").json()
    assert (about["last_status"], about["failures"]) == ("error", 1)
    cell = notebooks.cell_of(notebooks.read(service, task), answer)
    assert cell["metadata"]["cellpost"]["status"] == "error"
    with contextlib.closing(sqlite3.connect(service.database)) as database:
        row = database.execute("select status from runs where id = ?", (answer["run"],)).fetchone()
    assert row == ("error",)


@pytest.mark.parametrize(
    "code",
    [
        "import sys; print('ZeroDivisionError: division by zero', file=sys.stderr)",
        "import warnings; warnings.warn('Error: careful')",
        "try:\n    1/0\nexcept ZeroDivisionError:\n    import traceback; traceback.print_exc()",
    ],
)
def test_text_on_stderr_is_no_error(service, task, code):
    answer = service.post(task, code)
    assert (answer["status"], answer["error"]) == ("ok", None)


COSTLY = "from IPython.display import display\nwhile True: display({'application/json': [{}] * 300000}, raw=True)"


def test_a_deadline_holds_whatever_the_kernel_sends(service, task):
    service.post(task, "x = 1")
    answer = service.post(task, COSTLY, timeout=2)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGINT")
    assert answer["usage"]["wall_ms"] < 10000
    assert all("left out" in note for note in answer["notes"])  # none on a machine that keeps up
    assert service.post(task, "x")["result"]["text/plain"] == "1"


def test_a_locked_database_delays_no_deadline(make_instance):
    own = make_instance()
    own.post("t", "x = 1")
    with contextlib.closing(sqlite3.connect(own.database, isolation_level=None)) as database:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(own.post, "t", "import time\nprint('a', flush=True)\ntime.sleep(60)", timeout=5)
            wait_for(lambda: running(own, "t"), "the run")
            database.execute("begin immediate")
            answer = pending.result()
            database.execute("rollback")
    assert (answer["status"], answer["stdout"]) == ("timeout", "a\n")
    assert answer["usage"]["wall_ms"] < 10000
    wait_for(lambda: own.get(f"/v1/runs/{answer['run']}").json()["status"] == "timeout", "its end in the registry")
    assert own.post("t", "x")["kernel"]["state"] == "kept"


def test_an_interrupt_needs_no_database(make_instance):
    own = make_instance()
    own.post("t", "x = 1")
    with contextlib.closing(sqlite3.connect(own.database, isolation_level=None)) as database:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(own.post, "t", "import time; time.sleep(60)")
            wait_for(lambda: running(own, "t"), "the run")
            database.execute("begin immediate")
            assert own.request("POST", "/v1/tasks/t/interrupt").json()["interrupted"]
            assert pending.result()["status"] == "interrupted"
            database.execute("rollback")


def running(instance, task):
    runs = instance.get(f"/v1/tasks/{task}/runs?status=running").json()["runs"]
    return runs and runs[0]["run"]
