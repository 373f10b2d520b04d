"""What kernels do rarely, wrongly or at bad moments, played by a scripted kernel
over real sockets (tests/kernels): each has its right outcome."""

import json
import sqlite3

import pytest

from tests.e2e import notebooks
from tests.e2e.conftest import scripted_settings
from tests.instance import wait_for


@pytest.fixture(scope="module")
def shared(scripted):
    """A task whose kernel survives every scenario that is played in it."""
    scripted.post("shared", "x = 5")
    yield "shared"
    answer = scripted.post("shared", "x")
    assert answer["result"]["text/plain"] == "5" and answer["kernel"]["generation"] == 1


@pytest.fixture
def play(scripted, shared):
    """Plays a scenario in the shared kernel; notebook and registry agree."""

    def run(name, *words, **fields):
        answer = scripted.post(shared, " ".join(["scenario:", name, *words]), **fields)
        notebooks.same_as(scripted, shared, answer)
        return answer

    return run


@pytest.fixture
def own(scripted, task):
    """A task of the test's own, with a kernel that behaves so."""

    def make(behaviour=None):
        if behaviour:
            assert scripted.put(task, kernelspec=f"scripted-{behaviour}").status_code == 201
        return task

    yield make
    scripted.delete(task)


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def shown(text, kind="display_data", **more):
    return {"output_type": kind, "data": {"text/plain": text}, "metadata": {}} | more


