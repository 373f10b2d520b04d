"""Very many watchers of one task, in a process of their own.

    python3 -m tests.bench.feed_watchers PORT TASK COUNT

Says "ready" when each has got the state, "all" and a JSON object of figures
when each has seen the end of a run; for every line on standard input it waits
for one more run."""

import json
import os
import re
import resource
import selectors
import socket
import sys
import time

TIMED = 20  # of the watchers note when lines come
MARK = re.compile(rb"mark (\d+) at (\d+\.\d+)")
END = b"event: run.finished"


class Watcher:
    def __init__(self, port, task):
        self.received = bytearray()
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(f"GET /v1/tasks/{task}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.delays = None

    def read(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise SystemExit("a watcher's response ended: " + self.received[-300:].decode("utf-8", "replace"))
        self.received += data
        if self.delays is not None:
            now = time.time()
            self.delays += [now - float(at) for _, at in MARK.findall(data)]

    def marks(self):
        """What HTTP's chunks have cut is whole again without their sizes."""
        whole = re.sub(rb"\r\n[0-9a-f]+\r\n", b"", bytes(self.received))
        return [int(number) for number, _ in MARK.findall(whole)]


def read_until(selector, watchers, sign):
    """Until each has got the sign."""
    waiting = set(watchers)
    while waiting:
        for key, _ in selector.select():
            watcher = key.data
            before = max(0, len(watcher.received) - len(sign))
            watcher.read()
            if watcher in waiting and watcher.received.find(sign, before) >= 0:
                waiting.discard(watcher)


def one_run(selector, watchers):
    for watcher in watchers:
        watcher.received.clear()
    for watcher in watchers[:TIMED]:
        watcher.delays = []
    before = time.process_time()
    read_until(selector, watchers, END)
    own = time.process_time() - before
    marks = watchers[0].marks()
    return {
        "lines": len(marks),
        "in_order": marks == list(range(len(marks))),
        "all_saw_all": all(watcher.marks() == marks for watcher in watchers),
        "delays": [delay for watcher in watchers[:TIMED] for delay in watcher.delays],
        "reader_cpu_s": own,
    }


def main():
    port, task, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.nice(10)  # in the world they are on other machines
    selector = selectors.DefaultSelector()
    watchers = [Watcher(port, task) for _ in range(count)]
    for watcher in watchers:
        selector.register(watcher.socket, selectors.EVENT_READ, watcher)
    read_until(selector, watchers, b"event: state")
    print("ready", flush=True)
    for _ in sys.stdin:
        print("all", json.dumps(one_run(selector, watchers)), flush=True)


main()
