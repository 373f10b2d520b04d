"""A whole instance of one's own: nginx, app, keeper and kernels, started and
ended by the same commands that people use."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time

import requests

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODE = os.environ.get("CELLPOST_MODE", "release")
# For every instance that is not told otherwise: "kernels.warm=off kernels.spares=0"
SETTINGS = dict(pair.split("=", 1) for pair in os.environ.get("CELLPOST_SETTINGS", "").split())
LIMIT = 60  # seconds that anything may take
JSON = {"Content-Type": "application/json"}


def wait_for(condition, what, limit=LIMIT):
    """Waits until condition() gives something true, and gives it."""
    end = time.monotonic() + limit
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come within {limit} s")
        time.sleep(0.01)


PORTS = range(20000, 32000)  # no connection of anybody's begins there (ip_local_port_range)
held_ports = {}


def free_port():
    """A port that is nobody else's as long as this process lives: tests run beside each other."""
    directory = pathlib.Path("/tmp/cellpost-test-ports")
    with contextlib.suppress(FileExistsError):
        directory.mkdir()
        directory.chmod(0o1777)
    for port in random.sample(PORTS, len(PORTS)):
        lock = os.open(directory / str(port), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            os.close(lock)
            continue
        held_ports[port] = lock
        return port
    raise AssertionError("no port is free")


def alive(pid):
    """A zombie is dead, unless threads of it still end: they hold its files."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
        threads = len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return False
    return threads > 1 or stat.rpartition(")")[2].split()[0] not in "ZX"


class Instance:
    """`settings`: {"section.key": value} for cellpost.conf."""

    def __init__(self, settings=None, mode=MODE, directory=None):
        self.mode = mode
        self.settings = SETTINGS | dict(settings or {})
        self.state = pathlib.Path(directory or tempfile.mkdtemp(prefix="cellpost-", dir="/tmp"))
        self.state.chmod(0o755)
        self.port = free_port()
        self.session = requests.Session()

    def __enter__(self):
        self.up()
        return self

    def __exit__(self, *_):
        self.close()

    # Life

    def environment(self, **more):
        own = {
            "MODE": self.mode,
            "PORT": str(self.port),
            "STATE": str(self.state),
            "FIRST_CELL": "no",
            "BUILD_FIRST": "no",
            "TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp",
        }
        return os.environ | own | more

    def up(self, **more):
        """Starts, or starts anew. The output of the command."""
        done = subprocess.run(
            [ROOT / "tools" / "up"] + [f"{key}={value}" for key, value in self.settings.items()],
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=180,
        )
        if done.returncode != 0:
            raise AssertionError(f"tools/up failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def down(self):
        done = subprocess.run(
            [ROOT / "tools" / "down"], env=self.environment(), capture_output=True, text=True, timeout=120
        )
        if done.returncode != 0:
            raise AssertionError(f"tools/down failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def close(self):
        self.session.close()
        try:
            self.down()
            self.check_logs()
        finally:
            shutil.rmtree(self.state, ignore_errors=True)

    def check_logs(self):
        """With MODE=asan or tsan a fault shows in the logs only."""
        for name in ("app", "keeper"):
            file = self.state / "log" / f"{name}.log"
            text = file.read_text(errors="replace") if file.exists() else ""
            for sign in ("Sanitizer", "runtime error"):
                at = text.find(sign)
                assert at < 0, f"{name}: {text[max(0, at - 500) : at + 6000]}"

    def pid(self, name):
        """Of "app", "keeper" or "nginx"."""
        return int((self.state / "pid" / f"{name}.pid").read_text())

    def start_app(self, **environment):
        """Starts the app alone, after it was ended or killed."""
        log = open(self.state / "log" / "app.log", "ab")
        process = subprocess.Popen(
            [self.state / "bin" / "cellpost", "-c", self.conf],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=self.environment(**environment),
        )
        log.close()
        (self.state / "pid" / "app.pid").write_text(f"{process.pid}\n")
        self.wait_ready()
        return process

    def start_keeper(self):
        """Starts the keeper alone, after it was ended or killed."""
        with open(self.state / "log" / "keeper.log", "ab") as log:
            process = subprocess.Popen(
                [self.state / "bin" / "cellpost-keeper", "-c", self.conf],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (self.state / "pid" / "keeper.pid").write_text(f"{process.pid}\n")
        self.wait_ready()
        return process

    def kill(self, name, number=9):
        pid = self.pid(name)
        os.kill(pid, number)
        wait_for(lambda: not alive(pid), f"the end of {name}")

    def wait_ready(self):
        wait_for(lambda: self.get("/readyz").status_code == 200, "readiness")

    def logs(self):
        texts = []
        for name in ("app", "keeper", "nginx-error"):
            file = self.state / "log" / f"{name}.log"
            lines = file.read_text(errors="replace").splitlines()[-15:] if file.exists() else []
            texts.append("\n".join([f"==> {file}", *lines]))
        return "\n".join(texts)

    # Places

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def conf(self):
        return self.state / "cellpost.conf"

    @property
    def run(self):
        return (self.state / "run").resolve()

    @property
    def fcgi_socket(self):
        return str(self.run / "fcgi.sock")

    @property
    def database(self):
        return self.state / "lib" / "cellpost.db"

    def task_directory(self, task):
        return self.state / "lib" / "tasks" / task

    def program(self, name):
        return str(ROOT / "build" / self.mode / name)

    def connection_file(self, task):
        kernel = self.get(f"/v1/tasks/{task}").json()["kernel"]["id"]
        return str(self.run / "kernels" / kernel / "connection.json")

    def kernel_pid(self, task):
        """Of the task's latest kernel, as it is called outside of its jail."""
        with contextlib.closing(sqlite3.connect(self.database, timeout=10)) as database:
            row = database.execute("SELECT pid FROM kernels WHERE task = ? ORDER BY generation DESC", (task,)).fetchone()
        return row[0]

    # Requests

    def request(self, method, path, **more):
        more.setdefault("timeout", LIMIT * 2)
        return self.session.request(method, self.url + path, **more)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def send(self, task, code, headers=None, **fields):
        """The response to an execute request."""
        return self.request(
            "POST",
            f"/v1/tasks/{task}/execute",
            data=json.dumps({"code": code} | fields),
            headers=JSON | (headers or {}),
        )

    def post(self, task, code, **fields):
        """The answer of a run that was carried out."""
        response = self.send(task, code, **fields)
        assert response.status_code == 200, f"{response.status_code}: {response.text}"
        return response.json()

    def put(self, task, **settings):
        return self.request("PUT", f"/v1/tasks/{task}", data=json.dumps(settings), headers=JSON)

    def delete(self, task, purge=True):
        return self.request("DELETE", f"/v1/tasks/{task}" + ("?purge=1" if purge else ""))

    def runs(self, task):
        """Newest first."""
        response = self.get(f"/v1/tasks/{task}/runs?limit=1000")
        return response.json()["runs"] if response.status_code == 200 else []

    def wait_run(self, run, *statuses):
        """Waits until a run has one of the statuses (none named: any final one)."""

        def look():
            answer = self.get(f"/v1/runs/{run}").json()
            done = answer["status"] in statuses if statuses else answer["status"] not in ("queued", "running")
            return answer if done else None

        return wait_for(look, f"run {run} to be {statuses or 'over'}")
