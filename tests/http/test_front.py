"""A web server with TLS in front: tools/deploy/front.conf as it stands, but for
names and places."""

import re
import socket
import subprocess

import pytest
import requests
from requests.adapters import HTTPAdapter

from tests.access import token
from tests.instance import JSON, ROOT, Instance, free_port, wait_for

SETTINGS = {
    "kernels.warm": "off",
    "kernels.spares": "0",
    "server.hosts": "localhost 127.0.0.1",
    "auth.proxies": "127.0.0.1",
}


class From(HTTPAdapter):
    """Connections from an address of one's own."""

    def init_poolmanager(self, *arguments, **more):
        super().init_poolmanager(*arguments, source_address=("127.0.0.2", 0), **more)


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    place = tmp_path_factory.mktemp("front")
    port = free_port()
    with Instance(SETTINGS) as instance:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", place / "key", "-out", place / "pem"],
            check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        site = (ROOT / "tools" / "deploy" / "front.conf").read_text()
        for pattern, value in (
            (r"listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            (r"server_name tool\.example", "server_name localhost"),
            (r"/etc/ssl/certs/tool\.example\.pem", str(place / "pem")),
            (r"/etc/ssl/private/tool\.example\.key", str(place / "key")),
            (r"http://127\.0\.0\.1:8080", instance.url),
        ):
            site, count = re.subn(pattern, value, site)
            assert count == 1, pattern
        temporary = " ".join(f"{kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (place / "nginx.conf").write_text(
            f"daemon off; pid {place}/pid; error_log {place}/error.log; events {{}}\n"
            f"http {{ access_log off; {temporary}\n{site}\n}}\n"
        )
        process = subprocess.Popen(["nginx", "-p", place, "-e", place / "error.log", "-c", place / "nginx.conf"])
        try:
            wait_for(lambda: answers(port), "the web server in front")
            instance.front = f"https://localhost:{port}"
            instance.browser = requests.Session()
            instance.browser.trust_env = False  # no certificates and proxies of the host
            instance.browser.verify = str(place / "pem")
            instance.browser.mount("https://", From())
            instance.secret = token(instance, "add", "anna")
            yield instance
        finally:
            process.terminate()
            process.wait(timeout=20)


def test_a_page_logs_in_and_acts(front):
    origin = {"Origin": front.front}
    opened = front.browser.post(front.front + "/v1/session", json={"token": front.secret}, headers=origin, timeout=20)
    assert opened.status_code == 201, opened.text
    assert opened.headers["Set-Cookie"].startswith("__Host-cellpost=") and "; Secure" in opened.headers["Set-Cookie"]
    ran = front.browser.post(front.front + "/v1/tasks/front-1/execute", json={"code": "6 * 7"}, headers=origin, timeout=60)
    assert ran.status_code == 200 and ran.json()["result"]["text/plain"] == "42"
    assert front.browser.get(front.front + ran.json()["notebook"], timeout=20).status_code == 200
    asked = front.browser.get(f"{front.front}/v1/runs/{ran.json()['run']}/request", timeout=20).json()
    assert (asked["caller"], asked["address"]) == ("anna", "127.0.0.2")
    foreign = front.browser.post(
        front.front + "/v1/tasks/front-1/interrupt", headers={"Origin": "https://evil.example"}, timeout=20
    )
    assert foreign.status_code == 403


def test_a_stream_is_not_held_back(front):
    code = "import os, time\nprint('first', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)"
    headers = {"Authorization": f"Bearer {front.secret}"}
    with front.browser.post(
        front.front + "/v1/tasks/front-2/execute", json={"code": code}, stream=True, timeout=60,
        headers=headers | {"Accept": "application/x-ndjson"},
    ) as response:  # fmt: skip
        for line in response.iter_lines():
            if b"first" in line:
                break
        put = front.browser.put(front.front + "/v1/tasks/front-2/files/go", data=b"", headers=headers | {"Origin": front.front}, timeout=20)
        assert put.status_code == 201, put.text


def test_the_address_is_not_for_everybody_to_choose(front):
    """Past the web server in front, from an address that is not its own."""
    direct = requests.Session()
    direct.mount("http://", From())
    headers = JSON | {"Authorization": f"Bearer {front.secret}", "X-Forwarded-For": "203.0.113.9"}
    ran = direct.post(front.url + "/v1/tasks/front-3/execute", data='{"code": "1"}', headers=headers, timeout=60)
    asked = direct.get(f"{front.url}/v1/runs/{ran.json()['run']}/request", headers=headers, timeout=20).json()
    assert asked["address"] == "127.0.0.2"
