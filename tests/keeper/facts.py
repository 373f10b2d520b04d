"""What is run in a kernel: all that a cell can see of how its process was made. What is
different in every kernel is left out or put in other words by the test."""

import hashlib
import json
import subprocess

from conftest import ROOT

FACTS = r'''
import matplotlib.pyplot, numpy, pandas

def look():
    import asyncio, builtins, gc, getpass, json, locale, logging, os, pathlib, resource, signal, socket, stat, sys
    import re, tempfile, threading, warnings

    shell = get_ipython()
    app = shell.kernel.parent

    def file(path):
        return pathlib.Path(path).read_bytes().decode(errors="replace")

    def words(path):
        return [word for word in file(path).split("\0") if word.strip()]

    def status(*names):
        lines = [line.split(":", 1) for line in file("/proc/self/status").splitlines()]
        return {name: value.strip() for name, value in lines if name in names}

    def kinds():
        found = {}
        for number in os.listdir("/proc/self/fd"):
            try:
                kind = os.readlink("/proc/self/fd/" + number).split(":")[0]
            except OSError:
                continue
            kind = "shared memory" if kind.startswith("/dev/shm") else kind
            found[kind] = found.get(kind, 0) + 1
        return found

    def traits(thing, *left_out):
        found = {}
        for name, trait in thing.traits().items():
            if name not in left_out and isinstance(getattr(thing, name, None), (str, int, float, bool, tuple)):
                found[name] = repr(getattr(thing, name))
        return found

    def handler(number):
        known = signal.getsignal(number)
        return getattr(known, "__name__", str(known))

    return {
        "argv": sys.argv,
        "orig_argv": getattr(sys, "orig_argv", None),
        "command": words("/proc/self/cmdline"),
        "name": file("/proc/self/comm"),
        "environ": dict(os.environ),
        "environ in memory": sorted(words("/proc/self/environ")),
        "path": sys.path,
        "flags": repr(sys.flags),
        "executable": [sys.executable, sys.prefix, os.readlink("/proc/self/exe")],
        "streams": [[s.encoding, s.errors, s.isatty()] for s in (sys.__stdin__, sys.__stdout__, sys.__stderr__)],
        "stdin": os.readlink("/proc/self/fd/0"),
        "output": os.readlink("/proc/self/fd/1").split(":")[0],
        "descriptors": {k: v for k, v in kinds().items() if "memfd" in k or k.startswith("/")},
        "signals": {number.name: handler(number) for number in signal.valid_signals() if hasattr(number, "name")},
        "status": status("SigBlk", "SigIgn", "SigCgt", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs",
                         "Seccomp", "Umask", "CoreDumping"),
        "limits": {n: resource.getrlimit(getattr(resource, n)) for n in dir(resource) if n.startswith("RLIMIT_")},
        "session": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid(), os.getppid() > 0],
        "nice": os.nice(0),
        "oom": file("/proc/self/oom_score_adj"),
        "directory": [os.getcwd(), os.environ.get("PWD"), str(pathlib.Path.home()), os.path.expanduser("~")],
        "user": [getpass.getuser(), os.getuid() == os.geteuid() == os.getresuid()[2], os.getuid() == os.getgid()],
        "locale": [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), locale.getpreferredencoding()],
        "threads": sorted(re.sub(r"\d+", "", thread.name) for thread in threading.enumerate()),
        "main thread": [threading.main_thread() is threading.enumerate()[0],
                        threading.main_thread().native_id == os.getpid()],
        "gc": [gc.isenabled(), gc.get_threshold()],
        "warnings": [str(entry) for entry in warnings.filters],
        "logging": [logging.root.level, [str(type(h)) for h in logging.root.handlers]],
        "loop": [type(asyncio.get_event_loop_policy()).__name__, type(asyncio.get_event_loop()).__name__],
        "temporary": tempfile.gettempdir(),
        "hooks": [getattr(sys.excepthook, "__name__", ""), type(sys.displayhook).__name__,
                  sys.breakpointhook.__module__],
        "bytecode": [sys.dont_write_bytecode, sys.pycache_prefix],
        "main": sorted(vars(sys.modules["__main__"])),
        "main is user's": sys.modules["__main__"] is shell.user_module,
        "builtins": sorted(set(vars(builtins))),
        "names": sorted(name for name in globals() if not name.startswith("_i")),
        "hidden": sorted(shell.user_ns_hidden),
        "magics": {kind: sorted(found) for kind, found in shell.magics_manager.magics.items()},
        "shell": traits(shell, "execution_count"),
        "shell's parts": sorted(type(part).__name__ for part in shell.configurables),
        "shell's places": [shell.starting_dir, shell.home_dir, shell.ipython_dir, shell.profile_dir.location,
                           str(shell.db.root), shell.logger.home_dir],
        "shell's family": [shell.parent is shell.kernel, shell.kernel.shell is shell, shell.kernel.parent is app,
                           app.shell is shell, type(shell.parent).__name__, type(app).__name__],
        "shell's events": {name: len(found) for name, found in shell.events.callbacks.items()},
        "directories": [str(path) for path in shell.history_manager.dir_hist],
        "history": traits(shell.history_manager),
        "history's thread": shell.history_manager.save_thread is None,
        "kernel": traits(shell.kernel, "ident", "execution_count"),
        "app": traits(app),
        "app's paths": [path for path in app.config_file_paths],
        "configuration": repr(app.config),
        "session traits": traits(shell.kernel.session, "session", "bsession", "key", "pid"),
        "session's process": shell.kernel.session.pid == os.getpid(),
        "output's process": sys.stdout._master_pid == os.getpid(),
        "formatters": sorted(shell.display_formatter.formatters),
        "matplotlib": os.environ.get("MPLBACKEND"),
        "host": socket.gethostname(),
        "completion": shell.complete("impor"),
        "reset": sys.stdout.flush_interval,
    }

import json as _json
print(_json.dumps(look(), default=str))
'''

SETUP = subprocess.run(
    [ROOT / "tools/bundle", ROOT / "core/ipykernel/setup", ROOT / "core/ipykernel/load.py"],
    check=True, capture_output=True, text=True,
).stdout


def set_up(kernel):
    """What the app does when it meets a kernel (core/run/lease_setup.c)."""
    digest = hashlib.sha256(SETUP.encode()).hexdigest()
    return kernel.run(
        f"print(getattr(__import__('sys'), '_cellpost_setup', '') == {digest!r} or (lambda names: "
        f"(exec({SETUP!r}, names), names['set_up']({kernel.told['directory']!r}))[1])({{'digest': {digest!r}}}))"
    )


def difference(one, other):
    """The parts that only one of them has."""
    if isinstance(one, dict):
        names = one.keys() | other.keys()
        return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}
    if isinstance(one, list):
        return [part for part in one if part not in other], [part for part in other if part not in one]
    return one, other


def facts(kernel, keeper, task):
    text = kernel.run(FACTS)
    assert text.startswith("{"), text
    for own, word in ((kernel.told["id"], "ID"), (str(keeper.files(task)), "FILES"), (f"/{task}/", "/TASK/")):
        text = text.replace(own, word)
    found = json.loads(text)
    # One that runs its program does so through a script, which imports nothing of
    # the task's files (core/keeper/launch/launch_python.py).
    found["command"] = ["-m" if word.endswith("/ID/start.py") else word for word in found["command"]]
    found["environ in memory"] = [e for e in found["environ in memory"] if not e.startswith("PYTHONUSERBASE=")]
    return found
