"""Any process may be killed at any moment: nothing is lost and nothing torn."""

import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import pwd
import random
import sqlite3
import struct
import subprocess
import sys

import pytest

from tests.e2e import notebooks
from tests.instance import alive, wait_for


@pytest.fixture
def own(make_instance):
    return make_instance()


def restart_keeper(service):
    log = open(service.state / "log" / "keeper.log", "ab")
    process = subprocess.Popen(
        [service.state / "bin" / "cellpost-keeper", "-c", service.conf],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    log.close()
    (service.state / "pid" / "keeper.pid").write_text(f"{process.pid}\n")
    service.wait_ready()


def test_variables_survive_the_app(own):
    own.post("t", "x = 1")
    own.kill("app")
    own.start_app()
    answer = own.post("t", "x")
    assert answer["result"]["text/plain"] == "1"
    assert answer["kernel"]["state"] == "kept"
    assert answer["execution_count"] == 2


def test_a_run_that_was_cut_off_is_lost_and_the_next_post_answers(own):
    own.post("t", "x = 1")
    run = own.send("t", "print('cut', flush=True); import time; time.sleep(60); x = 2", wait=False).json()["run"]
    own.wait_run(run, "running")
    wait_for(lambda: notebooks.read(own, "t")["cells"][-1]["outputs"], "its output in the notebook")
    own.kill("app")
    own.start_app()
    lost = own.get(f"/v1/runs/{run}").json()
    assert lost["status"] == "lost" and "the process that led this run ended before it" in lost["text"]
    assert lost["error"]["prompt"].startswith("Status: lost") and "look at its effects" in lost["error"]["hint"]
    cell = notebooks.read(own, "t")["cells"][-1]
    assert cell["id"] == run and cell["metadata"]["cellpost"]["status"] == "lost"
    assert notebooks.outputs(cell)[0]["text"] == "cut\n"
    answer = own.post("t", "x", timeout=30)
    assert answer["result"]["text/plain"] == "1"
    assert answer["kernel"]["state"] == "kept"
    assert any("cut off" in note for note in answer["notes"])


def test_late_output_that_only_the_registry_has_comes_into_the_notebook(own):
    """As after a kill between the two."""
    code = "import os, threading, time\ndef f():\n  while not os.path.exists('go'): time.sleep(.01)\n  print('late')\n"
    run = own.post("t", code + "threading.Thread(target=f).start()")["run"]
    file = own.task_directory("t") / "notebook.ipynb"
    before = file.read_bytes()
    (own.task_directory("t") / "files/go").touch()
    wait_for(lambda: notebooks.read(own, "t")["cells"][0]["outputs"], "the late line")
    assert own.post("t", "1")["late_outputs"]
    own.kill("app")
    file.write_bytes(before)
    with sqlite3.connect(own.database) as database:
        assert database.execute("SELECT * FROM unwritten").fetchall() == []
        database.execute("INSERT INTO unwritten SELECT sequence, 1 FROM runs WHERE id = ?", (run,))
    own.start_app()
    (output,) = notebooks.outputs(notebooks.read(own, "t")["cells"][0])
    assert output["text"] == "late\n"
    with sqlite3.connect(own.database) as database:
        assert database.execute("SELECT * FROM unwritten").fetchall() == []


def test_variables_survive_the_keeper(own):
    own.post("t", "x = 1")
    own.kill("keeper")
    restart_keeper(own)
    assert own.post("t", "x")["result"]["text/plain"] == "1"
    pid = own.kernel_pid("t")
    os.kill(pid, 9)
    wait_for(lambda: own.get("/v1/tasks/t").json()["kernel"]["state"] == "dead", "its end", 5)
    answer = own.post("t", "1")
    assert answer["kernel"]["state"] == "lost" and "signal 9" in answer["kernel"]["reason"]


def test_a_death_while_no_keeper_watched_is_told(own):
    own.post("t", "1")
    pid = own.kernel_pid("t")
    own.kill("keeper")
    os.kill(pid, 9)
    wait_for(lambda: not alive(pid), "its end")
    restart_keeper(own)
    answer = own.post("t", "1")
    assert answer["kernel"]["state"] == "lost" and "signal 9" in answer["kernel"]["reason"]


def test_a_run_goes_on_without_the_keeper(own):
    own.post("t", "import threading; go = threading.Event()")
    own.kill("keeper")
    assert own.post("t", "1+1")["result"]["text/plain"] == "2"
    restart_keeper(own)
    assert own.post("t", "1+2")["kernel"]["state"] == "kept"


def test_both_killed_at_random_moments(own):
    """Every accepted run has one row and an end; the notebook is valid at every
    look; the variables of a kernel that lived are there."""
    chooser = random.Random(7)
    own.post("t", "n = 0")
    for _ in range(6):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pending = pool.submit(own.send, "t", "n += 1\nfor i in range(200): print(n, i, flush=True)")
            wait_for(lambda: own.task_directory("t").exists(), "the task")
            moment = own.task_directory("t") / "notebook.ipynb"
            stamp = moment.stat().st_ino
            if chooser.random() < 0.7:
                wait_for(lambda: moment.stat().st_ino != stamp or pending.done(), "a change")
            own.kill("app")
            try:
                pending.result()
            except Exception:
                pass
        notebooks.read(own, "t")
        own.start_app()
    answer = own.post("t", "n", timeout=60)
    assert answer["status"] == "ok" and answer["kernel"]["generation"] == 1
    rows = sqlite3.connect(own.database).execute(
        "SELECT status, count(*) FROM runs GROUP BY status"
    ).fetchall()
    assert set(status for status, _ in rows) <= {"ok", "lost", "error", "interrupted", "not_run"}


def test_two_apps_serve_one_task_in_turn(own):
    """A second app process on the same state: turns hold between processes."""
    own.post("t", "n = 0")
    command = [own.state / "bin" / "cellpost"]
    user = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam("www-data")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    environment = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "CELLPOST_CONF": str(own.conf),
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "REQUEST_URI": "/v1/tasks/t/execute",
        "DOCUMENT_URI": "/v1/tasks/t/execute",
        "CONTENT_TYPE": "application/json",
        "HTTP_HOST": "localhost",
        "REMOTE_ADDR": "127.0.0.1",
        "PATH": "/usr/bin:/bin",
        "TSAN_OPTIONS": own.environment()["TSAN_OPTIONS"],
    }
    body = json.dumps({"code": "v = n\nimport time; time.sleep(.05)\nn = v + 1"}).encode()

    def by_cgi(_):
        done = subprocess.run(
            command,
            input=body,
            env=environment | {"CONTENT_LENGTH": str(len(body))},
            capture_output=True,
            timeout=60,
            **user,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.split(b"\r\n\r\n", 1)[1])["status"]

    def by_http(_):
        return own.post("t", json.loads(body)["code"])["status"]

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda i: (by_cgi if i % 2 else by_http)(i), range(8)))
    assert results == ["ok"] * 8
    assert own.post("t", "n")["result"]["text/plain"] == "8"
    notebook = notebooks.read(own, "t")
    assert len(notebook["cells"]) == 10


