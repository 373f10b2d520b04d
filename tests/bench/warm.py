"""How soon a new task answers, and what its kernel costs in memory: from a
spare, from a fork, by execve(2), and jupyter_client alone with a kernel of its
own. Cellpost's answers come through nginx, from jailed kernels.

The ways take turns, so that a machine whose speed drifts treats them alike."""

import contextlib
import json
import os
import pathlib
import re
import socket
import statistics
import time

from jupyter_client.manager import start_new_kernel

from tests.instance import Instance, wait_for

from .figures import summary
from .latency import read_answer

CELLS = {"1+1": "1+1", "imports": "import pandas, matplotlib.pyplot"}
LIBRARIES = "import numpy, pandas, matplotlib.pyplot"
ROUNDS = 10
CROWD = 100
SETTINGS = {"log.log_level": "debug", "jail.jail": "auto", "kernels.max_kernels": str(2 * CROWD), "kernels.idle_timeout": "0"}


class Warm:
    """An instance whose zygote is ready."""

    def __init__(self, spares, **more):
        self.spares = spares
        settings = {"kernels.warm": "on", "kernels.spares": str(spares), "kernels.spare_age": "0"}
        self.instance = Instance(SETTINGS | settings | more)
        self.instance.up()
        wait_for(lambda: "is ready, pid" in self.log(), "a zygote")

    def log(self):
        return (self.instance.state / "log" / "keeper.log").read_text()

    def ready_spares(self):
        known = {entry.name for entry in (self.instance.state / "lib" / "spares").iterdir()}
        return known.intersection(re.findall(r"spare kernel (\S+) is ready", self.log()))

    def settle(self):
        """Waits until nothing is made in the background any more."""
        wait_for(lambda: len(self.ready_spares()) == self.spares, "spares")


def ask(instance, task, code):
    """Seconds of the whole request, and the answer."""
    body = json.dumps({"code": code}).encode()
    head = f"POST /v1/tasks/{task}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", instance.port)) as peer, peer.makefile("rb") as stream:
        peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = json.loads(read_answer(stream))
    took = time.perf_counter() - began
    assert answer["status"] == "ok" and answer["kernel"]["state"] == "fresh", answer
    return took, answer


def from_spare(warm, task, code):
    warm.settle()
    ready = warm.ready_spares()
    took, answer = ask(warm.instance, task, code)
    assert answer["kernel"]["id"] in ready
    warm.instance.delete(task)
    return took


def from_fork(warm, task, code):
    took, _ = ask(warm.instance, task, code)
    frozen = warm.instance.post(task, "import gc; gc.get_freeze_count()")["result"]["text/plain"]
    assert int(frozen) > 0
    warm.instance.delete(task)
    return took


def by_execution(warm, task, code):
    assert warm.instance.put(task, strict=True).status_code == 201
    took, _ = ask(warm.instance, task, code)
    warm.instance.delete(task)
    return took


def by_jupyter_client(_, task, code):
    began = time.perf_counter()
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        reply = client.execute_interactive(code, timeout=60, output_hook=lambda _: None)
        took = time.perf_counter() - began
        assert reply["content"]["status"] == "ok"
        return took
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def first_answers(spare, fork):
    ways = {
        "jupyter_client": (by_jupyter_client, None),
        "execve": (by_execution, fork),
        "fork": (from_fork, fork),
        "spare": (from_spare, spare),
    }
    samples = {cell: {way: [] for way in ways} for cell in CELLS}
    for number in range(ROUNDS + 1):
        for cell, code in CELLS.items():
            for way, (measure, warm) in ways.items():
                took = measure(warm, f"n{number}-{way.replace('_', '-')}", code)
                if number > 0:  # the first only brings files into memory
                    samples[cell][way].append(took)
    table = {}
    for cell, by_way in samples.items():
        slow = statistics.median(by_way["jupyter_client"])
        table[cell] = {
            way: summary(times) | {"of jupyter_client": f"1/{slow / statistics.median(times):.1f}"}
            for way, times in by_way.items()
        }
    return table


def memory_kib(pid, name="Pss"):
    """In proportion to how many share it."""
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and pathlib.Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1] == str(pid):
                found.append(int(entry))
    return found


def crowd(warm):
    """So many tasks at once, each answering; what all of them cost together."""
    instance = warm.instance
    instance.put("alone", strict=True)
    instance.post("alone", LIBRARIES)
    alone = memory_kib(instance.kernel_pid("alone"))
    began = time.perf_counter()
    times = [ask(instance, f"c{number}", LIBRARIES)[0] for number in range(CROWD)]
    made = time.perf_counter() - began
    for number in range(CROWD):
        answer = instance.post(f"c{number}", f"{number} + 1")
        assert answer["result"]["text/plain"] == str(number + 1) and answer["kernel"]["state"] == "kept"
    each = [memory_kib(instance.kernel_pid(f"c{number}")) for number in range(CROWD)]
    # shims, the zygote, the keeper; the kernels stand below the shims
    keeper = instance.pid("keeper")
    around = sum(memory_kib(pid) for pid in [keeper, *children(keeper)])
    table = {
        "tasks": CROWD,
        "seconds": round(made, 2),
        "first answer": summary(times),
        "kernel alone, own imports_kib": alone,
        "kernel_kib": round(statistics.median(each)),
        "ratio": f"1/{alone / statistics.median(each):.1f}",
        "all of it by task_kib": round((sum(each) + around - memory_kib(instance.kernel_pid("alone"))) / CROWD),
    }
    for number in range(CROWD):
        instance.delete(f"c{number}")
    instance.delete("alone")
    return table


def measure(_):
    spare, fork = Warm(2), Warm(0)
    try:
        table = first_answers(spare, fork)
        table["at once"] = crowd(fork)
        return table
    finally:
        spare.instance.close()
        fork.instance.close()
