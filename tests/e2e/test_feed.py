"""The live feed: what watchers are told, from when on, and what it costs."""

import concurrent.futures
import contextlib
import itertools
import json
import pathlib
import sqlite3
import threading
import time

import pytest

from tests import fastcgi
from tests.feed import BareWatcher, Watcher, printed, second_app, text_of
from tests.http.problems import check_problem
from tests.instance import JSON, wait_for

WAIT = """import pathlib, time
print("first", flush=True)
while not pathlib.Path("go").exists(): time.sleep(.005)
print("second")
6*7"""


def let_go(service, task):
    (service.task_directory(task) / "files" / "go").touch()


def log_of(service, task):
    """(id, kind) of the task's events, as they stand in the registry."""
    with contextlib.closing(sqlite3.connect(service.database, timeout=10)) as database:
        return database.execute("SELECT id, kind FROM events WHERE task = ? ORDER BY id", (task,)).fetchall()


def start_run(service, task, code, **fields):
    response = service.send(task, code, wait=False, **fields)
    assert response.status_code == 202, response.text
    return response.json()["run"]


@pytest.fixture(scope="module")
def idle_watcher(session_instance):
    """Watches from the first test on a task where nothing happens."""
    session_instance.put("feed-idle")
    seen = []

    def watch():
        with Watcher(session_instance, "feed-idle") as watcher:
            for event in watcher:
                seen.append(event[1])
                if event[1] == "keepalive":
                    return

    thread = threading.Thread(target=watch)
    thread.start()
    yield thread, seen
    thread.join(60)


@pytest.fixture(autouse=True)
def idle(idle_watcher):
    return idle_watcher


def test_a_run_is_told_as_it_goes(service, task):
    service.put(task)
    with Watcher(service, task) as watcher:
        position, kind, state = next(watcher.events)
        assert (kind, state["position"], state["runs"]) == ("state", position, [])
        assert state["task"] == service.get(f"/v1/tasks/{task}").json()
        run = start_run(service, task, WAIT)
        before = watcher.until("run.output")
        assert [kind for _, kind, _ in before] == ["run.queued", "kernel.started", "run.started", "run.output"]
        assert printed(before, run) == "first\n"
        assert service.get(f"/v1/runs/{run}").json()["status"] == "running"
        let_go(service, task)
        after = watcher.until("run.finished")
    assert after[-1][2]["content"]["status"] == "ok"
    messages = [message for event in after[:-1] for message in event[2]["content"]["messages"]]
    assert [message["type"] for message in messages] == ["stream", "execute_result"]
    assert messages[1]["content"]["data"] == {"text/plain": "42"}
    told = [event[:2] for event in before + after]
    assert told == [event for event in log_of(service, task) if event[0] > position]
    assert all(data["id"] == number and data["kind"] == kind for number, kind, data in before + after)
    assert {data["task"] for _, _, data in before + after} == {task}


def test_all_tasks_are_watched_at_once(service, task):
    with Watcher(service) as watcher:
        _, kind, state = next(watcher.events)
        assert kind == "state" and state["task"] is None
        names = [f"{task}-a", f"{task}-b"]
        for name in names:
            service.put(name)
        runs = [start_run(service, name, "print(1)") for name in names]
        told = watcher.until("run.finished", runs[0])
        if ("run.finished", runs[1]) not in [(kind, data.get("run")) for _, kind, data in told]:
            told += watcher.until("run.finished", runs[1])
    for name, run in zip(names, runs):
        assert [event[:2] for event in told if event[2]["task"] == name] == log_of(service, name)
        assert printed(told, run) == "1\n"
        service.delete(name)


def test_who_comes_in_the_middle_gets_the_whole_once(service, task):
    """Twenty come at different moments of a run that prints without a pause."""
    count = 3000
    code = f"""import time
for i in range({count}):
    print(i)
    if i % 10 == 0: time.sleep(.002)"""
    service.post(task, "1")
    run = start_run(service, task, code)
    service.wait_run(run, "running")

    def watch(number):
        with Watcher(service, task) as watcher:
            _, kind, state = next(watcher.events)
            assert kind == "state"
            if not state["runs"]:
                return None
            (seen,) = state["runs"]
            assert (seen["run"], seen["status"], seen["code"]) == (run, "running", code)
            return text_of(seen["outputs"]) + printed(watcher.until("run.finished", run), run)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        texts = [text for text in pool.map(watch, range(20)) if text is not None]
    whole = "".join(f"{i}\n" for i in range(count))
    assert texts and all(text == whole for text in texts)


