"""What a kernel that was forked from a zygote does before it is one like any
other (core/keeper/zygote/zygote.py), and the half of its start that is done before the
fork, because it is the same for all."""

import ctypes
import gc
import hashlib
import importlib.util
import os
import pathlib
import signal
import sys
from copy import deepcopy

CONNECTION_FILE = "{connection_file}"  # in the place of a path

# Before the fork


def prepare(arguments):
    """ipykernel's application with its command line read and its shell made; or
    None, when this ipykernel is built otherwise: then it is made afterwards."""
    try:
        publish_without_limit()
        return make_app(arguments)
    except Exception as error:
        print(f"the shell is made after the fork: {error!r}", file=sys.stderr)
        return None


def make_app(arguments):
    from ipykernel import kernelapp

    class IPKernelApp(kernelapp.IPKernelApp):  # sections of the configuration go by this name
        def parse_command_line(self, argv=None):
            if argv is not None:
                super().parse_command_line(argv)

        def init_kernel(self):
            drop_shell_unless(plain(self.config) == self.early_config)
            super().init_kernel()
            if self.kernel.shell is self.early_shell:
                move_in(self.kernel.shell, self)
            self.early_shell = None

    app = IPKernelApp.instance()
    app.early_paths = list(app.config_file_paths)
    app.early_arguments = arguments
    super(kernelapp.IPKernelApp, app).initialize(arguments)
    app.early_config = plain(app.config)
    app.early_shell = make_shell(app)
    rehearse(app.early_shell)
    return app


def publish_without_limit():
    """A PUB socket drops what a slow reader has not taken beyond its limit, in
    silence. Readers that come later get the limit that the socket had when it
    was bound, so core/ipykernel/setup comes too late here, where nobody has
    connected yet."""
    import zmq
    from ipykernel.kernelapp import IPKernelApp

    init_iopub = IPKernelApp.init_iopub

    def init_without_limit(self, context):
        context.setsockopt(zmq.SNDHWM, 0)
        init_iopub(self, context)
        del context.sockopts[zmq.SNDHWM]

    IPKernelApp.init_iopub = init_without_limit


def plain(config):
    """Without what is different in every kernel."""
    copy = deepcopy(config)
    copy.IPKernelApp.pop("connection_file", None)
    return copy


def make_shell(app):
    from ipykernel.ipkernel import IPythonKernel
    from ipykernel.zmqshell import ZMQInteractiveShell

    if IPythonKernel.shell_class.default_value_repr() != repr("ipykernel.zmqshell.ZMQInteractiveShell"):
        return None
    more = {}
    try:
        from ipykernel.compiler import XCachingCompiler

        more["compiler_class"] = XCachingCompiler
    except ImportError:
        pass
    return ZMQInteractiveShell.instance(parent=app, profile_dir=app.profile_dir, **more)


def rehearse(shell):
    """What runs for the first time is compiled, looked up, cached: here once
    instead of in every kernel. The messages are nobody's."""
    from jupyter_client.session import Session

    session = Session(key=b"0", check_pid=False)
    for _ in range(20):  # from the eighth call on Python's bytecode is adapted
        request = session.msg("execute_request", {"code": "1", "silent": False})
        session.deserialize(session.feed_identities(session.serialize(request))[1])
        session.digest_history.clear()
        if shell is not None:
            shell.run_cell("None", silent=True, store_history=False)
            shell.display_formatter.format(1)
    if shell is not None:
        forget_cells(shell)


def forget_cells(shell):
    import linecache

    for name in getattr(shell.compile, "_filename_map", {}):
        linecache.cache.pop(name, None)
        getattr(linecache, "_ipython_cache", {}).pop(name, None)
    getattr(shell.compile, "_filename_map", {}).clear()


class Setup:
    """What Cellpost does in every kernel (core/ipykernel/setup), loaded once."""

    def __init__(self, descriptor):
        with open(f"/proc/self/fd/{descriptor}", "rb") as file:
            source = file.read()
        self.names = {"digest": hashlib.sha256(source).hexdigest()}
        exec(compile(source, "setup", "exec"), self.names)

    def __getattr__(self, name):
        return getattr(self.names["package"], name)

    def run(self, connection_file):
        self.names["set_up"](os.path.dirname(connection_file))


def drop_shell_unless(suitable):
    from ipykernel.zmqshell import ZMQInteractiveShell

    if not suitable:
        ZMQInteractiveShell.clear_instance()


# After it


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


def set_environment(entries):
    for entry in entries:
        name, _, value = entry.partition(b"=")
        os.environb[name] = value


def replace_environment(entries, by_imports):
    os.environ.clear()
    os.environ.update(by_imports)
    set_environment(entries)


def show(library, arguments, entries):
    library.zygote_fork_show(
        (ctypes.c_char_p * (len(arguments) + 1))(*arguments, None),
        (ctypes.c_char_p * (len(entries) + 1))(*entries, None),
    )


def renew_randomness():
    """`random` itself sees to that at every fork, libraries when they are
    imported (core/ipykernel/setup/renewals.py)."""
    import multiprocessing.process
    import tempfile
    import uuid

    uuid._last_timestamp = None
    tempfile._name_sequence = tempfile.tempdir = None
    multiprocessing.process.current_process().authkey = os.urandom(32)


def renew_identity():
    import logging
    import threading
    import time

    logging._startTime = time.time()
    if "platform" in sys.modules:
        sys.modules["platform"]._uname_cache = None  # it has the host's name
        sys.modules["platform"]._platform_cache.clear()
    main_thread = threading.main_thread()
    if hasattr(main_thread, "_set_native_id"):
        main_thread._set_native_id()
    if hasattr(sys.modules.get("IPython.utils.io"), "devnull"):
        sys.modules["IPython.utils.io"].devnull = open(os.devnull, "w")


