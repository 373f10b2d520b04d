"""What is written to the descriptors 1 and 2: by children, by libraries in C.

Each cell has a pipe of its own for either, so what a child writes belongs to
the cell that started it, however late. Workers (children.py) have pipes whose
output belongs to whichever cell runs. One thread reads them all. It takes any
bytes, and ends only with the kernel."""

import array
import codecs
import contextlib
import ctypes
import fcntl
import os
import select
import termios
import threading
import time

from _cellpost import cells

CHUNK = 65536
PATIENCE = 0.03  # how long an unfinished line of a worker waits for its end


class Pipe:
    """`cell`: None for the one that runs."""

    def __init__(self, stream, cell):
        self.stream, self.cell = stream, cell
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.lock = threading.Lock()
        self.line, self.since = "", 0
        self.out, self.into = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.out, False)

    def pump(self, present=False):
        """Takes what is there, or only what is there now. False once nobody can
        write any more, which is told once."""
        with self.lock:
            limit = self.count_present() if present else CHUNK
            while limit > 0 and self.out is not None:
                try:
                    found = os.read(self.out, min(limit, CHUNK))
                except BlockingIOError:
                    break
                self.take(found)
                limit -= len(found)
                if not found:
                    return False
            return True

    def count_present(self):
        count = array.array("i", [0])
        if self.out is not None:
            fcntl.ioctl(self.out, termios.FIONREAD, count)
        return count[0]

    def finish(self):
        """A character or a line that was cut short stays so."""
        with self.lock:
            self.take(b"")

    def close(self):
        with self.lock:
            os.close(self.out)
            self.out = None

    def take(self, found):
        text = self.line + self.decoder.decode(found, final=not found)
        at = len(text) if self.cell is not None or not found else text.rfind("\n") + 1
        self.line, self.since = text[at:], time.monotonic()
        if text[:at]:
            self.stream.say(self.cell or cells.latest, text[:at])
        self.copy(found)

    def say_line(self):
        with self.lock:
            if self.line and time.monotonic() - self.since >= PATIENCE:
                self.stream.say(self.cell or cells.latest, self.line)
                self.line = ""

    def copy(self, found):
        """To the kernel's log, as ipykernel does."""
        try:
            os.write(self.stream._original_stdstream_copy, found)
        except (AttributeError, OSError):
            pass


class Reader(threading.Thread):
    def __init__(self):
        super().__init__(name="Output", daemon=True)
        self.epoll = select.epoll()
        self.pipes = {}  # by descriptor

    def add(self, pipe):
        self.pipes[pipe.out] = pipe
        self.epoll.register(pipe.out, select.EPOLLIN)

    def leave(self, pipe):
        """What epoll tells of it is not waited for any more."""
        if self.pipes.pop(pipe.out, None) is not None:
            self.epoll.unregister(pipe.out)

    def run(self):
        while True:
            try:
                self.turn()
            except Exception:
                time.sleep(PATIENCE)

    def turn(self):
        waiting = any(pipe.line for pipe in list(self.pipes.values()))
        for descriptor, _ in self.epoll.poll(PATIENCE if waiting else None):
            pipe = self.pipes.get(descriptor)
            if pipe is not None and not pipe.pump():
                self.leave(pipe)
                pipe.close()
        for pipe in list(self.pipes.values()):
            pipe.say_line()


class Descriptors:
    """1 and 2 of this process."""

    def __init__(self, terminal):
        self.terminal, self.kernel = terminal, os.getpid()
        self.reader = Reader()
        self.pipes = {}  # those that stand at 1 and 2 now, by name
        self.workers = []
        self.lock = threading.Lock()  # held while another pipe stands there
        self.end_watchers()
        self.switch(None)
        self.reader.start()

    def end_watchers(self):
        """ipykernel's own end at the next byte; what they hold is let go."""
        for stream in self.terminal.own.values():
            if getattr(stream, "_should_watch", False):
                stream._should_watch = False
                os.write(stream.descriptor, b"\0")
                stream.watch_fd_thread.join(1)
                os.close(stream._fid)

    def switch(self, cell):
        """What children started from now on write belongs to that cell."""
        for name, stream in self.terminal.own.items():
            old = self.pipes.get(name)
            try:
                new = Pipe(stream, cell)
            except OSError:  # too many descriptors are open
                if old is not None:
                    old.pump(present=True)
                    old.cell = cell
                continue
            with self.lock:
                if old is not None:
                    self.reader.leave(old)
                self.put(new)
                self.pipes[name] = new
            self.reader.add(new)
            if old is None:
                continue
            if old.pump():
                self.reader.add(old)
            else:
                old.close()

    def put(self, pipe):
        os.dup2(pipe.into, pipe.stream.descriptor)
        os.close(pipe.into)
        pipe.into = None

    def make_for_worker(self):
        """None: it does without, as do the processes of a forked one."""
        try:
            is_kernel = os.getpid() == self.kernel
            return [Pipe(stream, None) for stream in self.terminal.own.values()] if is_kernel else None
        except OSError:
            return None

    @contextlib.contextmanager
    def for_worker(self):
        """A process that is started inside writes to pipes of its own."""
        made = self.make_for_worker()
        if made is None:
            yield
            return
        with self.lock:
            kept = [os.dup(pipe.stream.descriptor) for pipe in made]
            for pipe in made:
                self.put(pipe)
            try:
                yield
            finally:
                for pipe, descriptor in zip(made, kept):
                    os.dup2(descriptor, pipe.stream.descriptor)
                    os.close(descriptor)
        for pipe in made:
            self.workers.append(pipe)
            self.reader.add(pipe)

    def repair(self):
        """The user may have closed them, or put something else there."""
        for pipe in self.pipes.values():
            try:
                there = os.fstat(pipe.stream.descriptor).st_ino
            except OSError:
                there = None
            if pipe.out is None or there != os.fstat(pipe.out).st_ino:
                self.switch(pipe.cell)
                return

    def settle(self):
        """What finished children have written stands with their cell."""
        if os.getpid() != self.kernel:
            return
        self.terminal.flush_originals()
        flush_libc()
        self.workers = [pipe for pipe in self.workers if pipe.out is not None]
        for pipe in [*self.pipes.values(), *self.workers]:
            pipe.pump(present=True)
            pipe.finish()

    def pump(self):
        """A child has ended: what it wrote comes before what is written next."""
        if os.getpid() == self.kernel:
            for pipe in self.pipes.values():
                pipe.pump(present=True)


def flush_libc():
    """What libraries have printed with C's own stdio."""
    library.fflush(ctypes.c_void_p.in_dll(library, "stdout"))


library = ctypes.CDLL(None)
