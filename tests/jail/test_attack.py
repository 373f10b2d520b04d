"""Hostile cells, each with what must happen. None may get out, and none may be
felt by others."""

import contextlib
import errno
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from tests.instance import alive, wait_for
from tests.jail.conftest import UID_COUNT, UID_FIRST, control_groups, needs_root, processes_of_kernels

MIB = 1 << 20
SLOW = 3  # seconds for a neighbour's 1+1 on a busy machine; the bench has the figures


def error(name, number):
    return f"{name} {number}"


def refused(number):
    """How Python tells an errno."""
    return error(type(OSError(number, "")).__name__, number)


# Exhaustion


def test_a_fork_bomb_meets_its_limit(prisoner, neighbour):
    code = """
    import os, time
    count = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(600)
                os._exit(0)
            count += 1
    except BlockingIOError as fault:
        print(count < 128, fault.errno)
    """
    with neighbour() as others:
        assert prisoner.says(code) == f"True {errno.EAGAIN}\n"
    assert others.slowest() < SLOW
    prisoner.still_works()


def test_a_fork_bomb_that_runs_out_of_memory_is_told_so_on_a_busy_machine(guarded):
    """Who of kernel, shim and keeper gets the processor first decides nothing."""
    task = "bomb"
    assert guarded.put(task, limits={"memory": 512 * MIB, "pids": 100}).status_code in (200, 201)
    busy = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(8 * os.cpu_count())]
    try:
        answer = guarded.post(task, "import os\nwhile True:\n  try: os.fork()\n  except OSError: x = bytearray(1 << 23)", timeout=40)
        assert answer["status"] == "oom", answer
        assert "512 MiB" in answer["kernel"]["reason"]
        began = time.monotonic()
        assert guarded.post(task, "1+1")["result"]["text/plain"] == "2"
        assert time.monotonic() - began < 9  # and not the ten seconds that a silent shim is waited for
    finally:
        for process in busy:
            process.kill()
            process.wait()
        guarded.delete(task)


def test_a_fork_bomb_that_goes_off_is_cleared_away(prisoner, neighbour):
    code = """
    import os, signal
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try: os.fork()
        except OSError: pass
    """
    before = processes_of_kernels(prisoner.instance)
    with neighbour() as others:
        answer = prisoner.run(code, timeout=2)
    assert others.slowest() < SLOW
    assert answer["status"] == "timeout" and answer["kernel"]["state"] == "lost"
    prisoner.instance.delete(prisoner.task)
    wait_for(lambda: processes_of_kernels(prisoner.instance) <= before, "the end of the bomb", 5)


def test_memory_is_told_before_it_is_gone(prisoner, neighbour):
    prisoner.run("x = 5")
    with neighbour() as others:
        answer = prisoner.run("held = []\nwhile True: held.append(bytearray(1 << 20))")
    assert others.slowest() < SLOW
    assert (answer["status"], answer["kernel"]["state"], answer["ended_by"]) == ("oom", "kept", "SIGINT")
    assert "512 MiB" in answer["error"]["hint"] and "Variables are kept" in answer["error"]["hint"]
    # what is held is not growing: the kernel can be used, and can give it back
    assert prisoner.says("print(x, len(held) > 300)") == "5 True\n"
    assert prisoner.says("del held; print(x)") == "5\n"
    again = prisoner.run("held = []\nwhile True: held.append(bytearray(1 << 20))")
    assert (again["status"], again["kernel"]["state"]) == ("oom", "kept")
    assert prisoner.run("1/0")["status"] == "error"  # which is no matter of memory


BOMBS = [
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nheld = []\nwhile True: held.append(bytearray(1 << 20))",
    "import numpy\nnumpy.ones(1 << 30)",
    """
    import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)
    import multiprocessing.shared_memory as m
    held = []
    while True:
        held.append(bytearray(1 << 20)); open('/tmp/%d' % len(held), 'wb').write(held[-1]) if len(held) < 20 else 0
    """,
]


@pytest.mark.parametrize("code", BOMBS)
def test_a_memory_bomb_is_told_as_what_it_is(prisoner, neighbour, code):
    prisoner.run("x = 5")
    with neighbour() as others:
        answer = prisoner.run(code)
    assert others.slowest() < SLOW
    assert answer["status"] == "oom", answer["text"]
    assert answer["kernel"]["state"] == "lost"
    assert "512 MiB" in answer["kernel"]["reason"]
    after = prisoner.run("'x' in globals()")
    assert after["result"]["text/plain"] == "False" and after["kernel"]["generation"] == 2


def test_the_death_of_a_child_is_not_put_down_to_the_kernel(prisoner):
    code = """
    import signal, subprocess, sys
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = "a = bytearray(1 << 30)\\nfor i in range(0, len(a), 4096): a[i] = 1"
    print(subprocess.run([sys.executable, "-c", code]).returncode)
    """
    answer = prisoner.run(code)
    assert answer["status"] in ("ok", "oom")  # with version 2 of control groups all are killed together
    if answer["status"] == "ok":
        assert answer["stdout"] == "-9\n"
        died = prisoner.run("import time; time.sleep(12); import os; os.kill(os.getpid(), 9)")
        assert died["status"] == "kernel_died" and "signal 9" in died["kernel"]["reason"]


