#!/usr/bin/python3
"""A kernel that plays what real kernels do rarely, wrongly or at bad moments.

It speaks the Jupyter protocol over real ZeroMQ sockets and needs nothing but
Debian's python3-zmq.

    scripted_kernel.py -f CONNECTION_FILE [--start BEHAVIOUR]
    scripted_kernel.py --install DIRECTORY
    scripted_kernel.py --list

A cell whose code begins with "scenario: NAME [ARGUMENT...]" plays that
scenario (scenarios.py); any other cell is run as Python, in the kernel's own
process, so that a test can see whether state was kept. --start chooses what
concerns the whole life of the kernel (readiness, interrupts). --install writes a kernelspec
`scripted` for the plain kernel and `scripted-BEHAVIOUR` for the others, as
DIRECTORY/NAME/kernel.json.
"""

import argparse
import ast
import contextlib
import hashlib
import hmac
import io
import json
import os
import signal
import socket
import sys
import time
import traceback
import uuid
from datetime import datetime, timezone

import zmq

from scenarios import SCENARIOS

DELIMITER = b"<IDS|MSG>"
STARTS = {
    "plain": "answers as a good kernel does",
    "message": "wants interrupt_request on control; ignores SIGINT",
    "silent": "publishes nothing on iopub for kernel_info_request",
    "no-idle": "publishes busy but no idle for kernel_info_request",
    "chatter": "publishes output without a parent while it starts",
    "shell-busy": "answers on control, never on shell",
    "staggered": "binds its sockets one by one, control last",
    "late": "binds its sockets half a second after it was started",
    "held": "binds its sockets once its directory has a file `go`",
    "exit": "complains on stderr and exits with 3 before it binds anything",
    "hang": "never binds anything",
    "deaf": "binds its sockets, then answers nothing",
    "bare-info": "leaves out of kernel_info_reply what can be left out",
}


class Message:
    """One message that arrived, with its route back."""

    def __init__(self, frames):
        at = frames.index(DELIMITER)
        self.identities = frames[:at]
        self.header, self.parent, self.metadata, self.content = (
            json.loads(frame) for frame in frames[at + 2 : at + 6])
        self.type = self.header["msg_type"]


def encode(value):
    """Bytes stay as they are, so that a scenario can send what is no JSON."""
    if isinstance(value, bytes):
        return value
    return json.dumps(value, ensure_ascii=False).encode("utf-8",
                                                        "surrogatepass")


