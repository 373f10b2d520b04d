"""The history: checked, cleaned up and copied while the service runs."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

import pytest

from tests.e2e import notebooks
from tests.instance import JSON, wait_for

PAGE = "display({{'text/html': '<b>{}</b>'}}, raw=True)"
PLOT = "import matplotlib.pyplot as plt; plt.plot([1, {}]); plt.show()"


def call(service, *words, conf=None):
    """A verb of the program, as its user."""
    return subprocess.run(
        [service.program("cellpost"), "-c", conf or service.conf, *words], capture_output=True, text=True, timeout=120
    )


def verify(service):
    done = call(service, "verify")
    assert done.returncode == 0 and "note:" not in done.stdout, done.stdout + done.stderr
    return done.stdout


def ask(database, sql, *values):
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=20) as connection:
        return connection.execute(sql, values).fetchall()


def execute_markdown(service, task, markdown):
    response = service.request("POST", f"/v1/tasks/{task}/cells", data=json.dumps({"markdown": markdown}), headers=JSON)
    assert response.status_code == 201


# verify


def tell_a_story(service):
    """Something of each kind."""
    service.post("a", "x = 1; print('one'); x")
    service.post("a", PLOT.format(2), section="Plot")
    service.post("a", "1 / 0")
    service.post("a", "print('y' * 50_000)")
    service.post("a", "print('unseen')", silent=True)
    service.post("a", "h = display('before', display_id='d')")
    service.post("a", "h.update('after'); display({'text/html': '<b>1</b>'}, raw=True)")
    execute_markdown(service, "a", "What was seen.")
    service.post("a", "import threading, time\nthreading.Timer(0.2, lambda: print('late')).start()\nprint('early')")
    wait_for(lambda: ask(service.database, "SELECT sum(late_outputs) FROM runs")[0][0], "late output")
    service.post("a", "import os; os._exit(3)")
    service.post("b", "print(1, end=''); import sys; print(2, file=sys.stderr); print(3)")


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The state that a story left, of an instance that has ended."""
    from tests.instance import Instance

    with Instance() as own:
        tell_a_story(own)
        said = verify(own)
        own.down()
        kept = pathlib.Path(tmp_path_factory.mktemp("told")) / "state"
        shutil.copytree(own.state / "lib", kept / "lib")
        kept.joinpath("program").write_text(own.program("cellpost"))
    return kept, said


@pytest.fixture
def copy(told, tmp_path):
    """A copy of that state to damage: its path, and what verify says of it."""
    kept, _ = told
    lib = tmp_path / "lib"
    shutil.copytree(kept / "lib", lib, copy_function=shutil.copy2)
    conf = tmp_path / "cellpost.conf"
    conf.write_text(f"[state]\nstate_directory = {lib}\nrun_directory = {tmp_path}/run\n")

    def look():
        return subprocess.run(
            [kept.joinpath("program").read_text(), "-c", conf, "verify"], capture_output=True, text=True, timeout=60
        )

    return lib, look


def test_what_was_told_is_in_order(told, copy):
    _, said = told
    assert said.startswith("10 runs, 3 artifacts, 2 notebooks with 11 cells"), said
    assert copy[1]().returncode == 0


def forge(sql):
    """Changes the database as somebody would who can write the file."""

    def damage(lib):
        connection = sqlite3.connect(lib / "cellpost.db")
        connection.execute("PRAGMA foreign_keys = ON")
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(sql).rowcount > 0
        for _, definition in triggers:
            connection.execute(definition)
        connection.commit()
        connection.close()

    return damage


