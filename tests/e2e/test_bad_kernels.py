"""A kernel that cannot start: 503 within the start deadline, with the kernel's
own words."""

import json
import time

import pytest

from tests.http.problems import check_problem

BROKEN = {
    "no-such-program": ["/nonexistent/python", "-f", "{connection_file}"],
    "missing-module": ["/usr/bin/python3", "-m", "no_such_kernel_module", "-f", "{connection_file}"],
    "ends-at-once": ["/bin/sh", "-c", "echo the reason on stderr >&2; exit 3"],
    "dies-by-signal": ["/bin/sh", "-c", "echo about to die >&2; kill -SEGV $$"],
    "hangs": ["/bin/sh", "-c", "echo hanging here >&2; sleep 600"],
    "writes-for-ever": ["/bin/sh", "-c", "while :; do echo noise noise noise >&2; done"],
}

# What the answer must say, besides its status.
WORDS = {
    "no-such-program": "No such file or directory",
    "missing-module": "no_such_kernel_module",
    "ends-at-once": "the reason on stderr",
    "dies-by-signal": "about to die",
    "hangs": "hanging here",
    "writes-for-ever": "noise",
}

DEADLINE = 3


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    from tests.instance import Instance

    specs = tmp_path_factory.mktemp("specs")
    for parent in (specs, *specs.parents[:-2]):
        parent.chmod(0o755)
    for name, argv in BROKEN.items():
        (specs / name).mkdir()
        spec = {"argv": argv, "display_name": name, "language": "python"}
        (specs / name / "kernel.json").write_text(json.dumps(spec))
    settings = {"kernels.kernelspec_path": specs, "kernels.start_timeout": f"{DEADLINE}s"}
    with Instance(settings) as instance:
        yield instance


@pytest.mark.parametrize("name", BROKEN)
def test_a_kernel_that_cannot_start_is_told_with_its_own_words(broken, task, name):
    assert broken.put(task, kernelspec=name).status_code == 201
    start = time.monotonic()
    response = broken.send(task, "1")
    assert time.monotonic() - start < DEADLINE + 4
    assert response.status_code == 503, response.text
    problem = response.json()
    assert problem["type"] == "urn:cellpost:problem:unavailable"
    assert int(response.headers["Retry-After"]) >= 1
    assert WORDS[name] in json.dumps(problem), problem
    assert broken.runs(task)[0]["status"] == "not_run"
    # Nothing of it is left, and the next run is not held up.
    assert broken.delete(task).status_code == 200


def test_others_are_not_disturbed(broken, task):
    broken.put(f"{task}-hangs", kernelspec="hangs")
    waiting = broken.send(f"{task}-hangs", "1", wait=False).json()["run"]
    assert broken.post(task, "1+1")["result"] == {"text/plain": "2"}
    assert broken.wait_run(waiting)["status"] == "not_run"


def test_a_stream_learns_of_it_by_an_ordinary_problem_or_event(broken, task):
    broken.put(task, kernelspec="ends-at-once")
    response = broken.send(task, "1", {"Accept": "application/x-ndjson"})
    if response.status_code == 200:
        last = json.loads(response.text.splitlines()[-1])
        assert last["type"] == "problem" and last["content"]["status"] == 503
        assert "the reason on stderr" in json.dumps(last)
    else:
        assert response.status_code == 503 and "the reason on stderr" in response.text


def test_a_kernelspec_that_is_not_there_is_refused(broken, task):
    check_problem(broken.put(task, kernelspec="absent"), 422, "absent")


def test_no_more_kernels_than_allowed(make_instance, task):
    service = make_instance({"kernels.max_kernels": 1})
    run = service.send(f"{task}-1", "x = 1; import time; time.sleep(600)", wait=False).json()["run"]
    service.wait_run(run, "running")
    response = service.send(f"{task}-2", "1")
    assert response.status_code == 503 and "max_kernels" in response.text
    service.request("DELETE", f"/v1/runs/{run}")
    service.wait_run(run)
    assert service.post(f"{task}-2", "1")["status"] == "ok"
    answer = service.post(f"{task}-1", "'x' in dir()")
    assert answer["result"]["text/plain"] == "False"
    assert answer["kernel"]["state"] == "lost" and "needed its place" in answer["kernel"]["reason"]