def test_a_client_that_goes_away_loses_nothing(own):
    own.post("t", "import threading; go = threading.Event()")
    with pytest.raises(Exception):
        own.request(
            "POST",
            "/v1/tasks/t/execute",
            data=json.dumps({"code": "import time; time.sleep(1.5); print('to the end')"}),
            headers={"Content-Type": "application/json"},
            timeout=0.4,
        )
    run = own.runs("t")[0]["run"]
    answer = own.wait_run(run)
    assert (answer["status"], answer["stdout"]) == ("ok", "to the end\n")
    cell = notebooks.cell_of(notebooks.read(own, "t"), answer)
    assert notebooks.outputs(cell)[0]["text"] == "to the end\n"


def test_a_run_that_never_began_is_not_run_and_its_key_runs_it(own):
    own.post("t", "n = 0")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        first = pool.submit(own.send, "t", "n += 1\nimport time; time.sleep(600)")
        wait_for(lambda: status_of(own, "running"), "the first run")
        own.send("t", "n += 10", headers={"Idempotency-Key": "k"}, wait=False)
        wait_for(lambda: status_of(own, "queued"), "the second run")
        own.kill("app")
        with contextlib.suppress(Exception):
            first.result()
    own.start_app()
    runs = own.get("/v1/tasks/t/runs").json()["runs"]
    assert [run["status"] for run in runs] == ["not_run", "lost", "ok"]
    assert "before it began" in own.get(f"/v1/runs/{runs[0]['run']}").json()["text"]
    again = own.send("t", "n += 10", headers={"Idempotency-Key": "k"}, wait=False)
    assert again.status_code == 202 and again.json()["run"] != runs[0]["run"]
    assert own.post("t", "n")["result"]["text/plain"] == "11"
    cells = notebooks.read(own, "t")["cells"]
    assert [cell["metadata"]["cellpost"]["status"] for cell in cells] == ["ok", "lost", "ok", "ok"]


def status_of(instance, status):
    return instance.get(f"/v1/tasks/t/runs?status={status}").json()["runs"]


def test_a_lost_cell_is_marked_when_its_task_is_free(own):
    """Somebody else has the task's turn while the app starts."""
    own.post("t", "1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(own.send, "t", "import time; time.sleep(600)")
        wait_for(lambda: status_of(own, "running"), "the run")
        own.kill("app")
        with contextlib.suppress(Exception):
            pending.result()
    with (own.run / "turns" / "t.lock").open("r+b") as lock:
        number = int.from_bytes(lock.read(8), sys.byteorder)
        byte = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, (1 << 40) + number, 1, 0)
        fcntl.fcntl(lock, 37, byte)  # F_OFD_SETLK
        own.start_app()
        assert last_status(own) == "running"
    wait_for(lambda: last_status(own) == "lost", "the mark")


def last_status(instance):
    return notebooks.read(instance, "t")["cells"][-1]["metadata"]["cellpost"]["status"]


def test_a_kernel_that_cannot_be_reached_is_replaced(own):
    own.post("t", "x = 1")
    pid = own.kernel_pid("t")
    directory = pathlib.Path(own.connection_file("t")).parent
    own.kill("app")
    (directory / "connection.json").rename(directory / "gone.json")
    own.start_app()
    answer = own.post("t", "1+1", timeout=30)
    assert answer["result"]["text/plain"] == "2"
    assert answer["kernel"]["state"] == "lost" and "could not be reached" in answer["kernel"]["reason"]
    assert not alive(pid)


def test_the_kernel_that_was_idle_longest_gives_way_and_is_brought_back(make_instance):
    own = make_instance({"kernels.max_kernels": "2"})
    own.put("old", replay_after_death=True)
    own.post("old", "x = 1")
    own.post("b", "x = 2")
    assert own.post("c", "x = 3")["status"] == "ok"
    answer = own.post("old", "x")
    assert answer["result"]["text/plain"] == "1"
    assert answer["kernel"]["state"] == "kept" and "run again" in answer["kernel"]["reason"]
    lost = own.post("b", "1")
    assert lost["kernel"]["state"] == "lost" and "generation 1 are gone" in lost["kernel"]["reason"]
    assert "lost" in lost["text"]
