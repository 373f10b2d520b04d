"""What the jail costs: the start of a program that does nothing, and the first
answer of a new task, jailed and not; and what a neighbour feels of an attack.

Jailed and not take turns, so that a machine whose speed drifts treats them
alike."""

import json
import pathlib
import socket
import tempfile
import threading
import time

import requests

from tests.instance import Instance

from .figures import summary

STARTS, ANSWERS = 40, 8
ATTACKS = {
    "nothing": "import time; time.sleep(5)",
    "fork bomb": "import os, signal; signal.signal(2, signal.SIG_IGN)\nwhile True:\n try: os.fork()\n except OSError: pass",
    "memory bomb": "import signal; signal.signal(2, signal.SIG_IGN)\na = []\nwhile True: a.append(bytearray(1 << 20))",
    "disk fill": "b = bytes(1 << 20)\nwhile True:\n with open('f', 'wb') as f:\n  for _ in range(256): f.write(b)",
    "many files": "i = 0\nwhile True: open(str(i), 'w').close(); i += 1",
    "busy loops": "import os\nfor _ in range(50):\n if os.fork() == 0:\n  while True: pass\nimport time; time.sleep(60)",
    "system calls": "import os, threading\ndef work():\n while True: os.stat('/')\nfor _ in range(20): threading.Thread(target=work, daemon=True).start()\nwork()",
}


def ask(instance, **request):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(instance.run / "keeper.sock"))
        peer.sendall(json.dumps(request).encode())
        answer = json.loads(peer.recv(1 << 16))
    assert answer["ok"], answer
    return answer["kernel"]


def start_time(instance, task):
    """Seconds from the wish to the moment that the program runs."""
    began = time.perf_counter()
    ask(instance, verb="start", task=task)
    took = time.perf_counter() - began
    ask(instance, verb="stop", task=task, end="stopped")
    return took


def first_answer(instance, task):
    began = time.perf_counter()
    assert instance.post(task, "1+1")["result"]["text/plain"] == "2"
    took = time.perf_counter() - began
    instance.delete(task)
    return took


def starts(instances):
    samples = {mode: {"program": [], "first answer": []} for mode in instances}
    for instance in instances.values():
        assert instance.put("sleeper", kernelspec="sleeper").status_code == 201
        start_time(instance, "sleeper")
    for _ in range(STARTS):
        for mode, instance in instances.items():
            samples[mode]["program"].append(start_time(instance, "sleeper"))
    for number in range(ANSWERS):
        for mode, instance in instances.items():
            samples[mode]["first answer"].append(first_answer(instance, f"n{number}"))
    return {mode: {name: summary(list_of) for name, list_of in kinds.items()} for mode, kinds in samples.items()}


def felt(instance, code):
    """Latency of a neighbour's 1+1 while the code runs for five seconds."""
    times, over = [], threading.Event()

    def attack():
        instance.send("attacker", code, timeout=5)
        over.set()

    instance.post("attacker", "1")
    thread = threading.Thread(target=attack)
    thread.start()
    with requests.Session() as session:
        while not over.is_set():
            began = time.perf_counter()
            answer = session.post(f"{instance.url}/v1/tasks/neighbour/execute", json={"code": "1+1"}, timeout=60)
            times.append(time.perf_counter() - began)
            assert answer.json()["result"] == {"text/plain": "2"}
            time.sleep(0.01)
    thread.join()
    instance.delete("attacker")
    return summary(times)


def measure(_):
    with tempfile.TemporaryDirectory() as specs:
        spec = pathlib.Path(specs) / "sleeper"
        spec.mkdir()
        pathlib.Path(specs).chmod(0o755)
        (spec / "kernel.json").write_text(
            json.dumps({"argv": ["sleep", "600", "{connection_file}"], "display_name": "s", "language": "sh"})
        )
        common = {"kernels.kernelspec_path": specs, "kernels.terminate_grace": "1", "limits.memory": "512M"}
        with Instance(common | {"jail.jail": "off"}) as off, Instance(common | {"jail.jail": "auto"}) as on:
            result = starts({"off": off, "jailed": on})
            on.post("neighbour", "1+1")
            result["neighbour of"] = {name: felt(on, code) for name, code in ATTACKS.items()}
    cost = result["jailed"]["program"]["median_ms"] - result["off"]["program"]["median_ms"]
    return result | {"cost of a start_ms": round(cost, 2)}
