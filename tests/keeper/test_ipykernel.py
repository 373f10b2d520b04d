"""cellpost-keeper with Debian's ipykernel."""

import os
import pathlib
import signal
import sys

import pytest
from conftest import LIMIT, Refused, running, wait_for
from kernel_client import Kernel


@pytest.fixture
def kernels(keeper):
    """Starts the kernel of a task and connects to it."""
    opened = []

    def connect(task="demo", verb="start"):
        kernel = Kernel(keeper.ask(verb=verb, task=task))
        opened.append(kernel)
        return kernel

    keeper.start()
    keeper.task(kernelspec="python3")
    yield connect
    for kernel in opened:
        kernel.close()


def test_it_runs_code_in_the_tasks_directory(keeper, kernels, user):
    kernel = kernels()
    assert kernel.run("import os; print(os.getcwd(), os.getuid())") == f"{keeper.files()} {user.pw_uid}\n"
    assert kernel.run("import sys; print(sys.executable)") == "/usr/bin/python3\n"
    assert kernel.run("import os; print('KEEPERS_OWN_SECRET' in os.environ, os.getppid() > 1)") == "False True\n"
    assert kernel.run("x = 1\nprint(_ih[-2][:6])") == "import\n"
    assert kernel.run("import subprocess; print(subprocess.run(['cat'], capture_output=True).stdout)") == "b''\n"
    assert list(keeper.files().iterdir()) == []
    databases = list(pathlib.Path(kernel.told["directory"]).rglob("history.sqlite"))
    assert databases == []


def test_an_interrupt_ends_a_cell_and_keeps_the_variables(keeper, kernels):
    kernel = kernels()
    kernel.run("x = 41")
    code = "open('ready', 'w').close(); import subprocess; subprocess.run(['sleep', '600'])"
    sent = kernel.client.execute(code, stop_on_error=False)
    wait_for((keeper.files() / "ready").exists, "the cell")
    wait_for(lambda: [pid for pid in running("sleep 600") if parent_is(pid, kernel.told["pid"])], "its child")
    keeper.ask(verb="interrupt", kernel=kernel.told["id"])
    while True:
        reply = kernel.client.get_shell_msg(timeout=LIMIT)
        if reply["parent_header"]["msg_id"] == sent:
            break
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert kernel.run("print(x + 1)") == "42\n"
    assert [pid for pid in running("sleep 600") if parent_is(pid, kernel.told["pid"])] == []


def parent_is(pid, parent):
    stat = pathlib.Path("/proc", str(pid), "stat").read_text()
    return int(stat.rpartition(")")[2].split()[1]) == parent


def test_the_variables_survive_a_killed_keeper(keeper, kernels):
    kernel = kernels()
    kernel.run("x = 1")
    keeper.end(signal.SIGKILL)
    assert kernel.run("print(x)") == "1\n"
    keeper.start()
    again = kernels()
    assert again.told["id"] == kernel.told["id"]
    assert again.run("print(x)") == "1\n"
    os.kill(kernel.told["pid"], signal.SIGKILL)
    assert keeper.ended(kernel.told["id"])["signal"] == 9


def test_a_restart_forgets_the_variables(kernels):
    kernel = kernels()
    kernel.run("x = 1")
    again = kernels(verb="restart")
    assert again.told["generation"] == 2
    assert again.run("print(x)") == "NameError"


@pytest.mark.parametrize(
    ("code", "ending", "exit_code", "number"),
    [
        ("import os; os._exit(7)", "exit", 7, None),
        ("import os; os.kill(os.getpid(), 9)", "signal", None, 9),
        ("import ctypes; ctypes.string_at(0)", "signal", None, 11),
        ("exit()", "exit", 0, None),
    ],
)
def test_how_a_cell_ended_its_kernel(keeper, kernels, code, ending, exit_code, number):
    kernel = kernels()
    kernel.client.execute(code)
    row = keeper.ended(kernel.told["id"])
    assert (row["ending"], row["exit_code"], row["signal"]) == (ending, exit_code, number)


