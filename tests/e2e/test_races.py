"""Requests that meet each other, or a kernel in a bad moment."""

import json
import pathlib
import threading

import pytest

from tests.instance import JSON, wait_for


@pytest.fixture
def own(scripted, task):
    yield task
    scripted.delete(task)


class Asked(threading.Thread):
    """A request under way, on a connection of its own."""

    def __init__(self, function, *arguments):
        super().__init__()
        self.function, self.arguments = function, arguments
        self.start()

    def run(self):
        self.response = self.function(*self.arguments)

    @property
    def answer(self):
        self.join(60)
        assert not self.is_alive(), "no answer came within a minute"
        return self.response


def restart(instance, task):
    return Asked(lambda: instance.request("POST", f"/v1/tasks/{task}/restart", data="{}", headers=JSON))


DEAF_TO_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def test_two_restarts_at_once_are_both_answered(scripted, own):
    """Each waits for the kernel that was there, and not for the one that the other has started."""
    scripted.post(own, DEAF_TO_TERM)  # so that both come before its end
    asked = [restart(scripted, own) for _ in range(2)]
    for one in asked:
        assert one.answer.status_code == 200, one.answer.text
    kernels = {one.answer.json()["kernel"]["id"] for one in asked}
    assert scripted.post(own, "1")["kernel"]["id"] in kernels


@pytest.fixture
def held(scripted, own):
    """A task whose kernel gets ready once the test lets it."""
    scripted.put(own, kernelspec="scripted-held")

    def let_go():
        (scripted.task_directory(own) / "files" / "go").touch()

    yield let_go


def wait_for_start(instance, task):
    wait_for(lambda: instance.get(f"/v1/tasks/{task}").json()["kernel"], "the start of a kernel")


def test_a_run_that_is_cancelled_while_its_kernel_starts_is_not_executed(scripted, own, held):
    run = scripted.send(own, "ran = True", wait=False).json()["run"]
    wait_for_start(scripted, own)
    assert scripted.request("DELETE", f"/v1/runs/{run}").status_code == 202
    held()
    assert scripted.wait_run(run)["status"] == "cancelled"
    after = scripted.post(own, "'ran' in globals()")
    assert after["result"]["text/plain"] == "False"
    assert after["kernel"]["generation"] == 1


def test_a_run_goes_on_in_the_kernel_of_a_restart(scripted, own, held):
    run = Asked(scripted.send, own, "6*7")
    wait_for_start(scripted, own)
    assert restart(scripted, own).answer.status_code == 200
    held()
    assert run.answer.status_code == 200, run.answer.text
    answer = run.answer.json()
    assert answer["result"]["text/plain"] == "42"
    assert (answer["kernel"]["generation"], answer["kernel"]["state"]) == (2, "fresh")


# The kernel has to read the close of each comm before it reads a cell.
MANY_COMMS = """
from ipykernel.comm import Comm
for number in range(5000):
    Comm(target_name="x" * 1000, data={"a": "b" * 1000})
"""


def test_a_cell_after_thousands_of_comms(service, task):
    assert service.post(task, MANY_COMMS)["status"] == "ok"
    assert service.post(task, "1+1")["result"] == {"text/plain": "2"}


def lose_sockets(instance, task):
    """As somebody does who cleans up; the kernel itself cannot."""
    connection = json.loads(pathlib.Path(instance.connection_file(task)).read_text())
    for name in ("shell", "iopub", "stdin", "control", "hb"):
        place = pathlib.Path(f"{connection['ip']}-{connection[name + '_port']}")
        place.rename(place.with_name(place.name + ".away"))


def test_a_kernel_that_has_lost_its_sockets_is_replaced(make_instance, task):
    """Only a new process of ours notices: what is open stays open."""
    instance = make_instance({"kernels.start_timeout": "600"})
    instance.post(task, "x = 1")
    lose_sockets(instance, task)
    assert instance.post(task, "x")["kernel"]["state"] == "kept"
    instance.kill("app")
    instance.start_app()
    answer = instance.post(task, "1+1")
    assert answer["result"] == {"text/plain": "2"}
    assert answer["kernel"]["state"] == "lost"
    assert "did not answer" in answer["kernel"]["reason"]
