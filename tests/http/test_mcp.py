"""POST /mcp, spoken to by a small client of our own, in both eras."""

import base64
import json
import socket

import pytest

from tests.http.problems import check_problem
from tests.instance import JSON, wait_for

MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"
WAIT_FOR_GO = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('second')"
NAMED = {"tools/call": "name", "resources/read": "uri"}


class Client:
    """`session` None: modern; else legacy, with the id that initialize gave."""

    def __init__(self, service, modern=True):
        self.service, self.modern, self.session, self.number = service, modern, None, 0
        if not modern:
            answer = self.send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
            assert answer.json()["result"]["protocolVersion"] == "2025-06-18"
            self.session = answer.headers["Mcp-Session-Id"]
            assert self.notify("notifications/initialized").status_code == 202

    def headers(self, method, params):
        if not self.modern:
            return {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-06-18"} if self.session else {}
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if method in NAMED:
            headers["Mcp-Name"] = params.get(NAMED[method], "")
        if "task" in params.get("arguments", {}):
            headers["Mcp-Param-Task"] = params["arguments"]["task"]
        return headers

    def message(self, method, params, token=None):
        params = dict(params or {})
        meta = {KEY + "protocolVersion": MODERN, KEY + "clientCapabilities": {}} if self.modern else {}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        self.number += 1
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def send(self, method, params=None, token=None, **more):
        message = self.message(method, params, token)
        headers = JSON | self.headers(method, message["params"])
        return self.service.request("POST", "/mcp", data=json.dumps(message), headers=headers, **more)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return self.service.request("POST", "/mcp", data=json.dumps(message), headers=JSON | self.headers(method, {}))

    def result(self, method, params=None):
        answer = self.send(method, params)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["id"] == self.number and "error" not in body, body
        if self.modern:
            assert body["result"]["resultType"] == "complete"
        return body["result"]

    def call(self, name, **arguments):
        return self.result("tools/call", {"name": name, "arguments": arguments})


@pytest.fixture(params=[True, False], ids=["modern", "legacy"])
def client(service, request):
    return Client(service, request.param)


def text(result):
    return result["content"][0]["text"]


def test_discovery(service):
    found = Client(service).result("server/discover")
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == {"tools": {}, "resources": {}}
    assert found["ttlMs"] >= 0 and found["cacheScope"] == "public"
    assert found["_meta"][KEY + "serverInfo"]["name"] == "cellpost"


def test_the_tools_explain_themselves(client):
    tools = {tool["name"]: tool for tool in client.result("tools/list")["tools"]}
    assert list(tools) == ["execute", "result", "files", "read_file", "write_file", "restart", "interrupt"]
    for tool in tools.values():
        assert tool["description"] and tool["inputSchema"]["additionalProperties"] is False
        for name, schema in tool["inputSchema"]["properties"].items():
            assert schema["description"], name
            assert ("x-mcp-header" in schema) == (name == "task")


def test_a_cell(client, task):
    result = client.call("execute", task=task, code="print('hi')\n6 * 7")
    assert text(result) == "hi\n42" and result["isError"] is False
    brief = result["structuredContent"]
    assert brief["status"] == "ok" and brief["task"] == task and brief["variables"] == "fresh"
    assert result["content"][-1]["uri"] == f"cellpost://tasks/{task}/notebook.ipynb"
    assert client.service.runs(task)[0]["run"] == brief["run"]


def test_a_picture_and_a_file(client, task):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nopen('a.csv', 'w').write('1');"
    result = client.call("execute", task=task, code=code)
    image = next(block for block in result["content"] if block["type"] == "image")
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG") and image["mimeType"] == "image/png"
    links = [block["uri"] for block in result["content"] if block["type"] == "resource_link"]
    assert links == [f"cellpost://tasks/{task}/files/a.csv", f"cellpost://tasks/{task}/notebook.ipynb"]
    assert "base64" not in json.dumps(result["structuredContent"]) and image["data"] not in json.dumps(result["structuredContent"])


def test_a_cell_that_fails(client, task):
    result = client.call("execute", task=task, code="x = 1\n1/0")
    assert result["isError"] is True
    assert "ZeroDivisionError" in text(result) and "line 2" in text(result)
    assert result["structuredContent"]["error"] == "ZeroDivisionError"


def test_files(client, task):
    client.call("execute", task=task, code="1")
    assert text(client.call("files", task=task)) == "The directory is empty."
    assert text(client.call("write_file", task=task, path="d/a.txt", text="héllo")) == "Wrote /work/d/a.txt, 6 bytes."
    assert text(client.call("write_file", task=task, path="b.bin", base64="AAEC")) == "Wrote /work/b.bin, 3 bytes."
    assert text(client.call("files", task=task)).splitlines() == ["b.bin  (application/octet-stream, 3 bytes)", "d/"]
    assert text(client.call("files", task=task, path="d")) == "a.txt  (text/plain, 6 bytes)\n"
    assert text(client.call("read_file", task=task, path="d/a.txt")) == "héllo"
    assert "Read it in a cell" in text(client.call("read_file", task=task, path="b.bin"))
    assert text(client.call("execute", task=task, code="open('d/a.txt').read()")) == "'héllo'"


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("execute", {"task": "../x", "code": "1"}, "no task id"),
        ("execute", {"task": "t"}, '"code"'),
        ("execute", {"task": "t", "code": "1", "tiemout": 3}, "tiemout"),
        ("execute", {"task": "t", "code": 5}, "code"),
        ("execute", {"task": "t", "code": "1", "timeout": 0}, "timeout"),
        ("result", {"run": "x"}, "run"),
        ("result", {"run": "01a2297b-5d3c-7088-9435-33582a6e1f43"}, "01a2297b"),
        ("files", {"task": "no-such-task"}, "no-such-task"),
        ("read_file", {"task": "no-such-task", "path": "a"}, "no-such-task"),
        ("write_file", {"task": "t", "path": "a"}, "text"),
        ("write_file", {"task": "t", "path": "a", "base64": "%"}, "base64"),
    ],
)
def test_what_a_model_gets_wrong_is_a_result_that_says_so(client, name, arguments, said):
    result = client.call(name, **arguments)
    assert result["isError"] is True and said in text(result), text(result)


