"""Which cell speaks: the one that an output made just now belongs to.

The cell that runs speaks in its own context (contextvars), asyncio tasks
inherit that, and threads are given it (threads.py). Where nothing is known, as
in a thread of a C library, it is the latest cell. ipykernel's own answer is
different in each of its versions; all of them ask here instead."""

import contextvars
import itertools
import threading

from jupyter_client.session import extract_header

numbers = itertools.count()


class Cell:
    """A request to the kernel, with what its answer needs."""

    def __init__(self, message):
        self.number = next(numbers)
        self.message = message
        self.header = extract_header(message) if message else {}
        self.error = None  # the members of the last error that was shown
        self.notes = []  # sentences for the answer


speaker = contextvars.ContextVar("cellpost_cell", default=None)
latest = Cell({})


def current():
    found = speaker.get()
    if found is None:
        thread = threading._active.get(threading.get_ident())
        found = getattr(thread, "_cellpost_cell", None)
    return latest if found is None else found


def begin(message):
    """In the kernel's own thread: this request is dealt with now."""
    speaker.set(Cell(message))


def run(cell):
    """It is the one that the user sees running."""
    global latest
    latest = cell


def is_same(cell, parent):
    header = extract_header(parent) if parent else {}
    return cell.header.get("msg_id") == header.get("msg_id")


class speaking_for:
    """What is done inside is done for that cell."""

    def __init__(self, cell):
        self.cell = cell

    def __enter__(self):
        self.token = speaker.set(self.cell)

    def __exit__(self, *_):
        speaker.reset(self.token)


def ask_here(kind, attribute="header"):
    """The parents of what this class of ipykernel sends are found here."""

    def get(_):
        return getattr(current(), attribute)

    def put(_, parent):
        if not is_same(current(), parent):
            speaker.set(Cell(parent))

    kind.parent_header = property(get, put)
    kind.set_thread_parent = lambda _, parent: speaker.set(Cell(parent))
    kind.reset_thread_parent = lambda _, token: speaker.reset(token)


def keep_parents_apart():
    from IPython import get_ipython
    from ipykernel.displayhook import ZMQShellDisplayHook
    from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell

    begin(get_ipython().get_parent())  # what is printed beside the setup is its own
    run(current())
    ask_here(ZMQShellDisplayHook)
    ask_here(ZMQDisplayPublisher)
    ask_here(ZMQInteractiveShell, "message")
    ZMQInteractiveShell.set_parent = lambda _, parent: begin(parent)
