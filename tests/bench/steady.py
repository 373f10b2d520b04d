"""Many runs on one kernel: latency, memory and descriptors must stay flat."""

import time

from .figures import summary
from .memory import look


def measure(instance, runs=10_000):
    task = "steady"
    instance.post(task, "1+1")
    table = {}
    times = []
    for index in range(1, runs + 1):
        start = time.perf_counter()
        answer = instance.post(task, "1+1")
        times.append(time.perf_counter() - start)
        assert answer["execution_count"] == index + 1
        if index in (runs // 10, runs):
            table[f"after {index}"] = look(instance)
            table[f"the last {runs // 10} up to {index}"] = summary(times[-runs // 10 :])
    first, last = times[: runs // 10], times[-runs // 10 :]
    table["median, last tenth to first tenth"] = round(
        summary(last)["median_ms"] / summary(first)["median_ms"], 3
    )
    notebook = instance.task_directory(task) / "notebook.ipynb"
    table["notebook_bytes"] = notebook.stat().st_size
    return table
