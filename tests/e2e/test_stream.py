"""Streamed answers: events come while the cell runs, the answer comes last."""

import concurrent.futures
import json
import time

import pytest

from tests.instance import JSON

SSE, NDJSON = "text/event-stream", "application/x-ndjson"
WAIT = """import pathlib, time
print("first", flush=True)
while not pathlib.Path("go").exists(): time.sleep(.005)
print("second")
6*7"""


class Stream:
    """The events of one streamed run, as (type, content)."""

    def __init__(self, service, task, code, kind, headers=None, **fields):
        self.kind = kind
        self.response = service.session.post(
            f"{service.url}/v1/tasks/{task}/execute",
            data=json.dumps({"code": code} | fields),
            headers=JSON | {"Accept": kind} | (headers or {}),
            stream=True,
            timeout=120,
        )
        self.lines = self.response.iter_lines(chunk_size=None)

    def __enter__(self):
        assert self.response.status_code == 200, self.response.text
        assert self.response.headers["Content-Type"].split(";")[0] == self.kind
        return self

    def __exit__(self, *_):
        self.response.close()

    def __iter__(self):
        return self.read_events() if self.kind == SSE else self.read_lines()

    def read_lines(self):
        for line in self.lines:
            event = json.loads(line)
            yield event["type"], event.get("content")

    def read_events(self):
        kind = None
        for line in self.lines:
            if line.startswith(b":"):
                assert line == b": keepalive"
                yield "keepalive", None
            elif line.startswith(b"event: "):
                kind = line[7:].decode()
            elif line.startswith(b"data: "):
                yield kind, json.loads(line[6:])
            else:
                assert line == b""


def let_go(service, task):
    (service.task_directory(task) / "files" / "go").touch()


@pytest.mark.parametrize("kind", [SSE, NDJSON])
def test_events_come_while_the_cell_runs(service, task, kind):
    with Stream(service, task, WAIT, kind) as stream:
        events = iter(stream)
        type_, content = next(events)
        assert (type_, content["task"], content["status"]) == ("run", task, "running")
        run = content["run"]
        assert next(events) == ("stream", {"name": "stdout", "text": "first\n"})
        service.wait_run(run, "running")
        let_go(service, task)
        *middle, (last, answer) = [event for event in events if event[0] != "keepalive"]
    assert [type_ for type_, _ in middle] == ["stream", "execute_result"]
    assert middle[0][1] == {"name": "stdout", "text": "second\n"}
    assert middle[1][1]["data"] == {"text/plain": "42"}
    assert last == "answer" and answer["run"] == run
    assert answer["stdout"] == "first\nsecond\n" and answer["result"] == {"text/plain": "42"}
    again = service.get(f"/v1/runs/{run}").json()
    assert {key: again[key] for key in answer if key in again} == {key: answer[key] for key in answer if key in again}


def test_every_kind_of_event(service, task):
    code = """from IPython.display import clear_output
h = display(1, display_id=True)
h.update(2)
clear_output()
1/0"""
    with Stream(service, task, code, NDJSON) as stream:
        types = [type_ for type_, _ in stream]
    assert types == ["run", "display_data", "update_display_data", "clear_output", "error", "answer"]


def test_silence_is_filled_with_keepalives(service, task):
    """Both kinds at once: it takes 15 seconds."""

    def run(kind):
        name = f"{task}-{'sse' if kind == SSE else 'lines'}"
        with Stream(service, name, WAIT, kind) as stream:
            types = []
            for type_, _ in stream:
                types.append(type_)
                if type_ == "keepalive":
                    let_go(service, name)
        return types

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for types in pool.map(run, [SSE, NDJSON]):
            assert types == ["run", "stream", "keepalive", "stream", "execute_result", "answer"]
    assert 14 < time.monotonic() - start < 60


def test_a_run_that_cannot_start_is_a_plain_problem(scripted, task):
    scripted.put(task, kernelspec="scripted-exit")
    response = scripted.send(task, "1", headers={"Accept": SSE})
    assert response.status_code == 503
    assert response.headers["Content-Type"].startswith("application/problem+json")
    assert "told to fail at its start" in response.json()["stderr"]


def test_a_refused_run_is_a_plain_problem(service, task):
    response = service.send(task, "1", headers={"Accept": SSE}, tiemout=1)
    assert response.status_code == 422
    assert response.headers["Content-Type"].startswith("application/problem+json")


def test_a_run_that_fails_after_its_start_ends_with_the_problem(scripted, task):
    with Stream(scripted, task, "scenario: aborted-always", SSE) as stream:
        events = list(stream)
    scripted.delete(task)
    assert [type_ for type_, _ in events] == ["run", "problem"]
    assert events[1][1]["status"] == 503 and "aborted" in events[1][1]["detail"]


def test_a_slow_reader_loses_nothing_but_a_marked_gap(service, task):
    """40 MB of displays, not read until the run is over: the run does not wait."""
    count = 4000
    code = f"for i in range({count}): display({{'text/plain': str(i) + ' ' + 'x' * 10_000}}, raw=True)"
    with Stream(service, task, code, NDJSON) as stream:
        events = iter(stream)
        run = next(events)[1]["run"]
        assert service.wait_run(run)["status"] == "ok"
        following, dropped = 0, 0
        for type_, content in events:
            if type_ == "gap":
                following += content["dropped"]
                dropped += content["dropped"]
            elif type_ == "display_data":
                number, _, filling = content["data"]["text/plain"].partition(" ")
                assert int(number) == following and filling == "x" * 10_000
                following += 1
            elif type_ == "answer":
                answer = content
    assert following == count and 0 < dropped < count
    assert answer["status"] == "ok" and answer["run"] == run


def test_a_reader_that_goes_away_loses_nothing(service, task):
    with Stream(service, task, WAIT, SSE) as stream:
        events = iter(stream)
        run = next(events)[1]["run"]
        next(events)
    let_go(service, task)
    answer = service.wait_run(run)
    assert (answer["status"], answer["stdout"]) == ("ok", "first\nsecond\n")


def test_a_deadline_in_a_stream(service, task):
    with Stream(service, task, "print(1, flush=True)\nwhile True: pass", NDJSON, timeout=1) as stream:
        events = list(stream)
    assert [type_ for type_, _ in events] == ["run", "stream", "error", "answer"]
    assert events[-1][1]["status"] == "timeout"


def test_a_death_in_a_stream(service, task):
    with Stream(service, task, "import os\nprint(1, flush=True)\nos._exit(3)", SSE) as stream:
        events = list(stream)
    assert [type_ for type_, _ in events] == ["run", "stream", "answer"]
    assert events[-1][1]["status"] == "kernel_died"
