"""Events on Redis, for other programs. A Redis that is away is nobody's fault."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from tests import fastcgi
from tests.feed import Watcher, second_app
from tests.instance import wait_for

TEMPLATE = "task:{task}:messages"


class Redis:
    """A server of one's own, on a socket in a directory of its own."""

    def __init__(self, *options):
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="cellpost-redis-", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.path = f"{self.directory}/redis.sock"  # as others know it, once it is shown
        self.own = f"{self.directory}/own.sock"
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory)

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.own, "--unixsocketperm", "777", "--save", ""]
            + ["--dir", self.directory, *self.options],
            stdout=subprocess.DEVNULL,
        )
        wait_for(self.answers, "an answer of Redis")

    def show(self):
        os.symlink(self.own, self.path)

    def answers(self):
        try:
            with self.connect() as peer:
                peer.sendall(b"PING\r\n")
                return peer.recv(100)[:1] in (b"+", b"-")
        except OSError:
            return False

    def connect(self):
        peer = socket.socket(socket.AF_UNIX)
        peer.settimeout(60)
        peer.connect(self.own)
        return peer

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)
            self.process = None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)


class Subscriber:
    """Iterating gives (channel, message)."""

    def __init__(self, redis, pattern, password=None):
        self.peer = redis.connect()
        self.stream = self.peer.makefile("rb")
        if password is not None:
            self.peer.sendall(f"AUTH {password}\r\n".encode())
            assert self.read() == "OK"
        self.peer.sendall(f"PSUBSCRIBE {pattern}\r\n".encode())
        assert self.read()[0] == b"psubscribe"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.peer.close()

    def read(self):
        """One value of the protocol (RESP)."""
        kind, rest = (line := self.stream.readline())[:1], line[1:-2]
        if kind == b"$":
            return self.stream.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        assert kind in (b"+", b":"), line
        return rest.decode()

    def __iter__(self):
        while True:
            kind, _, channel, message = self.read()
            assert kind == b"pmessage"
            yield channel.decode(), json.loads(message)

    def until(self, kind, run=None):
        seen = []
        for channel, event in self:
            seen.append((channel, event))
            if event["kind"] == kind and run in (None, event["run"]):
                return seen


@pytest.fixture
def redis():
    with Redis() as server:
        yield server


def settings(server, **more):
    return {"redis.redis_address": server.path, "redis.redis_channel": TEMPLATE} | more


def test_events_are_published_as_they_are_told_to_watchers(make_instance, redis, task):
    redis.start()
    redis.show()
    instance = make_instance(settings(redis))
    with Subscriber(redis, "task:*") as subscriber, Watcher(instance, task, last=0) as watcher:
        run = instance.post(task, "import time\nfor i in range(5): print(i, flush=True); time.sleep(.06)")["run"]
        told = [data for _, _, data in watcher.until("run.finished", run)]
        published = subscriber.until("run.finished", run)
    assert [event for _, event in published] == told
    assert {channel for channel, _ in published} == {f"task:{task}:messages"}


def numbers(published):
    return [event["id"] for _, event in published]


def test_a_redis_that_is_away_holds_nobody_up(make_instance, redis, task):
    """Not there; then there; killed; there again: every event is published once."""
    instance = make_instance(settings(redis))
    assert instance.post(task, "x = 1")["status"] == "ok"
    told = []
    for _ in range(2):
        run = instance.post(task, "x")["run"]
        redis.start()
        with Subscriber(redis, "task:*") as subscriber:
            redis.show()
            told += subscriber.until("run.finished", run)
        redis.stop()
    assert numbers(told) == list(range(1, len(told) + 1))


def test_a_redis_that_hangs_holds_nobody_up(make_instance, redis, task):
    """What it was sent meanwhile is sent again by the app that comes next."""
    redis.start()
    redis.show()
    instance = make_instance(settings(redis))
    with Subscriber(redis, "task:*") as subscriber:
        run = instance.post(task, "x = 1")["run"]
        told = subscriber.until("run.finished", run)
        redis.process.send_signal(signal.SIGSTOP)
        assert instance.post(task, "x")["result"] == {"text/plain": "1"}
        instance.kill("app", 15)
        redis.process.send_signal(signal.SIGCONT)
        instance.start_app()
        run = instance.post(task, "x")["run"]
        told += subscriber.until("run.finished", run)
    assert set(numbers(told)) == set(range(1, numbers(told)[-1] + 1))


def test_of_two_processes_one_publishes(make_instance, redis, task):
    redis.start()
    redis.show()
    instance = make_instance(settings(redis))
    with second_app(instance) as path, Subscriber(redis, "task:*") as subscriber:
        run = instance.post(task, "1")["run"]
        told = subscriber.until("run.finished", run)
        lock = instance.run / "publisher.lock"
        wait_for(lambda: int(lock.read_text()) == numbers(told)[-1], "the note of what was published")
        instance.kill("app")  # its heir is the other one
        status, _, _ = fastcgi.parse(fastcgi.request(path, "DELETE", f"/v1/tasks/{task}"))
        assert status == 200
        told += subscriber.until("task.deleted")
        instance.start_app()
    assert numbers(told) == list(range(1, len(told) + 1))


def test_a_password(make_instance, task):
    with Redis("--requirepass", "open sesame") as redis, contextlib.ExitStack() as stack:
        redis.start()
        redis.show()
        secret = stack.enter_context(tempfile.NamedTemporaryFile("w", dir=redis.directory))
        secret.write("open sesame\n")
        secret.flush()
        os.chmod(secret.name, 0o644)
        instance = make_instance(settings(redis, **{"redis.redis_password_file": secret.name}))
        with Subscriber(redis, "task:*", '"open sesame"') as subscriber:
            instance.put(task)
            assert [event["kind"] for _, event in subscriber.until("task.created")] == ["task.created"]


@pytest.mark.parametrize(
    "key, value, word",
    [
        ("redis_address", "localhost", "HOST:PORT"),
        ("redis_address", "localhost:0", "HOST:PORT"),
        ("redis_channel", "task:{tsk}", "{tsk}"),
        ("redis_password_file", "/nowhere/at/all", "/nowhere/at/all"),
    ],
)
def test_a_wrong_configuration_is_refused(session_instance, tmp_path, key, value, word):
    conf = tmp_path / "cellpost.conf"
    keys = {"redis_address": "localhost:1"} | {key: value}
    lines = "".join(f"{name} = {text}\n" for name, text in keys.items())
    conf.write_text(
        f"[server]\nuser = root\n[state]\nstate_directory = {tmp_path}\nrun_directory = {tmp_path}\n[redis]\n{lines}"
    )
    command = [session_instance.program("cellpost"), "-c", conf]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and word in done.stderr, done.stderr