def test_faults_of_the_protocol(client):
    status = {True: (400, 404), False: (200, 200)}[client.modern]
    unknown = client.send("tools/call", {"name": "no_such_tool", "arguments": {}})
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (status[0], -32602)
    method = client.send("no/such")
    assert (method.status_code, method.json()["error"]["code"]) == (status[1], -32601)
    broken = client.service.request("POST", "/mcp", data="{", headers=JSON)
    assert (broken.status_code, broken.json()["error"]["code"], broken.json()["id"]) == (400, -32700, None)
    batch = client.service.request("POST", "/mcp", data="[]", headers=JSON)
    assert (batch.status_code, batch.json()["error"]["code"]) == (400, -32600)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_only_post(service, method):
    answer = service.request(method, "/mcp")
    check_problem(answer, 405)
    assert answer.headers["Allow"] == "POST"


def test_nothing_is_said_of_authorization_servers(service):
    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        assert service.get(path).status_code == 404


def test_resources(client, task):
    client.call("execute", task=task, code="open('a b.txt', 'w').write('plain text');")
    listed = client.result("resources/list")
    while not any(one["uri"] == f"cellpost://tasks/{task}/notebook.ipynb" for one in listed["resources"]):
        listed = client.result("resources/list", {"cursor": listed["nextCursor"]})
    (notebook,) = client.result("resources/read", {"uri": f"cellpost://tasks/{task}/notebook.ipynb"})["contents"]
    assert json.loads(notebook["text"])["nbformat"] == 4
    (file,) = client.result("resources/read", {"uri": f"cellpost://tasks/{task}/files/a b.txt"})["contents"]
    assert file["text"] == "plain text" and file["mimeType"] == "text/plain"
    assert len(client.result("resources/templates/list")["resourceTemplates"]) == 3


@pytest.mark.parametrize("path", ["{task}/files/no", "{task}/files/../notebook.ipynb", "{task}/files", "no-such/notebook.ipynb", "../x/y"])
def test_a_resource_that_is_not_there(client, task, path):
    client.call("execute", task=task, code="1")
    uri = "cellpost://tasks/" + path.format(task=task)
    error = client.send("resources/read", {"uri": uri}).json()["error"]
    assert error["code"] == (-32602 if client.modern else -32002) and error["data"]["uri"] == uri


def events(response):
    for line in response.iter_lines(chunk_size=1, decode_unicode=True):
        if line.startswith("data: "):
            yield json.loads(line[6:])


