"""What happens between runs: nothing wakes for nothing, and late output of one
task does not wait for another's."""

import pathlib
import time

import pytest

from tests.instance import wait_for

THREAD = "import threading, time\ndef f():\n    time.sleep(%g)\n    %s\nthreading.Thread(target=f).start()"
COSTLY = "for i in range(20): display({'application/json': [{}] * 300000}, raw=True)"


def wakes(pid):
    """How often each thread of the process has waited so far."""
    counts = {}
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        counts[status.parent.name] = int(fields["voluntary_ctxt_switches"])
    return counts


def test_an_idle_app_does_not_wake(make_instance):
    own = make_instance()
    for task in ("a", "b"):
        own.post(task, "1")
    pid = own.pid("app")
    seen = [wakes(pid)]

    def rests():
        """No thread has waked for two seconds."""
        time.sleep(2)
        seen.append(wakes(pid))
        return seen[-1] == seen[-2]

    wait_for(rests, "rest")
    assert own.post("a", "1")["kernel"]["state"] == "kept"


def test_late_output_waits_for_no_other_task(service, task):
    noisy = f"{task}-noisy"
    for name in (task, noisy):
        service.post(name, "from IPython.display import display")
    service.post(noisy, THREAD % (0.5, COSTLY))
    run = service.post(task, THREAD % (1, "print('late', time.time(), flush=True)"))["run"]
    seen = wait_for(lambda: service.get(f"/v1/runs/{run}").json()["outputs"], "the late line")
    # Twenty such messages cost several seconds, this one none.
    assert time.time() - float(seen[0]["text"].split()[1]) < 3
    service.delete(noisy)


@pytest.mark.parametrize("pause", [0.0, 0.3])
def test_late_output_comes_when_messages_waited_at_the_end(service, task, pause):
    """Whether it is there when the channel is given back, or comes afterwards."""
    run = service.post(task, THREAD % (pause, "print('late', flush=True)"))["run"]
    wait_for(lambda: "late\n" in service.get(f"/v1/runs/{run}").json()["stdout"], "the line")
