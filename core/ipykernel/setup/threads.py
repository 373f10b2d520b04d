"""What a thread does for a cell is said for that cell: the one that started it,
and in a pool the one that handed the work in."""

import queue
import threading
from concurrent import futures
from concurrent.futures import thread as pool

from _cellpost import cells


def know_their_starter():
    start, begin = threading.Thread.start, threading.Thread._bootstrap_inner

    def thread_start(self):
        self._cellpost_cell = cells.current()
        return start(self)

    def thread_begin(self):
        cells.speaker.set(self.__dict__.get("_cellpost_cell"))
        begin(self)

    threading.Thread.start = thread_start
    threading.Thread._bootstrap_inner = thread_begin


def know_whose_work():
    """Executors: what was submitted, and what is called when it is done."""
    make, run, add = pool._WorkItem.__init__, pool._WorkItem.run, futures.Future.add_done_callback

    def item_make(self, *arguments, **more):
        make(self, *arguments, **more)
        self._cellpost_cell = cells.current()

    def item_run(self, *arguments):
        with cells.speaking_for(self._cellpost_cell):
            run(self, *arguments)

    def future_add(self, callback):
        cell = cells.current()

        def call(future):
            with cells.speaking_for(cell):
                callback(future)

        add(self, call)

    pool._WorkItem.__init__, pool._WorkItem.run = item_make, item_run
    futures.Future.add_done_callback = future_add


def take_over(cell):
    """A thread that has taken something from a queue goes on for the cell that
    put it there, unless the thread was started by a later one. The thread of the
    kernel goes on for the cell that it runs."""
    thread = threading._active.get(threading.get_ident())
    starter = getattr(thread, "_cellpost_cell", None)
    if starter is not None:
        cells.speaker.set(cell if cell.number > starter.number else starter)


def know_who_put():
    """Queues. Their items are kept as they are, since people look at them; the
    cells lie beside, by the items' identities."""
    for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue):
        replace_ends(kind)
    queue.SimpleQueue = SimpleQueue


def replace_ends(kind):
    put, get = kind._put, kind._get

    def queue_put(self, item):
        put(self, item)
        self.__dict__.setdefault("_cellpost_cells", {}).setdefault(id(item), []).append(cells.current())

    def queue_get(self):
        item = get(self)
        known = self.__dict__.get("_cellpost_cells", {})
        givers = known.pop(id(item), None)
        if givers:
            take_over(givers.pop(0))
        if givers:
            known[id(item)] = givers
        if not self._qsize():
            known.clear()
        return item

    kind._put, kind._get = queue_put, queue_get


class SimpleQueue(queue.SimpleQueue):
    def put(self, item, block=True, timeout=None):
        super().put((cells.current(), item))

    def put_nowait(self, item):
        self.put(item)

    def get(self, block=True, timeout=None):
        cell, item = super().get(block, timeout)
        take_over(cell)
        return item

    def get_nowait(self):
        return self.get(False)
