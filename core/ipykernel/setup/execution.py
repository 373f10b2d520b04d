"""One cell, from the request to the reply."""

import asyncio
import functools
import inspect
import traceback

from _cellpost import cells, streams
from IPython.core.interactiveshell import InteractiveShell
from ipykernel.displayhook import ZMQShellDisplayHook
from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell

SHOWN_NOTES = 20


def flush_own_streams(terminal):
    """What is displayed or shown flushes sys.stdout first, and would fail with
    that."""
    for kind, name in (
        (ZMQDisplayPublisher, "publish"),
        (ZMQDisplayPublisher, "clear_output"),
        (ZMQShellDisplayHook, "finish_displayhook"),
        (ZMQInteractiveShell, "_showtraceback"),
    ):
        setattr(kind, name, with_own_streams(getattr(kind, name), terminal))


def with_own_streams(method, terminal):
    @functools.wraps(method)
    def call(*arguments, **more):
        with streams.own_streams(terminal):
            return method(*arguments, **more)

    return call


def remember_errors():
    """An error that is shown is the cell's, though what has shown it (%%time,
    a repr that failed) says that all went well."""
    show = ZMQInteractiveShell._showtraceback

    def show_and_remember(self, etype, evalue, stb):
        text = text_of(evalue)
        cells.current().error = {"ename": str(etype.__name__), "evalue": text, "traceback": list(stb)}
        return show(self, etype, evalue if text else text, stb)

    ZMQInteractiveShell._showtraceback = show_and_remember


def show_the_lines_of_ex():
    """Code that a magic of the user's own runs by get_ipython().ex() has lines
    in its tracebacks, as that of run_cell() has."""
    execute = InteractiveShell.ex

    def ex(self, cmd):
        if isinstance(cmd, str):
            cmd = self.compile(cmd, self.compile.cache(cmd, self.execution_count), "exec")
        return execute(self, cmd)

    InteractiveShell.ex = ex


def text_of(error):
    try:
        return str(error)
    except Exception as problem:
        return "str() of it failed: %s" % type(problem).__name__


class Execution:
    """What is done around each cell."""

    def __init__(self, shell, terminal, descriptors, repair):
        self.shell, self.kernel = shell, shell.kernel
        self.terminal, self.descriptors, self.repair = terminal, descriptors, repair
        self.kernel.do_execute = self.wrap(self.kernel.do_execute)

    def wrap(self, do_execute):
        @functools.wraps(do_execute)
        async def execute(code, silent, *arguments, **more):
            cell = cells.current()
            self.begin(cell, silent)
            try:
                reply = do_execute(code, silent, *arguments, **more)
                if inspect.isawaitable(reply):
                    reply = await reply
            except (Exception, KeyboardInterrupt, SystemExit, asyncio.CancelledError) as error:
                self.end(cell)
                reply = self.failed(cell, error)
            else:
                self.end(cell)
            return self.complete(reply, cell)

        return execute

    def begin(self, cell, silent):
        if not silent:
            cells.run(cell)
            self.attempt(self.descriptors.switch, cell)
        self.attempt(self.terminal.give)

    def end(self, cell):
        self.attempt(self.repair.put_back)
        for name in self.attempt(self.terminal.take_back) or ():
            cell.notes.append("sys.%s was not the kernel's stream any more when the cell ended; it is again" % name)
        self.attempt(self.descriptors.repair)
        self.attempt(self.descriptors.settle)

    def attempt(self, step, *arguments):
        """None of this may keep a cell from running, or its reply from coming."""
        try:
            return step(*arguments)
        except Exception:
            return None

    def failed(self, cell, error):
        """The reply when the kernel could not make one."""
        if cell.error is None:
            lines = traceback.format_exception(type(error), error, error.__traceback__)
            cell.error = {"ename": type(error).__name__, "evalue": text_of(error), "traceback": lines}
            self.kernel.session.send(
                self.kernel.iopub_socket, "error", cell.error, parent=cell.header, ident=b"error"
            )
        count = self.shell.execution_count
        return {"status": "error", "execution_count": count - 1, "user_expressions": {}, "payload": []}

    def complete(self, reply, cell):
        if cell.error is not None and (reply.get("status") == "ok" or "ename" not in reply):
            reply.update(cell.error, status="error")
        if cell.notes:
            reply.setdefault("payload", []).append({"source": "cellpost", "notes": cell.notes[:SHOWN_NOTES]})
        return reply
