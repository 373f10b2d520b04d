"""A thin client of Cellpost: one file, the standard library only.

    from cellpost import Cellpost

    task = Cellpost("http://localhost:8080").task("demo")
    print(task.execute("1 + 1").text)

Whatever the service refuses raises Problem, with its sentence and status. A cell
that failed is no refusal: its answer says so (`answer.ok`, `answer.error`).
"""

import base64
import http.client
import json
import urllib.parse

__all__ = ["Answer", "Cellpost", "Problem", "Task"]


class Problem(Exception):
    """The service's own refusal (RFC 9457)."""

    def __init__(self, status, document):
        self.status = status
        self.document = document
        super().__init__(document.get("detail") or document.get("title") or f"HTTP status {status}")


class Answer(dict):
    """What came of a run: the JSON of the service, with its members as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def ok(self):
        return self.get("status") == "ok"

    @property
    def is_over(self):
        return self.get("status") not in ("queued", "running")

    @property
    def prompt(self):
        """What a model should read: for a failure what to mend, else the text."""
        return (self.get("error") or {}).get("prompt") or self.get("text") or ""

    def pictures(self):
        """(media type, bytes) of each image that came with the answer."""
        return [(one["mime"], base64.b64decode(one["base64"])) for one in self.get("images", []) if one.get("base64")]


class Cellpost:
    """A service at a URL. `token` is sent with each request, `timeout` is how
    long, in seconds, the service may be silent. May be shared by threads."""

    def __init__(self, url="http://localhost:8080", token=None, timeout=3600):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"not a URL: {url!r}")
        self._parts, self._token, self._timeout = parts, token, timeout

    def task(self, name):
        """A task, which the first cell makes. The same name gives the same variables."""
        return Task(self, name)

    def tasks(self):
        """All tasks, a page at a time."""
        after = None
        while True:
            page = self.json("GET", "/v1/tasks", query={"after": after})
            yield from page["tasks"]
            after = page.get("next")
            if after is None:
                return

    def result(self, run):
        """The answer of a run, also while it goes on."""
        return Answer(self.json("GET", f"/v1/runs/{quote(run)}"))

    def cancel(self, run):
        """Cancels a run that waits, interrupts one that runs."""
        return self.json("DELETE", f"/v1/runs/{quote(run)}")

    def tools(self, form="openai"):
        """Function schemas for a model: {"system", "tools"}."""
        return self.json("GET", "/v1/tools", query={"format": form})

    def call_tool(self, name, arguments):
        """Does what a model asked for; the result's content is for the model."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        answer = self.json("POST", "/mcp", message | {"params": {"name": name, "arguments": arguments}})
        if "error" in answer:
            raise Problem(200, {"detail": answer["error"]["message"]})
        return answer["result"]

    # The wire

    def open(self, method, path, body=None, headers=None, query=None):
        """One request; the response to be read. Problem if it is refused."""
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.netloc, timeout=self._timeout)
        pairs = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._parts.path.rstrip("/") + path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")
        headers = {"Accept": "application/json", "Connection": "close"} | (headers or {})
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        if response.status >= 400:
            raise Problem(response.status, read_problem(response.read()))
        return response

    def json(self, method, path, value=None, headers=None, query=None):
        """One request with a JSON body, if there is one, and its JSON answer."""
        body = None if value is None else json.dumps(value).encode()
        headers = (headers or {}) | ({} if value is None else {"Content-Type": "application/json"})
        with self.open(method, path, body, headers, query) as response:
            return json.loads(response.read())


class Task:
    def __init__(self, service, name):
        self.service, self.name = service, name
        self._path = f"/v1/tasks/{urllib.parse.quote(name, safe='')}"

    def execute(self, code, key=None, **fields):
        """Runs a cell and waits for its end. `fields` as in the README: timeout,
        section, images, stdin … With a `key` the same request sent again runs
        nothing and gets the first answer."""
        return Answer(self.service.json("POST", self._path + "/execute", {"code": code} | fields, keyed(key)))

    def start(self, code, key=None, **fields):
        """Runs a cell that nobody waits for; service.result(answer.run) tells."""
        body = {"code": code, "wait": False} | fields
        return Answer(self.service.json("POST", self._path + "/execute", body, keyed(key)))

    def stream(self, code, **fields):
        """Runs a cell: ("stream", content), ("display_data", content) … as they
        come, and ("answer", Answer) last."""
        headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json"}
        body = json.dumps({"code": code} | fields).encode()
        with self.service.open("POST", self._path + "/execute", body, headers) as response:
            for line in response:
                event = json.loads(line)
                kind, content = event["type"], event.get("content")
                if kind == "problem":
                    raise Problem(content.get("status"), content)
                if kind != "keepalive":
                    yield kind, Answer(content) if kind == "answer" else content

    def create(self, **settings):
        """Makes the task with settings: kernelspec, env, limits, init_code …"""
        return self.service.json("PUT", self._path, settings)

    def describe(self):
        return self.service.json("GET", self._path)

    def interrupt(self):
        return self.service.json("POST", self._path + "/interrupt")

    def restart(self, replay=False):
        """A new kernel; with `replay` the successful cells run again."""
        return self.service.json("POST", self._path + "/restart", {"replay": replay})

    def delete(self, purge=False):
        """Ends the kernel; `purge` removes the files, too."""
        return self.service.json("DELETE", self._path, query={"purge": 1} if purge else None)

    def add_markdown(self, text):
        return self.service.json("POST", self._path + "/cells", {"markdown": text})

    def sections(self):
        """What each section gave: its text and its images."""
        return self.service.json("GET", self._path + "/sections")

    # Files of the workspace

    def files(self, directory=""):
        """The entries of a directory."""
        after, path = None, self._path + "/files" + ("/" + quote(directory) if directory else "")
        while True:
            page = self.service.json("GET", path, query={"after": after})
            yield from page["entries"]
            after = page.get("next")
            if after is None:
                return

    def read(self, path):
        with self.service.open("GET", f"/tasks/{quote(self.name)}/files/{quote(path)}") as response:
            return response.read()

    def write(self, path, content):
        """`content`: bytes, or text that is written as UTF-8."""
        body = content.encode() if isinstance(content, str) else content
        headers = {"Content-Type": "application/octet-stream"}
        with self.service.open("PUT", f"{self._path}/files/{quote(path)}", body, headers) as response:
            return json.loads(response.read())

    def remove(self, path):
        return self.service.json("DELETE", f"{self._path}/files/{quote(path)}")

    def notebook(self):
        """The notebook, parsed (nbformat 4.5)."""
        with self.service.open("GET", f"/tasks/{quote(self.name)}/notebook.ipynb") as response:
            return json.loads(response.read())


def quote(path):
    return urllib.parse.quote(path, safe="/")


def keyed(key):
    return {} if key is None else {"Idempotency-Key": key}


def read_problem(text):
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {"detail": text[:300].decode(errors="replace")}