def damage_page(lib):
    """Garbage in the last page of the largest table."""
    database = lib / "cellpost.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ((page,),) = ask(database, "SELECT max(pageno) FROM dbstat WHERE name = 'outputs'")
    content = bytearray(database.read_bytes())
    content[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    database.write_bytes(content)


def change_file(pattern, change):
    def damage(lib):
        file = sorted(lib.glob(pattern))[0]
        file.write_bytes(change(file.read_bytes()))

    return damage


def remove_file(pattern):
    return lambda lib: sorted(lib.glob(pattern))[0].unlink()


def change_notebook(change):
    def damage(lib):
        file = lib / "tasks/a/notebook.ipynb"
        notebook = json.loads(file.read_text())
        change(notebook["cells"])
        file.write_text(json.dumps(notebook))

    return damage


def forget_cell(cells):
    del cells[0]


def edit_source(cells):
    cells[0]["source"] = "x = 2"


def edit_output(cells):
    cells[0]["outputs"][0]["text"] = ["two\n"]


def edit_picture(cells):
    data = cells[2]["outputs"][-1]["data"]
    data["image/png"] = data["image/png"].replace("A", "B", 1)


def edit_status(cells):
    cells[3]["metadata"]["cellpost"]["status"] = "ok"


def edit_count(cells):
    cells[0]["execution_count"] = 7


def repeat_id(cells):
    cells[0]["id"] = cells[2]["id"]


def invent_cell(cells):
    invented = "0190a000-0000-7000-8000-0000000000ff"
    cells.append(
        {
            "cell_type": "code",
            "id": invented,
            "metadata": {"cellpost": {"run": invented, "status": "ok"}},
            "source": "",
            "outputs": [],
            "execution_count": None,
        }
    )


DAMAGES = {
    "a status": (forge("UPDATE runs SET status = 'ok' WHERE status = 'error'"), "does not match its hash"),
    "a caller": (forge("UPDATE runs SET caller = 'eve' WHERE number = 2 AND task = 'a'"), "does not match its hash"),
    "a time": (forge("UPDATE runs SET started_at = started_at - 1 WHERE number = 1"), "does not match its hash"),
    "code": (forge("UPDATE runs SET code = 'x = 2' WHERE number = 1 AND task = 'a'"), "its code does not match"),
    "code with its digest": (
        forge(
            "UPDATE runs SET code = 'x', code_sha256 ="
            " '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881' WHERE number = 1 AND task = 'a'"
        ),
        "does not match its hash",
    ),
    "an output": (
        forge("UPDATE outputs SET content = replace(content, 'one', 'two') WHERE content LIKE '%one%'"),
        "output 0 does not match",
    ),
    "an output before its revision": (
        forge("UPDATE outputs SET first_content = '{}' WHERE first_content IS NOT NULL"),
        "output 0 does not match",
    ),
    "a hash": (
        forge("UPDATE chain SET hash = replace(hash, substr(hash, 1, 1), 'x') WHERE end_number = 2"),
        "does not match its hash",
    ),
    "a removed run": (forge("DELETE FROM runs WHERE number = 3 AND task = 'a'"), "it is not there"),
    "a removed link": (forge("DELETE FROM chain WHERE end_number = 3"), "lacks entry 3"),
    "a removed end": (
        forge("DELETE FROM chain WHERE task = 'b'"),
        "it is not in the chain",
    ),
    "a false removal": (
        forge("UPDATE chain SET removed_at = 1, removed_why = 'age' WHERE end_number = 2"),
        "the chain says that it was removed",
    ),
    "a removed output": (forge("DELETE FROM outputs WHERE content LIKE '%one%'"), "does not match its hash"),
    "a page of the database": (damage_page, "damaged"),
    "a picture": (change_file("tasks/a/artifacts/*.png", lambda b: b[:-1] + b"x"), "does not match its digest"),
    "no picture": (remove_file("tasks/a/artifacts/*.png"), "is not there"),
    "no full text": (remove_file("tasks/a/artifacts/*.txt"), "is not there"),
    "a torn notebook": (change_file("tasks/a/notebook.ipynb", lambda b: b[:-20]), "not valid JSON"),
    "other code in a cell": (change_notebook(edit_source), "has other code"),
    "another output in a cell": (change_notebook(edit_output), "has other outputs"),
    "another picture in a cell": (change_notebook(edit_picture), "has other outputs"),
    "another status in a cell": (change_notebook(edit_status), "says ok"),
    "another count in a cell": (change_notebook(edit_count), "execution count"),
    "one id twice": (change_notebook(repeat_id), "two cells have the id"),
    "an invented cell": (change_notebook(invent_cell), "which never was"),
}


@pytest.mark.parametrize("damage, words", DAMAGES.values(), ids=DAMAGES)
def test_verify_names_what_was_changed(copy, damage, words):
    lib, look = copy
    damage(lib)
    done = look()
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert words in done.stderr, done.stderr


@pytest.mark.parametrize(
    "damage, words",
    [
        (remove_file("tasks/b/notebook.ipynb"), "task b: it is not there"),
        (change_notebook(forget_cell), "is not there"),
    ],
)
def test_a_cell_that_somebody_left_out_is_a_note(copy, damage, words):
    lib, look = copy
    damage(lib)
    done = look()
    assert done.returncode == 0 and "note: 1 run is in no notebook" in done.stdout and words in done.stdout


def test_verify_of_nothing(tmp_path, session_instance):
    conf = tmp_path / "conf"
    conf.write_text(f"[state]\nstate_directory = {tmp_path}\n")
    done = call(session_instance, "verify", conf=conf)
    assert done.returncode == 2 and "there is no database" in done.stderr
    assert not (tmp_path / "cellpost.db").exists()


def test_verify_beside_runs(service, task):
    """Nothing looks wrong because it is being written."""
    code = "for i in range(3): print(i, flush=True)\nimport threading; threading.Timer(0.02, lambda: print('late')).start()"

    def run(number):
        for _ in range(15):
            service.post(f"{task}-{number}", code)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        pending = [pool.submit(run, number) for number in range(3)]
        while not all(future.done() for future in pending):
            verify(service)
        for future in pending:
            future.result()
    verify(service)


# gc


def make_old(path):
    """As gc sees files that no run has touched for a while."""
    past = time.time() - 7200
    os.utime(path, (past, past))


def artifacts(service, task):
    return {file.name for file in (service.task_directory(task) / "artifacts").iterdir()}


def gc(service, **retention):
    conf = service.state / "gc.conf"
    lines = [f"{key} = {value}" for key, value in retention.items()]
    conf.write_text("\n".join([service.conf.read_text(), "[retention]", *lines, ""]))
    done = call(service, "gc", conf=conf)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def own(make_instance):
    return make_instance({"retention.interval": 0})


def test_gc_by_age(own):
    own.post("t", PAGE.format(1))
    own.post("t", PAGE.format(1))
    own.post("t", PAGE.format(2))
    own.post("u", "1")
    assert len(artifacts(own, "t")) == 2
    for file in artifacts(own, "t"):
        make_old(own.task_directory("t") / "artifacts" / file)
    time.sleep(0.05)
    newest = own.post("t", "'newest'")
    said = gc(own, run_age="1ms")
    assert said.startswith("removed: 3 runs, "), said
    # The newest run of a task stays, however old it is.
    assert [run["run"] for run in own.runs("t")] == [newest["run"]]
    assert len(own.runs("u")) == 1
    assert artifacts(own, "t") == set()
    assert ask(own.database, "SELECT removed_why, count(*) FROM chain GROUP BY 1 ORDER BY 1") == [(None, 2), ("age", 3)]
    notebook = notebooks.read(own, "t")
    assert len(notebook["cells"]) == 4
    verify(own)
    assert own.post("t", "2")["status"] == "ok"
    assert ask(own.database, "SELECT max(number) FROM runs WHERE task = 't'") == [(5,)]
    verify(own)


def test_gc_by_bytes(own):
    for number in range(6):
        own.post("t", f"print('{number}' * 100_000)")
    own.post("u", "print('x' * 100_000)")
    assert "removed: 4 runs" in gc(own, task_bytes="600K")
    assert [run["code"][7] for run in own.runs("t")] == ["5", "4"]
    assert len(own.runs("u")) == 1
    assert "removed: 0 runs" in gc(own, task_bytes="600K")
    verify(own)


def test_gc_of_orphans(own):
    own.post("t", PAGE.format(1))
    directory = own.task_directory("t") / "artifacts"
    (kept,) = artifacts(own, "t")
    for name in ("0" * 64 + ".png", ".kept.0123456789abcdef.tmp", "fresh.png"):
        (directory / name).write_bytes(b"x")
        if name != "fresh.png":
            make_old(directory / name)
    make_old(directory / kept)
    (own.task_directory("t") / ".notebook.ipynb.0123456789abcdef.tmp").write_bytes(b"x")
    make_old(own.task_directory("t") / ".notebook.ipynb.0123456789abcdef.tmp")
    stranger = own.state / "lib/tasks/stranger"
    stranger.mkdir()
    (stranger / "file").write_text("x")
    make_old(stranger)
    said = gc(own)
    assert "3 files (3 bytes)" in said and "1 directories in tasks/ that belong to no task" in said, said
    assert artifacts(own, "t") == {kept, "fresh.png"}
    assert (stranger / "file").exists()
    verify(own)


def test_gc_of_deleted_tasks(own):
    own.post("t", "open('mine', 'w').write('x')")
    own.post("u", "1")
    own.delete("t", purge=False)
    assert "0 tasks" in gc(own, deleted_age="1h")
    assert "files of 1 tasks" in gc(own, deleted_age="1ms")
    assert not own.task_directory("t").exists() and own.task_directory("u").exists()
    own.post("t", "import os; os.listdir()")
    assert "0 tasks" in gc(own, deleted_age="1ms")
    assert own.task_directory("t").exists()
    verify(own)


def test_gc_of_events(own):
    for number in range(200):
        own.post("t", f"{number}")
    ((before,),) = ask(own.database, "SELECT count(*) FROM events")
    assert before > 600
    assert f"{before - 1} events" in gc(own, event_age="1ms")
    ((last,),) = ask(own.database, "SELECT id FROM events")
    own.post("t", "1")
    assert ask(own.database, "SELECT min(id) FROM events WHERE id > ?", last) == [(last + 1,)]


def test_the_service_cleans_up_by_itself(make_instance):
    own = make_instance({"retention.interval": "500ms", "retention.run_age": "1ms"})
    own.post("t", "1")
    own.post("t", "2")
    wait_for(lambda: len(own.runs("t")) == 1, "the clean-up")
    verify(own)


def test_gc_beside_runs(own):
    """Nothing that is needed goes."""
    for number in range(100):
        own.post("old", f"print('x' * 10_000, {number})")

    def run(number):
        for index in range(40):
            own.post(f"t{number}", PAGE.format(index % 3))

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pending = [pool.submit(run, number) for number in range(2)]
        while not all(future.done() for future in pending):
            gc(own, run_age="200ms", event_age="1ms")
        for future in pending:
            future.result()
    assert len(own.runs("old")) == 1
    verify(own)


def test_an_auditor_who_reads_for_long_holds_nobody_up(own, tmp_path):
    own.post("t", "1")
    with contextlib.closing(sqlite3.connect(f"file:{own.database}?mode=ro", uri=True)) as auditor:
        rows = auditor.execute("SELECT audit.number, later.n FROM audit, (SELECT 1 AS n UNION ALL SELECT 2) AS later")
        assert rows.fetchone()[0] == 1
        slowest = 0.0
        for number in range(40):
            start = time.monotonic()
            assert own.post("t", f"print('x' * 100_000, {number})")["notes"] == []
            slowest = max(slowest, time.monotonic() - start)
        assert slowest < 5, slowest
        gc(own, run_age="1ms")
        assert call(own, "backup", tmp_path / "copy.db").returncode == 0
        verify(own)
        # What it began to read it reads to the end: one run, as it was.
        assert [number for number, _ in rows] == [1]
    assert [run["status"] for run in own.runs("t")] == ["ok"]
    assert ask(tmp_path / "copy.db", "SELECT number FROM audit") == [(41,)]


# backup


def test_backup_beside_runs(own, tmp_path):
    own.post("t", "1")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pending = pool.submit(lambda: [own.post("t", "print('x' * 1000)") for _ in range(50)])
        for number in range(100):
            target = tmp_path / f"{number}.db"
            done = call(own, "backup", target)
            assert done.returncode == 0, done.stderr
            assert target.stat().st_mode & 0o777 == 0o600
            assert ask(target, "PRAGMA integrity_check") == [("ok",)]
            ((runs, finished),) = ask(target, "SELECT count(*), count(ended_at) FROM runs")
            assert runs - finished <= 1
            if pending.done():
                break
        pending.result()
    target = tmp_path / "last.db"
    assert call(own, "backup", target).returncode == 0
    assert {file.suffix for file in tmp_path.iterdir()} == {".db"}
    assert ask(target, "SELECT count(*) FROM audit") == ask(own.database, "SELECT count(*) FROM audit")


def test_backup_refuses(service, tmp_path):
    (tmp_path / "there").write_text("mine")
    done = call(service, "backup", tmp_path / "there")
    assert done.returncode == 1 and "is there already" in done.stderr
    assert (tmp_path / "there").read_text() == "mine"
    assert call(service, "backup", tmp_path / "no/such/directory").returncode == 1
    assert call(service, "backup").returncode == 1
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_a_backup_serves(own, make_instance, tmp_path):
    """What was backed up, with the files beside it, is a whole state again."""
    own.post("t", PAGE.format(1))
    assert call(own, "backup", tmp_path / "cellpost.db").returncode == 0
    shutil.copytree(own.state / "lib/tasks", tmp_path / "tasks")
    other = make_instance({"retention.interval": 0}, start=False)
    shutil.copytree(tmp_path, other.state / "lib")
    shutil.chown(other.state / "lib", "www-data", "www-data")
    for path in (other.state / "lib").rglob("*"):
        shutil.chown(path, "www-data", "www-data")
    other.up()
    assert len(other.runs("t")) == 1
    assert other.post("t", "2")["kernel"]["generation"] == 2
    verify(other)
