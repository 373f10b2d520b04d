"""What the scripted kernel can play, one function a scenario.

A scenario gets the kernel, the execute_request and the further words of the
cell's first line. `busy` has been published when it is called; all the rest is
its own: execute_input (kernel.begin), outputs, reply and idle.
"""

import functools
import os
import random
import signal
import time
import uuid

SCENARIOS = {}


def scenario(function):
    """Registers a function under its name, with hyphens; its docstring is
    what --list prints."""
    SCENARIOS[function.__name__.replace("_", "-")] = function
    return function


def cell(body):
    """Registers the body of a good cell: one that begins and finishes."""

    @functools.wraps(body)
    def play(kernel, request, *words):
        kernel.begin(request)
        body(kernel, request, *words)
        kernel.finish(request)

    return scenario(play)


@scenario
def reply_first(kernel, request, gap="0.05"):
    """Reply, a gap, then idle."""
    kernel.begin(request, "out\n")
    kernel.reply(request)
    kernel.later(float(gap), lambda: kernel.status("idle", request))


@scenario
def idle_first(kernel, request, gap="0.05"):
    """Idle, a gap, then the reply."""
    kernel.begin(request, "out\n")
    kernel.status("idle", request)
    kernel.later(float(gap), lambda: kernel.reply(request))


@scenario
def output_between(kernel, request):
    """Reply first; output between the reply and idle."""
    kernel.begin(request)
    kernel.reply(request)
    kernel.later(0.05, lambda: (kernel.stream("between\n", request),
                                kernel.status("idle", request)))


@scenario
def no_idle(kernel, request):
    """A good reply, but idle never comes."""
    kernel.begin(request, "out\n")
    kernel.reply(request)


@scenario
def no_reply(kernel, request):
    """Idle comes, but no reply ever."""
    kernel.begin(request, "out\n")
    kernel.status("idle", request)


@scenario
def dropped(kernel, request):
    """Idle, and nothing else, as from a kernel that has failed to look at the
    request."""
    kernel.count -= 1
    kernel.status("idle", request)


@scenario
def dropped_input(kernel, request):
    """The same after execute_input."""
    kernel.begin(request)
    dropped(kernel, request)


@scenario
def no_status(kernel, request):
    """A reply without status."""
    kernel.begin(request, "out\n")
    kernel.answer(kernel.shell, "execute_reply",
                  {"execution_count": kernel.count}, request)
    kernel.status("idle", request)


@scenario
def no_count(kernel, request):
    """No execution_count, neither in execute_input nor in the reply."""
    kernel.publish("execute_input", {"code": request.content["code"]}, request)
    kernel.stream("out\n", request)
    kernel.answer(kernel.shell, "execute_reply", {"status": "ok"}, request)
    kernel.status("idle", request)


@scenario
def bare_reply(kernel, request):
    """No execute_input, and {} for a reply."""
    kernel.stream("out\n", request)
    kernel.answer(kernel.shell, "execute_reply", {}, request)
    kernel.status("idle", request)


@scenario
def bare_header(kernel, request):
    """Headers with nothing but msg_type."""
    for kind, content in (("stream", {"name": "stdout", "text": "out\n"}),
                          ("status", {"execution_state": "idle"})):
        kernel.publish(kind, content, request, header={"msg_type": kind})
    kernel.answer(kernel.shell, "execute_reply", {"status": "ok"}, request,
                  header={"msg_type": "execute_reply"})


@scenario
def twice(kernel, request):
    """Everything comes twice."""
    for _ in range(2):
        kernel.begin(request)
        kernel.finish(request)


@scenario
def aborted_once(kernel, request):
    """Aborted the first time that this very code is sent, then good."""
    if kernel.seen[request.content["code"]] == 1:
        aborted_always(kernel, request)
        return
    kernel.begin(request, "out\n")
    kernel.finish(request)


@scenario
def aborted_always(kernel, request):
    """Never run: status aborted."""
    kernel.answer(kernel.shell, "execute_reply", {"status": "aborted"},
                  request)
    kernel.status("idle", request)


