"""Median and p99 of `1+1`, four ways, in one run: the bare kernel (a C client
on libzmq), the app over its socket, the app through nginx, jupyter_client.

The first three drive the same kernel in turn, a block of each at a time, so
that a machine whose speed drifts treats them alike. All pause between two
requests: a kernel that was idle for a moment answers later than one that is
asked without a break, and the app's work between two answers is such a break.
The figures without a pause are printed, too."""

import json
import socket
import statistics
import subprocess
import time

from tests import fastcgi

from .figures import summary

BODY = json.dumps({"code": "1+1"}).encode()


def check(answer):
    assert answer["status"] == "ok" and answer["result"]["text/plain"] == "2", answer


def timed(once, count, pause):
    once()
    times = []
    for _ in range(count):
        time.sleep(pause)
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return times


def over_socket(instance, task, count, pause):
    def once():
        uri = f"/v1/tasks/{task}/execute"
        response = fastcgi.request(instance.fcgi_socket, "POST", uri, BODY)
        check(json.loads(response.split(b"\r\n\r\n", 1)[1]))

    return timed(once, count, pause)


def http_request(task):
    return (
        f"POST /v1/tasks/{task}/execute HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    ).encode() + BODY


def read_answer(stream):
    """One response with a Content-Length; http.client would add its own time."""
    size = 0
    while (line := stream.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            size = int(line[15:])
    return stream.read(size)


def through_nginx(instance, task, count, pause):
    message = http_request(task)
    with socket.create_connection(("127.0.0.1", instance.port)) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with peer.makefile("rb") as stream:

            def once():
                peer.sendall(message)
                check(json.loads(read_answer(stream)))

            return timed(once, count, pause)


def raw(instance, task, count, pause):
    command = [instance.program("raw_client"), instance.connection_file(task)]
    output = subprocess.run(
        [*command, str(count), str(int(pause * 1e6))],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    # The app saw these runs, too; it tells of them in its next answer.
    through_nginx(instance, task, 3, 0.2)
    return [value / 1e6 for value in json.loads(output)["samples_us"]]


def by_jupyter_client(count, pause):
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")

    def once():
        message = client.execute("1+1", stop_on_error=False)
        client.get_shell_msg(timeout=30)
        while True:
            got = client.get_iopub_msg(timeout=30)
            if (
                got["parent_header"].get("msg_id") == message
                and got["msg_type"] == "status"
                and got["content"]["execution_state"] == "idle"
            ):
                return

    try:
        timed(once, 20, 0)
        return timed(once, count, pause)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def compare(instance, task, pause, blocks, block):
    ways = {"raw": raw, "socket": over_socket, "nginx": through_nginx}
    samples = {name: [] for name in ways}
    ratios = {"socket": [], "nginx": []}
    for _ in range(blocks):
        medians = {}
        for name, way in ways.items():
            times = way(instance, task, block, pause)
            samples[name] += times
            medians[name] = statistics.median(times)
        for name in ratios:
            ratios[name].append(medians[name] / medians["raw"])
    samples["jupyter_client"] = by_jupyter_client(blocks * block // 2, pause)
    table = {name: summary(times) for name, times in samples.items()}
    for name, values in ratios.items():
        table[name]["ratio_to_raw"] = round(statistics.median(values), 3)
    return table


def measure(instance, blocks=8, block=60):
    task = "latency"
    instance.post(task, "1+1")
    through_nginx(instance, task, 30, 0)
    return {
        "pause of 2 ms": compare(instance, task, 0.002, blocks, block),
        "no pause": compare(instance, task, 0, blocks, block),
    }
