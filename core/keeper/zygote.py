"""A process that has imported what kernels import, and of which each kernel is
a copy (core/keeper/zygote.h). Run as `python3 SCRIPT NAME PRELOAD… ROOM` with the
channel to the keeper, the library that forks, and this script as descriptors 3
to 5. ROOM is for what ps(1) shows of a kernel.

Until the fork it keeps no thread, no socket, no event loop and no descriptor of
a file: in the copies they would be broken, or shared. Whatever is random, or
belongs to one process, is made anew after the fork."""

import sys

del sys.path[0]  # the directory that this stands in: nothing is imported from it

import ctypes
import gc
import importlib
import json
import os
import signal

CHANNEL, LIBRARY, SCRIPT = 3, 4, 5

# What a kernel needs in any case, and what its first cells would import.
KERNEL = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "tornado.platform.asyncio",
    "faulthandler",
    "site",
    "random",
    "socket",
    "tempfile",
    "uuid",
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def packages():
    """Where modules come from, and when those places changed last."""
    found = []
    for path in sys.path:
        try:
            found.append([os.path.abspath(path), os.stat(path).st_mtime_ns])
        except OSError:
            pass
    return found


def descriptors():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
            found.add(int(name))
        except OSError:  # the listing's own
            pass
    return found


def end_helpers():
    """Numeric libraries end their threads before a fork (pthread_atfork(3)) and
    start them again when they need them."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def leftovers(known):
    """What must not be there when kernels are forked, in words; or None."""
    open_files = sorted(descriptors() - known)
    if open_files:
        try:
            target = os.readlink(f"/proc/self/fd/{open_files[0]}")
        except OSError:
            target = "?"
        return f"it keeps {target} open"
    if len(os.listdir("/proc/self/task")) > 1:
        end_helpers()
    if len(os.listdir("/proc/self/task")) > 1:
        return "it starts threads"
    return None


def begin_again_without(name, why):
    """What an import has left cannot be taken back."""
    say(f"{name} is not preloaded: {why}")
    words = list(sys.orig_argv)
    words.remove(name)
    os.execv(sys.executable, words)


def preload(names, known):
    loaded = []
    for name in names:
        try:
            importlib.import_module(name)
            settle(name)
        except BaseException as error:
            say(f"{name} is not preloaded: {type(error).__name__}: {error}")
            continue
        why = leftovers(known)
        if why is not None:
            begin_again_without(name, why)
        loaded.append(name)
    return loaded


def settle(name):
    """Beyond the import: what the first use would do."""
    if name.partition(".")[0] == "matplotlib":
        draw_once()
        forget_matplotlib()


def draw_once():
    """Fonts are looked up, the renderer and the parts of a figure are loaded,
    pyplot, too. The backend of notebooks looks for a running kernel when it is
    imported, so a kernel must import it itself."""
    import io

    import IPython.core.pylabtools
    import matplotlib.pyplot
    import matplotlib_inline.backend_inline
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    axes.plot([1, 2], label="1")
    axes.set_title("1")
    axes.legend()
    FigureCanvasAgg(figure).print_figure(io.BytesIO(), format="png", bbox_inches="tight")
    del matplotlib_inline.backend_inline
    del sys.modules["matplotlib_inline.backend_inline"]


def forget_matplotlib():
    """Its fonts are open files, and its directories are those of this process."""
    import matplotlib
    import matplotlib.font_manager

    matplotlib.font_manager._get_font.cache_clear()
    gc.collect()
    for name in ("get_configdir", "get_cachedir"):
        plain = getattr(getattr(matplotlib, name), "__wrapped__", None)
        if plain is not None and hasattr(matplotlib, "_logged_cached"):
            setattr(matplotlib, name, matplotlib._logged_cached(name + "=%s")(plain))


def load_kernel(known):
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the debugger warns of nothing
    for name in KERNEL:
        importlib.import_module(name)
    close_null()
    why = leftovers(known)
    if why is not None:
        sys.exit(f"ipykernel cannot be preloaded: {why}")


def close_null():
    """IPython keeps /dev/null open."""
    devnull = getattr(sys.modules.get("IPython.utils.io"), "devnull", None)
    if devnull is not None:
        devnull.close()


def open_null():
    if hasattr(sys.modules.get("IPython.utils.io"), "devnull"):
        sys.modules["IPython.utils.io"].devnull = open(os.devnull, "w")


def open_library():
    library = ctypes.PyDLL(f"/proc/self/fd/{LIBRARY}")
    os.close(LIBRARY)
    os.close(SCRIPT)
    os.set_inheritable(CHANNEL, False)
    for name in ("zygote_arguments", "zygote_environment"):
        getattr(library, name).restype = ctypes.POINTER(ctypes.c_char_p)
    library.zygote_call.argtypes = [ctypes.c_char_p]
    if library.zygote_open() != 0:
        sys.exit("/proc/self/stat cannot be read")
    return library


def tell_ready(watched):
    os.write(CHANNEL, json.dumps({"watched": watched}).encode())


def main():
    gc.disable()
    watched = packages()
    known = descriptors()
    load_kernel(known)
    preload(sys.argv[2:-1], known)
    library = open_library()
    library.zygote_call(b"cellpost-zygote " + sys.argv[1].encode())
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()
    tell_ready(watched)
    ctypes.pythonapi.PyOS_BeforeFork()
    if library.zygote_wait(CHANNEL) == 1:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        be_kernel(library)
    else:
        os._exit(0)


# In a kernel


def texts(list_of_texts):
    found = []
    while list_of_texts[len(found)] is not None:
        found.append(list_of_texts[len(found)])
    return found


def reset_signals():
    """As Python leaves them when it starts; the library has reset what the
    system knows."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)


