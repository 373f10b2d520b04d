"""Resident memory and descriptors of app and keeper: with few and many tasks,
and before and after many tasks came and went."""

import os
import time


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def look(instance):
    return {
        name: {"rss_kib": rss_kib(pid), "descriptors": descriptors(pid)}
        for name, pid in (
            ("app", instance.pid("app")),
            ("keeper", instance.pid("keeper")),
        )
    }


def idle_tasks(instance, most=50):
    table = {}
    for index in range(most):
        instance.post(f"idle-{index}", "1+1")
        if index + 1 in (1, most):
            table[str(index + 1)] = look(instance)
    for index in range(most):
        instance.delete(f"idle-{index}")
    return table


def come_and_go(instance, times=200):
    for index in range(20):
        instance.post(f"warm-{index}", "1+1")
        instance.delete(f"warm-{index}")
    before = look(instance)
    start = time.monotonic()
    for index in range(times):
        instance.post(f"gone-{index}", "1+1")
        instance.delete(f"gone-{index}")
    seconds = time.monotonic() - start
    return {"before": before, "after": look(instance), "tasks": times,
            "seconds_each": round(seconds / times, 3)}
