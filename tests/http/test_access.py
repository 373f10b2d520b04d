"""Who may do what: every operation of the OpenAPI document and every static route
is walked without a token, with that of somebody else, and with each scope."""

import concurrent.futures
import json
import re
import time

import pytest
import requests

from tests.access import Client, token
from tests.http import test_mcp as mcp
from tests.instance import JSON, Instance, wait_for
from tests.http.test_openapi import DOCUMENT, OPERATIONS

TASK = "hidden-task"
MARK = "hidden_word"
SCOPES = ("read", "run", "packages", "admin")
COLD = {"kernels.warm": "off", "kernels.spares": "0"}


class Guarded:
    """An instance where tokens are needed, with one task of "owner"."""

    def __init__(self, instance):
        self.instance = instance
        self.secrets = {}
        self.nobody = Client(instance)
        self.owner = self.add("owner", "--scopes", "read,run")
        self.root = self.add("root", "--scopes", "admin")
        self.own = self.add("stranger")
        self.glob = self.add("neighbour", "--tasks", "other-*", "--scopes", "read,run,packages")
        answer = self.owner.send(TASK, f"{MARK} = 1; print('{MARK}'); open('f.txt', 'w').write('{MARK}')", section=MARK)
        assert answer.status_code == 200, answer.text
        self.run = answer.json()["run"]

    def add(self, name, *options):
        secret = token(self.instance, "add", name, *options)
        self.secrets[name] = secret
        return Client(self.instance, secret)


@pytest.fixture(scope="module")
def guarded():
    with Instance(COLD) as instance:
        yield Guarded(instance)


def path_of(path, task, run):
    return path.replace("{task}", task).replace("{run}", run).replace("{path}", "f.txt")


BODIES = {"execute": {"code": "2"}, "logIn": {"token": "cp_x"}, "addCell": {"markdown": "x"}}


def ask(client, method, path, operation, task, run):
    more = {"stream": True}
    if "requestBody" in operation:
        kinds = operation["requestBody"]["content"]
        more["headers"] = JSON if "application/json" in kinds else {}
        more["data"] = json.dumps(BODIES.get(operation["operationId"], {})) if "application/json" in kinds else b"x"
    with client.request(method, path_of(path, task, run), **more) as response:
        if response.headers["Content-Type"].startswith("text/event-stream"):
            text = ""
            for piece in response.iter_content(None, decode_unicode=True):
                text += piece
                if "event: state" in text and text.endswith("\n\n"):
                    break
        else:
            text = response.text
        return response, text


def is_open(operation):
    return operation["security"] == []


def scope_of(operation):
    """None: any token will do."""
    roles = operation["security"][0]["token"]
    return roles[0] if roles else None


def walk(test):
    return pytest.mark.parametrize(
        "method, path, operation", OPERATIONS, ids=[operation["operationId"] for _, _, operation in OPERATIONS]
    )(test)


@walk
def test_without_a_token_nothing_is_told(guarded, method, path, operation):
    response, text = ask(guarded.nobody, method, path, operation, TASK, guarded.run)
    if operation["operationId"] == "logIn" or not is_open(operation):
        assert response.status_code == 401, text
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="cellpost"'
        assert response.headers["Content-Type"] == "application/problem+json"
    assert TASK not in text and MARK not in text


# They make the task when it is missing: then its name is what may not be used.
MAKERS = ("execute", "putTask", "putFile", "unpackArchive", "unpackArchiveIntoFolder")


def plain(text, task, run):
    """An answer without what two requests have not in common."""
    text = text.replace(task, "TASK").replace(run, "RUN")
    return re.sub(r'"(request|instance|at|position)":("[^"]*"|\d+)|id: \d+', "", text)