def set_environment(environment):
    os.environ.clear()
    for entry in environment:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value


def show(library, arguments):
    entries = [name + b"=" + value for name, value in os.environb.items()]
    library.zygote_show(
        (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None),
        (ctypes.c_char_p * (len(entries) + 1))(*entries, None),
    )


def renew_randomness():
    """`random` itself sees to that at every fork."""
    import multiprocessing.process
    import tempfile
    import uuid

    uuid._last_timestamp = None
    tempfile._name_sequence = tempfile.tempdir = None
    multiprocessing.process.current_process().authkey = os.urandom(32)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()


def renew_identity():
    import logging
    import threading
    import time

    logging._startTime = time.time()
    main_thread = threading.main_thread()
    if hasattr(main_thread, "_set_native_id"):
        main_thread._set_native_id()


def add_user_packages():
    """Where pip puts them with --user. They come before the system's."""
    import site

    if not site.ENABLE_USER_SITE:
        return
    site.USER_BASE = site.USER_SITE = None
    count = len(sys.path)
    site.addusersitepackages(set(sys.path))
    added = sys.path[count:]
    del sys.path[count:]
    place = next((i for i, path in enumerate(sys.path) if path.endswith("-packages")), count)
    sys.path[place:place] = added


def attend(library, channel, loop, arguments):
    """A kernel that waits for its task says so, and is told when it has one."""
    import socket

    peer = socket.socket(fileno=channel)

    def answer(*_):
        loop.remove_handler(channel)
        message = peer.recv(1 << 16)
        if message:
            for entry in message.split(b"\0")[1:]:
                name, _, value = entry.partition(b"=")
                os.environb[name] = value
            show(library, arguments)
            peer.send(b"here")
        peer.close()

    loop.add_handler(channel, answer, loop.READ)
    loop.add_callback(peer.send, b"ready")


def be_kernel(library):
    gc.enable()
    reset_signals()
    arguments = texts(library.zygote_arguments())
    set_environment(texts(library.zygote_environment()))
    show(library, arguments)
    renew_randomness()
    renew_identity()
    open_null()
    add_user_packages()
    words = [os.fsdecode(argument) for argument in arguments]
    sys.orig_argv[:] = words
    launcher = importlib.util.find_spec("ipykernel_launcher").origin
    sys.argv[:] = [launcher, *words[words.index("-m") + 2 :]]

    from ipykernel.kernelapp import IPKernelApp
    from tornado.ioloop import IOLoop

    app = IPKernelApp.instance()
    app.initialize()
    channel = library.zygote_attendance()
    if channel > 0:
        attend(library, channel, IOLoop.current(), arguments)
    app.start()


main()
