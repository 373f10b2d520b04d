"""Output that is easily lost, or put with the wrong run: threads, children,
pools, streams that the user has replaced."""

import time

import pytest

from tests.instance import wait_for


@pytest.fixture(params=["warm", "strict"])
def own(service, request):
    """A function that posts code to one task for all tests: what one of them
    does to the kernel must not show in the next."""
    task = f"streams-{request.param}"
    service.put(task, strict=request.param == "strict")
    return lambda code, **fields: service.post(task, code, **fields)


def late_text(service, run):
    """What has come for a run after its end."""
    outputs = service.get(f"/v1/runs/{run}").json()["late_outputs"]
    return "".join(entry["output"].get("text", "") for entry in outputs)


def wait_late(service, run, text):
    wait_for(lambda: late_text(service, run) == text, f"{text!r} as late output")


# Threads


@pytest.mark.parametrize("gap", [0.0, 0.004, 0.014, 0.03])
def test_a_thread_that_prints_shortly_before_the_next_cell(service, own, gap):
    """The thread prints when it is let go, in between two cells."""
    first = own(
        "import os, threading, time\n"
        "def speak():\n"
        f"    while not os.path.exists('go-{gap}'): time.sleep(0.001)\n"
        f"    print('late'); open('said-{gap}', 'w').close()\n"
        "threading.Thread(target=speak).start()"
    )
    workspace = service.task_directory(first["task"]) / "files"
    (workspace / f"go-{gap}").touch()
    wait_for((workspace / f"said-{gap}").exists, "the thread's word")
    time.sleep(gap)
    second = own("print('second'); time.sleep(0.1)")
    assert second["stdout"] == "second\n"
    wait_late(service, first["run"], "late\n")


POOLS = {
    "executor": ("from concurrent.futures import ThreadPoolExecutor as T; pool = T(1)", "list(pool.map(print, {}));"),
    "submit": ("from concurrent.futures import ThreadPoolExecutor as T; pool = T(1)", "[pool.submit(print, x).result() for x in {}];"),
    "callback": (
        "from concurrent.futures import ThreadPoolExecutor as T; import threading; pool = T(1)",
        "for x in {}:\n    e = threading.Event(); f = pool.submit(int, x)\n"
        "    f.add_done_callback(lambda f: (print(f.result()), e.set())); e.wait()",
    ),
    "in executor": ("import asyncio", "for x in {}: await asyncio.get_running_loop().run_in_executor(None, print, x)"),
    "to_thread": ("import asyncio", "for x in {}: await asyncio.to_thread(print, x)"),
    "thread pool": ("from multiprocessing.pool import ThreadPool; pool = ThreadPool(1)", "pool.map(print, {});"),
    "process pool": (
        "import multiprocessing\ndef say(x): print(x)\npool = multiprocessing.Pool(1)",
        "pool.map(say, {});",
    ),
    "process executor": (
        "from concurrent.futures import ProcessPoolExecutor as T\ndef say(x): print(x)\npool = T(1)",
        "list(pool.map(say, {}));",
    ),
} | {
    kind: (
        f"import queue, threading; q = queue.{kind}()\n"
        "def work():\n    while True:\n        x, e = q.get(); print(x); e.set()\n"
        "threading.Thread(target=work, daemon=True).start()",
        "for x in {}: e = threading.Event(); q.put((x, e)); e.wait()",
    )
    for kind in ("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue")
}


@pytest.mark.parametrize("kind", POOLS)
def test_a_pool_of_an_earlier_cell_works_for_the_one_that_uses_it(service, own, kind):
    make, use = POOLS[kind]
    first = own(make + "\n" + use.format("'12'"))
    second = own(use.format("'34'"))
    assert [first["stdout"], second["stdout"]] == ["1\n2\n", "3\n4\n"], first["error"] or second["error"]
    assert late_text(service, first["run"]) == ""


def test_logging_in_workers(service, own):
    first = own(
        "import logging; from concurrent.futures import ThreadPoolExecutor as T\n"
        "pool = T(1); pool.submit(logging.warning, 'one').result()"
    )
    second = own("pool.submit(logging.warning, 'two').result()")
    assert [first["stderr"], second["stderr"]] == ["WARNING:root:one\n", "WARNING:root:two\n"]


