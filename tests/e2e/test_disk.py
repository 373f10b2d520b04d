"""The notebook and the history when the disk is full, fails, or loses its power;
and when processes are killed at any moment."""

import concurrent.futures
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest

from tests.e2e import notebooks
from tests.e2e.test_history import ask, verify
from tests.e2e.test_notebook import add_markdown
from tests.instance import JSON, MODE, Instance, alive, wait_for


@pytest.fixture
def own(make_instance):
    return make_instance({"retention.interval": 0})


# A full disk


@pytest.fixture
def small_disk(tmp_path):
    """A directory with a disk of its own, of 64 MiB."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tmpfs", tmp_path], capture_output=True)
    if done.returncode != 0:
        pytest.skip("mounting a disk takes root")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True)


@pytest.fixture
def narrow(small_disk):
    small_disk.parent.parent.chmod(0o755)
    small_disk.parent.chmod(0o755)
    with Instance({"retention.interval": 0}, directory=small_disk) as instance:
        yield instance


FILL = """
import os
file = os.open('big', os.O_WRONLY | os.O_CREAT)
size = 1 << 20
while size:
    try:
        os.write(file, b'x' * size)
    except OSError as error:
        last = error
        size //= 2
print(last.strerror)
"""


def test_a_run_that_fills_the_disk_is_answered(narrow):
    narrow.post("t", "print('first')")
    before = notebooks.read(narrow, "t")
    answer = narrow.post("t", FILL + "print('y' * 100_000)")
    assert answer["status"] == "ok" and answer["stdout"].startswith("No space left on device\n")
    told = "\n".join(answer["notes"])
    assert "the notebook holds an earlier state of this cell" in told, told
    # The log of the database may have room for the end of this run and some more.
    late = "not in the registry yet" in told
    after = notebooks.read(narrow, "t")
    assert after["cells"][0] == before["cells"][0]
    # Nothing is accepted that could not be recorded, and the answer says so.
    accepted = []
    while (refused := narrow.send("t", "print('here')#" + "x" * 150_000)).status_code == 200:
        accepted.append(refused.json())
        assert accepted[-1]["stdout"] == "here\n" and len(accepted) < 500
    assert refused.status_code == 507 and "full" in refused.json()["detail"], refused.text
    refused = narrow.request(
        "POST", "/v1/tasks/t/cells", data=json.dumps({"markdown": "x" * 200_000}), headers=JSON
    )
    assert refused.status_code == 507
    notebooks.read(narrow, "t")
    os.truncate(narrow.task_directory("t") / "files/big", 0)
    run = narrow.wait_run(answer["run"])
    assert run["status"] == "ok"
    assert any("later than it came" in note for note in run["notes"]) == late
    assert run["stdout"] == answer["stdout"]
    for one in accepted:
        assert narrow.wait_run(one["run"])["status"] == "ok"
    assert narrow.post("t", "print('again')")["notes"] == []
    counts = ask(narrow.database, "SELECT status, count(*) FROM runs GROUP BY status")
    assert counts == [("ok", 3 + len(accepted))]
    assert [cell["source"] for cell in notebooks.read(narrow, "t")["cells"]][-1] == ["print('again')"]
    verify(narrow)


# A disk that fails


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    if MODE in ("asan", "tsan"):
        pytest.skip("a sanitizer wants to stand first")
    directory = tmp_path_factory.mktemp("faults")
    for path in (directory, directory.parent, directory.parent.parent):
        path.chmod(0o755)
    library = directory / "faults.so"
    source = pathlib.Path(__file__).with_name("faults.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


class Disk:
    """The disk of an app that runs with faults.c in front of libc."""

    def __init__(self, service, library):
        self.control = service.state / "faults"
        self.calls = service.state / "calls"
        self.calls.touch()
        self.calls.chmod(0o666)
        service.kill("app")
        service.start_app(
            LD_PRELOAD=str(library), CELLPOST_FAULTS=str(self.control), CELLPOST_CALLS=str(self.calls)
        )

    def fail(self, call, part, number=5):
        new = self.control.with_suffix(".new")
        new.write_text(f"{call} {number} {part}\n")
        new.rename(self.control)

    def mend(self):
        self.control.unlink()

    def syncs(self, part):
        """(thread, seconds) of each sync of a file with `part` in its path."""
        found = []
        for line in self.calls.read_text().splitlines():
            _, thread, moment, path = line.split(" ", 3)
            if part in path:
                found.append((int(thread), int(moment) / 1e9))
        return found


GO = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.005)\n"


def run_while_failing(own, disk, call, part, code, number=5):
    """The answer of a run at whose end the disk fails, and goes on to."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(own.post, "t", GO + code)
        wait_for(lambda: own.runs("t")[0]["status"] == "running", "its start")
        disk.fail(call, part, number)
        (own.task_directory("t") / "files/go").touch()
        return pending.result()


