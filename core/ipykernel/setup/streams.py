"""sys.stdout and sys.stderr: what is written is kept with the cell that wrote
it, and sent with that cell's header however late it is sent."""

import io
import os
import sys

from _cellpost import cells
from ipykernel.iostream import OutStream


class Stream(OutStream):
    """The class that ipykernel's own two streams are given (adopt)."""

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        if os.getpid() != self._master_pid:
            return self.write_in_child(text)
        if self.echo is not None:
            self.echo.write(text)
        self.say(cells.current(), text)
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def say(self, cell, text):
        with self._buffer_lock:
            if not self.pieces or self.pieces[-1][0] is not cell:
                self.pieces.append((cell, io.StringIO()))
            self.pieces[-1][1].write(text)
        self._schedule_flush()

    def _flush(self):
        """In the thread that sends."""
        self._flush_pending = False
        if self.echo is not None:
            self.echo.flush()
        with self._buffer_lock:
            pieces, self.pieces = self.pieces, []
        for cell, text in pieces:
            self.session.pid = os.getpid()
            content = {"name": self.name, "text": text.getvalue()}
            self.session.send(self.pub_thread, "stream", content, parent=cell.header, ident=self.topic)

    def flush(self):
        if os.getpid() != self._master_pid:
            self.flush_in_child()
        else:
            super().flush()

    def write_in_child(self, text):
        """A forked process has no thread that sends. It writes whole lines to
        its descriptor, which are read as those of any other child."""
        pid, line = self.unfinished
        line = (line if pid == os.getpid() else "") + text
        at = line.rfind("\n") + 1
        self.unfinished = os.getpid(), line[at:]
        self.write_bytes(line[:at])
        return len(text)

    def flush_in_child(self):
        pid, line = self.unfinished
        self.unfinished = 0, ""
        if pid == os.getpid():
            self.write_bytes(line)

    def write_bytes(self, text):
        rest = text.encode("utf-8", "backslashreplace")
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]

    def fileno(self):
        return self.descriptor

    def close(self):
        """Who comes after needs it."""
        self.flush()


class Original(io.TextIOWrapper):
    """sys.__stdout__ and sys.__stderr__: text goes with that of the stream, in
    order; bytes go to the descriptor."""

    def write(self, text):
        return self.stream.write(text)

    def close(self):
        self.flush()


class Terminal:
    """The two streams of this kernel, and what stood in their places."""

    def __init__(self):
        self.own = {"stdout": sys.stdout, "stderr": sys.stderr}
        self.originals = {}
        self.users = {}  # what the user has put in their place
        self.first = []  # kept, for a file without a user is closed
        for descriptor, stream in enumerate(self.own.values(), 1):
            self.adopt(stream, descriptor)
        cells.ask_here(Stream)

    def adopt(self, stream, descriptor):
        stream.flush()
        stream.pieces, stream.descriptor, stream.unfinished = [], descriptor, (0, "")
        stream.flush_interval = 0.03  # what a crash can swallow is at most this old
        stream.__class__ = Stream
        first = getattr(sys, "__%s__" % stream.name)
        file = io.FileIO(descriptor, "w", closefd=False)
        file.name = first.name
        original = Original(io.BufferedWriter(file), first.encoding, first.errors, line_buffering=True)
        original.stream, original.mode = stream, "w"
        self.originals[stream.name] = original
        self.first.append(first)
        setattr(sys, "__%s__" % stream.name, original)

    def take_back(self):
        """The kernel's own work is done with the kernel's own streams. Returns
        the names of those that would have swallowed what came after."""
        lost = []
        self.users = {}
        for name, stream in self.own.items():
            # a cell's own flush may raise, and the kernel flushes before it replies
            vars(stream).pop("flush", None)
            found = getattr(sys, name, None)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, self.originals[name])
            if found is stream or found is self.originals[name]:
                continue
            if works(found):
                self.users[name] = found
            else:
                lost.append(name)
        return lost

    def give(self):
        """A stream of the user's own making stays from cell to cell."""
        for stream in self.own.values():
            # IPython 9 keeps the method of before while the cell of the setup runs
            if getattr(vars(stream).get("write"), "__func__", None) is OutStream.write:
                del stream.write
        for name, stream in self.users.items():
            setattr(sys, name, stream)
        self.users = {}

    def flush_originals(self):
        for original in self.originals.values():
            try:
                original.buffer.flush()
            except (OSError, ValueError):
                pass


def works(stream):
    """Not None, not closed, and no plain file or text: who left one of these
    here has forgotten it, and all that is printed from then on is lost."""
    if isinstance(stream, io.IOBase) and type(stream).__module__ in ("io", "_io"):
        return False
    try:
        return callable(stream.write) and callable(stream.flush) and not getattr(stream, "closed", False)
    except Exception:
        return False


class own_streams:
    """What ipykernel does inside flushes sys.stdout, whatever that is."""

    def __init__(self, terminal):
        self.terminal = terminal

    def __enter__(self):
        self.found = {}
        for name, stream in self.terminal.own.items():
            if getattr(sys, name, None) is not stream:
                self.found[name] = getattr(sys, name, None)
                setattr(sys, name, stream)

    def __exit__(self, *_):
        for name, stream in self.found.items():
            setattr(sys, name, stream)
