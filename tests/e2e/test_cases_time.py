"""Time, death and state: how a run ended, and whether the variables survived."""

import concurrent.futures
import os
import pathlib
import signal
import time

import pytest

from tests.e2e import notebooks
from tests.instance import alive, wait_for


@pytest.fixture(scope="module")
def time_task(session_instance):
    """One task for the cases that end with a kernel at ease."""
    yield "time"
    session_instance.delete("time")


def kernel_pid(service, task):
    service.post(task, "1")
    return service.kernel_pid(task)


def children_named(marker):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return [pid for pid in found if alive(pid)]


def test_a_timeout_keeps_output_and_variables(service, time_task):
    service.post(time_task, "x = 5")
    answer = service.post(time_task, "print(1)\nimport time\ntime.sleep(99)", timeout=1)
    assert answer["status"] == "timeout"
    assert answer["stdout"] == "1\n"
    assert answer["ended_by"] == "SIGINT"
    assert answer["error"]["line"] == 3
    assert "time.sleep(99)" in answer["error"]["source"]
    assert answer["usage"]["wall_ms"] >= 1000
    after = service.post(time_task, "x")
    assert after["result"]["text/plain"] == "5"
    assert after["kernel"]["state"] == "kept"
    notebooks.read(service, time_task)


WAITERS = [
    "import asyncio\nawait asyncio.sleep(60)",
    "import subprocess\nsubprocess.run(['sleep','600.25'])",
    "!sleep 600.25",
    "while True: pass",
    "import threading\nthreading.Event().wait()",
]


@pytest.mark.parametrize("code", WAITERS)
def test_what_waits_is_interrupted_soon_after_the_deadline(service, time_task, code):
    service.post(time_task, "x = 1")
    answer = service.post(time_task, code, timeout=1)
    assert answer["status"] == "timeout"
    assert answer["usage"]["wall_ms"] < 4000
    assert service.post(time_task, "x")["kernel"]["state"] == "kept"
    assert children_named("600.25") == []


def test_a_cell_that_swallows_interrupts_is_ended(make_instance):
    service = make_instance({"kernels.interrupt_grace": "1", "kernels.terminate_grace": "1"})
    service.post("t", "x = 1")
    code = """import time

print("before", flush=True)
while True:
  try: time.sleep(60)
  except BaseException: pass"""
    answer = service.post("t", code, timeout=1)
    assert answer["status"] == "timeout"
    assert answer["ended_by"] in ("SIGTERM", "SIGKILL")
    assert answer["stdout"] == "before\n"
    assert answer["kernel"]["state"] == "lost"
    assert answer["error"]["line"] == 5
    assert "->" in answer["error"]["source"] and "time.sleep(60)" in answer["error"]["source"]
    after = service.post("t", "1")
    assert after["kernel"]["state"] == "lost" and after["kernel"]["generation"] == 2
    assert after["kernel"]["reason"]


def test_a_cell_that_ignores_every_signal_is_killed(make_instance):
    service = make_instance({"kernels.interrupt_grace": "1", "kernels.terminate_grace": "1"})
    code = """import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(60)"""
    answer = service.post("t", code, timeout=1)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGKILL")
    assert answer["error"]["line"] == 3


@pytest.mark.parametrize("code", ["%%bash\ncat", "!cat", "%%bash\nread x; echo got $x"])
def test_children_never_wait_on_stdin_for_ever(service, time_task, code):
    answer = service.post(time_task, code, timeout=2)
    assert answer["status"] in ("ok", "error", "timeout")
    assert service.post(time_task, "1+1")["result"]["text/plain"] == "2"


DEATHS = [
    ("import os; os.kill(os.getpid(), 9)", "kernel_died", "signal 9"),
    ("import os; os._exit(7)", "kernel_died", "exit code 7"),
    ("import ctypes; ctypes.string_at(0)", "kernel_died", "signal 11"),
    ("import os; os.abort()", "kernel_died", "signal 6"),
    ("exit()", "ok", "exit()"),
]


