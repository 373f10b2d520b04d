"""The interface of E2B's SDKs, as they speak it."""

import base64
import json
import struct
import threading

import pytest

from tests.instance import JSON, wait_for


class Sandbox:
    def __init__(self, service, **body):
        self.service = service
        answer = self.control("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1"} | body)
        assert answer.status_code == 201, answer.text
        self.made = answer.json()
        self.id = self.made["sandboxID"]

    def control(self, method, path, body=None):
        data = None if body is None else json.dumps(body)
        return self.service.request(method, "/e2b" + path, data=data, headers=JSON | {"X-API-KEY": "e2b_any"})

    def send(self, method, path, **more):
        more["headers"] = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983"} | more.get("headers", {})
        return self.service.request(method, "/e2b" + path, **more)

    def run(self, code, **fields):
        answer = self.send("POST", "/execute", data=json.dumps({"code": code} | fields), headers=JSON)
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.content.decode().splitlines()]

    def call(self, name, **body):
        return self.send("POST", "/filesystem.Filesystem/" + name, data=json.dumps(body), headers=JSON)


@pytest.fixture
def sandbox(service):
    one = Sandbox(service, metadata={"who": "me"}, envVars={"ONE": "1"})
    yield one
    one.control("DELETE", f"/sandboxes/{one.id}")


def kinds(lines):
    return [line["type"] for line in lines]


def test_the_life_of_a_sandbox(service):
    one = Sandbox(service, timeout=600, metadata={"a": "b c"})
    assert one.made["envdVersion"] >= "0.1.0" and one.made["clientID"] and one.made["templateID"]
    seen = one.control("GET", f"/sandboxes/{one.id}").json()
    assert seen["state"] == "running" and seen["metadata"] == {"a": "b c"} and seen["startedAt"] < seen["endAt"]
    found = one.control("GET", "/v2/sandboxes?metadata=a%3Db+c&state=running").json()
    assert one.id in [each["sandboxID"] for each in found]
    assert one.id not in [each["sandboxID"] for each in one.control("GET", "/v2/sandboxes?metadata=a%3Dx").json()]
    assert one.control("POST", f"/sandboxes/{one.id}/timeout", {"timeout": 900}).status_code == 204
    assert one.control("GET", f"/sandboxes/{one.id}").json()["endAt"] > seen["endAt"]
    assert one.control("POST", f"/v2/sandboxes/{one.id}/connect", {"timeout": 10}).json()["sandboxID"] == one.id
    assert one.send("GET", "/health").status_code == 204
    assert one.control("DELETE", f"/sandboxes/{one.id}").status_code == 204
    assert one.control("DELETE", f"/sandboxes/{one.id}").status_code == 404
    assert one.control("GET", f"/sandboxes/{one.id}").json()["code"] == 404
    assert one.send("GET", "/health").status_code == 502


def test_a_sandbox_ends_at_its_time(service):
    one = Sandbox(service, timeout=1)
    wait_for(lambda: one.send("GET", "/health").status_code == 502, "its end")
    assert service.get(f"/v1/tasks/{one.id}").status_code == 404


def test_a_sandbox_ends_at_its_time_also_after_a_restart(make_instance):
    with make_instance() as instance:
        one = Sandbox(instance, timeout=4)
        instance.kill("app")
        instance.start_app()
        wait_for(lambda: one.send("GET", "/health").status_code == 502, "its end")