@pytest.mark.parametrize("call", ["pwrite", "renameat2", "ftruncate"])
def test_a_notebook_that_cannot_be_written_stays_whole(own, faults, call):
    own.post("t", "1")
    disk = Disk(own, faults)
    own.post("t", "2")
    before = (own.task_directory("t") / "notebook.ipynb").read_bytes()
    disk.fail(call, "notebook")
    answer = own.post("t", "print(3)")
    assert answer["status"] == "ok" and answer["stdout"] == "3\n"
    failed = any("the notebook" in note and "Input/output error" in note for note in answer["notes"])
    assert failed or call == "ftruncate", answer["notes"]
    if failed:
        assert (own.task_directory("t") / "notebook.ipynb").read_bytes() == before
    disk.mend()
    assert own.post("t", "print(4)")["notes"] == []
    sources = [notebooks.joined(cell["source"]) for cell in notebooks.read(own, "t")["cells"]]
    assert sources[:2] == ["1", "2"] and sources[-1] == "print(4)"
    verify(own)


@pytest.mark.parametrize("call, number", [("pwrite", 5), ("pwrite", 28), ("fdatasync", 5)])
def test_an_end_that_cannot_be_recorded_comes_later(make_instance, faults, call, number):
    own = make_instance({"retention.interval": 0, "state.sync": "always"})
    own.post("t", "1")
    disk = Disk(own, faults)
    told = run_while_failing(own, disk, call, "cellpost.db-wal", "print('done')", number)
    assert told["status"] == "ok" and told["stdout"] == "done\n"
    assert any("not in the registry yet" in note for note in told["notes"]), told["notes"]
    assert own.get(f"/v1/runs/{told['run']}").json()["status"] == "running"
    refused = own.send("t", "2")
    assert refused.status_code == (507 if number == 28 else 503) and refused.json()["detail"]
    disk.mend()
    answer = own.wait_run(told["run"])
    assert answer["status"] == "ok" and answer["stdout"] == "done\n"
    assert any("later than it came" in note for note in answer["notes"])
    assert own.post("t", "2")["notes"] == []
    verify(own)


def test_artifacts_that_cannot_be_stored_are_told(own, faults):
    own.post("t", "1")
    disk = Disk(own, faults)
    disk.fail("write", "artifacts")
    answer = own.post("t", "display({'text/html': '<b>1</b>'}, raw=True)")
    assert answer["outputs"][0]["data"]["text/html"] == "<b>1</b>"
    assert any("not stored" in note for note in answer["notes"]), answer["notes"]
    disk.mend()
    assert own.post("t", "display({'text/html': '<b>1</b>'}, raw=True)")["notes"] == []
    verify(own)


# A loss of power: what is on the disk, and when


def test_sync_always_comes_before_the_answer(make_instance, faults):
    own = make_instance({"state.sync": "always"})
    own.post("t", "1")
    disk = Disk(own, faults)
    own.post("t", "2")
    start = time.monotonic()
    answer = own.post("t", "display({'text/html': '<b>1</b>'}, raw=True)")
    end = time.monotonic()
    for part in ("notebook", "cellpost.db-wal", "artifacts"):
        assert any(start < moment < end for _, moment in disk.syncs(part)), part
    assert answer["notes"] == []