class Kernel:
    def __init__(self, connection, start):
        self.start = start
        self.key = connection["key"].encode()
        self.session = uuid.uuid4().hex
        self.count = 0
        self.names = {"__name__": "__main__"}
        self.seen = {}  # how often each code was sent
        self.closed_comms = []
        self.previous = None  # the execute_request before this one
        self.timers = []  # (when, function)
        self.interrupted = False
        self.running = True
        self.context = zmq.Context()
        self.context.linger = 1000
        self.publisher = self.bind(zmq.PUB, connection, "iopub_port")
        self.heartbeat = self.bind(zmq.REP, connection, "hb_port")
        self.shell = self.bind(zmq.ROUTER, connection, "shell_port")
        self.stdin = self.bind(zmq.ROUTER, connection, "stdin_port")
        self.control = self.bind(zmq.ROUTER, connection, "control_port")
        self.catch_interrupts()

    def bind(self, kind, connection, port):
        if self.start == "staggered":
            time.sleep(0.1)
        made = self.context.socket(kind)
        made.sndhwm = made.rcvhwm = 0
        between = "-" if connection["transport"] == "ipc" else ":"
        made.bind(f"{connection['transport']}://{connection['ip']}{between}"
                  f"{connection[port]}")
        return made

    def catch_interrupts(self):
        """SIGINT becomes a byte that the poll loops wait for."""
        self.signal_read, signal_write = socket.socketpair()
        self.signal_read.setblocking(False)
        signal_write.setblocking(False)
        self.signal_write = signal_write
        signal.set_wakeup_fd(signal_write.fileno())
        signal.signal(signal.SIGINT, lambda *_: None)

    def header(self, kind):
        return {"msg_id": uuid.uuid4().hex, "session": self.session,
                "username": "kernel", "msg_type": kind, "version": "5.3",
                "date": datetime.now(timezone.utc).isoformat()}

    def sign(self, parts):
        mac = hmac.new(self.key, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode() if self.key else b""

    def frames(self, kind, content, parent, metadata=None, header=None,
               signature=None):
        parts = [encode(self.header(kind) if header is None else header),
                 encode(parent), encode({} if metadata is None else metadata),
                 encode(content)]
        return [DELIMITER, signature or self.sign(parts), *parts]

    def publish(self, kind, content, request=None, buffers=(), topic=True,
                **parts):
        """On iopub, with the request's header as the parent. `parent` among
        the parts takes its place."""
        parts.setdefault("parent", request.header if request else {})
        topics = [f"kernel.{self.session}.{kind}".encode()] if topic else []
        self.publisher.send_multipart(
            topics + self.frames(kind, content, **parts) + list(buffers))

    def answer(self, channel, kind, content, request, **parts):
        parts.setdefault("parent", request.header)
        channel.send_multipart(request.identities +
                               self.frames(kind, content, **parts))

    def status(self, state, request=None):
        self.publish("status", {"execution_state": state}, request)

    def stream(self, text, request=None, name="stdout", **parts):
        self.publish("stream", {"name": name, "text": text}, request, **parts)

    def reply(self, request, status="ok", **members):
        content = {"status": status, "execution_count": self.count,
                   "user_expressions": {}, "payload": [], **members}
        self.answer(self.shell, "execute_reply", content, request)

    def error(self, request, name, value, lines=()):
        content = {"ename": name, "evalue": value,
                   "traceback": list(lines) or [f"{name}: {value}"]}
        self.publish("error", content, request)
        self.reply(request, "error", **content)

    def finish(self, request, **members):
        """The end of a good cell: reply and idle."""
        self.reply(request, **members)
        self.status("idle", request)

    def later(self, seconds, function):
        self.timers.append((time.monotonic() + seconds, function))

    def run_timers(self):
        due = [entry for entry in self.timers if entry[0] <= time.monotonic()]
        self.timers = [entry for entry in self.timers if entry not in due]
        for _, function in due:
            function()

    def poll(self, channels, timeout=None):
        """Waits once and serves what came on those channels (names of
        attributes); heartbeat, interrupts and timers are always served."""
        poller = zmq.Poller()
        for name in (*channels, "heartbeat"):
            poller.register(getattr(self, name), zmq.POLLIN)
        poller.register(self.signal_read, zmq.POLLIN)
        for when, _ in self.timers:
            left = max(0, when - time.monotonic())
            timeout = left if timeout is None else min(timeout, left)
        ready = dict(poller.poll(None if timeout is None else timeout * 1000))
        if self.signal_read.fileno() in ready:
            self.signal_read.recv(4096)
            self.interrupted = self.start != "message"
        if self.heartbeat in ready:
            self.heartbeat.send(self.heartbeat.recv())
        self.run_timers()
        for name in channels:
            if getattr(self, name) in ready:
                self.serve(name)

    def serve(self, name):
        channel = getattr(self, name)
        request = Message(channel.recv_multipart())
        if name == "shell" and self.start == "shell-busy" or \
                self.start == "deaf":
            return
        handler = {
            "kernel_info_request": self.on_kernel_info,
            "execute_request": self.on_execute,
            "interrupt_request": self.on_interrupt,
            "shutdown_request": self.on_shutdown,
            "comm_close": self.on_comm_close,
            "input_reply": self.on_input_reply,
        }.get(request.type)
        if handler:
            handler(channel, request)

    def on_kernel_info(self, channel, request):
        content = {"status": "ok", "protocol_version": "5.3",
                   "implementation": "scripted",
                   "implementation_version": "1", "banner": "Scripted kernel",
                   "language_info": {"name": "python", "version": "3",
                                     "mimetype": "text/x-python",
                                     "file_extension": ".py"}}
        if self.start == "bare-info":
            content = {"language_info": {"name": None}}
        if self.start != "silent":
            self.status("busy", request)
        self.answer(channel, "kernel_info_reply", content, request)
        if self.start not in ("silent", "no-idle"):
            self.status("idle", request)

    def on_interrupt(self, channel, request):
        self.interrupted = True
        self.answer(channel, "interrupt_reply", {"status": "ok"}, request)

    def on_shutdown(self, channel, request):
        content = {"status": "ok", "restart": request.content.get("restart")}
        self.answer(channel, "shutdown_reply", content, request)
        self.publish("shutdown_reply", content, request)
        self.running = False

    def on_comm_close(self, _channel, request):
        self.closed_comms.append(request.content["comm_id"])

    def on_input_reply(self, _channel, request):
        self.input = request.content["value"]

    def on_execute(self, _channel, request):
        code = request.content["code"]
        self.seen[code] = self.seen.get(code, 0) + 1
        self.interrupted = False
        self.count += 1
        self.status("busy", request)
        words = code.split("\n", 1)[0].split()
        if words[:1] == ["scenario:"]:
            play = SCENARIOS.get(words[1] if len(words) > 1 else "")
            if play is None:
                self.error(request, "UnknownScenario", code)
                self.status("idle", request)
            else:
                play(self, request, *words[2:])
        else:
            self.run_python(request, code)
        self.previous = request

    def begin(self, request, text=""):
        """execute_input, and what the cell prints first."""
        self.publish("execute_input", {"code": request.content["code"],
                                       "execution_count": self.count}, request)
        if text:
            self.stream(text, request)

    def run_python(self, request, code):
        self.begin(request)
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                tree = ast.parse(code)
                last = tree.body[-1:] and isinstance(tree.body[-1], ast.Expr)
                value = ast.Expression(tree.body.pop().value) if last else None
                exec(compile(tree, "cell", "exec"), self.names)
                if value is not None:
                    value = eval(compile(value, "cell", "eval"), self.names)
        except Exception as problem:
            self.stream(out.getvalue(), request)
            self.error(request, type(problem).__name__, str(problem),
                       traceback.format_exc().splitlines())
            self.status("idle", request)
            return
        if out.getvalue():
            self.stream(out.getvalue(), request)
        if value is not None:
            self.publish("execute_result",
                         {"data": {"text/plain": repr(value)}, "metadata": {},
                          "execution_count": self.count}, request)
        self.finish(request)

    def wait_for_interrupt(self, request):
        """Busy: shell is not read, control is."""
        while not self.interrupted and self.running:
            self.poll(["control"])
        self.error(request, "KeyboardInterrupt", "")
        self.status("idle", request)

    def run(self):
        self.status("starting")
        if self.start == "chatter":
            self.later(0, lambda: self.stream("starting up\n", name="stderr"))
            self.later(0.3, lambda: self.stream("started\n", name="stderr"))
        while self.running:
            self.poll(["shell", "control", "stdin"])
        self.context.destroy(linger=1000)


def install(directory):
    for name, behaviour in STARTS.items():
        place = os.path.join(
            directory, "scripted" if name == "plain" else f"scripted-{name}")
        os.makedirs(place, exist_ok=True)
        spec = {"argv": ["/usr/bin/python3", os.path.abspath(__file__), "-f",
                         "{connection_file}", "--start", name],
                "display_name": f"Scripted kernel: {behaviour}",
                "language": "python"}
        if name == "message":
            spec["interrupt_mode"] = "message"
        with open(os.path.join(place, "kernel.json"), "w") as file:
            json.dump(spec, file, indent=1)


def start(connection_file, behaviour):
    if behaviour == "exit":
        print("scripted kernel: told to fail at its start", file=sys.stderr)
        sys.exit(3)
    if behaviour == "hang":
        signal.pause()
    while behaviour == "held" and not os.path.exists("go"):
        time.sleep(0.01)
    if behaviour == "late":
        time.sleep(0.5)
    with open(connection_file) as file:
        connection = json.load(file)
    Kernel(connection, behaviour).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-f", dest="connection_file")
    parser.add_argument("--start", choices=STARTS, default="plain")
    parser.add_argument("--install", metavar="DIRECTORY")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, function in SCENARIOS.items():
            print(f"{name:20} {function.__doc__}")
    elif options.install:
        install(options.install)
    elif options.connection_file:
        start(options.connection_file, options.start)
    else:
        parser.error("-f, --install or --list is needed")


if __name__ == "__main__":
    main()
