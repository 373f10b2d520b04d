"""Variables brought back: the cells of a history run again in a new kernel."""

import concurrent.futures
import json
import os
import signal
import sqlite3

import pytest

from tests.e2e import notebooks
from tests.instance import JSON, wait_for


def restart(service, task, **fields):
    return service.request("POST", f"/v1/tasks/{task}/restart", data=json.dumps(fields), headers=JSON)


def replay(service, task):
    response = restart(service, task, replay=True)
    assert response.status_code == 200, response.text
    return response.json()["replay"]


def counts(told):
    return tuple(told[key] for key in ("cells", "same", "different", "failed", "skipped"))


def die(service, task):
    answer = service.post(task, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert answer["status"] == "kernel_died"


def rows(service, sql, *values):
    with sqlite3.connect(f"file:{service.database}?mode=ro", uri=True) as database:
        return database.execute(sql, values).fetchall()


def test_variables_come_back(service, task):
    service.post(task, "x = 1; print('one')")
    service.post(task, "x += 1; x")
    service.post(task, "1 / 0")
    service.post(task, "y = x * 10", silent=True)
    before = notebooks.read(service, task)
    told = replay(service, task)
    assert told["status"] == "complete" and counts(told) == (3, 3, 0, 0, 0) and told["differences"] == []
    answer = service.post(task, "x, y")
    assert answer["result"]["text/plain"] == "(2, 20)"
    assert answer["kernel"]["state"] == "kept" and answer["kernel"]["generation"] == 2
    after = notebooks.read(service, task)
    assert after["cells"][:-1] == before["cells"]
    assert len(service.runs(task)) == 5
    kinds = [kind for (kind,) in rows(service, "SELECT kind FROM events WHERE task = ? AND kind LIKE 'replay.%'", task)]
    assert kinds == ["replay.started", "replay.finished"]
    assert not rows(service, "SELECT 1 FROM events WHERE kind = 'run.output' AND run NOT IN (SELECT id FROM runs)")


def test_what_differs_is_told(service, task):
    service.post(task, "import os, pathlib; seen = pathlib.Path('seen'); old = seen.exists(); seen.touch(); old")
    service.post(task, "assert not old; fine = 1")
    service.post(task, "a = input(); a", stdin=["line"])
    service.post(task, "print('same')")
    told = replay(service, task)
    assert told["status"] == "incomplete" and counts(told) == (3, 1, 1, 1, 1)
    different, failed, skipped = told["differences"]
    assert different["what"] == "different" and "False" in different["before"] and "True" in different["after"]
    assert failed["what"] == "failed" and failed["reason"].startswith("AssertionError") and failed["status"] == "error"
    assert skipped["what"] == "skipped" and "input" in skipped["reason"]
    runs = [run["run"] for run in reversed(service.runs(task))]
    assert [entry["run"] for entry in told["differences"]] == runs[:3]
    assert [entry["number"] for entry in told["differences"]] == [1, 2, 3]
    ((status, recorded),) = rows(service, "SELECT status, differences FROM replays WHERE task = ?", task)
    assert status == "incomplete" and json.loads(recorded) == told["differences"]


def test_without_replay_the_kernel_is_fresh(service, task):
    service.post(task, "x = 1")
    assert "replay" not in restart(service, task).json()
    assert service.post(task, "x")["error"]["ename"] == "NameError"
    assert restart(service, task, replay=1).status_code == 422
    assert restart(service, task, again=True).status_code == 422


def test_images_and_rich_outputs_agree(service, task):
    service.post(task, "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    service.post(task, "import pandas as pd; df = pd.DataFrame({'a': range(100)}); df")
    service.post(task, "display({'application/json': {'a': [1.0, 1e30]}, 'text/html': '<b>x</b>'}, raw=True)")
    service.post(task, "import sys\nfor i in range(3): print(i); print(i, file=sys.stderr)")
    told = replay(service, task)
    assert counts(told) == (4, 4, 0, 0, 0), told


def test_the_replay_comes_before_what_waits(service, task):
    service.post(task, "x = 1")
    running = service.send(task, "import time; time.sleep(60)", wait=False).json()["run"]
    waiting = service.send(task, "x", wait=False).json()["run"]
    service.wait_run(running, "running")
    told = replay(service, task)
    assert told["status"] == "complete" and counts(told)[0] == 1
    assert service.wait_run(running)["status"] == "kernel_died"
    assert service.wait_run(waiting)["result"]["text/plain"] == "1"


def test_a_death_is_followed_by_a_replay_if_the_task_says_so(service, task):
    assert service.put(task, replay_after_death=True).status_code == 201
    service.post(task, "x = 41")
    service.post(task, "x += 1")
    die(service, task)
    answer = service.post(task, "x")
    assert answer["result"]["text/plain"] == "42"
    assert answer["kernel"]["state"] == "kept" and "run again" in answer["kernel"]["reason"]
    assert answer["kernel"]["generation"] == 2
    ((by, status),) = rows(service, "SELECT asked_by, status FROM replays WHERE task = ?", task)
    assert (by, status) == ("replay_after_death", "complete")
    # Asked for, a restart is not a death.
    restart(service, task)
    assert service.post(task, "x")["status"] == "error"


def test_without_the_setting_a_death_is_not(service, task):
    service.post(task, "x = 1")
    die(service, task)
    answer = service.post(task, "x")
    assert answer["status"] == "error" and answer["kernel"]["state"] == "lost"


def test_the_setting_of_the_configuration(make_instance):
    own = make_instance({"kernels.replay_after_death": "on"})
    own.post("t", "x = 1")
    own.put("u", replay_after_death=False)
    own.post("u", "x = 1")
    die(own, "t")
    die(own, "u")
    assert own.post("t", "x")["status"] == "ok"
    assert own.post("u", "x")["status"] == "error"


def test_a_replay_that_kills_its_kernel_ends(service, task):
    """The cell is fine once and fatal the second time; nobody tries for ever."""
    service.put(task, replay_after_death=True)
    service.post(task, "x = 1")
    service.post(
        task,
        "import os, pathlib, signal\n"
        "if pathlib.Path('again').exists(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path('again').touch()",
    )
    die(service, task)
    answer = service.post(task, "2")
    assert answer["status"] == "ok" and answer["kernel"]["state"] == "lost"
    assert rows(service, "SELECT status FROM replays WHERE task = ?", task) == [("lost",)]
    assert service.post(task, "x")["status"] == "error"


def test_a_replay_is_interrupted(service, task):
    service.post(task, "import time, pathlib; slow = pathlib.Path('slow').exists()")
    service.post(task, "pathlib.Path('slow').touch()")
    service.post(task, "if slow: time.sleep(60)")
    service.post(task, "done = 1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(replay, service, task)
        wait_for(
            lambda: rows(service, "SELECT 1 FROM replays WHERE task = ? AND status = 'running'", task), "the replay"
        )
        service.request("POST", f"/v1/tasks/{task}/interrupt")
        told = pending.result()
    assert told["status"] == "cancelled"
    assert service.post(task, "2")["status"] == "ok"


def test_a_timeout_holds_in_a_replay(service, task):
    service.post(task, "import pathlib, time; second = pathlib.Path('f').exists(); pathlib.Path('f').touch()")
    service.post(task, "if second: time.sleep(60)", timeout=0.5)
    service.post(task, "x = 3")
    told = replay(service, task)
    assert told["status"] == "incomplete" and told["differences"][-1]["status"] == "timeout"
    assert service.post(task, "x")["result"]["text/plain"] == "3"


def test_exit_is_not_called_again(service, task):
    service.post(task, "x = 1")
    service.post(task, "exit()")
    service.post(task, "y = 2")
    told = replay(service, task)
    assert counts(told)[:4] == (2, 2, 0, 0)
    assert service.post(task, "x, y")["result"]["text/plain"] == "(1, 2)"


def test_threads_of_a_replay_do_not_reach_the_old_cells(service, task):
    code = "import threading\nthreading.Timer(0.3, lambda: print('late')).start()"
    run = service.post(task, code)["run"]
    wait_for(lambda: rows(service, "SELECT 1 FROM runs WHERE id = ? AND late_outputs > 0", run), "late output")
    replay(service, task)
    wait_for(lambda: rows(service, "SELECT 1 FROM events WHERE task = ? AND kind = 'kernel.output'", task), "the same")
    assert rows(service, "SELECT late_outputs FROM runs WHERE id = ?", run) == [(1,)]
    notebook = notebooks.read(service, task)
    assert [notebooks.outputs(cell) for cell in notebook["cells"]][0][0]["text"] == "late\n"


def test_a_replay_cut_off_is_told(make_instance):
    own = make_instance()
    own.post("t", "import time, pathlib; slow = pathlib.Path('f').exists(); pathlib.Path('f').touch()")
    own.post("t", "if slow: time.sleep(3)")
    own.post("t", "x = 1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(restart, own, "t", replay=True)
        wait_for(lambda: rows(own, "SELECT 1 FROM replays WHERE status = 'running'"), "the replay")
        own.kill("app")
        with pytest.raises(Exception):
            pending.result().raise_for_status()
    own.start_app()
    assert rows(own, "SELECT status FROM replays") == [("lost",)]
    answer = own.post("t", "1", timeout=30)
    assert answer["kernel"]["state"] == "lost" and "cut off" in answer["kernel"]["reason"]
    assert own.post("t", "1")["kernel"]["state"] == "kept"