@scenario
def busy(kernel, request):
    """Runs until it is interrupted; serves control meanwhile."""
    kernel.begin(request, "busy\n")
    kernel.wait_for_interrupt(request)


@scenario
def stuck(kernel, request):
    """Runs for ever, serves nothing and ignores SIGINT."""
    kernel.begin(request, "stuck\n")
    while True:
        time.sleep(3600)


@scenario
def die(kernel, request, how="7", after="0.1"):
    """Prints, then exits with that code (or dies by SIGNAL, e.g. SIGKILL)."""
    kernel.begin(request, "last words\n")

    def end():
        if how.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, how))
        os._exit(int(how))

    kernel.later(float(after), end)


@scenario
def die_after_reply(kernel, request, after="0.05"):
    """Replies, then dies without idle."""
    kernel.begin(request, "out\n")
    kernel.reply(request)
    kernel.later(float(after), lambda: os._exit(7))


@scenario
def ask_exit(kernel, request):
    """What exit() does: a good reply with payload ask_exit, then the end."""
    kernel.begin(request)
    kernel.finish(request, payload=[{"source": "ask_exit",
                                     "keepkernel": False}])
    kernel.later(0.05, lambda: setattr(kernel, "running", False))


@scenario
def ask_exit_only(kernel, request, keep="no"):
    """A good reply with payload ask_exit, but the kernel ends only when it is
    told to; "keep": it says that it is to be kept."""
    kernel.begin(request)
    kernel.finish(request, payload=[{"source": "ask_exit",
                                     "keepkernel": keep == "keep"}])


@cell
def unknown_types(kernel, request):
    """Message types that nobody has heard of, on every channel."""
    kernel.publish("never_heard_of", {"a": 1}, request)
    kernel.publish("debug_event", {"event": "x"}, request)
    kernel.answer(kernel.shell, "never_heard_of_reply", {}, request)
    kernel.answer(kernel.stdin, "never_heard_of_request", {}, request)
    kernel.stream("out\n", request)


@scenario
def nulls(kernel, request):
    """null where the protocol wants objects and texts."""
    kernel.begin(request)
    for content in ({"data": {"text/plain": "kept"}, "metadata": None,
                     "transient": None},
                    {"data": None, "metadata": {}, "transient": {}},
                    {"data": {"text/plain": None}, "metadata": {}}):
        kernel.publish("display_data", content, request)
    kernel.publish("stream", {"name": None, "text": None}, request)
    kernel.publish("error", {"ename": None, "evalue": None,
                             "traceback": None}, request)
    kernel.publish("clear_output", {"wait": None}, request)
    kernel.publish("stream", None, request)
    kernel.stream("out\n", request, metadata=b"null")
    kernel.finish(request, payload=None, user_expressions=None)


@scenario
def extra_keys(kernel, request):
    """An error and a stream with keys beyond the protocol's."""
    kernel.begin(request)
    kernel.publish("stream", {"name": "stdout", "text": "out\n", "x": 1},
                   request)
    kernel.publish("display_data", {"data": {"text/plain": "d"},
                                    "metadata": {}, "output_type": "x",
                                    "extra": [1]}, request)
    content = {"ename": "Extra", "evalue": "v", "traceback": ["line"],
               "execution_count": kernel.count, "engine_info": {"a": 1}}
    kernel.publish("error", content, request)
    kernel.reply(request, "error", **content)
    kernel.status("idle", request)


@cell
def not_a_number(kernel, request):
    """NaN, Infinity and numbers beyond 64 bits, as bare words in the JSON."""
    kernel.publish(
        "display_data",
        b'{"data":{"application/json":{"a":NaN,"b":-Infinity,"c":1e999,'
        b'"d":123456789012345678901234567890},"text/plain":"nan"},'
        b'"metadata":{},"transient":{}}', request)


@cell
def invalid_utf8(kernel, request):
    """A raw 0xFF, a surrogate in three bytes and a lone surrogate escape."""
    kernel.publish("stream", b'{"name":"stdout","text":"a\xff b\xed\xa0\x80 '
                   b'c\\ud800 \\u0000d\\n"}', request)


