"""Messages on their way out of the kernel."""

import json

import zmq
from IPython import get_ipython
from jupyter_client import jsonutil


def lose_nothing_on_the_way():
    """A PUB socket drops what a slow reader has not taken beyond its limit of
    1000 messages, in silence. The kernel's own memory limit is the limit.

    Once in a kernel's life, while nobody has left yet: libzmq 4.3.4 tells the
    new limit to the far ends of all pipes, of those too that are being closed
    and whose far end is freed, which crashes the kernel."""
    thread = get_ipython().kernel.iopub_thread

    def lift():
        if thread.socket.getsockopt(zmq.SNDHWM) != 0:
            thread.socket.setsockopt(zmq.SNDHWM, 0)

    thread.schedule(lift)


def pack_anything():
    """Lone surrogates make the session's own packer raise in the midst of
    sending: the message is lost and the kernel seems to hang. NaN makes it
    complain on the user's stderr. Escapes and words stand for them instead."""

    def dump(value, plain):
        return json.dumps(value, default=jsonutil.json_default, ensure_ascii=not plain, allow_nan=False)

    def pack(value):
        try:
            return dump(value, True).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return dump(value, False).encode("ascii")
        except (TypeError, ValueError):
            return dump(jsonutil.json_clean(value), False).encode("ascii")

    pack({})
    get_ipython().kernel.session.pack = pack
