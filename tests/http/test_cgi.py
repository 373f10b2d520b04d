"""The same program as a plain CGI program, under fcgiwrap."""

import json
import os
import pwd
import shutil
import signal
import subprocess

import pytest

from tests import fastcgi
from tests.instance import wait_for

FCGIWRAP = shutil.which("fcgiwrap", path="/usr/sbin:/usr/bin")


@pytest.fixture
def cgi(service, tmp_path_factory):
    """Sends a request to a CGI program that is started for it alone."""
    directory = tmp_path_factory.mktemp("cgi")
    user = {}
    if os.geteuid() == 0:
        entry = pwd.getpwnam("www-data")
        user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(directory, entry.pw_uid, entry.pw_gid)
        for parent in directory.parents[:-2]:
            parent.chmod(0o755)
    path = str(directory / "s")
    with open(directory / "log", "wb") as log:
        process = subprocess.Popen([FCGIWRAP, "-c", "4", "-f", "-s", f"unix:{path}"], stderr=log, start_new_session=True, **user)
    wait_for(lambda: os.path.exists(path), "fcgiwrap")

    def send(method, uri, body=b"", **more):
        answer = fastcgi.request(
            path,
            method,
            uri,
            body,
            SCRIPT_FILENAME=str(service.state / "bin" / "cellpost"),
            CELLPOST_CONF=str(service.conf),
            GATEWAY_INTERFACE="CGI/1.1",
            **more,
        )
        status, headers, content = fastcgi.parse(answer)
        assert status != 0, (answer, (directory / "log").read_text())
        return status, headers, content

    yield send
    os.killpg(process.pid, signal.SIGTERM)  # its workers do not go with it
    process.wait(10)


def execute(cgi, task, code, **fields):
    return cgi("POST", f"/v1/tasks/{task}/execute", json.dumps({"code": code} | fields).encode())


def test_the_same_routes(cgi, service, task):
    status, headers, body = cgi("GET", "/healthz")
    assert status == 200 and json.loads(body) == {"status": "ok"}
    assert headers["content-type"] == "application/json"
    status, _, body = cgi("GET", "/v1/tasks?limit=0")
    assert status == 422 and json.loads(body)["status"] == 422
    assert cgi("PATCH", "/healthz")[0] == 405
    assert cgi("GET", "/healthz", HTTP_HOST="evil.example")[0] == 421
    assert cgi("GET", "/v1/nothing")[0] == 404


def test_state_is_kept_between_processes(cgi, service, task):
    assert execute(cgi, task, "x = 20")[0] == 200
    status, _, body = execute(cgi, task, "x += 1; x")
    answer = json.loads(body)
    assert status == 200 and answer["result"] == {"text/plain": "21"} and answer["kernel"]["state"] == "kept"
    # And with the app that serves beside it.
    assert service.post(task, "x")["result"] == {"text/plain": "21"}


def test_the_path_may_come_as_path_info(cgi):
    status, _, body = cgi("GET", "/cgi-bin/cellpost/healthz", PATH_INFO="/healthz", SCRIPT_NAME="/cgi-bin/cellpost")
    assert status == 200 and json.loads(body) == {"status": "ok"}


def test_a_large_body_and_a_large_answer(cgi, task):
    text = "a" * 1_000_000
    status, headers, body = execute(cgi, task, f"print('{text}')")
    assert status == 200 and json.loads(body)["stdout"] == text + "\n"
    assert int(headers["content-length"]) == len(body)


def test_a_body_cut_short_runs_nothing(cgi, service, task):
    status, _, body = cgi("POST", f"/v1/tasks/{task}/execute", b'{"code":"1"}', CONTENT_LENGTH="50")
    assert status == 400 and service.runs(task) == []


def test_a_run_goes_on_after_the_answer(cgi, service, task):
    service.post(task, "pass")
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n'done'"
    status, headers, body = execute(cgi, task, code, wait=False)
    run = json.loads(body)["run"]
    assert status == 202 and headers["location"] == f"/v1/runs/{run}"
    (service.task_directory(task) / "files" / "go").touch()
    assert service.wait_run(run)["result"] == {"text/plain": "'done'"}


def test_a_stream_over_cgi(cgi, task):
    status, headers, body = cgi(
        "POST", f"/v1/tasks/{task}/execute", b'{"code":"print(1)"}', HTTP_ACCEPT="application/x-ndjson"
    )
    events = [json.loads(line) for line in body.splitlines()]
    assert status == 200 and headers["content-type"] == "application/x-ndjson"
    assert events[0]["type"] == "run" and events[-1]["type"] == "answer"
    assert events[-1]["content"]["stdout"] == "1\n"


def test_arguments_from_a_query_are_not_options(service):
    """A web server passes a query without "=" as arguments (RFC 3875, 4.4)."""
    done = subprocess.run(
        [service.state / "bin" / "cellpost", "-c", "/etc/passwd"],
        env={
            "GATEWAY_INTERFACE": "CGI/1.1",
            "CELLPOST_CONF": str(service.conf),
            "REQUEST_METHOD": "GET",
            "REQUEST_URI": "/healthz?-c+/etc/passwd",
            "HTTP_HOST": "localhost",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    status, _, body = fastcgi.parse(done.stdout)
    assert status == 200 and json.loads(body) == {"status": "ok"}