@walk
@pytest.mark.parametrize("who", ["own", "glob"])
def test_a_foreign_task_is_told_as_a_missing_one(guarded, who, method, path, operation):
    client = getattr(guarded, who)
    missing = "00000000-0000-7000-8000-000000000000"
    response, text = ask(client, method, path, operation, TASK, guarded.run)
    assert MARK not in text and guarded.run not in text and '"owner"' not in text
    if "{" in path and not path.startswith("/e2b/"):
        assert response.status_code == (403 if operation["operationId"] in MAKERS else 404), text
        if response.status_code == 404 or who == "glob":
            other, told = ask(client, method, path, operation, "no-such-task", missing)
            assert other.status_code == response.status_code
            assert plain(text, TASK, guarded.run) == plain(told, "no-such-task", missing)
    else:
        assert TASK not in text
    assert guarded.owner.get(f"/v1/tasks/{TASK}").json()["runs"] == 1


@pytest.mark.parametrize("scope", SCOPES)
@walk
def test_a_scope_is_for_its_operations_alone(guarded, method, path, operation, scope):
    name = f"only-{scope}"
    client = Client(guarded.instance, guarded.secrets[name]) if name in guarded.secrets else guarded.add(
        name, "--scopes", scope, "--tasks", "x-*"
    )
    response, text = ask(client, method, path, operation, "x-1", guarded.run)
    wanted = None if is_open(operation) else scope_of(operation)
    if wanted not in (None, scope) and scope != "admin" and path.startswith("/tasks/"):
        assert response.status_code == 404, "as of a file that is not there"
    elif wanted not in (None, scope) and scope != "admin":
        assert response.status_code == 403, text
        assert json.loads(text)["scope"] == wanted
        assert f'error="insufficient_scope", scope="{wanted}"' in response.headers["WWW-Authenticate"]
    elif operation["operationId"] != "logIn":
        assert response.status_code not in (401, 403), text
    if scope == "admin" and method == "DELETE" and path == "/v1/tasks/{task}":
        client.request("DELETE", "/v1/tasks/x-1?purge=1")


@pytest.mark.parametrize(
    "query", ["task=hidden-task", "before=RUN", "text=hidden", "status=ok", "since=2020-01-01", "error=x", "limit=1"]
)
@pytest.mark.parametrize("who", ["own", "glob"])
def test_no_query_finds_a_foreign_run(guarded, who, query):
    for path in ("/v1/runs", "/v1/runs.csv", "/v1/hours"):
        if path == "/v1/hours" and not query.startswith(("task", "since")):
            continue
        text = getattr(guarded, who).get(f"{path}?{query.replace('RUN', guarded.run)}").text
        assert MARK not in text and guarded.run not in text and "owner" not in text
        assert '"runs":1' not in text
    whole = guarded.owner.get("/v1/hours?since=2020-01-01").json()
    assert sum(hour["runs"] for hour in whole["hours"]) == 1


STATIC = ("notebook.ipynb", "files/", "files/f.txt", "artifacts/00.png")


@pytest.mark.parametrize("name", STATIC)
def test_files_are_for_those_who_may_read_the_task(guarded, name):
    path = f"/tasks/{TASK}/{name}"
    refused = guarded.nobody.get(path)
    assert refused.status_code == 401 and refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert refused.json()["type"] == "urn:cellpost:problem:unauthenticated"
    runner = guarded.add(f"runner{STATIC.index(name)}", "--scopes", "run", "--tasks", "*")
    for client in (guarded.own, guarded.glob, runner):
        response = client.get(path)
        assert response.status_code == 404
        missing = client.get(f"/tasks/missing/{name}")
        assert plain(response.text, TASK, "?") == plain(missing.text, "missing", "?")
    if name != "artifacts/00.png":
        for client in (guarded.owner, guarded.root):
            assert client.get(path).status_code == 200
    bad = Client(guarded.instance, guarded.secrets["owner"][:-1] + "!")
    assert bad.get(path).status_code == 401


def test_the_list_of_all_tasks_is_for_administrators(guarded):
    assert guarded.nobody.get("/tasks/").status_code == 401
    assert guarded.owner.get("/tasks/").status_code == 404
    assert TASK in guarded.root.get("/tasks/").text