OUT = [stream("out\n")]
GOOD = [stream("good\n")]
MINE = [stream("mine\n")]
FLOOD = "".join(f"{number} ".ljust(99, ".") + "\n" for number in range(10000))
PLAIN = {
    "reply-first": OUT,
    "idle-first": OUT,
    "output-between": [stream("between\n")],
    "no-status": OUT,
    "no-count": OUT,
    "bare-reply": OUT,
    "bare-header": OUT,
    "twice": [],
    "aborted-once": OUT,
    "unknown-types": OUT,
    "nulls": OUT,
    "invalid-utf8": [stream("a\ufffd b\ufffd c\ufffd \0d\n")],
    "flood": [stream(FLOOD)],
    "bad-signatures": GOOD,
    "broken-messages": GOOD,
    "buffers": OUT,
    "many-buffers": OUT,
    "no-topic": OUT,
    "new-session": OUT,
    "clear-now": [stream("second\n")],
    "clear-wait": [stream("second\n")],
    "clear-pending": [stream("first\n")],
    "clear-then-update": [stream("first\n"), shown("new")],
    "page": [shown("the help")],
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_a_good_client_bears(play, name):
    answer = play(name)
    assert answer["status"] == "ok"
    assert answer["error"] is None and answer["truncated"] is None
    unreadable = name in ("bad-signatures", "broken-messages")
    assert [note.partition(" messages of the kernel ")[1] != "" for note in answer["notes"]] == [True] * unreadable
    assert [{**output, "text": output["text"].replace("\ufffd\ufffd\ufffd", "\ufffd")} if "text" in output else output
            for output in answer["outputs"]] == PLAIN[name]
    assert answer["kernel"]["state"] == "kept"
    counted = name not in ("no-count", "bare-reply", "bare-header")
    assert (answer["execution_count"] is not None) == counted


def test_output_of_nobody_is_in_the_log_and_in_no_cell(scripted, shared, play):
    for name, text in (("empty-parent", "nobody's\n"), ("foreign-parent", "foreign\n")):
        answer = play(name)
        assert answer["outputs"] == MINE
        assert answer["late_outputs"] == [{"run": None, "output": stream(text)}]
        rows = sqlite3.connect(scripted.database).execute(
            "SELECT content FROM events WHERE task = ? AND kind = 'kernel.output' ORDER BY id DESC LIMIT 1", (shared,)
        )
        assert json.loads(rows.fetchone()[0]) == {"outputs": [stream(text)]}
        assert text not in notebooks.read(scripted, shared)["cells"][-1]["outputs"][0]["text"]


def test_late_output_goes_to_the_run_before(scripted, shared, play):
    before = play("clear-now")
    answer = play("previous-parent")
    assert answer["outputs"] == MINE
    late = stream("late from before\n")
    assert answer["late_outputs"] == [{"run": before["run"], "output": late}]
    again = scripted.get(f"/v1/runs/{before['run']}").json()
    assert again["stdout"] == "second\nlate from before\n" and again["late_count"] == 1
    cell = notebooks.cell_of(notebooks.read(scripted, shared), before)
    assert notebooks.outputs(cell) == again["outputs"]


def test_late_output_of_an_idle_kernel(scripted, shared):
    first = scripted.post(shared, "scenario: late 0.1")
    assert first["stdout"] == "on time\n"
    wait_for(lambda: scripted.get(f"/v1/runs/{first['run']}").json()["late_count"] == 1, "the late line")
    assert scripted.get(f"/v1/runs/{first['run']}").json()["stdout"] == "on time\nlate\n"
    told = scripted.post(shared, "1")["late_outputs"]
    assert told == [{"run": first["run"], "output": stream("late\n")}]


def test_an_error_keeps_only_what_the_schema_knows(scripted, shared, play):
    answer = play("extra-keys")
    assert answer["status"] == "error" and answer["error"]["ename"] == "Extra"
    assert answer["outputs"] == [
        stream("out\n"),
        shown("d"),
        {"output_type": "error", "ename": "Extra", "evalue": "v", "traceback": ["line"]},
    ]


def test_numbers_that_json_does_not_know(scripted, shared, play):
    answer = play("not-a-number")
    (data,) = [output["data"] for output in answer["outputs"]]
    assert data["text/plain"] == "nan"
    assert data["application/json"] == {
        "a": "NaN", "b": "-Infinity", "c": float("inf"), "d": 123456789012345678901234567890
    }
    json.loads(scripted.get(f"/v1/runs/{answer['run']}").text, parse_constant=notebooks.no_json)


def test_eighty_megabytes_in_one_stream_message(play):
    answer = play("huge", "80")
    size = 80 << 20
    assert answer["status"] == "ok"
    assert answer["usage"]["output_bytes"] == size
    dropped = answer["truncated"]["stdout"]
    assert answer["stdout"].count("x") + dropped == size
    assert f"{dropped} bytes" in answer["stdout"]
    assert len(answer["stdout"]) <= (10 << 20) + 100


def test_an_update_finds_an_earlier_cell(scripted, shared, play):
    first = play("display-id", "d7", "shown")
    assert play("update-display", "d7", "updated")["outputs"] == []
    again = scripted.get(f"/v1/runs/{first['run']}").json()
    assert again["outputs"] == [shown("updated")]
    cell = notebooks.cell_of(notebooks.read(scripted, shared), first)
    assert notebooks.outputs(cell) == again["outputs"]


def test_an_unknown_comm_is_closed(play):
    before = int(play("comms-closed")["stdout"])
    assert play("comm-open")["outputs"] == []
    assert play("comms-closed")["stdout"] == f"{before + 1}\n"


@pytest.mark.parametrize("parent", ["yes", "no"])
def test_input(play, parent):
    assert play("ask-input", parent, stdin=["bob"])["stdout"] == "got 'bob'\n"
    assert play("ask-input", parent, stdin=[])["stdout"] == "got '\\x04'\n"
    answer = play("ask-input", parent)
    assert (answer["status"], answer["error"]["ename"]) == ("error", "StdinNotImplementedError")


def test_missing_idle_is_waited_for_a_while(play):
    answer = play("no-idle", timeout=50)
    assert answer["status"] == "ok" and answer["outputs"] == OUT
    assert "idle" in answer["notes"][0] and len(answer["notes"]) == 1
    assert 3000 < answer["usage"]["wall_ms"] < 20000


def test_a_missing_reply_is_waited_for_a_while(play):
    answer = play("no-reply", timeout=50)
    assert answer["status"] == "ok" and answer["outputs"] == OUT
    assert "reply" in answer["notes"][0] and len(answer["notes"]) == 1
    assert 3000 < answer["usage"]["wall_ms"] < 20000


@pytest.mark.parametrize("name", ["dropped", "dropped-input"])
def test_a_cell_of_which_nothing_was_heard_has_not_gone_well(play, name):
    before = play("reply-first")
    answer = play(name)
    assert (answer["status"], answer["error"]["ename"]) == ("error", "NoReply")
    assert answer["outputs"] == [] and answer["execution_count"] is None
    assert play("reply-first")["execution_count"] == before["execution_count"] + 1


def test_a_cell_that_the_kernel_never_runs(scripted, shared):
    response = scripted.send(shared, "scenario: aborted-always")
    assert response.status_code == 503
    problem = response.json()
    assert "aborted" in problem["detail"]
    answer = scripted.get(f"/v1/runs/{problem['run']}").json()
    assert answer["status"] == "not_run" and answer["outputs"] == []
    notebook = notebooks.read(scripted, shared)
    (cell,) = [cell for cell in notebook["cells"] if cell["id"] == problem["run"]]
    assert cell["metadata"]["cellpost"]["status"] == "not_run"
    assert scripted.post(shared, "x")["result"]["text/plain"] == "5"


def test_a_timeout_by_signal(play):
    answer = play("busy", timeout=0.2)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGINT")
    assert answer["stdout"] == "busy\n"
    assert answer["error"]["ename"] == "KeyboardInterrupt"
    assert answer["kernel"]["state"] == "kept"


def test_a_timeout_by_message(scripted, own):
    task = own("message")
    scripted.post(task, "x = 7")
    answer = scripted.post(task, "scenario: busy", timeout=0.2)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "interrupt_request")
    assert answer["stdout"] == "busy\n"
    after = scripted.post(task, "x")
    assert after["result"]["text/plain"] == "7" and after["kernel"]["state"] == "kept"


