"""`make up` and `make down`, as people use them."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
import threading

import pytest
import requests

from tests.instance import MODE, ROOT, Instance, alive, free_port, wait_for


def run(tool, **environment):
    return subprocess.run(
        [ROOT / "tools" / tool],
        env=os.environ | {"MODE": MODE, "BUILD_FIRST": "no"} | environment,
        capture_output=True,
        text=True,
        timeout=180,
    )


def processes_of(state):
    """Whose command line or environment names the state."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if str(state).encode() in line:
                found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.fixture
def state():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-up-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    run("down", STATE=str(directory))
    shutil.rmtree(directory, ignore_errors=True)


def test_up_runs_a_first_cell_and_down_ends_everything(state):
    port = free_port()
    done = run("up", STATE=str(state), PORT=str(port))
    assert done.returncode == 0, done.stderr
    assert "Cellpost runs." in done.stdout and "image/png" in done.stdout
    assert f"http://127.0.0.1:{port}/tasks/first-cell/notebook.ipynb" in done.stdout
    assert f"make down STATE='{state}'" in done.stdout
    notebook = requests.get(f"http://127.0.0.1:{port}/tasks/first-cell/notebook.ipynb", timeout=30).json()
    kinds = [output["output_type"] for output in notebook["cells"][0]["outputs"]]
    assert "display_data" in kinds
    with sqlite3.connect(f"file:{state}/lib/cellpost.db?mode=ro", uri=True) as database:
        assert database.execute("select count(*) from audit").fetchone() == (1,)
    assert processes_of(state) != []
    done = run("down", STATE=str(state))
    assert done.returncode == 0, done.stderr
    wait_for(lambda: processes_of(state) == [], "the end of everything")
    assert (state / "lib" / "cellpost.db").exists()
    done = run("down", STATE=str(state))
    assert done.returncode == 0 and "Nothing was started" in done.stdout


def test_up_twice_keeps_the_kernels(make_instance, task):
    service = make_instance()
    service.post(task, "x = 41")
    before = service.pid("app")
    assert "started anew" in service.up()
    assert service.pid("app") != before and not alive(before)
    answer = service.post(task, "x + 1")
    assert answer["result"] == {"text/plain": "42"} and answer["kernel"]["state"] == "kept"


def test_up_after_down_finds_the_history(make_instance, task):
    service = make_instance()
    service.post(task, "1")
    service.down()
    service.up()
    answer = service.post(task, "2")
    assert answer["kernel"]["state"] == "lost" and answer["kernel"]["generation"] == 2
    assert "variables of kernel generation 1 are gone" in answer["kernel"]["reason"]
    assert "shut down" in answer["kernel"]["reason"] and "are lost" in answer["text"]
    assert len(service.runs(task)) == 2


def test_down_ends_kernels_whatever_the_configuration_says_by_then(make_instance, task):
    service = make_instance()
    service.post(task, "1")
    kernel = service.kernel_pid(task)
    right = (service.state / "cellpost.conf").read_text()
    (service.state / "cellpost.conf").write_text("[nonsense\n")
    assert "Stopped" in service.down()
    wait_for(lambda: not alive(kernel), "the kernel's end")
    (service.state / "cellpost.conf").write_text(right)


def test_a_busy_port_is_told(state):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("up", STATE=str(state), PORT=str(taken.getsockname()[1]))
    assert done.returncode != 0
    assert "is taken by another program" in done.stderr and "PORT=" in done.stderr
    assert processes_of(state) == []


@pytest.mark.parametrize("name, value", [("PORT", "x"), ("PORT", "0"), ("PORT", "70000"), ("STATE", "/tmp/a$b"), ("STATE", "/")])
def test_wrong_settings_are_told(state, name, value):
    done = run("up", **({"STATE": str(state), "PORT": "1"} | {name: value}))
    assert done.returncode != 0 and value in done.stderr and name in done.stderr


def test_a_wrong_configuration_is_told_with_its_line(state):
    (state / "cellpost.conf").write_text("[server]\nthreds = 3\n")
    done = run("up", STATE=str(state), PORT=str(free_port()))
    assert done.returncode != 0
    assert 'cellpost.conf:2: unknown key "threds"' in done.stderr and '"threads"' in done.stderr
    assert processes_of(state) == []


