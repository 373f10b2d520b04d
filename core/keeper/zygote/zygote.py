"""A process that has imported what kernels import, and of which each kernel is
a copy (core/keeper/zygote/zygote.h). Run as

    python3 SCRIPT NAME ARGUMENTS PRELOAD… ROOM

ARGUMENTS are those that kernels get behind "-m ipykernel_launcher", in JSON;
ROOM is for what ps(1) shows of a kernel.

Until the fork it keeps no thread, no socket, no event loop and no descriptor of
a file: in the copies they would be broken, or shared. Whatever is random, or
belongs to one process, is made anew after the fork (zygote_kernel.py)."""

import sys

del sys.path[0]  # the directory that this stands in: nothing is imported from it

import ctypes
import gc
import importlib
import json
import os
import pathlib
import types

# core/keeper/shim/zygote_fork.h
CHANNEL, LIBRARY, SCRIPT, KERNEL_SCRIPT, SETUP_SCRIPT = range(3, 8)

# Where matplotlib looks for the host's fonts.
FONTS = ("/usr/share/fonts", "/usr/local/share/fonts")

# What a kernel needs in any case, and what its first cells would import.
NEEDED = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "tornado.platform.asyncio",
    "IPython.extensions.storemagic",
    "faulthandler",
    "multiprocessing.process",
    "pickleshare",
    "random",
    "socket",
    "tempfile",
    "uuid",
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def stamps(paths):
    """When these places changed last; of one that is not there, when that
    changed which it would be in."""
    found = []
    for path in map(os.path.abspath, paths):
        while not os.path.exists(path):
            path = os.path.dirname(path)
        found.append([path, os.stat(path).st_mtime_ns])
    return found


def font_directories():
    return [directory for root in FONTS for directory, _, _ in os.walk(root)] + list(FONTS)


def descriptors():
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
            found.add(int(name))
        except OSError:  # the listing's own
            pass
    return found


def thread_count():
    return len(os.listdir("/proc/self/task"))


def end_helpers():
    """Numeric libraries end their threads before a fork (pthread_atfork(3)) and
    start them again when they need them."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def leftovers(known):
    """What must not be there when kernels are forked, in words; or None."""
    for number in sorted(descriptors() - known):
        return f"it keeps {os.readlink(f'/proc/self/fd/{number}')} open"
    if thread_count() > 1:
        end_helpers()
    if thread_count() > 1:
        return "it starts threads"
    return None


def begin_again_without(name, why):
    """What an import has left cannot be taken back."""
    say(f"{name} is not preloaded: {why}")
    words = list(sys.orig_argv)
    words.remove(name)
    os.execv(sys.executable, words)


def preload(names, known):
    for name in names:
        try:
            if name.partition(".")[0] == "matplotlib":
                forget_old_fonts()
            importlib.import_module(name)
            settle(name)
        except BaseException as error:
            say(f"{name} is not preloaded: {type(error).__name__}: {error}")
            continue
        why = leftovers(known)
        if why is not None:
            begin_again_without(name, why)


def settle(name):
    """Beyond the import: what the first use would do."""
    if name.partition(".")[0] == "matplotlib":
        draw_once()
        forget_matplotlib()


def forget_old_fonts():
    """matplotlib keeps a list of the host's fonts in a file, for good."""
    import matplotlib

    newest = max(changed for _, changed in stamps(font_directories()))
    for file in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        if file.stat().st_mtime_ns <= newest:
            file.unlink()


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
    """Its fonts are open files."""
    import matplotlib.font_manager

    matplotlib.font_manager._get_font.cache_clear()
    gc.collect()


def close_null():
    """IPython keeps /dev/null open; zygote_kernel.py opens it again."""
    devnull = getattr(sys.modules.get("IPython.utils.io"), "devnull", None)
    if devnull is not None:
        devnull.close()


def load_needed():
    for name in NEEDED:
        try:
            importlib.import_module(name)
        except ImportError:  # other versions have other parts
            if name == NEEDED[0]:
                raise
    close_null()


def open_library():
    library = ctypes.PyDLL(f"/proc/self/fd/{LIBRARY}")
    for name in ("zygote_fork_arguments", "zygote_fork_environment"):
        getattr(library, name).restype = ctypes.POINTER(ctypes.c_char_p)
    if library.zygote_fork_open() != 0:
        sys.exit("/proc/self/stat cannot be read")
    return library


def open_script(descriptor, name):
    module = types.ModuleType(name)
    with open(f"/proc/self/fd/{descriptor}", encoding="utf-8") as file:
        exec(compile(file.read(), name + ".py", "exec"), module.__dict__)
    return module


def gather_names():
    """A kernel looks at the names of all modules when it starts. Names that lie
    side by side are on few pages of memory that must be copied then."""
    for name in list(sys.modules):
        module = sys.modules.pop(name)
        sys.modules[(name + " ")[:-1]] = module


def close_start():
    """What was only for the start, unless it begins again."""
    os.set_inheritable(CHANNEL, False)
    for descriptor in (LIBRARY, SCRIPT, KERNEL_SCRIPT, SETUP_SCRIPT):
        os.close(descriptor)


def main():
    gc.disable()
    watched = stamps(sys.path) + stamps(font_directories())
    known = descriptors()
    environment = dict(os.environ)
    library = open_library()
    kernel = open_script(KERNEL_SCRIPT, "zygote_kernel")
    load_needed()
    setup = kernel.Setup(SETUP_SCRIPT)
    modules = set(sys.modules)
    with setup.record_imports() as recorder:
        preload(sys.argv[3:-1], known)
    settle_in = setup.put_away(recorder, modules)
    by_imports = {name: value for name, value in os.environ.items() if environment.get(name) != value}
    app = kernel.prepare(json.loads(sys.argv[2]))
    why = leftovers(known)
    if why is not None:
        sys.exit(f"ipykernel cannot be preloaded: {why}")
    close_start()
    library.zygote_fork_call(f"cellpost-zygote {sys.argv[1]}".encode())
    sys.stdout.flush()
    sys.stderr.flush()
    gather_names()
    gc.collect()
    gc.freeze()
    os.write(CHANNEL, json.dumps({"watched": watched}).encode())
    ctypes.pythonapi.PyOS_BeforeFork()
    if library.zygote_fork_wait(CHANNEL) != 1:
        os._exit(0)
    ctypes.pythonapi.PyOS_AfterFork_Child()
    kernel.run(library, app, setup, settle_in, by_imports)


main()