@cell
def empty_parent(kernel, request):
    """Output without a parent in the middle of a cell."""
    kernel.stream("nobody's\n")
    kernel.stream("mine\n", request)


@cell
def foreign_parent(kernel, request):
    """Output of a request that nobody here made."""
    kernel.stream("foreign\n", parent={"msg_id": "somebody_else_1",
                                       "session": "somebody_else",
                                       "msg_type": "execute_request"})
    kernel.stream("mine\n", request)


@cell
def previous_parent(kernel, request):
    """Late output of the cell before, in the middle of this one."""
    kernel.stream("late from before\n", kernel.previous)
    kernel.stream("mine\n", request)


@scenario
def late(kernel, request, after="0.3"):
    """Output with this cell's parent after its end."""
    kernel.begin(request, "on time\n")
    kernel.finish(request)
    kernel.later(float(after), lambda: kernel.stream("late\n", request))


@cell
def huge(kernel, request, megabytes="80"):
    """One stream message of that size."""
    kernel.stream("x" * (int(megabytes) << 20), request)


@cell
def flood(kernel, request, count="10000", size="100"):
    """That many stream messages without a pause, numbered."""
    for number in range(int(count)):
        kernel.stream(f"{number} ".ljust(int(size) - 1, ".") + "\n", request)


@cell
def bad_signatures(kernel, request):
    """Forged messages between the good ones: an output, an idle, a reply."""
    forged = b"0" * 64
    kernel.stream("forged\n", request, signature=forged)
    kernel.publish("status", {"execution_state": "idle"}, request,
                   signature=forged)
    kernel.answer(kernel.shell, "execute_reply", {"status": "error"}, request,
                  signature=forged)
    kernel.stream("good\n", request)


@cell
def broken_messages(kernel, request):
    """No delimiter, too few frames, no JSON, no msg_type, too many identities."""
    good = kernel.frames("stream", {"name": "stdout", "text": "broken\n"},
                         request.header)
    for frames in ([b"x"], [b""], good[:5], good[1:], good[:1]):
        kernel.publisher.send_multipart(frames)
        kernel.shell.send_multipart(request.identities + frames)
    kernel.publish("stream", b"{", request)
    kernel.publish("stream", b"\xff\xfe", request)
    kernel.publish("stream", {}, request, header={})
    kernel.publisher.send_multipart([b"identity"] * 600 + good)
    kernel.stream("good\n", request)


@cell
def buffers(kernel, request, count="3"):
    """A message with binary frames behind its content."""
    kernel.publish("stream", {"name": "stdout", "text": "out\n"}, request,
                   buffers=[bytes(range(256))] * int(count))


@cell
def bulk(kernel, request, count="80", megabytes="10"):
    """One message with so many buffers of so many megabytes."""
    part = bytes(int(megabytes) << 20)
    kernel.publish("comm_msg", {"comm_id": "c", "data": {}}, request, buffers=[part] * int(count))
    kernel.stream("out\n", request)


@cell
def many_buffers(kernel, request):
    """More frames in one message than any client keeps."""
    kernel.publish("stream", {"name": "stdout", "text": "out\n"}, request, buffers=[b"buffer"] * 5000)


@cell
def no_topic(kernel, request):
    """iopub messages without any frame in front of the delimiter."""
    kernel.publish("iopub_welcome", {"subscription": ""}, topic=False)
    kernel.publish("stream", {"name": "stdout", "text": "out\n"}, request,
                   topic=False)


@cell
def new_session(kernel, request):
    """The kernel's session changes in the middle of a cell."""
    kernel.session = uuid.uuid4().hex
    kernel.stream("out\n", request)


@cell
def comm_open(kernel, request, target="unknown.target"):
    """Opens a comm; the client should close it (see comms-closed)."""
    kernel.publish("comm_open", {"comm_id": uuid.uuid4().hex,
                                 "target_name": target, "data": {}}, request)


@cell
def comms_closed(kernel, request):
    """Prints how many comms the client has closed."""
    kernel.stream(f"{len(kernel.closed_comms)}\n", request)


