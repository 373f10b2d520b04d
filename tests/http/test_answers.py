"""What good requests get."""

import json
import re
import socket

import pytest

from tests import fastcgi
from tests.http.problems import check_no_cors, check_problem
from tests.instance import JSON, wait_for

WAIT_FOR_GO = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('second')"


def test_a_run_that_nobody_waits_for(service, task):
    response = service.send(task, "x = 6 * 7\nx", wait=False)
    assert response.status_code == 202
    accepted = response.json()
    assert response.headers["Location"] == accepted["uri"] == f"/v1/runs/{accepted['run']}"
    assert accepted["task"] == task and accepted["status"] == "queued" and accepted["position"] == 0
    answer = service.wait_run(accepted["run"])
    assert answer["status"] == "ok" and answer["result"] == {"text/plain": "42"}


def test_a_running_run_shows_what_it_has(service, task):
    accepted = service.send(task, WAIT_FOR_GO, wait=False).json()
    service.wait_run(accepted["run"], "running")
    (service.task_directory(task) / "files" / "go").touch()
    assert service.wait_run(accepted["run"])["stdout"] == "first\nsecond\n"


def test_a_repeated_run_that_nobody_waits_for(service, task):
    headers = {"Idempotency-Key": "k"}
    first = service.send(task, "1", headers, wait=False)
    second = service.send(task, "1", headers, wait=False)
    assert first.status_code == second.status_code == 202
    assert first.json()["run"] == second.json()["run"]
    assert service.wait_run(first.json()["run"])["status"] == "ok"
    assert len(service.runs(task)) == 1


def stream(service, task, accept, code, **fields):
    return service.request(
        "POST",
        f"/v1/tasks/{task}/execute",
        data=json.dumps({"code": code} | fields),
        headers=JSON | {"Accept": accept},
        stream=True,
    )


def sse_events(response):
    kind = None
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            yield kind, json.loads(line[6:])


def ndjson_events(response):
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        event = json.loads(line)
        yield event["type"], event.get("content")


@pytest.mark.parametrize("accept, read", [("text/event-stream", sse_events), ("application/x-ndjson", ndjson_events)])
def test_outputs_come_while_the_cell_runs(service, task, accept, read):
    service.post(task, "pass")
    response = stream(service, task, accept, WAIT_FOR_GO)
    assert response.status_code == 200
    assert response.headers["Content-Type"].split(";")[0] == accept
    check_no_cors(response)
    events = read(response)
    seen = []
    for kind, content in events:
        seen.append((kind, content))
        # The cell ends only after its first line has arrived here.
        if kind == "stream" and content["text"].startswith("first"):
            (service.task_directory(task) / "files" / "go").touch()
    kinds = [kind for kind, _ in seen]
    assert kinds[0] == "run" and kinds[-1] == "answer" and kinds.count("answer") == 1
    text = "".join(content["text"] for kind, content in seen if kind == "stream")
    assert text == "first\nsecond\n"
    assert seen[-1][1]["status"] == "ok" and seen[-1][1]["stdout"] == text


def test_a_reader_that_does_not_read_holds_nobody_up(service, task):
    """Many times what a stream queues, to a client that reads only after the run's end."""
    service.post(task, "pass")
    code = "for i in range(1000): print(str(i).rjust(7) + ' ' + 'x' * 80_000, flush=True)"
    peer = fastcgi.begin(
        service.fcgi_socket,
        "POST",
        f"/v1/tasks/{task}/execute",
        json.dumps({"code": code}).encode(),
        HTTP_ACCEPT="application/x-ndjson",
    )
    with peer:
        run = wait_for(lambda: len(service.runs(task)) == 2 and service.runs(task)[0]["run"], "the run")
        assert service.wait_run(run)["status"] == "ok"
        status, _, body = fastcgi.parse(fastcgi.read_response(peer))
    events = [json.loads(line) for line in body.splitlines()]
    assert status == 200 and events[-1]["type"] == "answer" and events[-1]["content"]["run"] == run
    gaps = [event["content"]["dropped"] for event in events if event["type"] == "gap"]
    assert gaps and sum(gaps) > 0
    # What was not dropped came in order; an event may hold part of a line.
    text = "".join(event["content"]["text"] for event in events if event["type"] == "stream")
    numbers = [int(number) for number in re.findall(r"(\d+) xxx", text)]
    assert len(numbers) > 100 and numbers == sorted(set(numbers)) and numbers[0] == 0


def test_a_stream_that_cannot_start_is_an_ordinary_refusal(service, task):
    response = stream(service, task, "text/event-stream", "1", tiemout=3)
    check_problem(response, 422, "tiemout")


def test_json_is_what_everybody_else_gets(service, task):
    for accept in ("*/*", "text/html", "application/json, text/event-stream;q=0.1"):
        response = service.send(task, "1", {"Accept": accept})
        assert response.status_code == 200 and response.headers["Content-Type"] == "application/json"