def test_queued_runs_are_in_the_state(service, task):
    running = start_run(service, task, WAIT)
    wait_for(lambda: service.get(f"/v1/runs/{running}").json()["stdout"], "the first line")
    queued = start_run(service, task, "2", section="Later")
    with Watcher(service, task) as watcher:
        _, _, state = next(watcher.events)
        assert [(run["run"], run["status"], run["queue_position"]) for run in state["runs"]] == [
            (running, "running", 0),
            (queued, "queued", 1),
        ]
        assert text_of(state["runs"][0]["outputs"]) == "first\n"
        assert state["runs"][1]["section"] == "Later" and state["runs"][1]["outputs"] == []
        let_go(service, task)
        watcher.until("run.finished", queued)


@pytest.mark.parametrize("way", ["header", "last"])
def test_who_was_away_misses_nothing_and_gets_nothing_twice(service, task, way):
    service.put(task)
    with Watcher(service, task) as watcher:
        start, _, _ = next(watcher.events)
        first = start_run(service, task, "print(1)")
        told = watcher.until("run.started", first)
    for code in ("print(2)", "1/0"):
        service.post(task, code)
    with Watcher(service, task, **{way: told[-1][0]}) as watcher:
        last = start_run(service, task, "print(3)")
        told += watcher.until("run.finished", last)
    assert [event[:2] for event in told] == [event for event in log_of(service, task) if event[0] > start]


def test_the_header_goes_before_the_address(service, task):
    """A browser repeats the address when it connects again."""
    service.post(task, "1")
    events = log_of(service, task)
    with Watcher(service, task, last=events[0][0], header=events[-2][0]) as watcher:
        assert next(watcher.events)[:2] == events[-1]


def test_a_restart_of_the_app_loses_nothing(make_instance, task):
    instance = make_instance()
    with Watcher(instance, task, last=0) as watcher:
        instance.post(task, "x = 1")
        told = watcher.until("run.finished")
        instance.kill("app")
        assert list(watcher.events) == []
    instance.start_app()
    instance.post(task, "x")
    with Watcher(instance, task, last=told[-1][0]) as watcher:
        told += watcher.until("run.finished")
        # In order it ends the responses of its watchers.
        instance.kill("app", 15)
        assert list(watcher.events) == []
    assert [event[:2] for event in told] == log_of(instance, task)
    instance.start_app()


def test_what_another_process_does_is_told(service, task):
    """The keeper, and another app on the same registry."""
    service.post(task, "1")
    with second_app(service) as path, Watcher(service, task) as watcher:
        next(watcher.events)
        body = json.dumps({"code": "print('elsewhere')"}).encode()
        status, _, answer = fastcgi.parse(fastcgi.request(path, "POST", f"/v1/tasks/{task}/execute", body))
        assert status == 200
        run = json.loads(answer)["run"]
        assert printed(watcher.until("run.finished"), run) == "elsewhere\n"
        service.request("POST", f"/v1/tasks/{task}/restart")
        kinds = [kind for _, kind, _ in watcher.until("kernel.started")]
    # The first app hears the kernel, too: to it the output is of no known run.
    assert [kind for kind in kinds if kind != "kernel.output"] == ["kernel.ended", "kernel.started"]


def test_late_output_is_told(service, task):
    code = """import threading, time, pathlib
def speak():
    while not pathlib.Path("go").exists(): time.sleep(.005)
    print("late", flush=True)
threading.Thread(target=speak).start()"""
    with Watcher(service, last=None) as watcher:
        next(watcher.events)
        run = service.post(task, code)["run"]
        watcher.until("run.finished", run)
        let_go(service, task)
        _, _, data = watcher.until("run.late", run)[-1]
    assert text_of(data["content"]["outputs"]) == "late\n"


def test_who_does_not_read_is_dropped_and_may_come_again(service, task):
    """12 events of 300 kB: more than is kept for a watcher, and more than its socket takes."""
    service.put(task)

    def dropped():
        text = service.get("/metrics").text
        return int(text.partition("\ncellpost_watchers_dropped_total ")[2].split("\n")[0])

    before = dropped()
    with BareWatcher(service.fcgi_socket, task) as watcher:
        for number in range(12):
            body = json.dumps({"markdown": f"{number} " + "x" * 300_000})
            response = service.request("POST", f"/v1/tasks/{task}/cells", data=body, headers=JSON)
            assert response.status_code == 201, response.text
        wait_for(lambda: dropped() == before + 1, "the watcher's end")
        told = watcher.read_to_end()
    (number, kind, gap) = told.pop()
    assert (number, kind, gap["reason"]) == (None, "gap", "slow")
    assert told[0][1] == "state" and gap["resume"] == told[-1][0]
    with Watcher(service, task, last=gap["resume"]) as watcher:
        told += itertools.islice(watcher, 12 + 1 - len(told))
    assert [int(data["content"]["source"].split()[0]) for _, _, data in told[1:]] == list(range(12))