def test_sync_in_the_background_comes_soon_and_costs_no_run(own, faults):
    own.post("t", "1")
    disk = Disk(own, faults)
    start = time.monotonic()
    for number in range(100):
        own.post("t", f"display({{'text/html': '<b>{number}</b>'}}, raw=True)")
    end = time.monotonic()
    wait_for(lambda: any(moment > end for _, moment in disk.syncs("notebook")), "the notebook's sync")
    wait_for(lambda: any(moment > end for _, moment in disk.syncs("cellpost.db-wal")), "the log's sync")
    last = max(moment for _, moment in disk.syncs("notebook.ipynb") + disk.syncs(".notebook.spare"))
    assert last - end < 1.5
    # One thread for files, one for the database: none that serves a request.
    assert len({thread for thread, _ in disk.syncs("tasks/t")}) == 1
    assert len(disk.syncs(".ipynb") + disk.syncs(".spare")) <= 2 + (end - start) / 0.4
    wait_for(lambda: len(disk.syncs("artifacts/")) >= 100, "the artifacts' syncs")
    metrics = own.get("/metrics").text
    (copies,) = [line for line in metrics.splitlines() if line.startswith('cellpost_notebook_writes_total{way="copy"}')]
    assert int(copies.split()[-1]) <= 2, copies


def test_sync_never_does_not(make_instance, faults):
    own = make_instance({"state.sync": "never"})
    own.post("t", "1")
    disk = Disk(own, faults)
    for number in range(20):
        own.post("t", f"{number}")
    own.post("t", "import time; time.sleep(1.2)")
    assert disk.syncs("tasks/t") == []


# Kills


def test_killed_at_random_points(own):
    """CELLPOST_KILLS: how often. Whatever was answered is in the notebook, which
    is valid each time; every row ends; all agree."""
    kills = int(os.environ.get("CELLPOST_KILLS", "12"))
    chooser = random.Random(11)
    own.post("t", "n = 0; h = display('shown', display_id='d')")
    answered = []
    session = (
        "n += 1\nfor i in range(20): print(n, i, flush=True)",
        "h.update(n)",
        "display({'text/html': f'<b>{n}</b>'}, raw=True)",
        "import threading; threading.Timer(0.01, lambda: print('late')).start()",
        "1 / 0",
    )
    for round_number in range(kills):
        victim = own.pid("app")
        killer = threading.Timer(chooser.random() * 0.2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        try:
            for number in range(10_000):
                if number % 7 == 3:
                    add_markdown(own, "t", f"round {round_number}")
                answered.append(own.post("t", session[number % len(session)], section=f"S{number % 3}")["cell"])
        except Exception as error:  # the app is gone
            assert not isinstance(error, AssertionError) or "50" in str(error), error
        killer.join()
        wait_for(lambda: not alive(victim), "its end")
        notebook = notebooks.read(own, "t")
        identifiers = {cell["id"] for cell in notebook["cells"]}
        assert set(answered) <= identifiers
        own.start_app()
    own.post("t", "n", timeout=60)
    assert ask(own.database, "SELECT generation, ending, reason FROM kernels") == [(1, None, None)]
    assert len(answered) > kills // 3, "kills came too soon to tell anything"
    ((open_runs,),) = ask(own.database, "SELECT count(*) FROM runs WHERE ended_at IS NULL")
    assert open_runs == 0
    statuses = {cell["metadata"].get("cellpost", {}).get("status") for cell in notebooks.read(own, "t")["cells"]}
    assert "running" not in statuses and "ok" in statuses
    verify(own)


# The event log


def test_a_flood_costs_few_events(service, task):
    code = "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: print('x' * 100)"
    answer = service.post(task, code)
    seconds = answer["usage"]["wall_ms"] / 1000
    rows = ask(
        service.database,
        "SELECT count(*), max(length(content)), sum(length(content)) FROM events WHERE run = ? AND kind = 'run.output'",
        answer["run"],
    )
    ((count, largest, total),) = rows
    assert 5 < count <= 20 * seconds + 1, (count, seconds)
    assert largest < 100_000 and total < 20 * seconds * 100_000
    assert answer["usage"]["output_bytes"] > 1_000_000


def test_late_output_costs_few_events(service, task):
    code = (
        "import threading, time\ndef flood():\n    end = time.monotonic() + 1.5\n"
        "    while time.monotonic() < end: print('x' * 100)\nthreading.Thread(target=flood).start()"
    )
    run = service.post(task, code)["run"]
    wait_for(lambda: "x" in service.get(f"/v1/runs/{run}").json()["stdout"], "late output")
    service.post(task, "import time; time.sleep(1.6)")
    ((count,),) = ask(service.database, "SELECT count(*) FROM events WHERE run = ? AND kind = 'run.late'", run)
    assert 1 <= count <= 40