def test_a_disk_is_not_filled(prisoner, neighbour):
    code = """
    import itertools
    block = bytes(1 << 20)
    for i in itertools.count():
        with open(f"fill{i}", "wb") as file:
            for _ in range(256): file.write(block)
    """
    prisoner.still_works()
    with neighbour() as others:
        answer = prisoner.run(code, timeout=60)
    assert others.slowest() < SLOW
    assert (answer["status"], answer["kernel"]["state"]) == ("interrupted", "kept")
    assert "grown beyond" in answer["notes"][0]
    prisoner.run("import os\nfor name in os.listdir(): os.remove(name)")
    prisoner.still_works()


def test_who_fills_the_disk_all_the_same_is_killed(prisoner):
    code = """
    import itertools, signal
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    block = bytes(1 << 20)
    for i in itertools.count():
        with open(f"fill{i}", "wb") as file:
            for _ in range(256): file.write(block)
    """
    answer = prisoner.run(code, timeout=60)
    assert answer["kernel"]["state"] == "lost"
    assert "beyond the size of the workspace" in answer["kernel"]["reason"]


def test_a_million_files_are_not_made(prisoner, neighbour):
    code = """
    import itertools, os
    for i in itertools.count():
        os.makedirs(f"d/{i // 1000}", exist_ok=True)
        open(f"d/{i // 1000}/{i}", "w").close()
    """
    with neighbour() as others:
        answer = prisoner.run(code, timeout=60)
    assert others.slowest() < SLOW
    assert answer["status"] == "interrupted" and answer["error"]["ename"] == "KeyboardInterrupt"
    count = sum(1 for _ in prisoner.instance.task_directory(prisoner.task).rglob("*"))
    assert 2000 < count < 1000000


def test_what_is_over_the_quota_can_be_deleted(guarded):
    """Only a cell can, and for that a kernel has to start, however long that takes."""
    task = "overfull"
    fields = {"limits": {"workspace_bytes": 16 * MIB}, "init_code": "import time; time.sleep(4)"}
    assert guarded.put(task, **fields).status_code in (200, 201)
    try:
        assert guarded.post(task, "open('big', 'wb').write(bytes(40 << 20))")["kernel"]["state"] != "lost"
        assert guarded.request("POST", f"/v1/tasks/{task}/restart").status_code == 200
        answer = guarded.post(task, "import os; print(os.path.getsize('big') >> 20)", timeout=30)
        assert (answer["status"], answer["stdout"]) == ("ok", "40\n")
        more = "import time\nwith open('more', 'wb') as f:\n  while True: f.write(bytes(1 << 20)); f.flush(); time.sleep(0.1)"
        answer = guarded.post(task, more, timeout=30)
        assert (answer["status"], answer["ended_by"]) == ("interrupted", "SIGINT")
        assert guarded.post(task, "os.remove('big'); os.remove('more'); print(1)")["stdout"] == "1\n"
    finally:
        guarded.delete(task)


HOLD = {
    "open": "write(1 << 10)",
    "in a child": "child = os.fork()\nif child == 0: write(1 << 10)\nfile.close(); os.wait()",
    "mapped": """
import mmap
for _ in range(1 << 10):
    file = file or open("u", "wb+")
    if os.path.exists("u"): os.unlink("u")
    os.truncate(file.fileno(), 1 << 20)
    held.append(mmap.mmap(file.fileno(), 1 << 20)); file.close(); file = None
    held[-1].write(block); time.sleep(0.02)
""",
    "mapped for reading": """
import mmap
for _ in range(1 << 10):
    file = file or open("u", "wb+")
    if os.path.exists("u"): os.unlink("u")
    file.write(block); file.flush()
    held.append(mmap.mmap(file.fileno(), 1 << 20, flags=mmap.MAP_PRIVATE)); file.close(); file = None
    time.sleep(0.02)
""",
}


@pytest.mark.parametrize("how", HOLD)
def test_files_without_a_name_count(guarded, how):
    task = f"unnamed-{list(HOLD).index(how)}"
    code = """
import os, time
held, block = [], bytes(1 << 20)
file = open("u", "wb+")
os.unlink("u")
def write(count):
    for _ in range(count): file.write(block); file.flush(); time.sleep(0.02)
"""
    assert guarded.put(task, limits={"workspace_bytes": 16 * MIB}).status_code in (200, 201)
    try:
        answer = guarded.post(task, code + HOLD[how], timeout=30)
        assert (answer["status"], answer["ended_by"]) == ("interrupted", "SIGINT"), answer["text"]
        assert "grown beyond" in answer["notes"][0]
    finally:
        guarded.delete(task)


def test_files_without_a_name_do_not_outlive_a_run_for_long(guarded):
    task = "kept"
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    file = open("u", "wb+"); os.unlink("u"); file.write(bytes(48 << 20)); file.flush()
    time.sleep(600)
    os._exit(0)
