"""Which cell an output belongs to, and how soon it is sent."""

import contextvars
import sys
import threading

import ipykernel
from IPython import get_ipython
from ipykernel.iostream import OutStream
from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell


def flush_often():
    """What a crash can swallow is at most this old."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "flush_interval"):
            stream.flush_interval = 0.03


def hand_parents_to_threads(shell):
    """From 7.1 on a thread may say for which cell it speaks."""
    start = threading.Thread.start

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

    threading.Thread.start = thread_start


def keep_parents_apart():
    """Output of a thread or an asyncio task belongs to the cell that started
    it. ipykernel sees to that itself from 6.29 on, for threads up to 7.0; else
    it would carry the parent of whichever cell runs at the moment."""
    shell = get_ipython()
    if hasattr(shell, "set_thread_parent"):
        return hand_parents_to_threads(shell)
    if tuple(ipykernel.version_info[:2]) >= (6, 29):
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

    publisher = shell.display_pub
    latest = publisher.parent_header
    ZMQDisplayPublisher.parent_header = property(publisher_parent, publisher_set)
    publisher.parent_header = latest
    ZMQInteractiveShell.set_parent = shell_set_parent
    threading.Thread.start = thread_start
    OutStream.write = stream_write