@cell
def clear_now(kernel, request):
    """Output, clear_output(wait=False), output: only the second stays."""
    kernel.stream("first\n", request)
    kernel.publish("clear_output", {"wait": False}, request)
    kernel.stream("second\n", request)


@cell
def clear_wait(kernel, request):
    """Output, clear_output(wait=True), output: only the second stays."""
    kernel.stream("first\n", request)
    kernel.publish("clear_output", {"wait": True}, request)
    kernel.stream("second\n", request)


@cell
def clear_pending(kernel, request):
    """clear_output(wait=True) with nothing behind it: the output stays."""
    kernel.stream("first\n", request)
    kernel.publish("clear_output", {"wait": True}, request)


@cell
def clear_then_update(kernel, request):
    """clear_output(wait=True), then only an update: both outputs stay."""
    kernel.stream("first\n", request)
    display(kernel, request, "d1", "old")
    kernel.publish("clear_output", {"wait": True}, request)
    display(kernel, request, "d1", "new", "update_display_data")


def display(kernel, request, name, text, kind="display_data"):
    kernel.publish(kind, {"data": {"text/plain": text}, "metadata": {},
                          "transient": {"display_id": name}}, request)


@cell
def display_id(kernel, request, name="shared", text="shown"):
    """A display that can be updated."""
    display(kernel, request, name, text)


@cell
def update_display(kernel, request, name="shared", text="updated"):
    """Updates a display, which may be that of an earlier cell."""
    display(kernel, request, name, text, "update_display_data")


@scenario
def page(kernel, request):
    """The pager's text, which stands in the reply alone."""
    kernel.begin(request)
    kernel.finish(request, payload=[
        {"source": "page", "start": 0, "data": {"text/plain": "the help"}}])


@scenario
def ask_input(kernel, request, parent="yes"):
    """Asks once on stdin and prints the answer; "no": without a parent."""
    kernel.begin(request)
    if not request.content.get("allow_stdin"):
        kernel.error(request, "StdinNotImplementedError", "no stdin")
        kernel.status("idle", request)
        return
    kernel.input = None
    kernel.answer(kernel.stdin, "input_request",
                  {"prompt": "? ", "password": False}, request,
                  parent=request.header if parent == "yes" else {})
    while kernel.input is None and not kernel.interrupted:
        kernel.poll(["stdin", "control"])
    if kernel.interrupted:
        kernel.error(request, "KeyboardInterrupt", "")
        kernel.status("idle", request)
        return
    kernel.stream(f"got {kernel.input!r}\n", request)
    kernel.finish(request)


def shown(generator):
    """Content of a display or a result, with the odd member missing."""
    content = {"data": {"text/plain": generator.choice(WORDS)},
               "metadata": generator.choice([{}, {"a": 1}])}
    if generator.random() < 0.5:
        content["transient"] = {"display_id": generator.choice("ab")}
    return content


WORDS = ["", "a", "line\n", "50%\r", "\b\b", "\x1b[31mred\x1b[0m", "\U0001f600",
         "x" * 5000, "\r\n", "two\nlines\n", "\x00", "\ue000"]


@cell
def arbitrary(kernel, request, seed, count="60"):
    """Messages of all kinds in an order that the seed decides."""
    generator = random.Random(int(seed))
    for _ in range(int(count)):
        parent = generator.choice([request] * 8 + [None])
        kind = generator.choice(
            ["stream"] * 6 + ["display_data", "update_display_data"] * 2 +
            ["execute_result", "clear_output", "error", "unheard_of", "status"])
        content = {
            "stream": {"name": generator.choice(["stdout", "stdout", "stderr"]),
                       "text": generator.choice(WORDS)},
            "clear_output": {"wait": generator.random() < 0.5},
            "error": {"ename": "E", "evalue": generator.choice(WORDS),
                      "traceback": [generator.choice(WORDS)]},
            "status": {"execution_state": "busy"},
            "unheard_of": {"x": 1},
        }.get(kind) or shown(generator)
        if kind == "execute_result":
            content["execution_count"] = kernel.count
        kernel.publish(kind, content, parent)
