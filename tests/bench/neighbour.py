"""What a task feels of an attack in another one: median and p99 of its `1+1`
through nginx while the attack lasts, and their ratios to those of a quiet
machine.

Attacks and quiet take turns, so that a machine whose speed drifts treats them
alike."""

import threading
import time

import requests

from tests.instance import Instance

from .figures import summary

ROUNDS, SECONDS, PAUSE = 3, 4, 0.005
DEAF = "import signal; signal.signal(2, signal.SIG_IGN)\n"  # it is not to be stopped before the time
ATTACKS = {
    "nothing": None,
    "fork bomb": DEAF + "import os\nwhile True:\n try: os.fork()\n except OSError: pass",
    "memory hog": "a = []\nwhile True:\n try:\n  while True: a.append(bytearray(1 << 20))\n except BaseException: a.clear()",
    "disk writer": DEAF + "b = bytes(1 << 20)\nwhile True:\n with open('f', 'wb') as f:\n  for _ in range(256): f.write(b)",
    "many files": DEAF + "i = 0\nwhile True:\n open(str(i % 1000), 'w').close(); i += 1\n if i % 1000 == 0: import os; [os.remove(str(k)) for k in range(1000)]",
    "print flood": "while True: print('x' * 1000)",
    "busy processes": DEAF + "import os\nfor _ in range(50):\n if os.fork() == 0: break\nwhile True: pass",
    "system calls": DEAF + "import os, threading\ndef work():\n while True: os.stat('/')\nfor _ in range(20): threading.Thread(target=work, daemon=True).start()\nwork()",
}
SETTINGS = {
    "limits.memory": "512M",
    "limits.workspace_bytes": "1G",
    "limits.output_bytes_hard": "100G",
    "kernels.interrupt_grace": "1",
    "kernels.terminate_grace": "1",
}


class Attack:
    """Runs code in a task of its own for as long as the block lasts."""

    def __init__(self, instance, code):
        self.instance, self.code = instance, code

    def send(self, code, **fields):
        url = f"{self.instance.url}/v1/tasks/attacker/execute"
        requests.post(url, json={"code": code} | fields, timeout=60).raise_for_status()

    def __enter__(self):
        if self.code is not None:
            self.send("1")
            self.thread = threading.Thread(target=self.send, args=(self.code,), kwargs={"timeout": 60})
            self.thread.start()

    def __exit__(self, *_):
        if self.code is not None:
            self.instance.delete("attacker")
            self.thread.join()


def felt(instance):
    times, end = [], time.monotonic() + SECONDS
    with requests.Session() as session:
        while time.monotonic() < end:
            time.sleep(PAUSE)
            began = time.perf_counter()
            answer = session.post(f"{instance.url}/v1/tasks/neighbour/execute", json={"code": "1+1"}, timeout=60)
            times.append(time.perf_counter() - began)
            assert answer.json()["result"] == {"text/plain": "2"}
    return times


def measure(_):
    samples = {name: [] for name in ATTACKS}
    with Instance(SETTINGS) as instance:
        instance.post("neighbour", "1+1")
        felt(instance)
        for _ in range(ROUNDS):
            for name, code in ATTACKS.items():
                with Attack(instance, code):
                    samples[name] += felt(instance)
    table = {name: summary(times) | {"answers": len(times)} for name, times in samples.items()}
    quiet = dict(table["nothing"])
    for row in table.values():
        for figure in ("median", "p99"):
            row[f"{figure}_to_quiet"] = round(row[f"{figure}_ms"] / quiet[f"{figure}_ms"], 2)
    return table
