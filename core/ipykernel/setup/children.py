"""Processes that the kernel starts."""

import functools
import os
import subprocess
import threading
from multiprocessing import process

UNBUFFERED = "PYTHONUNBUFFERED"


def write_at_once():
    """A child's Python would keep what it prints until it ends, since it is no
    terminal that it writes to. The variable is not in os.environ: it is for
    those who inherit the environment as it is."""
    if UNBUFFERED not in os.environ:
        os.putenv(UNBUFFERED, "1")


def hear_their_end(descriptors):
    """What a child has written comes before what is printed after its end."""
    note, system = subprocess.Popen._handle_exitstatus, os.system

    def note_and_pump(self, *arguments, **more):
        note(self, *arguments, **more)
        descriptors.pump()

    @functools.wraps(system)
    def system_and_pump(command):
        try:
            return system(command)
        finally:
            descriptors.pump()

    subprocess.Popen._handle_exitstatus = note_and_pump
    os.system = system_and_pump


def is_worker(started):
    """One that serves many cells: of multiprocessing, of concurrent.futures and
    loky, of torch."""
    target = getattr(getattr(started, "_target", None), "__name__", "")
    return "PoolWorker" in started.name or target in ("_process_worker", "_worker_loop")


def let_workers_speak(descriptors):
    """Workers have pipes of their own: what they print belongs to the cell that
    runs, and their lines are kept whole."""
    start = process.BaseProcess.start
    lock = threading.RLock()

    def process_start(self):
        with lock, unbuffered():
            if not is_worker(self):
                return start(self)
            with descriptors.for_worker():
                return start(self)

    process.BaseProcess.start = process_start


class unbuffered:
    """loky starts its workers with a copy of os.environ."""

    def __enter__(self):
        self.ours = UNBUFFERED not in os.environ
        if self.ours:
            os.environ[UNBUFFERED] = "1"

    def __exit__(self, *_):
        if self.ours:
            os.environ.pop(UNBUFFERED, None)
            os.putenv(UNBUFFERED, "1")
