"""Runs that go on or wait do not take every thread."""

import json

import pytest

from tests import fastcgi
from tests.http.problems import check_problem
from tests.instance import JSON, Instance, wait_for

PLACES = 4  # of 12 threads
WAIT = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"


@pytest.fixture(scope="module")
def small():
    with Instance({"server.threads": "12"}) as instance:
        yield instance


def begin(service, task):
    """A POST whose answer is read later."""
    body = json.dumps({"code": WAIT}).encode()
    return fastcgi.begin(service.fcgi_socket, "POST", f"/v1/tasks/{task}/execute", body)


def taken(service):
    lines = service.get("/metrics").text.splitlines()
    return int(dict(line.rsplit(" ", 1) for line in lines if line[0] != "#")["cellpost_run_places_taken"])


def fill(service, task, wait=True):
    peers = []
    for _ in range(PLACES):
        if wait:
            peers.append(begin(service, task))
        else:
            assert service.send(task, WAIT, wait=False).status_code == 202
    wait_for(lambda: len(service.runs(task)) == PLACES, "the runs")
    assert taken(service) == PLACES
    return peers


def empty(service, task, peers):
    (service.task_directory(task) / "files" / "go").touch()
    for peer in peers:
        with peer:
            assert fastcgi.parse(fastcgi.read_response(peer))[0] == 200
    wait_for(lambda: taken(service) == 0, "the places")


@pytest.mark.parametrize("wait", [True, False])
def test_one_run_more_is_told_to_come_again(small, task, wait):
    peers = fill(small, task, wait)
    other = f"{task}-other"
    for response in (
        small.send(other, "1"),
        small.send(other, "1", wait=False),
        small.send(other, "1", {"Accept": "text/event-stream"}),
        small.request("POST", f"/v1/tasks/{task}/cells", data='{"markdown": "x"}', headers=JSON),
        small.request("POST", f"/v1/tasks/{task}/restart", data='{"replay": true}', headers=JSON),
    ):
        problem = check_problem(response, 503, '"threads" (now 12)')
        assert problem["type"] == "urn:cellpost:problem:unavailable"
        assert int(response.headers["Retry-After"]) >= 1
    assert small.get(f"/v1/tasks/{other}").status_code == 404
    assert len(small.runs(task)) == PLACES
    empty(small, task, peers)
    assert small.post(task, "6 * 7")["result"] == {"text/plain": "42"}
    small.delete(task)


def test_what_ends_runs_finds_a_thread(small, task):
    """Many more POSTs than there are threads; each of these requests found none before."""
    peers = fill(small, task)
    more = [begin(small, task) for _ in range(40)]
    for path in ("/healthz", "/readyz", "/metrics", "/v1/tasks", f"/v1/tasks/{task}"):
        assert small.get(path).status_code == 200
    for peer in more:
        with peer:
            assert fastcgi.parse(fastcgi.read_response(peer))[0] == 503
    (waiting, *_) = [run["run"] for run in small.runs(task) if run["status"] == "queued"]
    assert small.request("DELETE", f"/v1/runs/{waiting}").ok
    wait_for(lambda: any(run["status"] == "running" for run in small.runs(task)), "a running one")
    assert small.request("POST", f"/v1/tasks/{task}/interrupt").status_code == 200
    assert small.delete(task).status_code == 200
    for peer in peers:
        with peer:
            fastcgi.read_response(peer)
    wait_for(lambda: taken(small) == 0, "the places")


def test_a_client_that_sends_one_after_another_is_never_refused(make_instance, task):
    service = make_instance({"server.threads": "2"})  # one place
    cells = f"/v1/tasks/{task}/cells"
    for number in range(20):
        assert service.post(task, f"{number}")["result"] == {"text/plain": str(number)}
        check_problem(service.send(task, "1", {"Idempotency-Key": "a b"}), 400)
        assert service.request("POST", cells, data='{"markdown": "x"}', headers=JSON).status_code == 201
