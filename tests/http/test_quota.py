"""How much a token may take: 429 with how long to wait, and nothing is run."""

import concurrent.futures
import contextlib
import sqlite3

import pytest
import requests

from tests.access import Client, token
from tests.instance import JSON, Instance, wait_for

COLD = {"kernels.warm": "off", "kernels.spares": "0"}
UNTIL_GO = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"


@pytest.fixture(scope="module")
def limited():
    with Instance(COLD) as instance:
        instance.root = Client(instance, token(instance, "add", "root", "--scopes", "admin"))
        yield instance


def add(instance, name, *limits):
    options = [word for limit in limits for word in ("--limit", limit)]
    return Client(instance, token(instance, "add", name, *options))


def refused(response, *words):
    assert response.status_code == 429, response.text
    problem = response.json()
    assert problem["type"] == "urn:cellpost:problem:busy"
    for word in words:
        assert word in problem["detail"]
    return int(response.headers["Retry-After"])


def go(client, task):
    client.request("PUT", f"/v1/tasks/{task}/files/go", data=b"")


def test_runs_at_once(limited):
    client = add(limited, "few-runs", "runs=1")
    first = client.send("few-1", UNTIL_GO, wait=False)
    assert first.status_code == 202
    assert refused(client.send("few-1", "1"), "1 runs") == 1
    assert refused(client.send("few-2", "1"), "1 runs") == 1
    other = add(limited, "other-runs", "runs=1")
    assert other.send("few-3", "1").status_code == 200
    go(client, "few-1")
    wait_for(lambda: client.get(f"/v1/runs/{first.json()['run']}").json()["status"] == "ok", "the end of the run")
    assert wait_for(lambda: client.send("few-1", "1").status_code == 200, "a run within the quota")
    assert [client.send("few-1", str(number)).status_code for number in range(5)] == [200] * 5
    assert client.get("/v1/session").json()["limits"] == {"runs": 1}


def test_runs_a_minute(limited):
    client = add(limited, "slow", "runs_per_minute=3")
    assert [client.send("slow-1", "1").status_code for _ in range(3)] == [200] * 3
    assert 15 <= refused(client.send("slow-1", "1"), "3 runs a minute") <= 21
    assert client.get("/v1/tasks/slow-1").json()["runs"] == 3


def test_kernels_at_once(limited):
    client = add(limited, "small", "kernels=1")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: client.send(f"small-{number}", "1").status_code, range(4)))
    assert sorted(answers) == [200, 429, 429, 429]
    kept = f"small-{answers.index(200)}"
    assert client.send(kept, "1").status_code == 200
    refused(client.send("small-x", "1"), "1 kernels", "delete a task")
    client.request("DELETE", f"/v1/tasks/{kept}?purge=1")
    assert client.send("small-x", "1").status_code == 200


def test_the_protocol_of_models_keeps_to_it(limited):
    client = add(limited, "model", "runs_per_minute=1")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "execute", "arguments": {"task": "m-1", "code": "1"}}}
    texts = [client.request("POST", "/mcp", headers=JSON, json=message).text for _ in range(2)]
    assert "1 runs a minute" not in texts[0] and "1 runs a minute" in texts[1]


def test_who_tries_tokens_has_to_wait(limited):
    client = add(limited, "patient")
    wrong = Client(limited, "cp_" + "0" * 38)
    answers = [wrong.get("/v1/tasks") for _ in range(25)]
    assert answers[0].status_code == 401
    assert refused(answers[-1], "this address") > 0
    login = requests.post(limited.url + "/v1/session", json={"token": "cp_x"}, timeout=10)
    assert login.status_code == 429
    assert client.get("/v1/tasks").status_code == 200, "a good token is not held up"


def test_bytes_of_files(limited):
    client = add(limited, "narrow", "file_bytes=100000")
    assert client.put("narrow-1").status_code == client.put("narrow-2").status_code == 201

    def upload(task, name, length):
        return client.request("PUT", f"/v1/tasks/{task}/files/{name}", data=b"x" * length)

    assert upload("narrow-1", "a", 60000).status_code == 201
    response = upload("narrow-2", "b", 60000)
    assert response.status_code == 507 and "file_bytes" in response.json()["detail"]
    assert upload("narrow-2", "b", 20000).status_code == 201
    client.request("DELETE", "/v1/tasks/narrow-1/files/a")
    assert upload("narrow-2", "c", 60000).status_code == 201
    with contextlib.closing(sqlite3.connect(limited.database)) as database:
        rows = database.execute(
            "select kind, caller, token, address, content ->> 'path', content ->> 'bytes' from journal_by_time"
            " where task = 'narrow-1' and kind like 'file.%' order by at"
        ).fetchall()
    assert rows == [("file.put", "narrow", "narrow", "127.0.0.1", "a", 60000), ("file.deleted", "narrow", "narrow", "127.0.0.1", "a", None)]
