"""What nginx serves by itself: notebooks, files, artifacts, pages, the list."""

import json
import os
import signal
import socket
import subprocess

import pytest

from tests.http.problems import check_no_cors, check_problem
from tests.instance import ROOT, alive, wait_for

HOSTILE = {
    "page.html": "<script>parent.postMessage(document.cookie, '*')</script>",
    "picture.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "notes.txt": "plain <b>text</b>",
    "table.csv": "a,b\n1,2\n",
    "script.js": "alert(1)",
    "blob.bin": "\x01\x02",
    "noextension": "<html><script>alert(1)</script></html>",
    "book.ipynb": "{}",
    ".hidden": "secret",
}


@pytest.fixture
def files(service, task):
    """A task whose files a cell has made."""
    code = f"import os\nfor name, text in {HOSTILE!r}.items(): open(name, 'w').write(text)\n"
    code += "os.makedirs('.dir/sub'); open('.dir/sub/x', 'w').write('secret')\n"
    code += "os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'etc'); os.symlink('notes.txt', 'inside')\n"
    code += "os.symlink('/etc/passwd', 'passwd.ipynb'); os.mkfifo('fifo')\n"
    code += "import socket; socket.socket(socket.AF_UNIX).bind('socket')\n"
    assert service.post(task, code)["status"] == "ok"
    return lambda name: service.get(f"/tasks/{task}/files/{name}")


@pytest.mark.parametrize(
    "name, kind",
    [
        ("page.html", "text/html"),
        ("picture.svg", "image/svg+xml"),
        ("notes.txt", "text/plain"),
        ("table.csv", "text/csv"),
        ("script.js", "application/javascript"),
        ("blob.bin", "application/octet-stream"),
        ("noextension", "application/octet-stream"),
        ("book.ipynb", "application/x-ipynb+json"),
    ],
)
def test_files_are_what_their_names_say_and_run_nothing(files, name, kind):
    response = files(name)
    assert response.status_code == 200 and response.text == HOSTILE[name]
    assert response.headers["Content-Type"].split(";")[0] == kind
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    policy = response.headers["Content-Security-Policy"]
    assert policy.split(";")[0] == "sandbox" and "default-src 'none'" in policy
    assert "allow-" not in policy and "script-src" not in policy
    assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    check_no_cors(response)


@pytest.mark.parametrize("name", ["link", "etc/passwd", "inside", "passwd.ipynb"])
def test_links_are_not_followed(files, name):
    response = files(name)
    assert response.status_code in (403, 404) and "root:" not in response.text


@pytest.mark.parametrize("name", [".hidden", ".dir/sub/x", ".dir/", "fifo", "socket", "%2ehidden", "../notebook.ipynb~"])
def test_hidden_names_and_pipes_are_not_served(files, name):
    problem = check_problem(files(name), 404)
    assert problem["type"] == "urn:cellpost:problem:not-found"


def test_a_link_in_place_of_files_is_not_followed(service, task):
    service.put(task)
    directory = service.task_directory(task)
    (directory / "files").rename(directory / "files-before")
    os.symlink("/etc", directory / "files")
    try:
        assert service.get(f"/tasks/{task}/files/passwd").status_code in (403, 404)
    finally:
        os.unlink(directory / "files")
        (directory / "files-before").rename(directory / "files")


def test_only_what_is_meant_for_readers_is_served(service, task):
    service.post(task, "1")
    directory = service.task_directory(task)
    for name in ("other.txt", ".notebook.spare", "notebook.ipynb.bak"):
        (directory / name).write_text("secret")
    for path in ("other.txt", ".notebook.spare", "notebook.ipynb.bak", "", "artifacts/", "../../cellpost.db"):
        response = service.get(f"/tasks/{task}/{path}")
        assert response.status_code in (400, 403, 404), path
    for path in ("/cellpost.db", "/tasks/../cellpost.db", "/tasks/%2e%2e/cellpost.db", "/lib/cellpost.db"):
        assert service.get(path).status_code in (400, 404)


def test_a_notebook_is_served_as_it_stands_now(service, task):
    for number in range(5):
        answer = service.post(task, f"{number}")
        response = service.get(answer["notebook"])
        assert response.headers["Content-Type"] == "application/x-ipynb+json"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "ETag" not in response.headers
        cells = response.json()["cells"]
        assert [cell["execution_count"] for cell in cells] == list(range(1, number + 2))


