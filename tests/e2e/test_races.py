"""Requests that meet each other, or a kernel in a bad moment."""

import threading

import pytest

from tests.instance import JSON


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
