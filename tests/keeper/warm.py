"""A keeper whose kernels are forked."""

import contextlib
import re

from conftest import keeper_of_ones_own, processes, wait_for

READY = re.compile(r"spare kernel (\S+) is ready")


def is_ready(keeper, count=1):
    return keeper.log.read_text().count("is ready, pid") >= count


def zygotes(keeper):
    """Pids."""
    return [pid for pid, (parent, state, line) in processes().items()
            if parent == keeper.process.pid and state != "Z" and line.startswith("cellpost-zygote")]


@contextlib.contextmanager
def warm_keeper(jail="off", ready=True, **settings):
    with keeper_of_ones_own() as made:
        made.jail = jail
        made.log_level = "debug"
        made.start(**{"warm": "on", "spares": 0} | settings)
        if ready:
            wait_for(lambda: is_ready(made), "a zygote")
        yield made


def was_forked(kernel):
    """A zygote has frozen its objects; they stay so in its copies."""
    return kernel.run("import gc; print(gc.get_freeze_count() > 0)") == "True\n"


def spares(keeper):
    """Ids of those that are on their way or ready."""
    return [workspace.name for workspace in (keeper.state / "spares").iterdir()]


def ready_spares(keeper, count=1):
    """Waits until so many say in the log that they are ready; their ids."""

    def look():
        ready = set(READY.findall(keeper.log.read_text())).intersection(spares(keeper))
        return len(ready) >= count and sorted(ready)

    return wait_for(look, "spares")
