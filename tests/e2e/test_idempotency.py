"""The same Idempotency-Key again: nothing is run, and the answer is the first
one in every part."""

import concurrent.futures
import json

from tests.e2e import notebooks
from tests.instance import wait_for

KEY = {"Idempotency-Key": "k"}
RICH = """import matplotlib.pyplot as plt
n = globals().get("n", 0) + 1
print(n)
h = display(n, display_id=True)
plt.plot([1, 2]); plt.show()
open("out.txt", "w").write(str(n))
1/0"""


def same(first, second):
    assert first.status_code == second.status_code == 200
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert second.json() == first.json()
    return first.json()


def test_one_after_the_other(service, task):
    first = service.send(task, RICH, KEY)
    answer = same(first, service.send(task, RICH, KEY))
    assert answer["stdout"] == "1\n" and len(answer["images"]) == 1 and len(answer["files"]) == 1
    assert answer["error"]["ename"] == "ZeroDivisionError"
    assert len(service.runs(task)) == 1
    assert len(notebooks.read(service, task)["cells"]) == 1


def test_what_came_later_changes_nothing(service, task):
    code = """import threading
go, done = threading.Event(), threading.Event()
def f():
    go.wait()
    print("late")
    h.update("changed")
    done.set()
threading.Thread(target=f).start()
h = display("first", display_id=True)"""
    first = service.send(task, code, KEY)
    service.post(task, "go.set(); done.wait(); None")
    run = first.json()["run"]

    def late():
        again = service.get(f"/v1/runs/{run}").json()
        return again["late_count"] == 1 and again["outputs"][0]["data"] == {"text/plain": "'changed'"}

    wait_for(late, "the late line and the update")
    told = service.get(f"/v1/runs/{run}").json()["late_outputs"]
    assert [(entry["run"], entry["output"]["text"]) for entry in told] == [(run, "late\n")]
    answer = same(first, service.send(task, code, KEY))
    assert answer["outputs"][0]["data"] == {"text/plain": "'first'"}


def test_late_outputs_are_told_again(service, task):
    service.post(task, "import threading\ngo = threading.Event()\ndef f():\n  go.wait(); print('late')\n"
                 "threading.Thread(target=f).start()")
    code = "go.set(); import time; time.sleep(.2)"
    first = service.send(task, code, KEY)
    assert len(first.json()["late_outputs"]) == 1
    same(first, service.send(task, code, KEY))
    assert service.get(f"/v1/runs/{first.json()['run']}").json()["late_outputs"] == first.json()["late_outputs"]


def test_twenty_at_the_same_moment(service, task):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        responses = list(pool.map(lambda _: service.send(task, RICH, KEY), range(20)))
    first = [response for response in responses if "Idempotent-Replayed" not in response.headers]
    assert len(first) == 1
    for response in responses:
        assert response.status_code == 200 and response.json() == first[0].json()
    assert len(service.runs(task)) == 1
    assert service.post(task, "n")["result"] == {"text/plain": "1"}


def test_another_body_is_a_conflict(service, task):
    service.send(task, "1", KEY)
    assert service.send(task, "2", KEY).status_code == 409
    assert service.send(task, "1", KEY, timeout=5).status_code == 409
    assert service.send(task, "2", {"Idempotency-Key": "other"}).status_code == 200
    assert len(service.runs(task)) == 2


def test_keys_are_the_tasks_own(service, task):
    assert service.post(task, "1")["result"] == {"text/plain": "1"}
    first = service.send(task, "n = 1; n", KEY)
    other = service.send(task + "-b", "n = 1; n", KEY)
    assert "Idempotent-Replayed" not in other.headers
    assert first.json()["run"] != other.json()["run"]
    service.delete(task + "-b")


def test_a_restart_of_the_app_forgets_no_key(make_instance):
    service = make_instance()
    first = service.send("t", RICH, KEY)
    service.kill("app")
    service.start_app()
    same(first, service.send("t", RICH, KEY))
    assert service.send("t", "2", KEY).status_code == 409
    assert service.post("t", "n")["result"] == {"text/plain": "1"}


def test_a_repeat_may_be_streamed_or_answered_at_once(service, task):
    first = service.send(task, "print(1)", KEY)
    stream = service.send(task, "print(1)", KEY | {"Accept": "application/x-ndjson"})
    (event,) = stream.text.splitlines()
    assert json.loads(event) == {"type": "answer", "content": first.json()}


def test_a_repeat_in_the_background_names_the_first_run(service, task):
    first = service.send(task, "print(1)", KEY, wait=False)
    second = service.send(task, "print(1)", KEY, wait=False)
    assert first.status_code == second.status_code == 202
    assert second.json()["run"] == first.json()["run"]
    assert service.wait_run(first.json()["run"])["stdout"] == "1\n"
    assert len(service.runs(task)) == 1


def test_what_could_not_be_run_may_be_asked_for_again(scripted, task):
    code = "scenario: aborted-once"
    refused = "scenario: aborted-always"
    first = scripted.send(task, refused, KEY)
    second = scripted.send(task, refused, KEY)
    assert first.status_code == second.status_code == 503
    assert second.json()["run"] != first.json()["run"]
    assert scripted.send(task, code, KEY).status_code == 200
    assert scripted.send(task, refused, KEY).status_code == 409
    scripted.delete(task)


def test_the_failure_of_the_first_is_that_of_all(scripted, task):
    """All ask while the first one waits for its kernel, which is none."""
    scripted.put(task, kernelspec="scripted-exit")
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        responses = list(pool.map(lambda _: scripted.send(task, "1", KEY), range(3)))
    for response in responses:
        assert response.status_code == 503
        assert "told to fail at its start" in response.json()["stderr"]


def test_a_cancelled_run_stays_cancelled(service, task):
    service.post(task, "import threading; go = threading.Event()")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        holder = pool.submit(service.post, task, "go.wait()")
        wait_for(lambda: [r for r in service.runs(task) if r["status"] == "running"], "the run")
        queued = pool.submit(service.send, task, "2", KEY)
        wait_for(lambda: len(service.runs(task)) == 3, "the queued run")
        waiting = service.runs(task)[0]["run"]
        service.request("DELETE", f"/v1/runs/{waiting}")
        first = queued.result()
        service.request("POST", f"/v1/tasks/{task}/interrupt")
        holder.result()
    second = service.send(task, "2", KEY)
    assert first.status_code == second.status_code == 409
    assert first.json()["run"] == second.json()["run"] == waiting
    assert first.json()["detail"] == second.json()["detail"]
