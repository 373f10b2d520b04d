"""How much later than a raw subscriber a streaming client sees a line."""

import json
import threading
import time

import zmq

from .figures import summary

LINES = 200
CODE = f"""import time
for i in range({LINES}):
    print("mark", i, flush=True)
    time.sleep(.01)"""


def subscribe(connection_file, seen, ready):
    with open(connection_file, encoding="utf-8") as file:
        connection = json.load(file)
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    socket.subscribe(b"")
    socket.connect(f"ipc://{connection['ip']}-{connection['iopub_port']}")
    socket.rcvtimeo = 10_000
    ready.set()
    while len(seen) < LINES:
        frames = socket.recv_multipart()
        note(seen, frames[-1].decode("utf-8", "replace"))
    socket.close(0)
    context.term()


def note(seen, text):
    now = time.perf_counter()
    for part in text.split("mark ")[1:]:
        seen.setdefault(int("".join(c for c in part[:6] if c.isdigit())), now)


def measure(instance):
    task = "stream"
    instance.post(task, "1+1")
    raw, streamed, ready = {}, {}, threading.Event()
    thread = threading.Thread(
        target=subscribe, args=(instance.connection_file(task), raw, ready)
    )
    thread.start()
    ready.wait()
    time.sleep(0.5)
    headers = {"Content-Type": "application/json", "Accept": "application/x-ndjson"}
    with instance.request(
        "POST",
        f"/v1/tasks/{task}/execute",
        data=json.dumps({"code": CODE}),
        headers=headers,
        stream=True,
    ) as response:
        for line in response.iter_lines(chunk_size=1):
            event = json.loads(line)
            if event["type"] == "stream":
                note(streamed, event["content"]["text"])
    thread.join()
    later = [streamed[mark] - raw[mark] for mark in raw]
    return {"later than a raw subscriber": summary(later), "lines": len(later)}