def test_a_long_path_gets_short_sockets(make_instance, task):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-", dir="/tmp"))
    deep = directory / ("long path/" + "x" * 60)
    deep.mkdir(parents=True)
    for parent in (directory, deep.parent, deep):
        parent.chmod(0o755)
    try:
        service = make_instance(directory=deep)
        assert len(str(service.run)) <= 56
        assert service.post(task, "1")["status"] == "ok"
        assert len(service.get(f"/tasks/{task}/notebook.ipynb").json()["cells"]) == 1
        run_directory = service.run
        service.down()
        assert not run_directory.exists() and not (deep / "run").exists()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_a_failed_start_shows_why_and_leaves_nothing(make_instance):
    service = make_instance(start=False)
    service.up()
    service.down()
    # A directory in place of the database: nothing can be opened.
    for name in ("cellpost.db", "cellpost.db-wal", "cellpost.db-shm"):
        (service.state / "lib" / name).unlink(missing_ok=True)
    (service.state / "lib" / "cellpost.db").mkdir()
    done = subprocess.run(
        [ROOT / "tools" / "up"], env=service.environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    (service.state / "lib" / "cellpost.db").rmdir()
    assert "cellpost.db" in done.stderr and "==> " in done.stderr
    wait_for(lambda: processes_of(service.state) == [], "the end of everything")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_ordinary_user_can(state, tmp_path_factory):
    nobody = pwd.getpwnam("nobody")
    reachable = subprocess.run(
        ["/usr/bin/test", "-r", ROOT / "tools" / "up"], user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[]
    )
    if reachable.returncode != 0:
        pytest.skip("the sources cannot be reached by others")
    os.chown(state, nobody.pw_uid, nobody.pw_gid)
    environment = {
        "PATH": "/usr/bin:/bin",
        "MODE": MODE,
        "BUILD_FIRST": "no",
        "STATE": str(state),
        "PORT": str(free_port()),
        "HOME": str(state),
    }

    def as_nobody(tool):
        return subprocess.run(
            [ROOT / "tools" / tool],
            env=environment,
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=180,
        )

    done = as_nobody("up")
    assert done.returncode == 0, done.stderr
    assert "Cellpost runs." in done.stdout
    assert (state / "lib" / "cellpost.db").stat().st_uid == nobody.pw_uid
    done = as_nobody("down")
    assert done.returncode == 0, done.stderr
    wait_for(lambda: processes_of(state) == [], "the end of everything")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_gives_itself_up(service, task):
    """Neither the app nor nginx's workers nor the kernel is root."""
    for pid in (service.pid("app"), *children(service.pid("nginx"))):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert set(fields["Uid"].split()) == {str(pwd.getpwnam("www-data").pw_uid)}
        assert int(fields["CapEff"], 16) == 0 and int(fields["CapPrm"], 16) == 0
    assert service.post(task, "import os; os.getuid() != 0")["result"] == {"text/plain": "True"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_with_a_state_that_nobody_else_reaches_is_warned(make_instance, task):
    parent = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-", dir="/tmp"))
    parent.chmod(0o700)
    try:
        (parent / "var").mkdir()
        service = Instance(directory=parent / "var")
        done = subprocess.run(
            [ROOT / "tools" / "up"], env=service.environment(), capture_output=True, text=True, timeout=120
        )
        try:
            assert done.returncode == 0, done.stderr
            assert "Warning" in done.stderr and "root" in done.stderr
            assert service.post(task, "1")["status"] == "ok"
            assert service.get(f"/tasks/{task}/notebook.ipynb").status_code == 200
        finally:
            service.close()
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def test_the_app_drains_before_it_ends(make_instance, task):
    service = make_instance()
    service.post(task, "pass")
    accepted = service.send(
        task, "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n'done'", wait=False
    ).json()
    service.wait_run(accepted["run"], "running")
    pid = service.pid("app")
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not os.path.exists(service.fcgi_socket), "the end of accepting")
    assert alive(pid)
    (service.task_directory(task) / "files" / "go").touch()
    wait_for(lambda: not alive(pid), "the end of the app")
    service.up()
    assert service.get(f"/v1/runs/{accepted['run']}").json()["status"] == "ok"


def background(call):
    """The result of a call that goes on meanwhile, as a function that waits for it."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()

    def result():
        thread.join(120)
        return results[0]

    return result


WAITS = "import os, time\nopen('here', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\n'done'"


def test_up_over_a_running_instance_lets_requests_be_answered(make_instance, task):
    service = make_instance()
    files = service.task_directory(task) / "files"
    answer = background(lambda: requests.post(f"{service.url}/v1/tasks/{task}/execute", json={"code": WAITS}, timeout=120))
    wait_for(lambda: (files / "here").exists(), "the run")
    app = service.pid("app")
    up = background(service.up)
    wait_for(lambda: not os.path.exists(service.fcgi_socket), "the end of accepting")
    assert alive(app)
    (files / "go").touch()
    response = answer()
    assert response.status_code == 200 and response.json()["status"] == "ok"
    up()
    assert service.get(f"/v1/runs/{response.json()['run']}").json()["status"] == "ok"
    assert service.post(task, "1")["kernel"]["state"] == "kept"


def test_down_lets_requests_be_answered(make_instance, task):
    service = make_instance()
    files = service.task_directory(task) / "files"
    answer = background(lambda: requests.post(f"{service.url}/v1/tasks/{task}/execute", json={"code": WAITS}, timeout=120))
    wait_for(lambda: (files / "here").exists(), "the run")
    service.down()
    response = answer()
    assert response.status_code == 200 and response.json()["status"] == "kernel_died"


def test_logs_are_for_their_owner_and_group(make_instance):
    service = make_instance()
    service.get("/v1/tasks")
    logs = list((service.state / "log").glob("*.log"))
    assert {log.name for log in logs} == {"app.log", "keeper.log", "nginx-access.log", "nginx-error.log"}
    for log in logs:
        assert stat.S_IMODE(log.stat().st_mode) == 0o640, log
    assert "GET /v1/tasks" in (service.state / "log" / "nginx-access.log").read_text()


def test_a_second_app_on_the_same_socket_is_refused(service):
    done = subprocess.run(
        [service.state / "bin" / "cellpost", "-c", service.conf], capture_output=True, text=True, timeout=30
    )
    assert done.returncode != 0 and "another process serves" in done.stderr


def test_the_program_explains_itself(service):
    program = service.state / "bin" / "cellpost"

    def call(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)

    assert call("--help").returncode == 0 and "doctor" in call("--help").stdout
    assert call("version").stdout.startswith("cellpost ")
    described = call("-c", service.conf, "config").stdout
    assert f"state_directory = {service.state}/lib" in described
    doctor = call("-c", service.conf, "doctor")
    assert doctor.returncode == 0, doctor.stdout
    assert "ok   keeper: answers" in doctor.stdout and "landlock" in doctor.stdout
    assert "warm start: " in doctor.stdout
    assert call("nonsense").returncode != 0
    assert "cannot open" in call("-c", "/nonexistent", "config").stderr


def test_settings_can_be_given_later_and_wrong_ones_change_nothing(make_instance):
    service = make_instance({"limits.timeout": "30"})
    assert service.get("/v1/capabilities").json()["limits"]["timeout"] == 30
    service.settings = {"limits.timeout": "20", "limits.queue": "3"}
    service.up()
    limits = service.get("/v1/capabilities").json()["limits"]
    assert (limits["timeout"], limits["queue"]) == (20, 3)
    text = service.conf.read_text()
    assert text.count("timeout =") == 1
    for wrong in ("limits.timout=5", "nonsense", "limits.queue=many"):
        done = subprocess.run(
            [ROOT / "tools" / "up", wrong], env=service.environment(), capture_output=True, text=True, timeout=60
        )
        assert done.returncode != 0 and wrong.partition("=")[0].partition(".")[2] in done.stderr
        assert service.conf.read_text() == text
    assert service.get("/healthz").status_code == 200


def test_what_root_does_on_the_command_line_the_service_can_go_on_with(make_instance):
    instance = make_instance()
    program = [instance.state / "bin" / "cellpost", "-c", instance.conf]
    instance.post("there", "1")
    for words in (["rebuild", "there"], ["gc"], ["token", "add", "anna"]):
        done = subprocess.run([*program, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    refused = subprocess.run([*program, "rebuild", "nowhere"], capture_output=True, text=True)
    assert refused.returncode != 0 and "no such task" in refused.stderr
    owners = {path.owner() for path in (instance.state / "lib").rglob("*") if path.is_file() and "files" not in path.parts}
    assert owners == {instance.database.owner()}
    instance.up()
    key = {"Authorization": "Bearer " + done.stdout.strip().splitlines()[-1].split()[-1]}
    for task in ("there", "nowhere"):
        answer = instance.send(task, "6 * 7", key)
        assert answer.status_code in (200, 403), answer.text  # 403: another one's task