"""
    assert guarded.put(task, limits={"workspace_bytes": 16 * MIB}).status_code in (200, 201)
    try:
        guarded.post(task, code)
        pid = guarded.kernel_pid(task)
        wait_for(lambda: not alive(pid), "its end", 30)
        answer = guarded.post(task, "1")
        assert answer["kernel"]["state"] == "lost" and "beyond the size of the workspace" in answer["kernel"]["reason"]
    finally:
        guarded.delete(task)


def switches(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)[1])


def test_an_idle_kernel_costs_its_shim_nothing_and_is_watched_again(guarded):
    task = "resting"
    assert guarded.put(task, limits={"workspace_bytes": 16 * MIB}).status_code in (200, 201)
    try:
        guarded.post(task, "1")
        stat = pathlib.Path(f"/proc/{guarded.kernel_pid(task)}/stat").read_text()
        shim = int(stat.rpartition(")")[2].split()[1])

        def rests():
            before = switches(shim)
            time.sleep(5)  # that nothing happens has no event
            return switches(shim) == before

        wait_for(rests, "its rest", 60)
        code = "import time\nwith open('x', 'wb') as f:\n  while True: f.write(bytes(1 << 20)); f.flush(); time.sleep(0.02)"
        answer = guarded.post(task, code, timeout=30)
        assert (answer["status"], answer["ended_by"]) == ("interrupted", "SIGINT"), answer["text"]
        assert "grown beyond" in answer["notes"][0]
    finally:
        guarded.delete(task)


def test_small_places_are_small(prisoner):
    code = """
    import errno
    for directory in ("/tmp", "/dev/shm"):
        try:
            with open(f"{directory}/fill", "wb") as file:
                while True: file.write(bytes(1 << 20))
        except OSError as fault:
            print(directory, errno.errorcode[fault.errno])
    """
    assert prisoner.says(code) == "/tmp ENOSPC\n/dev/shm ENOSPC\n"


def test_descriptors_run_out_for_the_process_alone(prisoner, neighbour):
    code = """
    held = []
    try:
        while True: held.append(open("/dev/null"))
    except OSError as fault:
        print(len(held) < 1024, fault.errno)
    held.clear()
    """
    with neighbour() as others:
        assert prisoner.says(code) == f"True {errno.EMFILE}\n"
    assert others.slowest() < SLOW
    prisoner.still_works()


def test_a_sparse_terabyte_is_refused(prisoner):
    outcomes = prisoner.outcomes("open('s', 'w') and os.truncate('s', 1 << 40)", "os.stat('s').st_size")
    assert outcomes == [refused(errno.EFBIG), 0]
    prisoner.still_works()


def test_a_busy_loop_on_every_processor_is_shared(prisoner, neighbour):
    code = """
    import os, time
    for _ in range(30):
        if os.fork() == 0:
            while True: pass
    time.sleep(3)
    """
    with neighbour() as others:
        prisoner.run(code)
    assert others.slowest() < SLOW


def test_nothing_is_made_beside_the_sockets(prisoner):
    prisoner.run("import os, socket, sys; home = os.path.dirname(sys.argv[sys.argv.index('-f') + 1]); s = socket.socket(socket.AF_UNIX)")
    assert set(
        prisoner.outcomes(
            "open(home + '/file', 'w')",
            "os.mkdir(home + '/directory')",
            "os.symlink('/etc/passwd', home + '/link')",
            "os.mkfifo(home + '/fifo')",
            "s.bind(home + '/extra')",
            "os.unlink(home + '/ipc-1')",
            "os.rename(home + '/ipc-1', home + '/ipc-9')",
            "os.chmod(home, 0)",
        )
    ) <= {refused(errno.EROFS), refused(errno.EACCES)}
    # Its stack it must be able to write, in a file that is there.
    assert prisoner.says("print(open(home + '/stack.txt', 'a').close(), os.path.getsize(home + '/setup.txt') > 0)") == "None True\n"
    directory = pathlib.Path(prisoner.instance.connection_file(prisoner.task)).parent
    assert {path.name for path in directory.iterdir() if not path.is_socket()} <= {
        "connection.json", "setup.txt", "stack.txt", "start.py"
    }  # fmt: skip
    prisoner.still_works()


# Other processes


def test_kill_of_everything_finds_nothing(prisoner, neighbour):
    with neighbour() as others:
        assert prisoner.outcomes("os.kill(-1, 9)", "os.killpg(1, 9)") == [refused(errno.ESRCH)] * 2
        answer = prisoner.run("import os; os.killpg(0, 9)")
        assert answer["status"] == "kernel_died"
    assert others.slowest() < SLOW
    prisoner.still_works()


def test_no_other_process_can_be_named(prisoner, guarded):
    pids = [guarded.pid("app"), guarded.pid("keeper"), guarded.pid("nginx"), os.getpid(), 1]
    code = f"""
    import os
    own = {{int(name) for name in os.listdir("/proc/self/task")}}
    reached = []
    for pid in [*{pids}, *range(1, 40000)]:
        if pid not in own:
            try: os.kill(pid, 9)
            except (ProcessLookupError, PermissionError): pass
            else: reached.append(pid)
    print(reached, sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [os.getpid()])
    """
    assert prisoner.says(code) == "[] True\n"
    assert all(alive(pid) for pid in pids)


def test_the_process_above_is_out_of_reach(prisoner):
    outcomes = prisoner.outcomes(
        "os.getppid()",
        "os.listdir('/proc/1')",
        "open('/proc/1/environ').read()",
        "os.readlink('/proc/1/root')",
        "os.listdir('/proc/1/root/')",
        "open('/proc/1/mem', 'rb').read(1)",
        "os.kill(1, 9)",
        "os.kill(1, 0)",
        "os.pidfd_open(1) and signal.pidfd_send_signal(os.pidfd_open(1), 9)",
        "call('ptrace', 16, 1, 0, 0)",
        "call('process_vm_readv', 1, 0, 0, 0, 0, 0)",
    )
    gone, denied = refused(errno.ENOENT), refused(errno.EPERM)
    assert outcomes == [1, gone, gone, gone, gone, gone, denied, denied, denied, denied, denied]
    prisoner.still_works()


# Files


def test_what_is_the_services_does_not_exist(prisoner, guarded):
    guarded.post("victim", "open('secret.txt', 'w').write('hush')")
    try:
        paths = [
            guarded.database,
            guarded.conf,
            guarded.task_directory("victim"),
            guarded.task_directory("victim") / "files" / "secret.txt",
            guarded.task_directory(prisoner.task) / "notebook.ipynb",
            guarded.run / "keeper.sock",
            guarded.run / "fcgi.sock",
            guarded.run / "shims",
            guarded.state / "log",
            pathlib.Path("/etc/shadow"),
            pathlib.Path("/etc/sudoers"),
            pathlib.Path("/root"),
            pathlib.Path("/var/lib/dpkg"),
            pathlib.Path("/sys/fs/cgroup"),
            pathlib.Path("/sys/kernel"),
            pathlib.Path("/dev/vda"),
            pathlib.Path("/dev/mem"),
            pathlib.Path("/dev/kmsg"),
            pathlib.Path("/boot"),
        ]
        assert paths[0].exists() and paths[3].exists() and paths[5].exists()
        assert prisoner.outcomes(*(f"os.path.lexists({str(path)!r})" for path in paths)) == [False] * len(paths)
        # Names of the workspace, and nothing else.
        assert prisoner.outcomes("os.listdir('/home')", "os.listdir('/mnt')") == [["user"], ["data"]]
        seen = prisoner.outcome(f"os.listdir({str(guarded.run / 'kernels')!r})")
        assert len(seen) == 1
    finally:
        guarded.delete("victim")


def test_nothing_is_written_but_to_ones_own(prisoner):
    directories = ["/", "/usr", "/usr/lib", "/etc", "/run", "/var", "/dev", "/mnt", "/sys", "/proc", "/proc/self"]
    outcomes = prisoner.outcomes(*(f"open({directory + '/x'!r}, 'w')" for directory in directories))
    allowed = {refused(number) for number in (errno.EROFS, errno.EACCES, errno.ENOENT)}
    assert set(outcomes) <= allowed, outcomes
    own = prisoner.outcomes("open('/work/x', 'w') and 1", "open('/tmp/x', 'w') and 1", "open('/dev/shm/x', 'w') and 1")
    assert own == [1, 1, 1]


def test_the_system_cannot_be_set(prisoner):
    paths = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/proc/self/uid_map",
        "/sys/devices/system/cpu/online",
    ]
    outcomes = prisoner.outcomes(*(f"open({path!r}, 'w').write('1')" for path in paths))
    assert set(outcomes) <= {refused(number) for number in (errno.EROFS, errno.EACCES, errno.ENOENT)}, outcomes
    assert pathlib.Path("/proc/sys/kernel/hostname").read_text().strip() != "1"


def test_nothing_of_the_host_takes_core_dumps(prisoner):
    """It would, with a limit of 0, where core_pattern names a program."""
    outcomes = prisoner.outcomes(
        "__import__('resource').getrlimit(4)",
        "__import__('resource').setrlimit(4, (0, 0))",
        "__import__('resource').prlimit(0, 4, (0, 0))",
        "syscall(160, 4, bytes(16))",
        "__import__('resource').setrlimit(7, (256, 256))",
        "subprocess.run([sys.executable, '-c', 'import os; os.abort()'], stderr=-1).returncode",
    )
    denied = refused(errno.EPERM)
    assert outcomes == [[1, 1], "ValueError", denied, denied, None, -signal.SIGABRT]  # the first so by the module
    prisoner.still_works()


def test_what_is_told_of_the_machine_is_hidden(prisoner):
    code = """
    import os
    for path in ("cmdline", "kcore", "keys", "kmsg", "kallsyms", "modules", "timer_list", "iomem", "interrupts"):
        try: text = open(f"/proc/{path}", "rb").read(64)
        except OSError: text = b""
        if text: print(path, text)
    for path in ("bus", "fs", "irq", "acpi", "scsi"):
        try: names = os.listdir(f"/proc/{path}")
        except OSError: names = []
        if names: print(path, names)
    """
    assert prisoner.says(code) == ""


def test_descriptors_lead_nowhere(prisoner):
    code = """
    import os, re
    for name in os.listdir("/proc/self/fd"):
        try: target = os.readlink(f"/proc/self/fd/{name}")
        except OSError: continue
        if not re.match(r"(socket|pipe|anon_inode):|/dev/(null|pts/|tty)|/proc/\\d+/fd|/run/user/|.*/(stack.txt|connection.json)$", target):
            print(name, target)
        if os.path.isdir(f"/proc/self/fd/{name}") and not target.startswith("/proc"):
            print("a directory:", target)
    """
    assert prisoner.says(code) == ""


def test_there_is_no_way_up(prisoner):
    code = """
    import os
    directory = os.open("/", os.O_RDONLY)
    for _ in range(50):
        directory = os.open("..", os.O_RDONLY, dir_fd=directory)
    print(os.stat(directory).st_ino == os.stat("/").st_ino, os.path.realpath("../" * 50 + "root"))
    print(sorted(os.listdir("/")) == sorted(os.listdir("/proc/self/root")))
    """
    assert prisoner.says(code) == "True /root\nTrue\n"


def test_links_planted_for_others_lead_nowhere(prisoner, guarded):
    targets = {
        "database": "../../../cellpost.db",
        "passwd": "/etc/passwd",
        "up": "../../..",
        "sibling": "../notebook.ipynb",
        "loop": "loop",
    }
    prisoner.run(f"import os\nfor name, to in {targets}.items(): os.symlink(to, name)")
    for name in targets:
        for path in (f"/tasks/{prisoner.task}/files/{name}", f"/tasks/{prisoner.task}/files/{name}/cellpost.db"):
            response = guarded.get(path)
            assert response.status_code in (403, 404), (path, response.status_code)
            assert "root:" not in response.text and "SQLite" not in response.text
    answer = prisoner.run("open('plain.txt', 'w').write('x')")
    assert [file["path"] for file in answer["files"]] == ["plain.txt"]


def test_what_is_no_plain_file_is_opened_by_nobody(prisoner, guarded):
    """Who opened a pipe would wait for ever."""
    code = """
    import os, socket
    os.mkfifo("pipe.txt"); os.mkfifo("pipe.png")
    socket.socket(socket.AF_UNIX).bind("socket.txt")
    os.mkdir(b"\\xff\\n"); open(b"\\xff\\n/\\x1b[2J\\n.txt", "w").write("x")
    open("plain.txt", "w").write("x")
    """
    answer = prisoner.run(code)
    assert answer["status"] == "ok", answer["text"]
    paths = [file["path"] for file in answer["files"]]
    assert "plain.txt" in paths and not {"pipe.txt", "pipe.png", "socket.txt"} & set(paths)
    for name in ("pipe.txt", "pipe.png", "socket.txt"):
        assert guarded.get(f"/tasks/{prisoner.task}/files/{name}").status_code in (403, 404, 500)  # a socket: ENXIO
    prisoner.still_works()


def test_a_deep_well_is_filled_up(prisoner):
    """Deeper than a path may be long; the fixture deletes the task."""
    code = """
    import os
    for _ in range(1500):
        os.mkdir("directory"); os.chdir("directory")
    open("bottom", "w").write("x")
    os.chdir("/work")
    """
    assert prisoner.run(code)["status"] == "ok"
    prisoner.still_works()
    files = prisoner.instance.task_directory(prisoner.task) / "files"
    assert prisoner.instance.delete(prisoner.task).status_code == 200
    assert not files.exists()


def test_hard_links_stay_within(prisoner):
    outcomes = prisoner.outcomes(
        "os.link('/etc/passwd', 'p')",
        "os.link('/usr/bin/python3', 'q', follow_symlinks=True)",
        "os.link('/dev/null', 'n')",
        "open('own', 'w') and os.link('own', 'other')",
        "os.stat('own').st_nlink",
    )
    assert outcomes[:3] == [refused(errno.EXDEV)] * 3
    assert outcomes[3:] == [None, 2]


def test_a_directory_that_is_swapped_does_not_lead_out(prisoner, guarded):
    """files/ is a mount: it can be neither renamed nor replaced."""
    outcomes = prisoner.outcomes(
        "os.rename('/work', '/gone')", "os.rmdir('/work')", "os.symlink('/etc', '/work/../work2')", "os.listdir('/work')"
    )
    assert outcomes[:3] == [refused(errno.EBUSY), refused(errno.EBUSY), refused(errno.EROFS)] or all(
        "OSError" in outcome or "PermissionError" in outcome for outcome in outcomes[:3]
    )
    files = guarded.task_directory(prisoner.task) / "files"
    assert files.is_dir() and not files.is_symlink()


def test_devices_and_set_user_id_programs_are_refused(prisoner, guarded):
    outcomes = prisoner.outcomes(
        "os.mknod('b', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
        "os.mknod('c', stat.S_IFCHR | 0o600, os.makedev(1, 1))",
        "open('f', 'w') and os.chmod('f', 0o4755)",
        "os.chmod('f', 0o2755)",
        "os.mkdir('d', 0o2755)",
        "os.open('g', os.O_CREAT | os.O_WRONLY, 0o4755)",
        "syscall(268, -100, b'f', 0o4755)",
        "os.chmod('f', 0o755)",
        "os.chown('f', 0, 0)",
        "os.setuid(0)",
        "os.setgid(0)",
        "os.setgroups([0])",
        "subprocess.run(['su', '-c', 'id'], capture_output=True).returncode != 0",
        "os.setxattr('f', 'security.capability', bytes(20))",
    )
    denied = refused(errno.EPERM)
    assert outcomes[:7] == [denied] * 7
    assert outcomes[7] is None
    assert outcomes[8] in (denied, refused(errno.EOVERFLOW))  # there is no such owner in here
    assert outcomes[9:12] == [denied] * 3
    assert outcomes[12] is True
    assert outcomes[13] in (denied, refused(errno.EINVAL))
    for file in (guarded.task_directory(prisoner.task) / "files").iterdir():
        assert file.lstat().st_mode & 0o6000 == 0


@needs_root
def test_files_belong_to_the_apps_user_outside(prisoner, guarded):
    prisoner.run("import os; os.makedirs('d'); open('d/f', 'w').write('x'); os.chmod('d', 0); print(os.getuid())")
    files = guarded.task_directory(prisoner.task) / "files"
    owner = files.stat().st_uid
    assert owner < UID_FIRST and (files / "d").stat().st_uid == owner
    assert guarded.delete(prisoner.task).status_code == 200
    assert not files.exists()


@pytest.mark.parametrize("mode", [0, 0o111, 0o333, 0o444])
def test_a_workspace_that_is_closed_is_opened_again(prisoner, guarded, mode):
    files = guarded.task_directory(prisoner.task) / "files"
    close = f"import os; os.chmod('/work', {mode})"
    assert prisoner.run(close)["status"] == "ok"
    answer = prisoner.run("open('next', 'w').write('x')")
    assert answer["status"] == "ok", answer["text"]
    assert [file["path"] for file in answer["files"]] == ["next"]
    prisoner.run(close)
    assert guarded.request("POST", f"/v1/tasks/{prisoner.task}/restart").status_code == 200
    assert prisoner.says("print(open('next').read())") == "x\n"
    assert files.stat().st_mode & 0o700 == 0o700


CLOSED = "os.mkdir('d'); open('d/f', 'w').close(); os.chmod('d', 0)"
DEEP = "for i in range(20): os.mkdir('d' * 250); os.chdir('d' * 250)\nopen('f', 'w').close(); os.chdir('/work')"


@pytest.mark.parametrize("code", [CLOSED, DEEP])
def test_what_cannot_be_looked_at_is_told(prisoner, code):
    assert prisoner.run("open('plain', 'w').close()").get("notes", []) == []
    answer = prisoner.run(f"import os\n{code}\nopen('other', 'w').close()")
    assert answer["status"] == "ok", answer["text"]
    assert [file["path"] for file in answer["files"]] == ["other"]
    assert "not everything in the workspace can be looked at" in answer["notes"][0]


def test_files_behind_a_closed_door_are_not_told_as_deleted(prisoner):
    prisoner.run("import os; os.mkdir('d'); open('d/f', 'w').close()")
    answer = prisoner.run("os.chmod('d', 0)")
    assert answer["files"] == [] and "not everything" in answer["notes"][0]
    assert prisoner.run("os.chmod('d', 0o755); os.remove('d/f')")["files"] == []


def test_a_workspace_that_is_no_directory_is_no_fault_of_who_asks(make_instance):
    own = make_instance({"jail.jail": "off"})
    files = own.task_directory("t") / "files"
    own.post("t", f"import os; os.rename({str(files)!r}, {str(files)!r} + '2'); os.symlink('/etc', {str(files)!r})")
    assert own.send("t", "1").status_code == 500
    assert own.request("POST", "/v1/tasks/t/restart").status_code in (200, 500)
    assert own.send("t", "1").status_code == 500


# The network


def test_there_is_no_network(prisoner, guarded):
    port = guarded.port
    outcomes = prisoner.outcomes(
        f"socket.create_connection(('127.0.0.1', {port}), 2)",
        f"socket.create_connection(('::1', {port}), 2)",
        "socket.create_connection(('1.1.1.1', 443), 2)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
        "socket.gethostbyname('example.org')",
        "socket.gethostbyname('localhost')",
        "[name for _, name in socket.if_nameindex()]",
        "open('/etc/resolv.conf').read().count('nameserver')",
        "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH22x', b'lo', 0))",
        "fcntl.ioctl(socket.socket(), 0x8916, struct.pack('16sHH4s16x', b'lo', 2, 0, bytes([10, 0, 0, 1])))",
        "subprocess.run(['ip', 'link', 'add', 'd0', 'type', 'dummy'], capture_output=True).returncode",
    )
    assert outcomes[0] == outcomes[1] == refused(errno.ECONNREFUSED)
    assert outcomes[2] == outcomes[3] == refused(errno.ENETUNREACH)
    assert outcomes[4].startswith("gaierror")
    assert outcomes[5:8] == ["127.0.0.1", ["lo"], 0]
    assert outcomes[8:10] == [refused(errno.EPERM)] * 2  # SIOCSIFFLAGS, SIOCSIFADDR
    assert outcomes[10] in (2, refused(errno.ENOENT))


FAMILIES = {"AX25": 3, "NETLINK_KEY": 15, "PACKET": 17, "RXRPC": 33, "ALG": 38, "VSOCK": 40, "XDP": 44, "BLUETOOTH": 31}


def test_odd_sockets_are_refused(prisoner):
    outcomes = prisoner.outcomes(*(f"socket.socket({family}, socket.SOCK_RAW)" for family in FAMILIES.values()))
    assert outcomes == [refused(errno.EAFNOSUPPORT)] * len(FAMILIES)
    more = prisoner.outcomes(
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)",
        "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
        "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)",
    )
    assert more == [refused(errno.EAFNOSUPPORT)] * 2 + [refused(errno.EPERM)] * 2


def test_unix_sockets_of_the_host_are_out_of_reach(prisoner, guarded):
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as named:
        listener.bind("\0cellpost-test")
        listener.listen()
        path = f"/tmp/cellpost-test-{os.getpid()}.sock"
        named.bind(path)
        named.listen()
        try:
            outcomes = prisoner.outcomes(
                "socket.socket(socket.AF_UNIX).connect('\\0cellpost-test')",
                f"socket.socket(socket.AF_UNIX).connect({path!r})",
                f"socket.socket(socket.AF_UNIX).connect({guarded.fcgi_socket!r})",
                f"socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect({str(guarded.run / 'keeper.sock')!r})",
                "socket.socket(socket.AF_UNIX).bind('\\0own')",
            )
        finally:
            os.unlink(path)
    assert outcomes[0] in (refused(errno.ECONNREFUSED), refused(errno.EPERM))
    assert outcomes[1:] == [refused(errno.ENOENT)] * 3 + [None]


# The kernel beneath


CALLS = {
    "mount": "call('mount', b'x', b'/tmp', b'tmpfs', 0, 0)",
    "umount": "call('umount2', b'/tmp', 2)",
    "remount": "call('mount', 0, b'/usr', 0, 4128, 0)",
    "pivot_root": "syscall(155, b'.', b'.')",
    "chroot": "os.chroot('/tmp')",
    "unshare user": "call('unshare', 0x10000000)",
    "unshare mount": "call('unshare', 0x00020000)",
    "unshare net": "call('unshare', 0x40000000)",
    "setns": "call('setns', os.open('/proc/self/ns/net', 0), 0)",
    "clone": "syscall(56, 0x10000011, 0, 0, 0, 0)",
    "clone time": "syscall(56, 0x00000080 | 0x11, 0, 0, 0, 0)",
    "open_tree": "syscall(428, -100, b'/', 1)",
    "fsopen": "syscall(430, b'tmpfs', 0)",
    "mount_setattr": "syscall(442, -100, b'/', 0, 0, 0)",
    "open_by_handle_at": "syscall(304, -100, 0, 0)",
    "ptrace": "call('ptrace', 0, 0, 0, 0)",
    "bpf": "syscall(321, 0, 0, 0)",
    "perf_event_open": "syscall(298, 0, 0, 0, 0, 0)",
    "userfaultfd": "syscall(323, 0)",
    "keyctl": "syscall(250, 0, -3, 0)",
    "add_key": "syscall(248, b'user', b'x', b'x', 1, -3)",
    "kexec_load": "syscall(246, 0, 0, 0, 0)",
    "init_module": "syscall(175, 0, 0, b'')",
    "reboot": "syscall(169, 0xfee1dead, 672274793, 0, 0)",
    "swapon": "call('swapon', b'/tmp/x', 0)",
    "settimeofday": "syscall(164, 0, 0)",
    "sethostname": "socket.sethostname('x')",
    "syslog": "syscall(103, 3, 0, 0)",
    "personality": "syscall(135, 0x0040000)",
    "iopl": "syscall(172, 3)",
    "fanotify_init": "syscall(300, 0, 0)",
    "quotactl": "syscall(179, 0, 0, 0, 0)",
    "TIOCSTI": "fcntl.ioctl(os.openpty()[1], termios.TIOCSTI, b'x')",
    "TIOCLINUX": "fcntl.ioctl(os.openpty()[1], 0x541c, b'\\3')",
    "kcmp": "syscall(312, 1, 2, 0, 0, 0)",
    "pidfd_getfd": "syscall(438, os.pidfd_open(os.getpid()), 0, 0)",
    "nice": "os.setpriority(os.PRIO_PROCESS, 0, -5)",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_calls_that_no_kernel_needs_are_refused(prisoner):
    outcomes = dict(zip(CALLS, prisoner.outcomes(*CALLS.values())))
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome not in (refused(errno.EPERM), refused(errno.EACCES))}
    assert wrong == {}


ABSENT = {"clone3": 435, "openat2": 437, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_calls_that_programs_can_do_without_are_absent(prisoner):
    outcomes = dict(zip(ABSENT, prisoner.outcomes(*(f"syscall({number}, 0, 0, 0, 0, 0)" for number in ABSENT.values()))))
    assert outcomes == {name: refused(errno.ENOSYS) for name in ABSENT}


GETPID_OF_32_BITS = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20; int 0x80; ret
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86-64")
def test_the_calls_of_other_architectures_are_absent(prisoner):
    """Their numbers differ: a filter that took them for its own could be fooled."""
    code = f"""
    import subprocess, sys
    done = subprocess.run([sys.executable, "-c", {GETPID_OF_32_BITS!r}], capture_output=True, text=True)
    print(done.returncode, done.stdout.strip())
    """
    # Where Linux knows nothing of 32 bits, the instruction is a fault.
    assert prisoner.says(code) in (f"0 {-errno.ENOSYS}\n", f"{-signal.SIGSEGV} \n")
    assert prisoner.outcome("syscall(0x40000000 + 39)") == refused(errno.ENOSYS)  # x32


def test_no_privilege_can_come_back(prisoner):
    code = """
    import re
    status = open("/proc/self/status").read()
    print(re.findall(r"^(Cap\\w+|NoNewPrivs|Seccomp):\\s*(\\w+)", status, re.M))
    """
    none = "0" * 16
    sets = [(f"Cap{name}", none) for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
    assert prisoner.says(code) == f"{[*sets, ('NoNewPrivs', '1'), ('Seccomp', '2')]}\n"


# Between tasks


@needs_root
def test_every_kernel_is_a_user_of_its_own(prisoner, guarded):
    mine = prisoner.outcome("os.getuid()")
    guarded.post("another", "1")
    try:
        other = int(guarded.post("another", "import os; os.getuid()")["result"]["text/plain"])
    finally:
        guarded.delete("another")
    assert mine != other and {mine, other} <= set(range(UID_FIRST, UID_FIRST + UID_COUNT))


def test_a_task_may_ask_for_limits_of_its_own(guarded):
    task = "measured"
    assert guarded.put(task, limits={"memory": 256 * MIB, "pids": 40, "cpus": 0.5}).status_code in (200, 201)
    try:
        code = "import os\nn = 0\ntry:\n  while True:\n    if os.fork() == 0:\n      import time; time.sleep(60)\n    n += 1\nexcept OSError: print(n < 40, os.environ['OMP_NUM_THREADS'])"
        assert guarded.post(task, code)["stdout"] == "True 1\n"
        guarded.request("POST", f"/v1/tasks/{task}/restart")
        answer = guarded.post(task, "import numpy; numpy.ones(1 << 30)")
        assert answer["status"] == "oom" and "256 MiB" in answer["kernel"]["reason"]
    finally:
        guarded.delete(task)


# Afterwards


def test_nothing_is_left_of_a_deleted_task(guarded):
    groups, processes = control_groups(guarded), processes_of_kernels(guarded)
    task = "passing"
    guarded.post(task, "import subprocess; subprocess.Popen(['sleep', '999'], start_new_session=True)")
    assert control_groups(guarded) - groups
    directory = guarded.task_directory(task)
    assert guarded.delete(task).status_code == 200
    assert control_groups(guarded) == groups and processes_of_kernels(guarded) == processes
    assert not directory.exists()


@pytest.mark.parametrize("jail", ["auto", "off"])
def test_temporary_files_go_with_the_kernel(make_instance, jail):
    own = make_instance({"jail.jail": jail, "kernels.terminate_grace": "1"})
    code = "import os, tempfile; open(tempfile.mkdtemp(prefix='Rtmp') + '/f', 'w').close(); tempfile.tempdir"
    place = pathlib.Path(own.post("t", code)["result"]["text/plain"].strip("'"))
    kernel = own.get("/v1/tasks/t").json()["kernel"]["id"]
    directory = own.run / "kernels" / kernel
    if jail == "off":
        assert place == directory and list(place.glob("Rtmp*/f"))
    else:
        assert place == pathlib.Path("/tmp") and own.post("t", "os.listdir('/tmp')")["result"]["text/plain"].count("Rtmp") == 1
    own.request("POST", "/v1/tasks/t/restart")
    wait_for(lambda: not directory.exists(), "the end of the kernel's directory")
    assert "Rtmp" not in own.post("t", "import os, tempfile; os.listdir(tempfile.gettempdir())")["result"]["text/plain"]


def test_kernels_survive_the_keeper_in_their_jail(make_instance):
    """And are ended by the next one, with all that belongs to them."""
    own = make_instance()
    own.post("t", "x = 7; import subprocess; child = subprocess.Popen(['sleep', '999'])")
    before = control_groups(own)
    assert before and len(processes_of_kernels(own)) == 2
    own.kill("keeper")
    own.start_keeper()
    assert own.post("t", "x")["result"]["text/plain"] == "7"
    assert own.post("t", "import socket; socket.gethostname()")["result"]["text/plain"] == "'cellpost'"
    wait_for(lambda: control_groups(own) == before, "the end of spares without a keeper")
    assert own.delete("t").status_code == 200
    assert control_groups(own) == set() and processes_of_kernels(own) == set()


def test_what_a_keeper_left_is_cleared_by_the_next(make_instance):
    own = make_instance()
    own.post("t", "1")
    pid = own.kernel_pid("t")
    own.kill("keeper")
    shim = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(shim, 9)
    wait_for(lambda: not alive(pid), "the kernel's end")
    assert control_groups(own)
    own.start_keeper()
    wait_for(lambda: control_groups(own) == set(), "the end of its control groups")
    assert own.post("t", "1")["kernel"]["generation"] == 2


def test_the_service_tells_what_confines_kernels(guarded):
    jail = guarded.get("/v1/capabilities").json()["jail"]
    layers = {layer["name"]: layer for layer in jail["layers"]}
    assert jail["mode"] == "auto" and len(layers) == 17
    assert {layer["state"] for layer in layers.values()} <= {"on", "off", "degraded", "not needed"}
    assert layers["seccomp"]["state"] == "on" and layers["mount"]["meaning"]


def test_limits_out_of_range_are_refused_by_name(guarded):
    for limits, field in [({"memory": 1}, "memory"), ({"memroy": 1 << 30}, "memroy"), ({"cpus": "2"}, "cpus")]:
        response = guarded.put("never", limits=limits)
        assert response.status_code == 422 and f"limits.{field}" in response.json()["detail"]
    assert guarded.get("/v1/tasks/never").status_code == 404


def test_what_children_use_counts(prisoner):
    code = """
    import subprocess, sys
    subprocess.run([sys.executable, "-c", "a = bytearray(100 << 20); sum(range(20_000_000))"])
    """
    prisoner.run("1")
    usage = prisoner.run(code)["usage"]
    assert usage["cpu_ms"] > 100 and usage["memory_peak_bytes"] > 100 * MIB
    assert usage["memory_peak_bytes"] > prisoner.run("1")["usage"]["memory_peak_bytes"] + 50 * MIB
    kernel = prisoner.instance.get(f"/v1/tasks/{prisoner.task}").json()["kernel"]["id"]
    prisoner.instance.delete(prisoner.task)
    with contextlib.closing(sqlite3.connect(prisoner.instance.database, timeout=10)) as database:
        life = database.execute("SELECT memory_peak FROM kernels WHERE id = ?", (kernel,)).fetchone()[0]
    assert life >= usage["memory_peak_bytes"]