def test_an_artifact_is_served_with_its_type_for_ever(service, task):
    answer = service.post(task, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    response = service.get(answer["images"][0]["uri"])
    assert response.status_code == 200 and response.content.startswith(b"\x89PNG")
    assert response.headers["Content-Type"] == "image/png"
    assert len(response.content) == answer["images"][0]["bytes"]
    assert "max-age" in response.headers["Cache-Control"]
    assert response.headers["Content-Security-Policy"].startswith("sandbox;")


def test_large_files_come_in_ranges(service, task):
    service.post(task, "open('big', 'wb').write(bytes(range(256)) * 4096)")
    response = service.get(f"/tasks/{task}/files/big", headers={"Range": "bytes=256-511"})
    assert response.status_code == 206 and response.content == bytes(range(256))


def test_nothing_can_be_put_where_files_are_read(service, task):
    service.put(task)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        response = service.request(method, f"/tasks/{task}/files/x", data="x")
        assert response.status_code in (404, 405)


def test_the_list_of_tasks_is_json(service, task):
    service.put(task)
    response = service.get("/tasks/")
    assert response.headers["Content-Type"].split(";")[0] == "application/json"
    assert {"name": task, "type": "directory"}.items() <= {
        key: value for entry in response.json() if entry["name"] == task for key, value in entry.items()
    }.items()
    check_no_cors(response)


def test_the_pages_load_nothing_from_elsewhere(service):
    page = service.get("/")
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "http://" not in page.text and "https://" not in page.text
    for name in ("style.css", "js/tasks.js"):
        assert name in page.text
        assert service.get(f"/{name}").status_code == 200
    assert service.get("/style.css", headers={"Accept-Encoding": "gzip"}).headers["Content-Encoding"] == "gzip"
    check_no_cors(page)


def test_pages_list_and_notebooks_are_there_without_the_app(make_instance, task):
    service = make_instance()
    service.post(task, "1")
    service.kill("app", signal.SIGTERM)
    assert service.get("/").status_code == 200
    assert [entry["name"] for entry in service.get("/tasks/").json()] == [task]
    assert len(service.get(f"/tasks/{task}/notebook.ipynb").json()["cells"]) == 1
    problem = check_problem(service.send(task, "1"), 503, "does not answer")
    assert problem["type"] == "urn:cellpost:problem:unavailable"
    for size in (1 << 20, (1 << 20) + 1, 10 << 20):  # nginx's own default is 1 MiB
        upload = service.request("PUT", f"/v1/tasks/{task}/files/x", data=b"x" * size)
        check_problem(upload, 503, "does not answer")
    check_problem(service.request("PUT", f"/v1/tasks/{task}/files/x", data=b"x" * (20 << 20)), 413)
    # The container of this very test reaps; no zombie counts as alive.
    process = service.start_app()
    assert service.post(task, "1")["status"] == "ok"
    process.terminate()
    wait_for(lambda: process.poll() is not None, "the end of the app")


def test_the_configuration_is_clean(service):
    done = subprocess.run(
        ["/usr/sbin/nginx", "-t", "-p", f"{service.state}/nginx/", "-c", f"{service.state}/nginx/nginx.conf"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "warn" not in done.stderr and "test is successful" in done.stderr
    assert "[emerg]" not in (service.state / "log" / "nginx-error.log").read_text()


@pytest.mark.parametrize(
    "path", ["/v1", "/tasks/none/notebook.ipynb", "/tasks/none/files/a", "/tasks/a/b", "/nothing", "/tasks/.hidden"]
)
def test_what_is_not_there_is_told_as_a_problem(service, path):
    response = service.get(path)
    assert response.status_code == 404
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == 404 and response.json()["type"] == "urn:cellpost:problem:not-found"


HOST = b"Host: localhost\r\nConnection: close\r\n"
# request, status, end of the type
REFUSED = {
    "a method of nobody's": (b"FOO / HTTP/1.1\r\n" + HOST, 405, "method"),
    "nothing to be POSTed to": (b"POST /index.html HTTP/1.1\r\nContent-Length: 0\r\n" + HOST, 405, "method"),
    "the list of tasks": (b"PUT /tasks/ HTTP/1.1\r\nContent-Length: 0\r\n" + HOST, 405, "method"),
    "TRACE": (b"TRACE / HTTP/1.1\r\n" + HOST, 405, "method"),
    "TRACE for the app": (b"TRACE /v1/tasks HTTP/1.1\r\n" + HOST, 405, "method"),
    "a large header": (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 40_000 + b"\r\n", 431, "headers"),
    "many headers": (b"GET / HTTP/1.1\r\n" + HOST + b"X: %s\r\n" % (b"x" * 7000) * 8, 431, "headers"),
    "a long address": (b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\n" + HOST, 414, "too-long"),
    "no host": (b"GET / HTTP/1.1\r\n", 400, "invalid"),
    "another version": (b"GET / HTTP/2.0\r\n" + HOST, 505, "version"),
    "another coding": (b"POST /v1/x HTTP/1.1\r\nTransfer-Encoding: x\r\n" + HOST, 501, "not-implemented"),
    "no such range": (b"GET /style.css HTTP/1.1\r\nRange: bytes=9999999-\r\n" + HOST, 416, "range"),
    "another file": (b'GET /style.css HTTP/1.1\r\nIf-Match: "x"\r\n' + HOST, 412, "precondition"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nginx_refuses_is_told_as_a_problem(service, name):
    message, status, kind = REFUSED[name]
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as peer:
        peer.sendall(message + b"\r\n")
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    head, _, body = answer.decode().partition("\r\n\r\n")
    line, *headers = head.split("\r\n")
    assert line.split(" ")[1] == str(status)
    (content_type,) = [header for header in headers if header.startswith("Content-Type: ")]
    assert content_type.split(";")[0] == "Content-Type: application/problem+json"
    assert ("Allow: GET, HEAD" in headers) == (status == 405 and "/v1/" not in message.decode())
    problem = json.loads(body)
    assert problem["status"] == status and problem["type"] == f"urn:cellpost:problem:{kind}"
    assert problem["title"] and problem["detail"] and problem["request"]


def test_nginx_writes_beneath_the_state_only(service):
    pid = service.pid("nginx")
    assert alive(pid)
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        target = os.readlink(f"/proc/{pid}/fd/{descriptor}")
        if target.startswith("/") and not target.startswith(("/dev/", "/proc/")):
            assert target.startswith(str(service.state)), target


def test_a_stream_is_not_held_back(service, task):
    # nginx obeys it, and passes it on for another one in front.
    response = service.send(task, "1", {"Accept": "text/event-stream"})
    assert response.headers["X-Accel-Buffering"] == "no"
    assert json.loads(response.text.split("data: ")[-1])["status"] == "ok"


def test_the_libraries_of_the_pages_are_those_that_were_pinned():
    subprocess.run([ROOT / "tools" / "vendor", "--check"], check=True)
