"""What a thousand watchers of one task cost, and what they see.

Each round is run without and with watchers: a task prints 100 lines a second,
another one runs `1+1` all the while."""

import json
import os
import pathlib
import subprocess
import threading
import time

from tests.instance import ROOT

from .figures import percentile, summary
from .memory import rss_kib

WATCHERS = int(os.environ.get("FEED_WATCHERS", "1000"))
ROUNDS = 3
LINES = 400
CODE = f"""import time
start = time.monotonic()
for i in range({LINES}):
    print(f"mark {{i}} at {{time.time()}}", flush=True)
    time.sleep(max(0, start + (i + 1) * .01 - time.monotonic()))"""
TICKS = os.sysconf("SC_CLK_TCK")


def children(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def processes(instance):
    return {"app": [instance.pid("app")], "nginx": children(instance.pid("nginx"))}


def cpu_s(pids):
    fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(field[11]) + int(field[12]) for field in fields) / TICKS


def memory_kib(instance):
    return {name: sum(map(rss_kib, pids)) for name, pids in processes(instance).items()}


def one_plus_one(instance, times, stop):
    while not stop.is_set():
        start = time.perf_counter()
        instance.post("feed-other", "1+1")
        times.append(time.perf_counter() - start)


def print_lines(instance, times):
    """The share of a processor that each took meanwhile."""
    stop = threading.Event()
    thread = threading.Thread(target=one_plus_one, args=(instance, times, stop))
    before = {name: cpu_s(pids) for name, pids in processes(instance).items()}
    start = time.perf_counter()
    thread.start()
    assert instance.post("feed", CODE, timeout=300)["status"] == "ok"
    seconds = time.perf_counter() - start
    stop.set()
    thread.join()
    return {name: (cpu_s(pids) - before[name]) / seconds for name, pids in processes(instance).items()}


class Crowd:
    def __init__(self, instance, count):
        command = ["/usr/bin/python3", "-m", "tests.bench.feed_watchers", str(instance.port), "feed", str(count)]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline()
        assert line.startswith(word), f"{line!r}"
        return line[len(word) :]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)

    def watch(self, action):
        self.process.stdin.write("\n")
        result = action()
        return result, json.loads(self.expect("all"))


def watched_round(instance, count, times):
    before = memory_kib(instance)
    with Crowd(instance, count) as crowd:
        shares, seen = crowd.watch(lambda: print_lines(instance, times))
        after = memory_kib(instance)
    assert (seen["lines"], seen["in_order"], seen["all_saw_all"]) == (LINES, True, True)
    more = {name: after[name] - before[name] for name in after}
    return {"cpu": shares, "memory": more, "delays": seen["delays"]}


def delays(rounds):
    all_delays = [delay for one in rounds for delay in one["delays"]]
    return summary(all_delays) | {"p95_ms": round(percentile(all_delays, 0.95) * 1e3, 3)}


def shares(rounds):
    return {name: round(sum(one[name] for one in rounds) / len(rounds), 3) for name in rounds[0]}


def measure(instance):
    for task in ("feed", "feed-other"):
        instance.post(task, "1+1")
    alone, watched, single = [], [], []
    without, with_one, with_many = [], [], []
    for _ in range(ROUNDS):
        alone.append(print_lines(instance, without))
        single.append(watched_round(instance, 1, with_one))
        watched.append(watched_round(instance, WATCHERS, with_many))
    first = watched[0]["memory"]
    ratio = summary(with_many)["median_ms"] / summary(without)["median_ms"]
    return {
        "watchers": WATCHERS,
        "all saw all of": f"{LINES} lines, {ROUNDS} times",
        "from print to watcher, one watcher": delays(single),
        "from print to watcher, all": delays(watched),
        "1+1 of another task": {"no watcher": summary(without), "all": summary(with_many), "ratio": round(ratio, 3)},
        "processors in use, no watcher": shares(alone),
        "processors in use, all": shares([one["cpu"] for one in watched]),
        "memory of a watcher, KiB": {name: round(kib / WATCHERS, 2) for name, kib in first.items()},
    }