@pytest.mark.parametrize(
    "path",
    [
        "/tasks/other-1/../hidden-task/files/f.txt",
        "/tasks/other-1/%2e%2e/hidden-task/files/f.txt",
        "/tasks/other-1%2f..%2fhidden-task/files/f.txt",
        "/tasks//hidden-task/files/f.txt",
        "//tasks/hidden-task/files/f.txt",
        "/./tasks/hidden-task/files/f.txt",
        "/x/../tasks/hidden-task/files/f.txt",
        "/%74asks/hidden-task/files/f.txt",
        "/tasks/%68idden-task/files/f.txt",
        "/tasks/hidden-task/files/f.txt?/tasks/other-1/",
        "/tasks/other-1/..;/hidden-task/files/f.txt",
        "/tasks/hidden-task/files/f.txt#/tasks/other-1/",
        "/tasks/other-1#/../hidden-task/files/f.txt",
        "/internal/access",
        "/.access",
        "/.link",
    ],
)
def test_no_spelling_of_an_address_leads_around_the_question(guarded, path):
    """As a client writes it, without what libraries make of it."""
    import socket

    with socket.create_connection(("127.0.0.1", guarded.instance.port), timeout=10) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Authorization: Bearer {guarded.secrets['neighbour']}\r\nOriginal-Uri: /tasks/other-1/\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert b" 200 " not in answer.split(b"\r\n")[0]
    assert MARK.encode() not in answer


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Authorization": "Bearer {}"}, 200),
        ({"Authorization": "bearer  {}"}, 200),
        ({"Authorization": "token {}"}, 200),
        ({"X-API-Key": "{}"}, 200),
        ({"Authorization": "{}"}, 401),
        ({"Authorization": "Basic {}"}, 401),
        ({"Authorization": "Bearer {}x"}, 401),
        ({"Authorization": "Bearer x", "X-API-Key": "{}"}, 401),
        ({"Cookie": "cellpost={}"}, 401),
    ],
)
def test_how_a_token_is_shown(guarded, headers, status):
    filled = {name: value.format(guarded.secrets["owner"]) for name, value in headers.items()}
    response = requests.get(guarded.instance.url + "/v1/session", headers=filled, timeout=10)
    assert response.status_code == status


def test_a_token_in_a_query_is_none(guarded):
    """Which would stand in the logs: this one is nobody else's."""
    careless = token(guarded.instance, "add", "careless")
    for name in ("token", "access_token", "api_key"):
        assert guarded.nobody.get(f"/v1/tasks?{name}={careless}").status_code == 401


def test_a_token_that_is_not_taken_says_why(guarded):
    def fault(client):
        response = client.get("/v1/tasks")
        assert response.status_code == 401
        assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
        return response.json()["detail"]

    brief = guarded.add("brief", "--expires", "1s")
    gone = guarded.add("gone")
    assert gone.get("/v1/tasks").status_code == 200
    token(guarded.instance, "revoke", "gone")
    unknown = "cp_" + "0" * 32
    assert "not a whole" in fault(Client(guarded.instance, unknown + "000000"))
    assert fault(gone) == "there is no such token"
    wait_for(lambda: brief.get("/v1/tasks").status_code == 401, "the end of a token")
    assert fault(brief) == "this token has expired"


def test_a_rotated_token_has_two_texts_for_a_while(guarded):
    first = guarded.add("turning")
    second = Client(guarded.instance, token(guarded.instance, "rotate", "turning", "--grace", "1h"))
    assert first.get("/v1/session").json()["name"] == second.get("/v1/session").json()["name"] == "turning"
    third = Client(guarded.instance, token(guarded.instance, "rotate", "turning"))
    assert [client.get("/v1/session").status_code for client in (first, second, third)] == [401, 401, 200]


def log_in(guarded, name, **more):
    return requests.post(
        guarded.instance.url + "/v1/session", json={"token": guarded.secrets[name]}, timeout=10, **more
    )


