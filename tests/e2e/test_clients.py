"""The Python client, and the examples, against the live service."""

import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import threading

import pytest

from tests.instance import ROOT

spec = importlib.util.spec_from_file_location("cellpost", ROOT / "clients" / "python" / "cellpost.py")
cellpost = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cellpost)


@pytest.fixture
def work(service, task):
    return cellpost.Cellpost(service.url).task(task)


def test_a_cell(work):
    answer = work.execute("x = 20\nprint('hi')\nx + 1")
    assert answer.ok and answer.text == "hi\n21" and answer.stdout == "hi\n" and answer.is_over
    assert work.execute("x").result == {"text/plain": "20"}
    with pytest.raises(AttributeError):
        answer.no_such_member


def test_a_cell_that_fails_says_what_to_mend(work):
    answer = work.execute("1/0")
    assert not answer.ok and answer.error["ename"] == "ZeroDivisionError"
    assert "division by zero" in answer.prompt


def test_pictures(work):
    answer = work.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    ((mime, picture),) = answer.pictures()
    assert mime == "image/png" and picture.startswith(b"\x89PNG")


def test_a_stream(work):
    *events, (kind, answer) = work.stream("for i in range(3): print(i, flush=True)")
    assert kind == "answer" and answer.ok
    assert "".join(content["text"] for kind, content in events if kind == "stream") == "0\n1\n2\n"


def test_a_run_that_nobody_waits_for(work):
    started = work.start("import time\nprint('a', flush=True)\ntime.sleep(600)")
    while work.service.result(started.run).status == "queued":
        pass
    work.service.cancel(started.run)
    while not (answer := work.service.result(started.run)).is_over:
        pass
    assert answer.status == "interrupted"


def test_the_same_key_runs_once(work):
    assert work.execute("1", key="k").run == work.execute("1", key="k").run


def test_files_and_notebook(work):
    work.execute("1")
    work.write("d/ä b.txt", "héllo")
    work.write("raw.bin", b"\x00\x01")
    assert [entry["name"] for entry in work.files()] == ["d", "raw.bin"]
    assert [entry["name"] for entry in work.files("d")] == ["ä b.txt"]
    assert work.read("d/ä b.txt").decode() == "héllo" and work.read("raw.bin") == b"\x00\x01"
    work.remove("d")
    assert [entry["name"] for entry in work.files()] == ["raw.bin"]
    work.add_markdown("# Result")
    assert [cell["cell_type"] for cell in work.notebook()["cells"]][-1] == "markdown"


def test_the_life_of_a_task(work):
    work.create(init_code="y = 7")
    assert work.execute("y").result == {"text/plain": "7"}
    assert work.name in [one["task"] for one in work.service.tasks()]
    assert work.describe()["kernel"]["state"] == "alive"
    work.execute("z = 8")
    work.restart(replay=True)
    assert work.execute("z").result == {"text/plain": "8"}
    work.delete(purge=True)


@pytest.mark.parametrize(
    "act, status, said",
    [
        (lambda work: work.execute("1", tiemout=3), 422, "tiemout"),
        (lambda work: work.service.result("01a2297b-5d3c-7088-9435-33582a6e1f43"), 404, "run"),
        (lambda work: work.service.task("../x").execute("1"), 400, "task id"),
        (lambda work: list(work.service.task("no-such").files()), 404, "task"),
    ],
)
def test_a_refusal_is_a_problem(work, act, status, said):
    with pytest.raises(cellpost.Problem, match=said) as caught:
        act(work)
    assert caught.value.status == status


def test_tools(work):
    names = {form: work.service.tools(form)["tools"] for form in ("openai", "anthropic", "mcp")}
    assert [one["function"]["name"] for one in names["openai"]] == [one["name"] for one in names["anthropic"]]
    assert names["anthropic"][0]["input_schema"]["required"] == ["task", "code"]
    assert "x-mcp-header" not in json.dumps(names["openai"]) and "x-mcp-header" in json.dumps(names["mcp"])
    assert work.service.tools()["system"]
    result = work.service.call_tool("execute", {"task": work.name, "code": "6 * 7"})
    assert result["content"][0]["text"] == "42"
    with pytest.raises(cellpost.Problem, match="yaml"):
        work.service.tools("yaml")


class Model(http.server.BaseHTTPRequestHandler):
    """Speaks as a model does: asks for one cell, then says what it read."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        last = asked["messages"][-1]
        if last["role"] == "tool":
            message = {"role": "assistant", "content": f"It is {last['content']}."}
        else:
            arguments = json.dumps({"task": self.server.task, "code": "6 * 7"})
            call = {"id": "c1", "type": "function", "function": {"name": "execute", "arguments": arguments}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def model(task):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.task, server.asked = task, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("program", [["/usr/bin/python3", "agent.py"], ["node", "agent.mjs"]], ids=["python", "node"])
def test_the_loop_of_an_agent(service, model, program):
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    done = subprocess.run(
        [program[0], ROOT / "examples" / program[1], "What is 6 * 7?"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ
        | {"CELLPOST": service.url, "MODEL": "m", "MODEL_URL": f"http://127.0.0.1:{model.server_port}/", "no_proxy": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It is 42.\n"
    assert model.asked[0]["messages"][0]["role"] == "system" and len(model.asked[0]["tools"]) == 7