@pytest.mark.parametrize("code, status, reason", DEATHS)
def test_deaths_are_told_apart(service, time_task, code, status, reason):
    service.post(time_task, "x = 1; print('alive')")
    start = time.monotonic()
    answer = service.post(time_task, code)
    assert time.monotonic() - start < 10
    assert answer["status"] == status
    assert answer["kernel"]["state"] == "lost"
    assert reason in answer["kernel"]["reason"]
    assert "lost" in answer["text"] and reason in answer["text"]
    after = service.post(time_task, "'x' in globals()")
    assert after["result"]["text/plain"] == "False"
    assert after["kernel"]["state"] == "lost"
    assert after["kernel"]["generation"] == answer["kernel"]["generation"] + 1
    assert service.post(time_task, "1")["kernel"]["state"] == "kept"
    notebooks.read(service, time_task)


def test_output_before_a_death_is_kept(service, time_task):
    answer = service.post(time_task, "import os, sys\nprint('last words', flush=True)\nos._exit(3)")
    assert answer["stdout"] == "last words\n"
    assert "exit code 3" in answer["error"]["evalue"]


def test_sys_exit_is_an_ordinary_error(service, time_task):
    answer = service.post(time_task, "import sys; sys.exit(2)")
    assert answer["status"] == "error" and answer["error"]["ename"] == "SystemExit"
    assert service.post(time_task, "1")["kernel"]["state"] == "kept"


def test_a_kernel_killed_from_outside_is_noticed(service, time_task):
    pid = kernel_pid(service, time_task)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: service.get(f"/v1/tasks/{time_task}").json()["kernel"]["state"] == "dead", "its end", 5)
    answer = service.post(time_task, "1")
    assert answer["kernel"]["state"] == "lost" and "signal 9" in answer["kernel"]["reason"]


def test_an_error_does_not_abort_what_follows(service, time_task):
    service.post(time_task, "1")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.post, time_task, "import time; time.sleep(.3); 1/0")
        wait_for(lambda: service.runs(time_task)[0]["status"] == "running", "the first run")
        second = pool.submit(service.post, time_task, "1+1")
    assert first.result()["status"] == "error"
    assert second.result()["result"]["text/plain"] == "2"


def test_twenty_tasks_at_once(make_instance):
    service = make_instance()
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda i: service.post(f"t{i}", f"{i}*2", timeout=90), range(20)))
    assert [answer["result"]["text/plain"] for answer in answers] == [str(i * 2) for i in range(20)]


def test_nothing_of_a_deleted_task_is_left(service, task):
    service.post(task, "import subprocess; subprocess.Popen(['sleep','999.125'], start_new_session=True)")
    pid = kernel_pid(service, task)
    assert children_named("999.125")
    start = time.monotonic()
    assert service.delete(task).status_code == 200
    wait_for(lambda: not children_named("999.125") and not alive(pid), "the end", 5)
    assert time.monotonic() - start < 10
    assert not service.task_directory(task).exists()
    assert service.delete(task).status_code == 404
    assert service.get(f"/v1/tasks/{task}").status_code == 404


def test_a_deleted_task_can_be_purged_later(service, task):
    service.post(task, "open('kept','w').close()")
    assert service.delete(task, purge=False).status_code == 200
    assert (service.task_directory(task) / "files" / "kept").exists()
    assert service.delete(task, purge=False).status_code == 404
    assert service.delete(task, purge=True).status_code == 200
    assert not service.task_directory(task).exists()


def test_interrupt_and_cancel(service, task):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = pool.submit(service.post, task, "import time; x = 1; time.sleep(60)")
        wait_for(lambda: [r for r in service.runs(task) if r["status"] == "running"], "the run")
        queued = pool.submit(service.send, task, "2")
        wait_for(lambda: len(service.runs(task)) == 2, "the queued run")
        waiting = service.runs(task)[0]
        assert service.get(f"/v1/runs/{waiting['run']}").json()["queue_position"] == 1
        assert service.request("DELETE", f"/v1/runs/{waiting['run']}").status_code in (200, 202)
        assert queued.result().status_code == 409
        assert service.request("POST", f"/v1/tasks/{task}/interrupt").status_code == 200
        answer = running.result()
    assert answer["status"] == "interrupted" and answer["ended_by"] == "SIGINT"
    cancelled = service.get(f"/v1/runs/{waiting['run']}").json()
    assert cancelled["status"] == "cancelled"
    assert "cancelled before it started" in cancelled["text"]
    assert cancelled["error"]["prompt"].startswith("Status: cancelled")
    assert service.post(task, "x")["result"]["text/plain"] == "1"