def test_a_browser_logs_in_and_out(guarded):
    opened = log_in(guarded, "owner")
    assert opened.status_code == 201 and opened.json()["name"] == "owner"
    cookie = opened.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Secure" not in cookie
    secure = log_in(guarded, "owner", headers={"Origin": "https://localhost", "Host": "localhost"})
    assert secure.headers["Set-Cookie"].startswith("__Host-cellpost=") and "; Secure" in secure.headers["Set-Cookie"]
    with requests.Session() as browser:
        browser.cookies.update(opened.cookies)
        assert browser.get(guarded.instance.url + "/v1/session", timeout=10).json()["by"] == "session"
        assert browser.get(guarded.instance.url + f"/v1/tasks/{TASK}", timeout=10).status_code == 200
        assert browser.get(guarded.instance.url + f"/tasks/{TASK}/notebook.ipynb", timeout=10).status_code == 200
        foreign = browser.post(
            guarded.instance.url + f"/v1/tasks/{TASK}/interrupt", headers={"Origin": "http://evil.example"}, timeout=10
        )
        assert foreign.status_code == 403
        closed = browser.delete(guarded.instance.url + "/v1/session", timeout=10)
        assert closed.json() == {"closed": True} and "Max-Age=0" in closed.headers["Set-Cookie"]
    again = requests.get(guarded.instance.url + "/v1/session", cookies=opened.cookies, timeout=10)
    assert again.status_code == 401


def test_a_session_ends_with_its_token(guarded):
    guarded.add("leaving")
    opened = log_in(guarded, "leaving")
    token(guarded.instance, "rotate", "leaving")
    assert requests.get(guarded.instance.url + "/v1/session", cookies=opened.cookies, timeout=10).status_code == 401


def test_the_feed_of_all_tasks_has_those_one_may_see(guarded):
    """Two tenants work at once; each sees its own."""
    guarded.add("left", "--tasks", "left-*")
    guarded.add("right", "--tasks", "own")
    names = {"left": "left-1", "right": "right-1"}

    def watch(name, end):
        text = ""
        client = Client(guarded.instance, guarded.secrets[name])
        with client.get("/v1/events", stream=True) as response:
            for piece in response.iter_content(None, decode_unicode=True):
                text += piece
                if end in text:
                    return text
        return text

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        feeds = {name: pool.submit(watch, name, f"end_of_{name}") for name in names}
        root = pool.submit(watch, "root", "end_of_right")
        time.sleep(0.3)  # a watcher begins with a state that tells nothing of when it came
        runs = [
            pool.submit(Client(guarded.instance, guarded.secrets[name]).send, names[name], f"print('end_of_{name}')")
            for name in ("left", "right")
        ]
        assert [run.result().status_code for run in runs] == [200, 200]
        texts = {name: feed.result() for name, feed in feeds.items()}
        root.result()
    assert "right" not in texts["left"] and "left" not in texts["right"]
    for text in texts.values():
        assert TASK not in text and MARK not in text


def test_a_feed_ends_with_its_token(guarded):
    watcher = guarded.add("watcher", "--tasks", "watched-*")
    with watcher.get("/v1/events", stream=True) as response:
        pieces = response.iter_content(None, decode_unicode=True)
        assert "event: state" in next(pieces) + next(pieces, "")
        token(guarded.instance, "revoke", "watcher")
        for _ in pieces:  # keepalives, until it ends
            pass


def test_two_tenants_at_once_see_nothing_of_each_other(guarded):
    tenants = {name: guarded.add(name, "--tasks", "own") for name in ("north", "south")}

    def work(name):
        client, texts = tenants[name], []
        task = f"task-of-{name}"
        for number in range(5):
            texts.append(client.send(task, f"print('{name}', {number})").text)
            for path in ("/v1/tasks", "/v1/runs", "/v1/runs.csv", "/v1/hours", f"/v1/tasks/{task}/sections",
                         f"/v1/tasks/{task}/files", f"/tasks/{task}/notebook.ipynb"):  # fmt: skip
                texts.append(client.get(path).text)
            other = "south" if name == "north" else "north"
            for path in (f"/v1/tasks/task-of-{other}", f"/tasks/task-of-{other}/notebook.ipynb"):
                refused = client.get(path)
                assert refused.status_code == 404
                texts.append(refused.text)
        return "".join(texts)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        told = dict(zip(tenants, pool.map(work, tenants)))
    assert "south" not in told["north"] and "north" not in told["south"]
    assert "task-of-north" in told["north"]