def test_a_task_from_first_to_last(service, task):
    made = service.put(task, env={"COLOUR": "blue"})
    assert made.status_code == 201 and made.headers["Location"] == f"/v1/tasks/{task}"
    assert service.put(task, env={"COLOUR": "blue"}).status_code == 200
    check_problem(service.put(task, env={"COLOUR": "red"}), 409)
    assert service.post(task, "import os; os.environ['COLOUR']")["result"] == {"text/plain": "'blue'"}
    description = service.get(f"/v1/tasks/{task}").json()
    assert description["task"] == task and description["kernel"]["state"] == "alive"
    listed = service.get("/v1/tasks?limit=1000").json()["tasks"]
    assert task in [entry["task"] for entry in listed]
    deleted = service.delete(task)
    assert deleted.status_code == 200 and deleted.json()["deleted"] is True
    check_problem(service.get(f"/v1/tasks/{task}"), 404)
    check_problem(service.delete(task), 404)
    assert not service.task_directory(task).exists()


def test_tasks_are_listed_page_by_page(service, task):
    for letter in "abc":
        service.put(f"{task}-{letter}")
    after, seen = "", []
    while True:
        page = service.get(f"/v1/tasks?limit=2&after={after}").json()
        seen += [entry["task"] for entry in page["tasks"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert [name for name in seen if name.startswith(task)] == [f"{task}-{letter}" for letter in "abc"]
    assert len(seen) == len(set(seen))


def test_runs_are_listed_newest_first(service, task):
    for code in ("1", "1/0", "3"):
        service.post(task, code)
    runs = service.runs(task)
    assert [run["code"] for run in runs] == ["3", "1/0", "1"]
    assert [run["status"] for run in runs] == ["ok", "error", "ok"]
    failed = service.get(f"/v1/tasks/{task}/runs?status=error").json()["runs"]
    assert [run["run"] for run in failed] == [runs[1]["run"]]
    older = service.get(f"/v1/tasks/{task}/runs?before={runs[0]['run']}&limit=1").json()
    assert [run["run"] for run in older["runs"]] == [runs[1]["run"]]
    everywhere = service.get("/v1/runs?limit=3").json()["runs"]
    assert [run["run"] for run in everywhere] == [run["run"] for run in runs]


def test_interrupt_and_restart(service, task):
    check_problem(service.request("POST", f"/v1/tasks/{task}/interrupt"), 404)
    service.post(task, "x = 1")
    accepted = service.send(task, "import time\nwhile True: time.sleep(0.01)", wait=False).json()
    service.wait_run(accepted["run"], "running")
    response = service.request("POST", f"/v1/tasks/{task}/interrupt")
    assert response.status_code == 200 and response.json()["interrupted"] == accepted["run"]
    assert service.wait_run(accepted["run"])["status"] == "interrupted"
    assert service.post(task, "x")["result"] == {"text/plain": "1"}
    assert service.request("POST", f"/v1/tasks/{task}/restart").status_code == 200
    assert service.post(task, "x")["error"]["ename"] == "NameError"


def test_runs_are_cancelled_and_interrupted(service, task):
    service.post(task, "pass")
    running = service.send(task, "import time\nwhile True: time.sleep(0.01)", wait=False).json()["run"]
    service.wait_run(running, "running")
    waiting = service.send(task, "1", wait=False).json()["run"]
    for run in (waiting, running):
        response = service.request("DELETE", f"/v1/runs/{run}")
        assert response.status_code == 202 and response.json()["cancel_requested"] is True
    assert service.wait_run(waiting)["status"] == "cancelled"
    assert service.wait_run(running)["status"] == "interrupted"
    check_problem(service.request("DELETE", f"/v1/runs/{running}"), 409)


def test_what_the_service_tells_about_itself(service):
    assert service.get("/healthz").json() == {"status": "ok"}
    assert service.get("/readyz").json() == {"status": "ready"}
    names = [spec["name"] for spec in service.get("/v1/kernelspecs").json()["kernelspecs"]]
    assert "python3" in names
    capabilities = service.get("/v1/capabilities").json()
    assert capabilities["kernelspec"] == "python3" and capabilities["limits"]["queue"] == 64
    assert set(capabilities["warm"]) == {"enabled", "preload", "spares", "zygotes"}
    metrics = service.get("/metrics")
    assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'cellpost_requests_total{status="2xx"}' in metrics.text


def test_head_has_the_headers_alone(service):
    response = service.request("HEAD", "/v1/tasks")
    assert response.status_code == 200 and response.content == b""
    assert response.headers["Content-Type"] == "application/json"


def test_tasks_are_not_made_by_themselves_when_the_configuration_says_so(make_instance, task):
    service = make_instance({"server.auto_create": "off"})
    check_problem(service.send(task, "1"), 404, task)
    service.put(task)
    assert service.post(task, "1")["status"] == "ok"


def leave(service, task, code, accept, **fields):
    """Sends an execute request, waits until its run goes on, and goes away."""
    body = json.dumps({"code": code} | fields).encode()
    head = f"POST /v1/tasks/{task}/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode() + body)
        return wait_for(lambda: next((run["run"] for run in service.runs(task) if run["status"] == "running"), None), "the run")


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_a_run_ends_with_its_client_when_asked_to(service, task, accept):
    service.post(task, "x = 1")
    run = leave(service, task, "import time; time.sleep(600)", accept, on_disconnect="interrupt")
    assert service.wait_run(run)["status"] == "interrupted"
    assert service.post(task, "x")["result"] == {"text/plain": "1"}


@pytest.mark.parametrize("fields", [{}, {"on_disconnect": "continue"}])
def test_a_run_outlives_its_client_otherwise(service, task, fields):
    run = leave(service, task, WAIT_FOR_GO, "application/json", **fields)
    (service.task_directory(task) / "files" / "go").touch()
    assert service.wait_run(run)["status"] == "ok"