def test_a_cell(sandbox):
    lines = sandbox.run("import sys, os\nprint('hi')\nprint('e', file=sys.stderr)\nos.environ['ONE']")
    assert kinds(lines)[-2:] == ["number_of_executions", "end_of_execution"]
    assert {line["type"]: line.get("text") for line in lines if line["type"] in ("stdout", "stderr")} == {
        "stdout": "hi\n",
        "stderr": "e\n",
    }
    (result,) = [line for line in lines if line["type"] == "result"]
    assert result["text"] == "1" and result["is_main_result"] is True  # without its quotes, as there
    assert lines[-2]["execution_count"] == 1
    (picture,) = [
        line
        for line in sandbox.run("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
        if line["type"] == "result"
    ]
    assert base64.b64decode(picture["png"]).startswith(b"\x89PNG") and picture["is_main_result"] is False


def test_a_cell_that_fails(sandbox):
    (error,) = [line for line in sandbox.run("1/0") if line["type"] == "error"]
    assert error["name"] == "ZeroDivisionError" and error["value"] == "division by zero" and error["traceback"]
    (death,) = [line for line in sandbox.run("import os; os._exit(3)") if line["type"] == "error"]
    assert death["name"] and "3" in death["value"]


def test_the_environment_of_one_cell(sandbox):
    code = "import os; os.environ.get('TWO')"
    assert [line["text"] for line in sandbox.run(code, env_vars={"TWO": "2"}) if line["type"] == "result"] == ["2"]
    assert "result" not in kinds(sandbox.run(code))


def test_environments_of_cells_at_once_do_not_mix(sandbox):
    sandbox.run("1")
    code = "import os, time\nos.environ['KEEP'] = '1'\ntime.sleep(0.3)"
    threads = [threading.Thread(target=sandbox.run, args=(code,), kwargs={"env_vars": {f"S{i}": "x"}}) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = sandbox.run("import os; [os.environ.get(name) for name in ('S0', 'S1', 'S2', 'KEEP')]")
    assert [line["text"] for line in said if line["type"] == "result"] == ["[None, None, None, '1']"]


def test_nothing_runs_after_a_sandbox_has_ended(service):
    one = Sandbox(service)
    one.run("1")
    thread = threading.Thread(
        target=one.send, args=("POST", "/execute"),
        kwargs={"data": json.dumps({"code": "import time; time.sleep(60)", "env_vars": {"E": "1"}}), "headers": JSON},
    )  # fmt: skip
    thread.start()
    wait_for(lambda: [run for run in service.runs(one.id) if run["status"] == "running" and "sleep" in run["code"]], "the cell")
    assert one.control("DELETE", f"/sandboxes/{one.id}").status_code == 204
    thread.join()
    assert service.get(f"/v1/tasks/{one.id}").status_code == 404


@pytest.mark.parametrize("variables", [{"A B": "1"}, {"A": "\0"}, {"A": 1}, "x"])
def test_variables_that_are_none(service, variables):
    made = service.request("POST", "/e2b/v2/sandboxes", data=json.dumps({"envVars": variables}), headers=JSON)
    assert made.status_code == 422 and "envVars" in made.json()["message"]


def test_languages_and_contexts(sandbox):
    said = sandbox.run("echo $((6*7))", language="bash")
    assert [line["text"] for line in said if line["type"] == "stdout"] == ["42\n"]
    assert sandbox.send("POST", "/execute", data=json.dumps({"code": "1", "language": "cobol"})).status_code == 400
    assert sandbox.send("POST", "/execute", data=json.dumps({"code": "1", "context_id": "x"})).status_code == 404
    (context,) = sandbox.send("GET", "/contexts").json()
    sandbox.run("x = 1")
    assert sandbox.send("POST", f"/contexts/{context['id']}/restart").status_code == 200
    assert "error" in kinds(sandbox.run("x", context_id=context["id"]))
    assert sandbox.send("POST", "/contexts", data="{}").status_code == 501


def test_files(sandbox):
    one = sandbox.send("POST", "/files?path=/home/user/d/a.txt", files={"file": ("ignored", "héllo".encode())})
    assert one.json() == [{"name": "a.txt", "type": "file", "path": "/home/user/d/a.txt"}]
    two = sandbox.send("POST", "/files", files=[("file", ("/home/user/b", b"1")), ("file", ("e/c", b"\r\n--x"))])
    assert [each["path"] for each in two.json()] == ["/home/user/b", "/home/user/e/c"]
    assert sandbox.send("GET", "/files?path=d/a.txt").content.decode() == "héllo"
    assert sandbox.send("GET", "/files?path=/work/e/c").content == b"\r\n--x"
    gone = sandbox.send("GET", "/files?path=/home/user/none")
    assert gone.status_code == 404 and gone.json()["message"]
    for path in ("/etc/passwd", "../../x", "/home/user/../../etc/passwd"):
        assert sandbox.send("GET", "/files", params={"path": path}).status_code == 404
    assert [line["text"] for line in sandbox.run("open('/home/user/d/a.txt').read()") if line["type"] == "result"] == ["héllo"]


@pytest.mark.parametrize(
    "kind, body",
    [
        ("text/plain", b"x"),
        ("multipart/form-data", b"x"),
        ("multipart/form-data; boundary=b", b"no such"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\nabc"),
        ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data\r\n\r\nabc\r\n--b--"),
    ],
)
def test_a_form_that_is_none(sandbox, kind, body):
    answer = sandbox.send("POST", "/files", data=body, headers={"Content-Type": kind})
    assert answer.status_code in (400, 415) and answer.json()["message"]


def test_directories(sandbox):
    assert sandbox.call("MakeDir", path="a/b").json()["entry"]["type"] == "FILE_TYPE_DIRECTORY"
    again = sandbox.call("MakeDir", path="a/b")
    assert again.status_code == 409 and again.json()["code"] == "already_exists"
    sandbox.send("POST", "/files?path=a/b/c.txt", files={"file": ("c", b"12345")})
    entry = sandbox.call("Stat", path="/home/user/a/b/c.txt").json()["entry"]
    assert entry["size"] == "5" and entry["permissions"].startswith("-rw") and entry["path"] == "/home/user/a/b/c.txt"
    assert [one["path"] for one in sandbox.call("ListDir", path="/home/user", depth=3).json()["entries"]] == [
        "/home/user/a",
        "/home/user/a/b",
        "/home/user/a/b/c.txt",
    ]
    assert sandbox.call("Move", source="a/b/c.txt", destination="d.txt").json()["entry"]["name"] == "d.txt"
    assert sandbox.call("Remove", path="d.txt").status_code == 200
    missing = sandbox.call("Stat", path="d.txt")
    assert missing.status_code == 404 and missing.json()["code"] == "not_found"
    sandbox.run("import os; os.symlink('/etc', 'way')")
    assert sandbox.call("ListDir", path="way").status_code in (403, 404)


def test_commands(sandbox):
    message = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "echo out; echo err >&2; exit 3"]}}).encode()
    body = b"\0" + struct.pack(">I", len(message)) + message
    answer = sandbox.send("POST", "/process.Process/Start", data=body, headers={"Content-Type": "application/connect+json"})
    frames, at = [], 0
    while at < len(answer.content):
        flags, length = struct.unpack(">BI", answer.content[at : at + 5])
        frames.append((flags, json.loads(answer.content[at + 5 : at + 5 + length])))
        at += 5 + length
    events = [list(frame["event"].items())[0] for flags, frame in frames if flags == 0]
    assert events[0][0] == "start" and events[-1] == ("end", {"exitCode": 3, "exited": True, "status": "exit status 3"})
    data = {"stdout": b"", "stderr": b""}
    for kind, each in events:
        for name, text in each.items() if kind == "data" else ():
            data[name] += base64.b64decode(text)
    assert data == {"stdout": b"out\n", "stderr": b"err\n"}
    assert frames[-1] == (2, {})
    broken = sandbox.send("POST", "/process.Process/Start", data=b"\0\0\0\0\x09{}")
    assert broken.status_code == 400 and broken.json()["code"] == "invalid_argument"


@pytest.mark.parametrize("method, path", [("GET", "/sandboxes/x/metrics"), ("POST", "/sandboxes/x/pause"), ("PUT", "/sandboxes/x/network")])
def test_what_is_not_offered_says_so(service, method, path):
    answer = service.request(method, "/e2b" + path)
    assert answer.status_code == 501 and answer.json()["code"] == 501 and "README" in answer.json()["message"]