def test_the_history_names_the_token(guarded):
    row = guarded.root.get(f"/v1/runs/{guarded.run}/request").json()
    assert (row["caller"], row["address"]) == ("owner", "127.0.0.1")
    import contextlib
    import sqlite3

    with contextlib.closing(sqlite3.connect(guarded.instance.database)) as database:
        rows = database.execute(
            "select caller, token, address from journal_by_time where kind = 'task.created' and task = ?", (TASK,)
        ).fetchall()
    assert rows == [("owner", "owner", "127.0.0.1")]


def test_a_token_stands_in_no_log_and_no_database(guarded):
    places = [guarded.instance.state / "log", guarded.instance.state / "lib"]
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    assert len(files) > 5
    for file in files:
        content = file.read_bytes()
        for secret in guarded.secrets.values():
            assert secret.encode() not in content, file


def test_files_can_be_read_while_the_application_is_stopped(make_instance):
    instance = make_instance()
    guarded = Guarded(instance)
    path = f"/tasks/{TASK}/notebook.ipynb"
    assert guarded.owner.get(path).status_code == 200
    instance.kill("app")
    assert guarded.owner.get(path).status_code == 200, "by those who looked lately"
    for client in (guarded.nobody, guarded.own):
        response = client.get(path)
        assert response.status_code == 503 and response.json()["type"] == "urn:cellpost:problem:unavailable"


def test_a_web_server_in_front_names_the_caller(make_instance):
    instance = make_instance({"auth.trusted_header": "X-Remote-User", "auth.trusted_addresses": "127.0.0.0/8"})
    named = {"X-Remote-User": "anna"}
    answer = instance.get("/v1/session", headers=named).json()
    assert (answer["name"], answer["by"]) == ("anna", "web server")
    token(instance, "add", "anna", "--scopes", "read")
    assert instance.get("/v1/session", headers=named).json()["scopes"] == ["read"]
    assert instance.get("/v1/session", headers={"X-Remote-User": "bert"}).status_code == 401
    assert instance.get("/v1/session").status_code == 401
    assert instance.send("t", "1", headers=named).status_code == 403
    elsewhere = make_instance({"auth.trusted_header": "X-Remote-User", "auth.trusted_addresses": "10.0.0.0/8"})
    assert elsewhere.get("/v1/session", headers=named).json()["name"] == "anonymous"


def test_required_says_whether_anybody_is_asked(make_instance):
    instance = make_instance({"auth.required": "on"})
    assert instance.get("/v1/tasks").status_code == 401
    assert instance.get("/tasks/").status_code == 401
    token(instance, "add", "root", "--scopes", "admin")
    instance.settings = {"auth.required": "off"}
    instance.up()
    assert instance.get("/v1/tasks").status_code == 200
    assert instance.get("/tasks/").status_code == 200


class Mcp:
    """Tools and resources for somebody with a token."""

    def __init__(self, client):
        self.client = mcp.Client(client)

    def call(self, tool, **arguments):
        return self.client.result("tools/call", {"name": tool, "arguments": arguments})


TOOLS = {"execute": {"code": "1"}, "files": {}, "read_file": {"path": "f.txt"}, "write_file": {"path": "f.txt", "text": "x"},
         "restart": {}, "interrupt": {}}  # fmt: skip