def test_work_that_goes_on_belongs_to_the_cell_that_handed_it_in(service, own):
    own("import time; from concurrent.futures import ThreadPoolExecutor as T; pool = T(1); pool.submit(int).result();")
    second = own("pool.submit(lambda: (time.sleep(0.3), print('slow')));")
    assert own("pool.submit(print, 'third').result()")["stdout"] == "third\n"
    wait_late(service, second["run"], "slow\n")


def test_a_timer(service, own):
    first = own("import threading; timer = threading.Timer(0.2, print, ['late']); timer.start()")
    assert own("timer.join()")["stdout"] == ""
    wait_late(service, first["run"], "late\n")


# Children


@pytest.mark.parametrize(
    "code, text",
    [
        ("['echo', 'a' + 'é' * 3000]", "a" + "é" * 3000 + "\n"),
        ("['printf', '\\\\xff\\\\xc3\\\\n']", "\ufffd\ufffd\n"),
        ("['printf', 'x\\\\303\\\\n']", "x\ufffd\n"),
        ("['sh', '-c', 'printf \"\\\\303\"; sleep 0.1; printf \"\\\\251\"']", "é"),
        ("'head -c 300000 /dev/zero | tr \"\\\\0\" x', shell=True", "x" * 300_000),
        ("['echo', 'x'], stdout=sys.stdout", "x\n"),
        ("'echo x >&2', shell=True, stderr=1", "x\n"),
    ],
)
def test_what_children_print(own, code, text):
    head = "import subprocess, sys\n"
    answer = own(f"{head}print('before'); subprocess.run({code}); print('after')")
    assert answer["stdout"] == f"before\n{text}after\n"
    assert own("subprocess.run(['echo', 'later']);")["stdout"] == "later\n"


def test_a_child_that_goes_on_belongs_to_its_cell(service, own):
    first = own(
        "import subprocess, time\n"
        "child = subprocess.Popen('sleep 0.2; echo late; sleep 0.2; echo later', shell=True)"
    )
    second = own("child.wait(); print('second')")
    assert second["stdout"] == "second\n"
    wait_late(service, first["run"], "late\nlater\n")


def test_a_childs_python_does_not_keep_its_words(own):
    code = "import time; print(1); time.sleep(60)"
    answer = own(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])", timeout=2)
    assert answer["status"] == "timeout" and answer["stdout"] == "1\n"
    assert own("import os; print('PYTHONUNBUFFERED' in os.environ)")["stdout"] == "False\n"


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes; ctypes.CDLL(None).printf(b'x\\n');",
        "import os; os.system('echo x');",
        "import os; os.write(1, b'x\\n');",
        "import os; os.fork() or (print('x'), os._exit(0)); os.wait();",
        "import multiprocessing as m; p = m.Process(target=print, args='x'); p.start(); p.join()",
        "import sys; sys.__stdout__.write('x\\n');",
        "import sys; sys.__stdout__.buffer.write(b'x\\n');",
    ],
)
def test_ways_past_the_stream(own, code):
    assert own(code)["stdout"] == "x\n"
    assert own("print('y')")["stdout"] == "y\n"


def test_a_traceback_of_faulthandler(own):
    assert 'File "' in own("import faulthandler; faulthandler.dump_traceback(all_threads=False)")["stderr"]


# Streams


def test_a_stream_that_was_replaced_for_a_while(own):
    code = (
        "import io, sys\nsys.stdout = io.StringIO(); print('kept'); text = sys.stdout.getvalue()\n"
        "sys.stdout = sys.__stdout__; print('one'); print(text, end='')"
    )
    assert own(code)["stdout"] == "one\nkept\n"
    assert own("print('two')")["stdout"] == "two\n"


@pytest.mark.parametrize("name", ["stdout", "stderr"])
@pytest.mark.parametrize(
    "code",
    ["NAME = None", "del NAME", "NAME = 5", "NAME = 5; 1", "NAME = 5; 1/0", "NAME = io.StringIO()",
     "NAME = open(os.devnull, 'w')", "contextlib.redirect_NAME_(NAMEIO()).__enter__()"],
)
def test_a_stream_that_is_left_broken(own, code, name):
    code = code.replace("NAME_", name).replace("NAMEIO", "io.StringIO").replace("NAME", f"sys.{name}")
    broken = own(f"import contextlib, io, os, sys\n{code}", timeout=20)
    assert broken["status"] in ("ok", "error")
    assert [f"sys.{name}" in note for note in broken["notes"]] == [True]
    answer = own("print('out'); print('err', file=sys.stderr); 7")
    assert [answer[part] for part in ("stdout", "stderr", "notes")] == ["out\n", "err\n", []]
    assert answer["result"]["text/plain"] == "7"


