"""Slow readers of a notebook that is written to all the time."""

import collections
import json
import socket

import nbformat

from tests.e2e import notebooks

READERS = 200
RUNS = 500
# Each is done well within nginx's send_timeout, whatever else the machine does.
OPEN_AT_ONCE = 100


class Reader:
    """Asks nginx for the notebook and then takes its time."""

    def __init__(self, service, task):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", service.port))
        request = f"GET /tasks/{task}/notebook.ipynb HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n\r\n"
        self.socket.sendall(request.encode())
        # The answer has begun: the file is open, or was sent as far as it goes.
        self.parts = [self.socket.recv(64)]

    def read_on(self):
        self.parts.append(self.socket.recv(16_384))

    def finish(self):
        while part := self.socket.recv(1 << 20):
            self.parts.append(part)
        self.socket.close()
        head, _, body = b"".join(self.parts).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        assert f"Content-Length: {len(body)}".encode() in head
        return json.loads(body)


def test_slow_readers_get_one_whole_version_each(service, task):
    service.post(task, "display({'image/png': 'A' * 1_000_000}, raw=True)")
    readers, seen = collections.deque(), []
    for number in range(RUNS):
        service.post(task, f"{number}")
        if number * READERS % RUNS < READERS:
            readers.append((number, Reader(service, task)))
        readers[number * 7 % len(readers)][1].read_on()
        if len(readers) > OPEN_AT_ONCE:
            began, reader = readers.popleft()
            seen.append((began, reader.finish()))
    seen += [(began, reader.finish()) for began, reader in readers]
    assert len(seen) == READERS
    final = {cell["id"]: cell for cell in notebooks.read(service, task)["cells"]}
    for began, notebook in seen:
        # Each cell is as it is in the end, which is valid, but for the running one.
        running = [cell for cell in notebook["cells"] if cell != final[cell["id"]]]
        assert len(running) <= 1
        nbformat.validate(notebook | {"cells": running}, version=4, version_minor=5)
        sources = ["".join(cell["source"]) for cell in notebook["cells"][1:]]
        # The version that was there, and perhaps the start of the next run.
        assert sources[: began + 1] == [str(number) for number in range(began + 1)]
        assert len(sources) <= began + 2


def test_the_files_beside_it_are_not_served(service, task):
    service.post(task, "1")
    service.post(task, "2")
    directory = service.task_directory(task)
    for name in (".notebook.spare", ".notebook.index"):
        assert (directory / name).exists()
        assert service.get(f"/tasks/{task}/{name}").status_code == 404
