"""Watchers of the live feed, and a second app beside an instance's own."""

import contextlib
import json
import struct
import subprocess

from tests import fastcgi
from tests.instance import wait_for


class Watcher:
    """Iterating gives (id, type, data); keepalives as (None, "keepalive", None)."""

    def __init__(self, service, task=None, last=None, header=None):
        self.url = f"{service.url}/v1/tasks/{task}/events" if task else f"{service.url}/v1/events"
        query = {} if last is None else {"last_event_id": str(last)}
        headers = {} if header is None else {"Last-Event-ID": str(header)}
        # No session: its connections are for one thread.
        self.response = service.session.get(self.url, params=query, headers=headers, stream=True, timeout=60)
        self.events = read_events(self.response.iter_lines(chunk_size=None))

    def __enter__(self):
        assert self.response.status_code == 200, self.response.text
        assert self.response.headers["Content-Type"].split(";")[0] == "text/event-stream"
        return self

    def __exit__(self, *_):
        self.response.close()

    def __iter__(self):
        return self.events

    def until(self, kind, run=None):
        """The events up to the first of that kind (of that run), it included."""
        seen = []
        for event in self.events:
            seen.append(event)
            if event[1] == kind and run in (None, event[2].get("run")):
                return seen
        raise AssertionError(f"the feed ended before {kind}; it gave {[event[1] for event in seen]}")


def read_events(lines):
    """From lines without their ends, as bytes."""
    number, kind, data = None, None, None
    for line in lines:
        name, _, value = line.partition(b": ")
        if line == b": keepalive":
            yield None, "keepalive", None
        elif name == b"retry":
            assert value == b"1000"
        elif name == b"id":
            number = int(value)
        elif name == b"event":
            kind = value.decode()
        elif name == b"data":
            assert data is None
            data = json.loads(value)
        else:
            assert line == b"", line
            if kind is not None:
                yield number, kind, data
            number, kind, data = None, None, None


def text_of(outputs):
    """All that nbformat outputs print to standard output."""
    return "".join(output["text"] for output in outputs if output.get("name") == "stdout")


def printed(events, run):
    """What the run.output events of a run print to standard output."""
    text = ""
    for _, kind, data in events:
        if kind == "run.output" and data["run"] == run:
            assert "left_out" not in data["content"]
            text += "".join(message["content"]["text"] for message in data["content"]["messages"])
    return text


class BareWatcher:
    """Without a web server between, so that nothing is read but by us."""

    def __init__(self, socket_path, task, last=None):
        uri = f"/v1/tasks/{task}/events" + ("" if last is None else f"?last_event_id={last}")
        self.peer = fastcgi.begin(socket_path, "GET", uri)
        self.stream = self.peer.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.peer.close()

    def records(self):
        while True:
            header = self.stream.read(8)
            if header == b"":
                return
            version, kind, request, size, padding = struct.unpack(">BBHHBx", header)
            assert (version, request) == (1, 1)
            content = self.stream.read(size + padding)[:size]
            yield kind, content
            if kind == fastcgi.END:
                return

    def read_to_end(self):
        """The events of a response that ends, in order."""
        kinds, body = zip(*self.records())
        assert kinds[-1] == fastcgi.END and set(kinds[:-1]) == {fastcgi.STDOUT}
        assert body[-2] == b"" and body[-1] == bytes(8)
        status, headers, text = fastcgi.parse(b"".join(body[:-1]))
        assert status == 200 and headers["content-type"] == "text/event-stream"
        assert text.endswith(b"\n\n")
        return list(read_events(text[:-1].split(b"\n")))


@contextlib.contextmanager
def second_app(instance):
    """Another app on the same registry; gives its FastCGI socket."""
    conf = instance.state / "second.conf"
    path = str(instance.run / "second.sock")
    conf.write_text(instance.conf.read_text().replace("[state]", f"[server]\nlisten = {path}\n[state]", 1))
    with open(instance.state / "log" / "second.log", "ab") as log:
        command = [instance.state / "bin" / "cellpost", "-c", conf]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers():
        with contextlib.suppress(OSError):
            return b"Status: 200" in fastcgi.request(path, "GET", "/healthz")

    try:
        wait_for(answers, "an answer of the second app")
        yield path
    finally:
        process.terminate()
        process.wait(60)
