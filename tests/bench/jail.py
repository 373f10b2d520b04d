"""What the jail costs a start, as ratios within one run: of /bin/true, from the
wish to its end, and of a kernel, up to its first answer, executed and forked.

Jailed and not take turns, so that a machine whose speed drifts treats them
alike."""

import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import tempfile
import time

from tests.instance import Instance, wait_for

from .figures import summary

PROGRAMS, ANSWERS = 100, 10
FORKED = {"kernels.warm": "on", "kernels.spares": "0"}


def ask(instance, **request):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.connect(str(instance.run / "keeper.sock"))
        peer.sendall(json.dumps(request).encode())
        answer = json.loads(peer.recv(1 << 16))
    assert answer["ok"], answer
    return answer["kernel"]


def await_end(pid):
    with contextlib.suppress(ProcessLookupError):  # it has been collected, too
        process = os.pidfd_open(pid)
        select.select([process], [], [])
        os.close(process)


def time_program(instance):
    """By way of the keeper and a shim."""
    began = time.perf_counter()
    kernel = ask(instance, verb="start", task="program")
    await_end(kernel["pid"])
    took = time.perf_counter() - began
    wait_for(lambda: not ask(instance, verb="status", kernel=kernel["id"])["alive"], "the end")
    return took


def time_spawn():
    """Without any of it."""
    began = time.perf_counter()
    subprocess.run(["/bin/true"], check=True)
    return time.perf_counter() - began


def programs(instances):
    for instance in instances.values():
        assert instance.put("program", kernelspec="program").status_code == 201
        time_program(instance)
    samples = {name: [] for name in ("spawned", *instances)}
    for _ in range(PROGRAMS):
        samples["spawned"].append(time_spawn())
        for name, instance in instances.items():
            samples[name].append(time_program(instance))
    return samples


def first_answer(instance, task):
    began = time.perf_counter()
    assert instance.post(task, "1+1")["result"]["text/plain"] == "2"
    took = time.perf_counter() - began
    instance.delete(task)
    return took


def first_answers(instances):
    samples = {name: [] for name in instances}
    for number in range(ANSWERS + 1):
        for name, instance in instances.items():
            samples[name].append(first_answer(instance, f"t{number}"))
    return {name: times[1:] for name, times in samples.items()}


def compared(samples):
    table = {name: summary(times) for name, times in samples.items()}
    free, jailed = table["free"]["median_ms"], table["jailed"]["median_ms"]
    return table | {"jailed to free": round(jailed / free, 3), "the jail's ms": round(jailed - free, 2)}


@contextlib.contextmanager
def pair(settings):
    with Instance(settings | {"jail.jail": "off"}) as free, Instance(settings | {"jail.jail": "auto"}) as jailed:
        yield {"free": free, "jailed": jailed}


def await_zygote(instance):
    log = instance.state / "log" / "keeper.log"
    wait_for(lambda: "is ready, pid" in log.read_text(), "a process to fork from")


def measure(_):
    result = {}
    with tempfile.TemporaryDirectory() as specs:
        spec = pathlib.Path(specs) / "program"
        spec.mkdir()
        pathlib.Path(specs).chmod(0o755)
        argv = ["/bin/true", "{connection_file}"]
        (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "p", "language": "sh"}))
        with pair({"kernels.kernelspec_path": specs, "kernels.warm": "off"}) as instances:
            result["/bin/true"] = compared(programs(instances))
            result["executed kernel"] = compared(first_answers(instances))
    with pair(FORKED | {"log.log_level": "debug"}) as instances:
        for instance in instances.values():
            await_zygote(instance)
        result["forked kernel"] = compared(first_answers(instances))
    return result