def add_user_packages():
    """Where pip puts them with --user. They come before the system's."""
    import site

    if not site.ENABLE_USER_SITE:
        return
    site.USER_BASE = site.USER_SITE = None
    variables = getattr(sys.modules.get("sysconfig"), "_CONFIG_VARS", None)
    if variables:
        variables["userbase"] = site.getuserbase()
    count = len(sys.path)
    site.addusersitepackages(set(sys.path))
    added = sys.path[count:]
    del sys.path[count:]
    place = next((i for i, path in enumerate(sys.path) if path.endswith("-packages")), count)
    sys.path[place:place] = added


def move_in(shell, app):
    """The shell was made in another place, for no kernel in particular."""
    from pickleshare import PickleShareDB

    shell.parent = shell.kernel = app.kernel
    shell.ipython_dir = app.ipython_dir
    shell.profile_dir = app.profile_dir
    shell.history_manager.hist_file = pathlib.Path(app.profile_dir.location) / "history.sqlite"
    shell.db = PickleShareDB(os.path.join(app.profile_dir.location, "db"))
    stand_here(shell)
    shell.sys_excepthook = sys.excepthook
    for name in ("stdin", "stdout", "stderr", "excepthook"):
        shell._orig_sys_module_state[name] = getattr(sys, name)
    shell.init_environment()


def stand_here(shell):
    from multiprocessing import process

    from IPython.utils.path import get_home_dir

    process.ORIGINAL_DIR = os.getcwd()
    shell.starting_dir = os.getcwd()
    shell.home_dir = shell.logger.home_dir = get_home_dir()
    shell.history_manager.dir_hist[:] = [pathlib.Path.cwd()]


def same_but_for_file(early, arguments):
    """The connection file, or None when other things are different."""
    if len(early) != len(arguments) or CONNECTION_FILE not in early:
        return None
    place = early.index(CONNECTION_FILE)
    path = arguments[place]
    return path if early[:place] + [path] + early[place + 1 :] == arguments else None


def shut_workspace():
    """Until the kernel stands it imports nothing from the task's files, as one that
    runs its program (core/keeper/launch/launch_python.py). They come behind the
    standard library: the directory by its name, and whatever is current."""
    from IPython.core.shellapp import InteractiveShellApp

    init_path = InteractiveShellApp.init_path
    InteractiveShellApp.init_path = lambda self: None

    def open_again(app):
        InteractiveShellApp.init_path = init_path
        app.init_path()
        if "" in sys.path:
            sys.path.insert(sys.path.index(""), os.getcwd())

    return open_again


def start_app(app, arguments):
    """Its command line has been read before, unless it is another one now."""
    from ipykernel.kernelapp import IPKernelApp
    from IPython.paths import get_ipython_dir
    from traitlets.config import Config

    path = None if app is None else same_but_for_file(app.early_arguments, arguments)
    if path is None:
        drop_shell_unless(False)
        IPKernelApp.clear_instance()
        if app is not None:
            type(app).clear_instance()
        app = IPKernelApp.instance()
        app.initialize(arguments)
        return app
    app.update_config(Config({"IPKernelApp": {"connection_file": path}}))
    app.ipython_dir, app.profile_dir = get_ipython_dir(), None
    app.config_file_paths[:] = app.early_paths
    app.initialize(None)
    return app


def attend(library, channel, app, settle_in, arguments, entries):
    """A kernel that waits for its task (core/keeper/launch/spare.h) says so once it is
    ready, and is told when it has one."""
    import socket

    from tornado.ioloop import IOLoop

    peer, loop, directory = socket.socket(fileno=channel), IOLoop.current(), os.getcwd()

    def answer(*_):
        loop.remove_handler(channel)
        message = peer.recv(1 << 16)
        if message:
            changed = message.split(b"\0")[1:]
            names = tuple(entry.partition(b"=")[0] + b"=" for entry in changed)
            set_environment(changed)
            settle_in()
            show(library, arguments, changed + [entry for entry in entries if not entry.startswith(names)])
            peer.send(b"here")
            peer.recv(1)
            sys.path[:] = [os.getcwd() if path == directory else path for path in sys.path]
            stand_here(app.shell)
        peer.close()

    loop.add_handler(channel, answer, loop.READ)
    loop.add_callback(peer.send, b"ready")


def run(library, app, setup, settle_in, by_imports):
    gc.enable()
    reset_signals()
    arguments = texts(library.zygote_fork_arguments())
    entries = texts(library.zygote_fork_environment())
    replace_environment(entries, by_imports)
    settle_in()
    show(library, arguments, entries)
    renew_randomness()
    renew_identity()
    add_user_packages()
    words = [os.fsdecode(argument) for argument in arguments]
    own = words[words.index("-m") + 2 :]
    sys.orig_argv[:] = words
    sys.argv[:] = [importlib.util.find_spec("ipykernel_launcher").origin, *own]
    open_workspace = shut_workspace()
    app = start_app(app, own)
    if "__mp_main__" in sys.modules:  # multiprocessing has taken the zygote's
        sys.modules["__mp_main__"] = sys.modules["__main__"]
    setup.run(app.abs_connection_file)
    open_workspace(app)
    channel = library.zygote_fork_attendance()
    if channel > 0:
        attend(library, channel, app, settle_in, arguments, entries)
    app.start()
