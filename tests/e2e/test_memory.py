"""What inputs of outside may cost the app's memory, and that it comes back."""

import concurrent.futures
import json

import pytest

from tests.instance import JSON, Instance, wait_for


@pytest.fixture(scope="module")
def own():
    with Instance({"retention.interval": 0}) as instance:
        instance.post("warm", "1")
        yield instance


def memory(instance, field="VmRSS"):
    """In MiB."""
    for line in open(f"/proc/{instance.pid('app')}/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise AssertionError(field)


class Peak:
    """The app's highest memory since the block began, above what it had then."""

    def __init__(self, instance):
        self.instance = instance

    def __enter__(self):
        with open(f"/proc/{self.instance.pid('app')}/clear_refs", "w") as file:
            file.write("5")
        self.before = memory(self.instance)
        return self

    def __exit__(self, *_):
        self.mib = memory(self.instance, "VmHWM") - self.before

    def comes_back(self, most):
        wait_for(lambda: memory(self.instance) < self.before + most, "the memory to be given back", 10)


def test_an_output_of_many_small_objects(own):
    with Peak(own) as peak:
        for _ in range(2):
            answer = own.post("small", 'display({"application/json": [{}] * 300000}, raw=True)')
            assert answer["status"] == "ok"
            assert answer["outputs"][0]["data"]["application/json"] == [{}] * 300000
    print(f"outputs: {peak.mib:.0f} MiB")
    assert peak.mib < 80
    peak.comes_back(40)
    notebook = json.loads((own.task_directory("small") / "notebook.ipynb").read_text())
    assert notebook["cells"][1]["outputs"][0]["data"]["application/json"] == [{}] * 300000


def test_bodies_of_many_small_objects(own):
    body = '{"code": "1", "x": [' + ",".join(["{}"] * 166000) + "]}"
    with Peak(own) as peak, concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(lambda _: own.request("POST", "/v1/tasks/b/execute", data=body, headers=JSON), range(8))
        )
    print(f"bodies: {peak.mib:.0f} MiB")
    assert {reply.status_code for reply in replies} == {413}
    assert "memory" in replies[0].json()["detail"]
    assert peak.mib < 120
    peak.comes_back(40)


def test_a_list_of_runs_of_long_code(own):
    code = "#" + "x" * 3_900_000 + "\n1"
    for _ in range(12):
        assert own.post("long", code, images="link")["status"] == "ok"
    with Peak(own) as peak:
        runs = own.get("/v1/tasks/long/runs").json()["runs"]
    print(f"list: {peak.mib:.0f} MiB")
    assert [len(run["code"]) for run in runs] == [200] * 12
    assert peak.mib < 20


def test_numbers_of_many_digits(own):
    own.post("digits", "import sys; sys.set_int_max_str_digits(0)")
    answer = own.post("digits", 'display({"application/json": {"n": 10**5000, "m": 7}}, raw=True)')
    data = answer["outputs"][0]["data"]["application/json"]
    assert data["m"] == 7
    assert data["n"] == "1" + "0" * 5000 + " (a number of 5001 digits, given as text)"
    assert own.get(f"/v1/runs/{answer['run']}").json()["outputs"][0]["data"]["application/json"] == data
    notebook = json.loads((own.task_directory("digits") / "notebook.ipynb").read_text())
    assert notebook["cells"][1]["outputs"][0]["data"]["application/json"] == data


def test_a_key_with_a_nul_stays_as_it_is(own):
    answer = own.post("nul", 'display({"application/json": {"d": {"A\\0": 1}}}, raw=True)')
    assert answer["outputs"][0]["data"]["application/json"] == {"d": {"A\0": 1}}
    notebook = json.loads((own.task_directory("nul") / "notebook.ipynb").read_text())
    assert notebook["cells"][0]["outputs"][0]["data"]["application/json"] == {"d": {"A\0": 1}}


def test_a_key_with_a_nul_in_a_body_is_named(own):
    reply = own.request("POST", "/v1/tasks/nul/execute", data='{"code": "1", "A\\u0000": 2}', headers=JSON)
    assert reply.status_code == 422
    assert "NUL" in reply.json()["detail"]