def test_progress_comes_as_events(client, task):
    call = {"name": "execute", "arguments": {"task": task, "code": "import time; time.sleep(5.6); 8"}}
    answer = client.send("tools/call", call, token="p", stream=True)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    *progress, last = events(answer)
    assert [one["method"] for one in progress] == ["notifications/progress"]
    assert progress[0]["params"]["progressToken"] == "p" and progress[0]["params"]["progress"] >= 5
    assert last["id"] == client.number and text(last["result"]) == "8"


def test_an_event_stays_below_what_clients_take(client, task):
    code = (
        "import numpy as np, matplotlib.pyplot as plt\n"
        "for i in range(2):\n    plt.imsave('x.png', np.random.rand(700, 700, 3))\n"
        "    from IPython.display import Image, display\n    display(Image('x.png'))"
    )
    call = {"name": "execute", "arguments": {"task": task, "code": code}}
    answer = client.send("tools/call", call, token=1, stream=True)
    (last,) = [one for one in events(answer) if "id" in one]
    assert len(json.dumps(last)) < 1 << 20
    kinds = [block["type"] for block in last["result"]["content"]]
    assert kinds.count("image") + kinds.count("resource_link") >= 3


def test_a_cell_that_goes_on(make_instance):
    with make_instance({"limits.tool_wait": "0.5"}) as instance:
        client = Client(instance)
        result = client.call("execute", task="t", code=WAIT_FOR_GO)
        run = result["structuredContent"]["run"]
        assert result["isError"] is False and f'run "{run}"' in text(result)
        wait_for(lambda: "first" in text(client.call("result", run=run, wait=0)), "the output so far")
        (instance.task_directory("t") / "files" / "go").touch()
        done = client.call("result", run=run, wait=45)
        assert text(done).startswith("first\nsecond\n") and done["structuredContent"]["status"] == "ok"


def test_interrupt_and_restart(client, task):
    accepted = client.service.send(task, "import time\ny = 3\nprint('on', flush=True)\ntime.sleep(600)", wait=False).json()
    wait_for(lambda: client.service.get(accepted["uri"]).json()["stdout"], "the cell's first lines")
    assert "interrupted" in text(client.call("interrupt", task=task))
    assert client.service.wait_run(accepted["run"])["status"] == "interrupted"
    assert text(client.call("execute", task=task, code="y")) == "3"
    assert "variables are gone" in text(client.call("restart", task=task))
    assert "NameError" in text(client.call("execute", task=task, code="y"))
    client.call("execute", task=task, code="z = 5")
    assert "ran again" in text(client.call("restart", task=task, replay=True))
    assert text(client.call("execute", task=task, code="z")) == "5"


def ask_raw(client, task, code):
    """A request on a connection of its own, which the caller holds."""
    message = client.message("tools/call", {"name": "execute", "arguments": {"task": task, "code": code}})
    body = json.dumps(message).encode()
    headers = JSON | client.headers("tools/call", message["params"])
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection = socket.create_connection(("127.0.0.1", client.service.port))
    connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)
    return connection, message["id"]


def running(service, task):
    return next((run["run"] for run in service.runs(task) if run["status"] == "running"), None)


def test_a_modern_client_that_goes_away_ends_its_run(service, task):
    connection, _ = ask_raw(Client(service), task, "import time; time.sleep(600)")
    run = wait_for(lambda: running(service, task), "the run")
    connection.close()
    assert service.wait_run(run)["status"] == "interrupted"


def test_a_legacy_client_that_goes_away_lets_its_run_go_on(service, task):
    connection, _ = ask_raw(Client(service, modern=False), task, WAIT_FOR_GO)
    run = wait_for(lambda: running(service, task), "the run")
    connection.close()
    (service.task_directory(task) / "files" / "go").touch()
    assert service.wait_run(run)["status"] == "ok"


def test_a_legacy_client_cancels_by_its_own_number(service, task):
    client, other = Client(service, modern=False), Client(service, modern=False)
    connection, number = ask_raw(client, task, "import time; time.sleep(600)")
    run = wait_for(lambda: running(service, task), "the run")
    assert other.notify("notifications/cancelled", {"requestId": number}).status_code == 202
    assert client.notify("notifications/cancelled", {"requestId": number + 1}).status_code == 202
    assert running(service, task) == run
    assert client.notify("notifications/cancelled", {"requestId": number}).status_code == 202
    assert service.wait_run(run)["status"] == "interrupted"
    connection.close()
