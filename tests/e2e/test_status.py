"""An error that the user's code raised is an error, wherever the kernel tells it."""

import contextlib
import sqlite3

import pytest

from tests.e2e import notebooks

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
    assert any("left out" in note for note in answer["notes"])
    assert service.post(task, "x")["result"]["text/plain"] == "1"