def test_a_stream_of_the_users_own_stays(own):
    own(
        "import sys\nclass Tee:\n    def __init__(self, inner): self.inner = inner\n"
        "    def write(self, text): return self.inner.write(text.upper())\n    def flush(self): self.inner.flush()\n"
        "sys.stdout = Tee(sys.stdout)"
    )
    assert own("print('both')")["stdout"] == "BOTH\n"
    assert own("sys.stdout = sys.stdout.inner; print('one')")["stdout"] == "one\n"


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout.close(); print('x')",
        "sys.__stdout__.close()",
        "sys.stdout.flush = lambda: 1 / 0",
        "os.close(1); os.close(2)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "sys.displayhook = None; 3",
        "sys.excepthook = 5; 1/0",
        "import builtins; builtins.print = None; builtins.len = None; del builtins.isinstance",
        "get_ipython().display_pub = None",
        "get_ipython().display_pub.publish = None; display(1)",
        "get_ipython().displayhook = None; 5",
        "get_ipython().kernel.session = None",
        "get_ipython().kernel = None",
        "get_ipython().run_cell = None",
        "get_ipython().showtraceback = None; 1/0",
        "get_ipython()._showtraceback = None; 1/0",
        "get_ipython().payload_manager = None",
        "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
        "class Stream:\n    write = print\n    def flush(self): 1/0\nsys.stdout = Stream(); 1",
    ],
)
def test_the_reply_always_comes(own, code):
    broken = own(f"import os, sys\n{code}", timeout=20)
    assert broken["status"] in ("ok", "error")
    own("import sys; getattr(sys.stdout, 'flush', None)")
    answer = own("import subprocess; subprocess.run(['echo', 'x']); sys.stdout = sys.__stdout__; print(len('ab')); 7")
    assert [answer["stdout"], answer["result"]["text/plain"]] == ["x\n2\n", "7"]


# What was shown, and what failed in silence


def test_a_style_for_a_while_leaves_the_figures_of_later_cells(own):
    first = own("import matplotlib.pyplot as plt\nwith plt.style.context('ggplot'): fig, ax = plt.subplots()")
    second = own("plt.plot([2, 1]);")
    assert [len(first["images"]), len(second["images"])] == [1, 1]


@pytest.mark.parametrize(
    "code, status",
    [
        ("!exit 3", "`exit 3` failed: exit status 3"),
        ("x = !false", "`false` failed: exit status 1"),
        ("!!exit 4", "`exit 4` failed: exit status 4"),
        ("%sx exit 5", "`exit 5` failed: exit status 5"),
        ("%system exit 6", "`exit 6` failed: exit status 6"),
        ("%%sx\ntrue\nexit 7", "`true exit 7` failed: exit status 7"),
        ("!kill -9 $$", "`kill -9 $$` failed: it was ended by SIGKILL"),
    ],
)
def test_shell_lines_that_fail_are_told(own, code, status):
    answer = own(code)
    assert (answer["status"], answer["notes"]) == ("ok", [f"the shell line {status}"])
    assert own("!true")["notes"] == []


@pytest.mark.parametrize(
    "code, line",
    [
        ("%%time\n\n1/0", 3),
        ("%%capture\n\n\n1/0", 4),
        ("%%prun\nx=1\n1/0", 3),
        ("x=1\n%time 1/0", 2),
        ("%%time\n%%capture\n1/0", 3),
        ("%%timeit -n1 -r1\n\n1/0", 3),
    ],
)
def test_an_error_under_a_magic_is_one(own, code, line):
    answer = own(code)
    assert (answer["status"], answer["error"]["ename"], answer["error"]["line"]) == ("error", "ZeroDivisionError", line)


@pytest.mark.parametrize("run", ["run_cell", "ex"])
def test_an_error_under_a_magic_of_the_users_own(own, run):
    own(
        "from IPython.core.magic import register_cell_magic\n@register_cell_magic\n"
        f"def mine(line, cell): get_ipython().{run}(cell)"
    )
    answer = own("%%mine\n\nx = 1\n1/0")
    assert (answer["status"], answer["error"]["line"]) == ("error", 4)


def test_a_repr_that_fails_is_an_error(own):
    assert own("class Broken:\n    def __repr__(self): 1/0\nBroken()")["status"] == "error"