def test_restart_gives_a_new_kernel(service, task):
    service.post(task, "x = 1")
    response = service.request("POST", f"/v1/tasks/{task}/restart")
    assert response.status_code == 200 and response.json()["kernel"]["generation"] == 2
    answer = service.post(task, "'x' in globals()")
    assert answer["result"]["text/plain"] == "False"
    assert answer["kernel"]["state"] == "fresh" and "restart" in answer["kernel"]["reason"]


def test_a_task_made_anew_has_lost_nothing(service, task):
    service.post(task, "x = 1")
    service.delete(task)
    answer = service.post(task, "'x' in globals()")
    assert answer["result"]["text/plain"] == "False"
    assert answer["kernel"]["state"] == "fresh" and answer["kernel"]["generation"] == 2


def test_a_run_in_the_background_can_be_watched(service, task):
    service.post(task, "import threading; go = threading.Event()")
    response = service.send(task, "print('so far', flush=True); go.wait(); print('done')", wait=False)
    assert response.status_code == 202
    run = response.json()["run"]
    assert response.headers["Location"] == f"/v1/runs/{run}"

    def partial():
        answer = service.get(f"/v1/runs/{run}").json()
        return answer if answer["stdout"] else None

    answer = wait_for(partial, "partial output")
    assert (answer["status"], answer["stdout"]) == ("running", "so far\n")
    service.request("DELETE", f"/v1/runs/{run}")
    assert service.wait_run(run)["status"] == "interrupted"


def test_init_code_runs_in_every_new_kernel(service, task):
    assert service.put(task, init_code="base = 40").status_code == 201
    assert service.post(task, "base + 2")["result"]["text/plain"] == "42"
    service.request("POST", f"/v1/tasks/{task}/restart")
    assert service.post(task, "base + 3")["result"]["text/plain"] == "43"


def test_a_failing_init_code_is_named_with_its_line(service, task):
    service.put(task, init_code="\nx = 1\ny = nobody\n")
    answer = service.post(task, "print(x)")
    fault = "the task's init_code failed at line 3: NameError: name 'nobody' is not defined"
    assert (answer["status"], answer["stdout"]) == ("ok", "1\n")
    assert fault in answer["notes"] and fault in answer["text"]
    assert not service.post(task, "1")["notes"]


def test_an_init_code_that_does_not_end_is_named_with_its_line(make_instance):
    own = make_instance({"kernels.start_timeout": "10"})
    own.put("t", init_code="x = 1\nwhile True:\n    x += 1")
    problem = own.send("t", "1").json()
    assert problem["status"] == 503
    assert "the task's init_code did not end within 10 s; it was interrupted at line" in problem["detail"]
    run = own.get(f"/v1/runs/{problem['run']}").json()
    assert run["status"] == "not_run" and "init_code" in run["text"]
    own.put("t", init_code="import os; os._exit(3)")
    assert "the kernel ended while it ran the task's init_code" in own.send("t", "1").json()["detail"]
    own.put("t", init_code="x = 7")
    assert own.post("t", "x")["result"]["text/plain"] == "7"


def test_another_init_code_is_for_the_next_kernel(service, task):
    assert service.put(task, init_code="base = 40").status_code == 201
    assert service.post(task, "base")["result"]["text/plain"] == "40"
    changed = service.put(task, init_code="base = 50")
    assert changed.status_code == 200 and "next kernel" in changed.json()["notes"][0]
    assert service.put(task, init_code="base = 50").json()["notes"] == []
    assert service.put(task, init_code="base = 50", strict=True).status_code == 409
    assert service.put(task).status_code == 409
    assert service.post(task, "base")["result"]["text/plain"] == "40"
    service.request("POST", f"/v1/tasks/{task}/restart")
    assert service.post(task, "base")["result"]["text/plain"] == "50"
