"""A real cellpost-keeper in a state of its own, and a tiny client for it."""

import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("CELLPOST_BUILD", ROOT / "build" / "dev"))
LIMIT = 30  # seconds that anything may take


def wait_for(condition, what, limit=LIMIT):
    """Waits until condition() gives something true, and gives it."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what} did not come within {limit} s")


def processes():
    """pid -> (parent, state, command line) of every process."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError):
            stat = pathlib.Path("/proc", entry, "stat").read_text(errors="replace")
            line = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            fields = stat.rpartition(")")[2].split()
            found[int(entry)] = (int(fields[1]), fields[0], line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def running(text):
    """Pids of the living processes whose command line holds the text."""
    return [pid for pid, (_, state, line) in processes().items() if text in line and state != "Z"]


class Refused(Exception):
    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class Keeper:
    def __init__(self, directory):
        self.directory = directory
        self.run = directory / "run"
        self.state = directory / "state"
        self.specs = directory / "specs"
        self.conf = directory / "cellpost.conf"
        self.log = directory / "keeper.log"
        self.socket = self.run / "keeper.sock"
        self.settings = {"max_kernels": 64, "idle_timeout": 0, "terminate_grace": 1, "kernelspec_path": self.specs, "warm": "off"}
        self.jail = "off"  # scripts look around freely; the jail has tests of its own
        self.log_level = "info"
        self.prefix = []  # of the command line: who the keeper is
        self.process = None
        self.specs.mkdir()

    def configure(self, **settings):
        self.settings.update(settings)
        self.conf.write_text(
            f"[state]\nstate_directory = {self.state}\nrun_directory = {self.run}\n"
            f"[jail]\njail = {self.jail}\n[log]\nlog_level = {self.log_level}\n[kernels]\n"
            + "".join(f"{key} = {value}\n" for key, value in self.settings.items())
        )

    def command(self, *arguments):
        return [*self.prefix, str(BUILD / "cellpost-keeper"), "-c", str(self.conf), *arguments]

    def start(self, **settings):
        self.configure(**settings)
        with self.log.open("ab") as log:
            secret = dict(os.environ, KEEPERS_OWN_SECRET="hush")
            self.process = subprocess.Popen(self.command(), stderr=log, stdin=subprocess.DEVNULL, env=secret)
        wait_for(self.answers, f"the keeper's answer ({self.log.read_text()})")
        return self

    def answers(self):
        assert self.process.poll() is None, self.log.read_text()
        with contextlib.suppress(OSError):
            return self.ask(verb="status")

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.settimeout(LIMIT)
        peer.connect(str(self.socket))
        return peer

    def exchange(self, data):
        with self.connect() as peer:
            peer.sendall(data)
            return json.loads(peer.recv(1 << 16))

    def ask(self, **request):
        answer = self.exchange(json.dumps(request).encode())
        if not answer["ok"]:
            raise Refused(answer["kind"], answer["text"])
        return answer["kernel"]

    def stop(self, task, **more):
        return self.ask(verb="stop", task=task, end="stopped", **more)

    def spec(self, name, argv, **more):
        directory = self.specs / name
        directory.mkdir(exist_ok=True)
        value = {"argv": argv, "display_name": name, "language": "sh", **more}
        (directory / "kernel.json").write_text(json.dumps(value))
        return name

    def script(self, text, name="script", **more):
        return self.spec(name, ["sh", "-c", text, "{connection_file}"], **more)

    def sql(self, statement, *values):
        with contextlib.closing(sqlite3.connect(self.state / "cellpost.db", timeout=10)) as database:
            database.row_factory = sqlite3.Row
            with database:
                return database.execute(statement, values).fetchall()

    def task(self, name="demo", kernelspec="script", **settings):
        self.sql(
            "INSERT INTO tasks (id, kernelspec, settings, created_by, created_at) VALUES (?, ?, ?, 'test', 1)",
            name,
            kernelspec,
            json.dumps(settings),
        )
        return name

    def row(self, kernel):
        return self.sql("SELECT * FROM kernels WHERE id = ?", kernel)[0]

    def ended(self, kernel):
        """The kernel's row once it has an end."""
        return wait_for(lambda: (row := self.row(kernel))["ended_at"] and row, "the kernel's end")

    def files(self, task="demo"):
        return self.state / "tasks" / task / "files"

    def leftovers(self):
        return [*(self.run / "kernels").iterdir(), *(self.run / "shims").iterdir()]

    def clear(self):
        """Ends everything, whatever a test has left."""
        with contextlib.suppress(Exception):
            self.process.kill()
            self.process.wait(LIMIT)
        done = subprocess.run(self.command("--stop-kernels"), capture_output=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr
        log = self.log.read_text() if self.log.exists() else ""
        assert "Sanitizer" not in log and "runtime error" not in log, log


@contextlib.contextmanager
def keeper_of_ones_own():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-keeper-"))
    directory.chmod(0o755)
    made = Keeper(directory)
    made.configure()
    yield made
    try:
        made.clear()
        leftover = made.leftovers() if made.run.exists() else []
        strays = running(str(directory))
    finally:
        shutil.rmtree(directory)
    assert leftover == [] and strays == []


@pytest.fixture
def keeper():
    with keeper_of_ones_own() as made:
        yield made


@pytest.fixture
def start():
    """start(keeper, task, settings…): a client of its kernel."""
    from kernel_client import Kernel

    opened = []

    def connect(keeper, task, verb="start", **settings):
        with contextlib.suppress(Exception):
            keeper.task(task, kernelspec="python3", **settings)
        kernel = Kernel(keeper.ask(verb=verb, task=task))
        opened.append((keeper, task, kernel))
        return kernel

    yield connect
    for keeper, task, kernel in opened:
        kernel.close()
        with contextlib.suppress(Exception):
            keeper.stop(task)


@pytest.fixture(scope="session")
def user():
    """Who kernels run as."""
    return pwd.getpwnam("www-data") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