def test_the_protocol_of_models_asks_the_same(guarded):
    owner, stranger = Mcp(guarded.owner), Mcp(guarded.own)
    assert MARK in json.dumps(owner.call("read_file", task=TASK, path="f.txt"))
    assert MARK in json.dumps(owner.call("result", run=guarded.run))
    for tool, arguments in TOOLS.items():
        answer = stranger.call(tool, task=TASK, **arguments)
        assert answer["isError"] and MARK not in json.dumps(answer), tool
        if tool not in ("execute", "write_file"):
            missing = stranger.call(tool, task="no-such-task", **arguments)
            assert json.dumps(answer).replace(TASK, "no-such-task") == json.dumps(missing), tool
    assert stranger.call("result", run=guarded.run)["isError"]
    assert TASK not in json.dumps(stranger.client.result("resources/list"))
    assert TASK in json.dumps(owner.client.result("resources/list"))
    uri = f"cellpost://tasks/{TASK}/files/f.txt"
    assert MARK in json.dumps(owner.client.result("resources/read", {"uri": uri}))
    assert MARK not in stranger.client.send("resources/read", {"uri": uri}).text
    nobody = mcp.Client(guarded.nobody).send("tools/list")
    assert nobody.status_code == 401 and nobody.headers["WWW-Authenticate"] == 'Bearer realm="cellpost"'
    reader = Mcp(guarded.add("model-reader", "--scopes", "read", "--tasks", "*"))
    assert 'lacks the scope \\"run\\"' in json.dumps(reader.call("execute", task="m-1", code="1"))
    assert MARK in json.dumps(reader.call("read_file", task=TASK, path="f.txt"))


class Box:
    """A sandbox as E2B's SDKs use it: the key for the control plane, what it gave
    for the rest."""

    def __init__(self, guarded, name):
        self.instance, self.key = guarded.instance, {"X-API-KEY": guarded.secrets[name]}
        made = self.control("POST", "/v2/sandboxes", {"templateID": "x"})
        assert made.status_code == 201, made.text
        self.id, self.secret = made.json()["sandboxID"], made.json()["envdAccessToken"]

    def control(self, method, path, body=None):
        return self.instance.request(method, "/e2b" + path, data=json.dumps(body), headers=JSON | self.key)

    def run(self, secret, code="6 * 7"):
        headers = JSON | {"E2b-Sandbox-Id": self.id} | ({"X-Access-Token": secret} if secret else {})
        return self.instance.request("POST", "/e2b/execute", data=json.dumps({"code": code}), headers=headers)


def test_no_answer_of_the_cache_is_for_another_one(guarded):
    """What is not in the cache's key does not speak for anybody."""
    path = f"/tasks/{TASK}/files/f.txt"
    for name in ("X-Access-Token", "E2B-Traffic-Access-Token"):
        assert guarded.nobody.get(path, headers={name: guarded.secrets["owner"]}).status_code == 401
        assert guarded.nobody.get(f"/v1/tasks/{TASK}", headers={name: guarded.secrets["owner"]}).status_code == 401
    assert guarded.owner.get(path).status_code == 200
    assert guarded.nobody.get(path).status_code == 401
    assert guarded.own.get(path).status_code == 404


def test_a_page_of_sandboxes_tells_nothing_of_others(guarded):
    boxes = [Box(guarded, name) for name in ("owner", "stranger", "owner", "stranger", "stranger")]
    mine = sorted(box.id for box in boxes[1::2] + boxes[4:])
    seen, token = [], None
    while True:
        page = boxes[1].control("GET", "/v2/sandboxes?limit=1" + (f"&nextToken={token}" if token else ""))
        seen += [box["sandboxID"] for box in page.json()]
        token = page.headers.get("X-Next-Token")
        assert token is None or token in mine
        if token is None:
            break
    assert seen == mine
    for box in boxes:
        box.control("DELETE", f"/sandboxes/{box.id}")


def test_a_sandbox_is_its_owners(guarded):
    mine, other = Box(guarded, "owner"), Box(guarded, "stranger")
    assert "42" in mine.run(mine.secret).text
    assert mine.run(None).status_code == 401
    assert mine.run(other.secret).status_code == 502  # as of one that has ended
    assert other.control("GET", f"/sandboxes/{mine.id}").status_code == 404
    assert other.control("DELETE", f"/sandboxes/{mine.id}").status_code == 404
    assert [box["sandboxID"] for box in other.control("GET", "/v2/sandboxes").json()] == [other.id]
    for box in (mine, other):
        assert box.control("DELETE", f"/sandboxes/{box.id}").status_code == 204
