import signal
import sys


def dump_stack_on_demand(path):
    """SIGUSR2 writes the running stack, from C and without the GIL: so it names
    the line even of a cell that answers to nothing else."""
    import faulthandler

    sys._cellpost_stack = open(path, "w")
    faulthandler.register(
        signal.SIGUSR2, file=sys._cellpost_stack, all_threads=False
    )


def flush_often():
    """What a crash can swallow is at most this old."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "flush_interval"):
            stream.flush_interval = 0.03


def lose_nothing_on_the_way():
    """A PUB socket drops what a slow reader has not taken beyond its limit of
    1000 messages, in silence. The kernel's own memory limit is the limit.

    Once in a kernel's life, while nobody has left yet: libzmq 4.3.4 tells the
    new limit to the far ends of all pipes, of those too that are being closed
    and whose far end is freed, which crashes the kernel."""
    import zmq

    thread = sys.modules["IPython"].get_ipython().kernel.iopub_thread

    def lift():
        if thread.socket.getsockopt(zmq.SNDHWM) != 0:
            thread.socket.setsockopt(zmq.SNDHWM, 0)

    thread.schedule(lift)


def say_last_words():
    """os._exit() ends the process before ZeroMQ's own thread has sent what was
    printed; a moment is enough for it."""
    import os
    import time

    leave, kernel = os._exit, os.getpid()

    def flush_and_leave(status):
        if os.getpid() == kernel:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:
                    pass
            time.sleep(0.03)
        leave(status)

    if not hasattr(leave, "_cellpost"):
        flush_and_leave._cellpost = True
        os._exit = flush_and_leave


def break_into_pdb():
    """debugpy's hook does nothing while no debugger is attached, and none ever
    is here: breakpoint() would be passed over in silence."""
    sys.breakpointhook = sys.__breakpointhook__


def pack_anything():
    """Lone surrogates make the session's own packer raise in the midst of
    sending: the message is lost and the kernel seems to hang. NaN makes it
    complain on the user's stderr. Escapes and words stand for them instead."""
    import json

    from jupyter_client import jsonutil

    session = sys.modules["IPython"].get_ipython().kernel.session

    def dump(value, plain):
        return json.dumps(
            value,
            default=jsonutil.json_default,
            ensure_ascii=not plain,
            allow_nan=False,
        )

    def pack(value):
        try:
            return dump(value, True).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return dump(value, False).encode("ascii")
        except (TypeError, ValueError):
            return dump(jsonutil.json_clean(value), False).encode("ascii")

    pack({})
    session.pack = pack


def hand_parents_to_threads(shell):
    """From 7.1 on a thread may say for which cell it speaks."""
    import threading

    start = threading.Thread.start
    if hasattr(start, "_cellpost"):
        return

    def thread_start(self):
        parent, run = shell.get_parent(), self.run

        def run_for_parent():
            shell.set_thread_parent(parent)
            try:
                run()
            finally:
                self.__dict__.pop("run", None)

        self.run = run_for_parent
        return start(self)

    thread_start._cellpost = True
    threading.Thread.start = thread_start


def keep_parents_apart():
    """Output of a thread or an asyncio task belongs to the cell that started
    it. ipykernel sees to that itself from 6.29 on, for threads up to 7.0; else
    it would carry the parent of whichever cell runs at the moment."""
    import ipykernel

    shell = sys.modules["IPython"].get_ipython()
    if hasattr(shell, "set_thread_parent"):
        return hand_parents_to_threads(shell)
    if tuple(ipykernel.version_info[:2]) >= (6, 29):
        return
    import contextvars
    import threading

    from ipykernel.iostream import OutStream
    from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell

    if hasattr(OutStream, "_cellpost_write"):
        return
    of_task = contextvars.ContextVar("cellpost_parent", default=None)

    def started_by():
        return of_task.get() or getattr(
            threading.current_thread(), "_cellpost_parent", None
        )

    set_parent = ZMQInteractiveShell.set_parent

    def shell_set_parent(self, parent):
        of_task.set(parent.get("header", parent))
        return set_parent(self, parent)

    start = threading.Thread.start

    def thread_start(self):
        self._cellpost_parent = started_by()
        return start(self)

    write = OutStream.write

    def stream_write(self, text):
        parent = started_by()
        latest = self.parent_header
        if (
            parent is None
            or parent.get("msg_id") == latest.get("msg_id")
            or self.pub_thread is None
            or not isinstance(text, str)
            or not self._is_master_process()
        ):
            return write(self, text)
        self.session.send(
            self.pub_thread,
            "stream",
            content={"name": self.name, "text": text},
            parent=parent,
            ident=self.topic,
        )
        return len(text)

    def publisher_parent(self):
        return started_by() or self.__dict__.get("_cellpost_latest", {})

    def publisher_set(self, header):
        self.__dict__["_cellpost_latest"] = header

    publisher = sys.modules["IPython"].get_ipython().display_pub
    latest = publisher.parent_header
    ZMQDisplayPublisher.parent_header = property(publisher_parent, publisher_set)
    publisher.parent_header = latest
    ZMQInteractiveShell.set_parent = shell_set_parent
    threading.Thread.start = thread_start
    OutStream._cellpost_write = write
    OutStream.write = stream_write


# Each is worth having alone; none may keep a kernel from working.
for improve, arguments in (
    (dump_stack_on_demand, (f"{directory}/stack.txt",)),
    (flush_often, ()),
    (lose_nothing_on_the_way, ()),
    (say_last_words, ()),
    (break_into_pdb, ()),
    (pack_anything, ()),
    (keep_parents_apart, ()),
):
    try:
        improve(*arguments)
    except Exception:
        pass
# core/run/lease_setup.c
sys._cellpost_setup = digest
with open(f"{directory}/setup.txt", "w") as file:
    file.write(digest)
