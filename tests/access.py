"""Tokens of an instance, and requests with them."""

import json
import subprocess

import requests

from tests.instance import JSON, LIMIT


def token(instance, *words):
    """What `cellpost token …` prints."""
    done = subprocess.run(
        [instance.state / "bin" / "cellpost", "-c", instance.conf, "token", *words], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Client:
    """Somebody with a token (None: without)."""

    def __init__(self, instance, secret=None):
        self.instance = instance
        self.secret = secret
        self.headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def request(self, method, path, headers=None, **more):
        more.setdefault("timeout", LIMIT)
        return requests.request(method, self.instance.url + path, headers=self.headers | (headers or {}), **more)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def send(self, task, code, **fields):
        return self.request(
            "POST", f"/v1/tasks/{task}/execute", headers=JSON, data=json.dumps({"code": code} | fields)
        )

    def put(self, task, **settings):
        return self.request("PUT", f"/v1/tasks/{task}", headers=JSON, data=json.dumps(settings))
