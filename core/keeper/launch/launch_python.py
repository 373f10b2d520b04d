"""The start of a Python kernel that runs its program (core/keeper/launch/launch.c):
nothing is imported from the task's files before the kernel stands, whatever they
are called. Afterwards they are importable as in any kernel. Run as

    python3 [OPTION…] SCRIPT MODULE ARGUMENT…

in the place of "python3 [OPTION…] -m MODULE ARGUMENT…", with PYTHONUSERBASE
naming a place that does not exist unless the task has set it: HOME is the
task's directory, and so would be the place where pip puts packages with --user.
Any Python 3: the option -P came with 3.11 and would be handed on to children."""

import sys

del sys.path[0]  # the directory of this script

import importlib.util
import os
import site

NO_BASE = "/cellpost-none"  # how the PYTHONUSERBASE of launch.c ends


def name_command(module, arguments):
    """As if the module had been run by -m."""
    options = sys.orig_argv[: sys.orig_argv.index(__file__)] if hasattr(sys, "orig_argv") else []
    if options:
        sys.orig_argv[:] = [*options, "-m", module, *arguments]
    found = importlib.util.find_spec(module)
    sys.argv[:] = [module if found is None else found.origin, *arguments]


def add_user_packages():
    """Where pip puts them with --user; they come before the system's."""
    if not os.environ.get("PYTHONUSERBASE", "").endswith(NO_BASE):
        return
    del os.environ["PYTHONUSERBASE"]
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


def run_ipykernel(arguments):
    """IPython adds the working directory to sys.path while it starts."""
    from ipykernel.kernelapp import IPKernelApp
    from IPython.core.shellapp import InteractiveShellApp
    from tornado.ioloop import IOLoop

    init_path = InteractiveShellApp.init_path
    InteractiveShellApp.init_path = lambda self: None
    app = IPKernelApp.instance()
    app.initialize(arguments)

    def open_workspace():
        InteractiveShellApp.init_path = init_path
        app.init_path()
        if "" in sys.path:
            sys.path.insert(sys.path.index(""), os.getcwd())
        add_user_packages()

    IOLoop.current().add_callback(open_workspace)
    app.start()


def run_module(module):
    """A kernel in Python for another language needs no module of the task's."""
    import runpy

    os.environ.pop("PYTHONUSERBASE", None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def main():
    module, arguments = sys.argv[1], sys.argv[2:]
    name_command(module, arguments)
    if module in ("ipykernel_launcher", "ipykernel"):
        run_ipykernel(arguments)
    else:
        run_module(module)


main()