def test_watchers_hold_no_thread_and_have_a_limit(make_instance, task):
    instance = make_instance({"server.threads": "2", "server.watchers": "8"})
    instance.put(task)
    with contextlib.ExitStack() as stack:
        watchers = [stack.enter_context(Watcher(instance, task)) for _ in range(8)]
        assert [next(watcher.events)[1] for watcher in watchers] == ["state"] * 8
        response = instance.get(f"/v1/tasks/{task}/events")
        assert check_problem(response, 503)["detail"].startswith("8 watchers")
        assert response.headers["Retry-After"] == "1"
        run = instance.post(task, "print(1)")["run"]
        for watcher in watchers:
            assert printed(watcher.until("run.finished"), run) == "1\n"
        watchers[0].response.close()

        def admitted():
            with instance.session.get(f"{instance.url}/v1/events", stream=True, timeout=60) as response:
                return response.status_code == 200

        wait_for(admitted, "the place of the one that left")


def test_nobody_watching_costs_nothing(make_instance, task):
    """Its thread sleeps, whatever is written into the log."""
    instance = make_instance()

    def thread():
        for thread in pathlib.Path(f"/proc/{instance.pid('app')}/task").iterdir():
            if (thread / "comm").read_text() == "feed\n":
                lines = (thread / "status").read_text().splitlines()
                return dict(line.split(":\t") for line in lines if ":\t" in line)
        raise AssertionError("there is no thread of the feed")

    def wakes():
        return [value for name, value in thread().items() if "ctxt_switches" in name]

    def sleeps(seconds):
        before = wakes()
        time.sleep(seconds)
        return wakes() == before

    with Watcher(instance) as watcher:
        next(watcher.events)
        instance.post(task, "1")
        watcher.until("run.finished")
        wait_for(lambda: sleeps(2), "its sleep while nothing happens")
        instance.post(task, "1")
        watcher.until("run.finished")
    wait_for(lambda: "\ncellpost_watchers 0\n" in instance.get("/metrics").text, "the end of the watcher")
    wait_for(lambda: thread()["State"].startswith("S"), "its rest")
    before = wakes()
    instance.post(task, "import time\nfor i in range(10): print(i, flush=True); time.sleep(.06)")
    assert wakes() == before


@pytest.mark.parametrize("last", [10**15, 10**9])
def test_an_id_that_is_not_in_the_log_begins_anew(service, task, last):
    service.put(task)
    with Watcher(service, task, last=last) as watcher:
        number, kind, gap = next(watcher.events)
        assert (number, kind, gap["reason"], gap["resume"]) == (None, "gap", "unknown", None)
        number, kind, state = next(watcher.events)
        assert kind == "state" and number == state["position"] and state["task"]["task"] == task


def test_an_id_that_retention_has_left_behind_begins_anew(make_instance):
    instance = make_instance()
    for name in ("a", "b", "c", "d"):
        instance.put(name)
    with contextlib.closing(sqlite3.connect(instance.database, timeout=10)) as database, database:
        database.execute("DELETE FROM events WHERE id <= 2")
    with Watcher(instance, last=1) as watcher:
        assert [kind for _, kind, _ in itertools.islice(watcher, 2)] == ["gap", "state"]
    with Watcher(instance, last=2) as watcher:
        assert [data["task"] for _, _, data in itertools.islice(watcher, 2)] == ["c", "d"]


def test_what_is_refused(service, task):
    check_problem(service.get(f"/v1/tasks/{task}/events"), 404)
    check_problem(service.get("/v1/events?last_event_id=-1"), 422)
    check_problem(service.get("/v1/events?since=1"), 422)
    check_problem(service.get("/v1/events", headers={"Last-Event-ID": "1 or so"}), 400)
    check_problem(service.request("POST", "/v1/events"), 405)
    head = service.request("HEAD", "/v1/events")
    assert (head.status_code, head.text) == (200, "")
    assert head.headers["Content-Type"] == "text/event-stream"


def test_silence_is_filled_with_keepalives(idle):
    """It takes 15 seconds from the first test of this file on."""
    thread, seen = idle
    thread.join(60)
    assert seen == ["state", "keepalive"]
