"""An instance whose limits are small, so that they are soon reached, and a look
around after it has ended: nothing of a kernel may be left on the machine."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import textwrap
import threading
import time

import pytest
import requests

from tests.instance import Instance, alive

numbers = itertools.count()
UID_FIRST, UID_COUNT = 1900000000, 65536  # the configuration's defaults
SETTINGS = {
    "limits.memory": "512M",
    "limits.pids": "128",
    "limits.open_files": "1024",
    "limits.tmp_bytes": "32M",
    "limits.workspace_bytes": "1280M",
    "limits.workspace_files": "2000",
    "limits.file_bytes": "1100M",
    "kernels.interrupt_grace": "1",
    "kernels.terminate_grace": "1",
}


def control_groups(instance):
    """Those of the instance's kernels, but for spare ones. Others may come and go on this machine."""
    name = "cellpost-" + hashlib.sha256(str(instance.run).encode()).hexdigest()[:12]
    found = {}
    for root, directories, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(root) == name:
            found |= {pathlib.Path(root, directory): directory for directory in directories}
    spares = os.listdir(instance.state / "lib" / "spares") if instance.state.exists() else []
    return {path for path, kernel in found.items() if kernel not in spares}


def processes_of_kernels(instance):
    """The pids in them."""
    found = set()
    for group in control_groups(instance):
        with contextlib.suppress(OSError):
            found.update(int(line) for line in (group / "cgroup.procs").read_text().split())
    return found


def mounts():
    return pathlib.Path("/proc/self/mountinfo").read_text().splitlines()


class Neighbour:
    """Runs 1+1 in a task of its own for as long as the block lasts."""

    def __init__(self, instance, task):
        self.instance, self.task, self.times = instance, task, []
        self.over, self.right = threading.Event(), True
        self.thread = threading.Thread(target=self.work)

    def work(self):
        with requests.Session() as session:  # one of its own: threads do not share them
            while not self.over.is_set():
                began = time.monotonic()
                url = f"{self.instance.url}/v1/tasks/{self.task}/execute"
                answer = session.post(url, json={"code": "1+1"}, timeout=60).json()
                self.times.append(time.monotonic() - began)
                self.right = answer["result"] == {"text/plain": "2"}
                if not self.right:
                    return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def slowest(self):
        """The 99th of a hundred."""
        assert self.right
        return sorted(self.times)[int(len(self.times) * 0.99)] if self.times else float("inf")


class Prisoner:
    """A task whose cells are hostile."""

    def __init__(self, instance, task):
        self.instance, self.task = instance, task

    def run(self, code, timeout=30, **fields):
        return self.instance.post(self.task, textwrap.dedent(code), timeout=timeout, **fields)

    def says(self, code, **fields):
        """What a cell prints that comes to its end."""
        answer = self.run(code, **fields)
        assert answer["status"] == "ok", answer["text"]
        return answer["stdout"]

    def outcomes(self, *expressions):
        """For each expression its value, or "NAME errno" of what it raised."""
        code = """
        import ctypes, fcntl, json, os, pathlib, signal, socket, stat, struct, subprocess, sys, termios
        libc = ctypes.CDLL(None, use_errno=True)
        def call(function, *arguments):
            if getattr(libc, function)(*arguments) < 0:
                raise OSError(ctypes.get_errno(), function)
        def syscall(number, *arguments):
            call("syscall", number, *arguments)
        def outcome(expression):
            try:
                return eval(expression)
            except BaseException as fault:
                return f"{type(fault).__name__} {getattr(fault, 'errno', '')}".strip()
        """
        code = textwrap.dedent(code)
        for expression in expressions:
            code += f"print(json.dumps(outcome({expression!r}), default=str))\n"
        return [json.loads(line) for line in self.says(code).splitlines()]

    def outcome(self, expression):
        return self.outcomes(expression)[0]

    def still_works(self):
        assert self.run("6*7")["result"]["text/plain"] == "42"


@pytest.fixture(scope="session")
def fortress():
    """The instance; what its kernels might leave is looked for at its end."""
    before = len(mounts())
    instance = Instance(SETTINGS)
    try:
        instance.up()
        yield instance
        pids = processes_of_kernels(instance)
    finally:
        instance.close()
    assert control_groups(instance) == set(), "control groups are left"
    assert [pid for pid in pids if alive(pid)] == [], "processes are left"
    assert len(mounts()) == before, "mounts are left"


@pytest.fixture
def guarded(fortress):
    """The instance, none of whose processes may have ended after the test."""
    before = {name: fortress.pid(name) for name in ("app", "keeper", "nginx")}
    yield fortress
    assert fortress.get("/healthz").status_code == 200
    for name, pid in before.items():
        assert alive(pid) and fortress.pid(name) == pid, f"{name} ended"


@pytest.fixture
def prisoner(guarded, request):
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    prisoner = Prisoner(guarded, f"p{next(numbers)}-{name}"[:100].rstrip("-"))
    yield prisoner
    assert guarded.delete(prisoner.task).status_code in (200, 404)


@pytest.fixture
def neighbour(guarded):
    task = f"neighbour-{next(numbers)}"
    guarded.post(task, "1+1")
    yield lambda: Neighbour(guarded, task)
    guarded.delete(task)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="kernels have users of their own when the keeper is root")