def test_a_missing_module_is_told_with_the_kernels_own_words(keeper):
    keeper.spec("broken", ["python3", "-m", "no_such_module", "-f", "{connection_file}"])
    keeper.start()
    keeper.task(kernelspec="broken")
    kernel = keeper.ask(verb="start", task="demo")
    keeper.ended(kernel["id"])
    told = keeper.ask(verb="status", kernel=kernel["id"])
    assert (told["end"], told["exit_code"]) == ("exit", 1)
    assert "No module named no_such_module" in told["stderr_tail"]


def test_a_stop_leaves_nothing_of_a_cell(keeper, kernels):
    kernel = kernels()
    kernel.run(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(999)'], start_new_session=True)\n"
        "open('pid', 'w').write(str(child.pid))"
    )
    child = int((keeper.files() / "pid").read_text())
    keeper.stop("demo")
    for pid in (child, kernel.told["pid"]):
        assert not pathlib.Path("/proc", str(pid)).exists()
    assert keeper.leftovers() == []


def test_another_language(keeper):
    if not pathlib.Path("/usr/share/jupyter/kernels/ir/kernel.json").exists():
        pytest.skip("IRkernel is not installed")
    keeper.start()
    keeper.task(kernelspec="ir")
    try:
        kernel = Kernel(keeper.ask(verb="start", task="demo"))
    except Refused as refused:
        pytest.fail(str(refused))
    assert kernel.run("cat(1 + 1)") == "2"
    kernel.close()


def occupy(files):
    """Files called like everything that a kernel imports, and ones that pip's --user leaves."""
    names = {"IPython", "comm", "debugpy", "ipykernel", "ipykernel_launcher", "jupyter_client", "jupyter_core",
             "matplotlib_inline", "nest_asyncio", "numpy", "packaging", "psutil", "sitecustomize", "tornado", "traitlets",
             "usercustomize", "zmq", *sys.stdlib_module_names}  # fmt: skip
    site = files / ".local/lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    site.mkdir(parents=True, exist_ok=True)
    (site / "begin.pth").write_text("import no_such_module_of_the_task\n")
    for directory in (files, site):
        for name in names:
            (directory / f"{name}.py").write_text(f"raise SystemExit('{name} of the task')\n")
    return site


@pytest.mark.parametrize("jail", ["off", "auto"])
@pytest.mark.parametrize("more", [[], ["-Xfrozen_modules=off"], ["-X", "utf8"]])
def test_no_file_of_the_task_keeps_its_kernel_from_starting(keeper, jail, more):
    keeper.jail = jail
    keeper.spec("plain", ["/usr/bin/python3", *more, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    keeper.start()
    keeper.task(kernelspec="plain")
    keeper.ask(verb="start", task="demo")
    keeper.stop("demo")  # its directory is there now
    site = occupy(keeper.files())
    kernel = Kernel(keeper.ask(verb="start", task="demo"))
    try:
        assert kernel.run("print(1)") == "1\n"
        # From now on all of it can be imported: that is what it is for.
        (site / "begin.pth").unlink()
        (site / "installed.py").write_text("value = 2\n")
        (keeper.files() / "mine.py").write_text("value = 3\n")
        assert kernel.run("import installed, mine; print(installed.value, mine.value)") == "2 3\n"
        assert kernel.run("import numpy") == "SystemExit"
        assert kernel.run("import os; print('PYTHONUSERBASE' in os.environ)") == "False\n"
    finally:
        kernel.close()


def test_a_kernel_in_python_for_another_language_starts_likewise(keeper):
    module = "import sys, pathlib, random; pathlib.Path('says').write_text(repr([sys.argv[1:], random.__file__]))"
    library = keeper.directory / "library"
    library.mkdir()
    (library / "other_kernel.py").write_text(module)
    keeper.spec("other", ["/usr/bin/python3", "-m", "other_kernel", "-f", "{connection_file}"], env={"PYTHONPATH": str(library)})
    keeper.start()
    keeper.task(kernelspec="other")
    files = keeper.files()
    files.mkdir(parents=True)
    files.chmod(0o777)
    for name in ("other_kernel", "random", "runpy", "json"):
        (files / f"{name}.py").write_text("raise SystemExit('the task')\n")
    kernel = keeper.ask(verb="start", task="demo")
    said = wait_for(lambda: (files / "says").exists() and (files / "says").read_text(), "its word")
    assert "/usr/lib/python3" in said and f"'-f', '{kernel['directory']}/connection.json'" in said
