"""Signed links: good by themselves, for one file, for a while."""

import contextlib
import hashlib
import hmac
import sqlite3
import time

import pytest
import requests

from tests.access import Client, token
from tests.instance import JSON, Instance

COLD = {"kernels.warm": "off", "kernels.spares": "0"}
PLOT = """
import base64
from IPython.display import Image, display
display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==')))
open('a b.txt', 'w').write('linked'); open('other.txt', 'w').write('not linked')
"""


@pytest.fixture(scope="module")
def linked():
    with Instance(COLD) as instance:
        instance.owner = Client(instance, token(instance, "add", "owner"))
        instance.stranger = Client(instance, token(instance, "add", "stranger", "--scopes", "read,run"))
        answer = instance.owner.send("l-1", PLOT, images="signed")
        assert answer.status_code == 200, answer.text
        instance.image = answer.json()["images"][0]
        yield instance


def link(instance, path, client=None, **more):
    response = (client or instance.owner).request("POST", "/v1/tasks/l-1/links", headers=JSON, json={"path": path} | more)
    return response


def get(instance, uri, **more):
    return requests.get(instance.url + uri, timeout=10, **more)


@pytest.mark.parametrize("path", ["notebook.ipynb", "files/a b.txt"])
def test_a_link_needs_no_token(linked, path):
    made = link(linked, path)
    assert made.status_code == 201
    response = get(linked, made.json()["uri"])
    assert response.status_code == 200 and "linked" in response.text
    assert response.headers["Content-Security-Policy"].startswith("sandbox")
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert get(linked, f"/tasks/l-1/{path}").status_code == 401
    assert link(linked, path).json() == made.json(), "the same link for a while"


def test_an_answer_has_signed_images(linked):
    assert linked.image["uri"].startswith("/s/") and linked.image["base64"] is None
    response = get(linked, linked.image["uri"])
    assert response.status_code == 200 and response.content.startswith(b"\x89PNG")
    assert response.headers["Content-Type"] == "image/png"
    with linked.owner.request(
        "POST", "/v1/tasks/l-1/execute", headers=JSON | {"Accept": "application/x-ndjson"}, json={"code": PLOT, "images": "signed"}
    ) as stream:
        assert '"uri":"/s/' in stream.text.splitlines()[-1]


def test_a_link_is_for_its_file_alone(linked):
    uri = link(linked, "files/a b.txt").json()["uri"]
    head, _, path = uri.partition("/tasks/")
    expiry, key, signature = head.removeprefix("/s/").split("/")
    later = f"/s/{'z' + expiry[1:]}/{key}/{signature}/tasks/{path}"
    other = f"{head}/tasks/l-1/files/other.txt"
    key_more = f"/s/{expiry}/{int(key) + 1}/{signature}/tasks/{path}"
    wrong = f"/s/{expiry}/{key}/{'0' * 32}/tasks/{path}"
    climbing = f"{head}/tasks/l-1/files/../files/other.txt"
    for bad in (later, other, key_more, wrong, climbing, "/s/", f"{head}/tasks/l-1/"):
        assert get(linked, bad).status_code == 404, bad
    assert get(linked, uri).status_code == 200


def test_a_link_expires(linked):
    made = link(linked, "notebook.ipynb", expires_in=60).json()
    assert made["expires"] >= time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 60))
    old = "/s/1/1/" + "0" * 32 + "/tasks/l-1/notebook.ipynb"
    assert get(linked, old).status_code == 404
    with contextlib.closing(sqlite3.connect(linked.database)) as database:
        key = database.execute("select id, key from link_keys").fetchone()
    def sign(at):
        digits, number = "", at
        while number:
            digits, number = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36] + digits, number // 36
        text = f"GET\n/tasks/l-1/notebook.ipynb\n{at}"
        signature = hmac.new(key[1].encode(), text.encode(), hashlib.sha256).hexdigest()[:32]
        return f"/s/{digits}/{key[0]}/{signature}/tasks/l-1/notebook.ipynb"

    assert get(linked, sign(int(time.time()) + 100)).status_code == 200
    assert get(linked, sign(int(time.time()) - 1)).status_code == 404


@pytest.mark.parametrize("path", ["", "x", "files/../x", "files/.hidden", "/etc/passwd", "files//x", "artifacts/", "notebook.ipynb/x"])
def test_only_what_is_served_is_linked(linked, path):
    assert link(linked, path).status_code == 422


def test_a_foreign_task_is_not_linked(linked):
    assert link(linked, "notebook.ipynb", client=linked.stranger).status_code == 404
    assert link(linked, "notebook.ipynb", expires_in=10**7).status_code == 422


def test_a_retired_key_ends_its_links(linked):
    uri = link(linked, "notebook.ipynb", expires_in=50000).json()["uri"]
    with contextlib.closing(sqlite3.connect(linked.database, timeout=10)) as database:
        database.execute("update link_keys set retired_at = 1")
        database.commit()
    assert get(linked, uri).status_code == 404
    assert get(linked, link(linked, "files/a b.txt").json()["uri"]).status_code == 200


def test_the_values_of_a_task_are_not_told(linked):
    made = linked.owner.put("l-env", env={"API_KEY": "hush-hush"})
    assert made.json()["settings"]["env"] == {"API_KEY": None}
    assert "hush-hush" not in linked.owner.get("/v1/tasks").text + linked.owner.get("/v1/tasks/l-env").text
    assert linked.owner.put("l-env", env={"API_KEY": "hush-hush"}).status_code == 200
    assert linked.owner.put("l-env", env={"API_KEY": "another"}).status_code == 409
    answer = linked.owner.send("l-env", "import os; print(os.environ['API_KEY'])")
    assert answer.json()["stdout"] == "hush-hush\n"