def test_a_cell_that_serves_nothing(scripted, own):
    task = own()
    answer = scripted.post(task, "scenario: stuck", timeout=0.2)
    assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGTERM")
    assert answer["stdout"] == "stuck\n"
    assert answer["kernel"]["state"] == "lost"
    after = scripted.post(task, "1")
    assert (after["kernel"]["state"], after["kernel"]["generation"]) == ("lost", 2)


ENDS = [
    ("die 7", "kernel_died", "exit code 7", "last words\n"),
    ("die SIGKILL", "kernel_died", "signal 9", "last words\n"),
    ("die SIGSEGV", "kernel_died", "signal 11", "last words\n"),
    ("die-after-reply", "kernel_died", "exit code 7", "out\n"),
    ("ask-exit", "ok", "exit()", ""),
    ("ask-exit-only", "ok", "exit()", ""),
]


def test_deaths_in_the_middle(scripted, own):
    task = own()
    for generation, (words, status, reason, stdout) in enumerate(ENDS, 1):
        answer = scripted.post(task, "scenario: " + words)
        assert (answer["status"], answer["stdout"]) == (status, stdout), words
        assert answer["kernel"]["state"] == "lost" and answer["kernel"]["generation"] == generation
        assert reason in answer["kernel"]["reason"], words
        notebooks.same_as(scripted, task, answer)


def test_a_kernel_that_is_to_be_kept_is_kept(play):
    assert play("ask-exit-only", "keep")["kernel"]["state"] == "kept"


@pytest.mark.parametrize("behaviour", ["silent", "no-idle", "chatter", "staggered", "late", "bare-info"])
def test_odd_starts(scripted, own, behaviour):
    answer = scripted.post(own(behaviour), "6*7")
    assert answer["result"]["text/plain"] == "42"
    assert [output["output_type"] for output in answer["outputs"]] == ["execute_result"]


def test_a_kernel_that_ends_at_its_start_is_told_with_its_words(scripted, own):
    response = scripted.send(own("exit"), "1")
    assert response.status_code == 503
    problem = response.json()
    assert "exit code 3" in problem["detail"]
    assert "told to fail at its start" in problem["detail"]
    assert "told to fail at its start" in problem["stderr"]
    assert scripted.get(f"/v1/runs/{problem['run']}").json()["status"] == "not_run"


def test_kernels_that_are_never_ready(make_instance, kernelspecs):
    service = make_instance(scripted_settings(kernelspecs) | {"kernels.start_timeout": "1.5"})
    for behaviour in ("hang", "deaf", "shell-busy"):
        service.put(behaviour, kernelspec=f"scripted-{behaviour}")
        response = service.send(behaviour, "1")
        assert response.status_code == 503, behaviour
        assert "not ready in time" in response.json()["detail"]
        assert service.get(f"/v1/tasks/{behaviour}").json()["kernel"]["state"] == "dead"


def test_any_order_of_messages_leaves_one_truth(scripted, own):
    """Answer, notebook and registry agree at once, and also after later cells
    have updated displays of earlier ones."""
    name = own()
    runs = []
    for seed in range(25):
        answer = scripted.post(name, f"scenario: arbitrary {seed}")
        assert answer["status"] in ("ok", "error")
        notebooks.same_as(scripted, name, answer)
        kept = sum(len(json.dumps(output)) for output in answer["outputs"])
        assert answer["truncated"] is None and kept < 300_000
        runs.append(answer["run"])
    notebook = notebooks.read(scripted, name)
    for run in runs:
        told = scripted.get(f"/v1/runs/{run}").json()
        assert told["outputs"] == notebooks.outputs(notebooks.cell_of(notebook, told))
