"""cellpost-keeper with shell scripts in the kernels' place."""

import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import select
import signal
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
import time

import pytest
from conftest import LIMIT, Refused, processes, running, wait_for

SLEEPER = "echo up; exec sleep 600"
# of fcntl.h; Python 3.11 does not name them
F_OFD_GETLK, F_OFD_SETLK = 36, 37


@pytest.fixture
def started(keeper):
    """A keeper with one task, `demo`, whose kernel is a sleeper."""
    keeper.script(SLEEPER)
    keeper.start()
    keeper.task()
    return keeper


def is_alive(pid):
    return processes().get(pid, (0, "Z", ""))[1] != "Z"


def kill(kernel):
    """Returns once its process has ended, as a pidfd tells it."""
    pidfd = os.pidfd_open(kernel["pid"])
    os.kill(kernel["pid"], signal.SIGKILL)
    assert select.select([pidfd], [], [], LIMIT)[0]
    os.close(pidfd)


def children(pid):
    return [child for child, (parent, _, _) in processes().items() if parent == pid]


def gone(*pids):
    return lambda: not any(is_alive(pid) for pid in pids)


def pids_in(keeper, name, count, task="demo"):
    """The pids that a script wrote into a file."""
    path = keeper.files(task) / name

    def read():
        found = [int(line) for line in path.read_text().split()] if path.exists() else []
        return len(found) >= count and found

    return wait_for(read, name)


# Starting


def test_a_kernel_is_started_once_and_told_again(started):
    first = started.ask(verb="start", task="demo")
    again = started.ask(verb="start", task="demo")
    assert first["fresh"] and first["alive"] and first["generation"] == 1
    assert not again["fresh"] and again["alive"]
    for key in ("id", "pid", "pid_start", "directory", "generation"):
        assert again[key] == first[key]
    row = started.row(first["id"])
    assert (row["pid"], row["pid_start"], row["ended_at"]) == (first["pid"], first["pid_start"], None)
    assert row["directory"] == first["directory"]


def test_starts_of_one_task_at_the_same_moment_give_one_kernel(started):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: started.ask(verb="start", task="demo"), range(16)))
    assert len({answer["id"] for answer in answers}) == 1
    assert sum(answer["fresh"] for answer in answers) == 1


def test_twenty_tasks_at_the_same_moment_give_twenty_kernels(started):
    tasks = [started.task(f"t{number}") for number in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda task: started.ask(verb="start", task=task), tasks))
    assert len({answer["id"] for answer in answers}) == 20
    assert all(is_alive(answer["pid"]) for answer in answers)
    rows = started.sql("SELECT task FROM kernels WHERE ended_at IS NULL")
    assert {row["task"] for row in rows} == set(tasks)


def three_tasks(keeper):
    keeper.script(SLEEPER)
    keeper.start(max_kernels=2)
    for task in "abc":
        keeper.task(task)
    return [keeper.ask(verb="start", task=task) for task in "ab"]


def test_no_more_than_max_kernels_in_use(keeper):
    three_tasks(keeper)
    for number, task in enumerate("ab"):
        add_run(keeper, "running", int(time.time() * 1e6), task=task, number=number)
    with pytest.raises(Refused, match="2 kernels run already.*max_kernels") as refused:
        keeper.ask(verb="start", task="c")
    assert refused.value.kind == "unavailable"
    keeper.ask(verb="start", task="a")
    keeper.stop("a")
    assert keeper.ask(verb="start", task="c")["fresh"]


def test_at_max_kernels_the_one_used_least_recently_gives_way(keeper):
    a, b = three_tasks(keeper)
    add_run(keeper, "ok", int(time.time() * 1e6), task="a", number=0)  # since b was started
    assert keeper.ask(verb="start", task="c")["fresh"]
    row = keeper.ended(b["id"])
    assert row["ending"] == "culled"
    assert row["reason"] == "Another task needed its place: no more than 2 kernels run at once (max_kernels)."
    assert is_alive(a["pid"]) and not is_alive(b["pid"])
    assert keeper.ask(verb="start", task="b")["generation"] == 2  # and a or c is gone


def test_a_task_that_does_not_exist_takes_no_place(keeper):
    a, b = three_tasks(keeper)
    with pytest.raises(Refused):
        keeper.ask(verb="start", task="nobody")
    assert is_alive(a["pid"]) and is_alive(b["pid"])


@contextlib.contextmanager
def take_turn(keeper, task):
    """The task's next number (core/control/task_lock.h), which must be the first."""
    path = keeper.run / "turns" / f"{task}.lock"
    path.touch()
    with path.open("r+b") as lock:
        number = int.from_bytes(lock.read(8).ljust(8, b"\0"), sys.byteorder) + 1
        lock.seek(0)
        lock.write(number.to_bytes(8, sys.byteorder))
        lock.flush()
        byte = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, (1 << 40) + number, 1, 0)
        fcntl.fcntl(lock, F_OFD_SETLK, byte)
        before = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, (1 << 40) + 1, number - 1, 0)
        found = fcntl.fcntl(lock, F_OFD_GETLK, before) if number > 1 else struct.pack("h", fcntl.F_UNLCK)
        assert struct.unpack_from("h", found)[0] == fcntl.F_UNLCK
        yield


def test_who_has_the_turn_keeps_its_kernel(keeper):
    a, b = three_tasks(keeper)
    with take_turn(keeper, "a"):
        keeper.ask(verb="start", task="c")
    assert is_alive(a["pid"]) and not is_alive(b["pid"])


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (["/no/such/program"], '"/no/such/program": No such file'),
        (["no-such-program", "-f", "{connection_file}"], '"no-such-program": No such file'),
        (["/etc/passwd"], "Permission denied"),
    ],
)
def test_a_program_that_cannot_run_is_told_at_once(keeper, argv, fault):
    keeper.spec("bad", argv)
    keeper.start()
    keeper.task(kernelspec="bad")
    with pytest.raises(Refused) as refused:
        keeper.ask(verb="start", task="demo")
    assert refused.value.kind == "unavailable"
    assert fault in refused.value.text
    assert keeper.leftovers() == []
    assert keeper.sql("SELECT * FROM kernels") == []
    assert running(f"{keeper.directory}/") == [keeper.process.pid]


def test_unknown_tasks_and_kernelspecs_are_refused(started):
    started.task("odd", kernelspec="no-such-spec")
    with pytest.raises(Refused) as refused:
        started.ask(verb="start", task="nobody")
    assert refused.value.kind == "not_found"
    with pytest.raises(Refused, match="no-such-spec") as refused:
        started.ask(verb="start", task="odd")
    assert refused.value.kind == "unavailable"


def test_a_kernel_starts_clean(keeper, user):
    keeper.script(
        "env | sort > environment; cat > input; umask > mask; id -u > uid; id -G > groups; "
        "ls -l /proc/self/fd > descriptors; pwd > directory; stat -c '%a %U' $(dirname $1) $1 > modes; "
        "echo > ready; exec sleep 600",
        env={"FROM_SPEC": "1", "PATH": "/opt/x:${PATH}", "UNKNOWN": "${nothing}", "BOTH": "spec"},
    )
    spec = keeper.specs / "script" / "kernel.json"
    spec.write_text(spec.read_text().replace('"{connection_file}"', '"sh", "{connection_file}"'))
    keeper.start(environment="FROM_CONF=2 BOTH=conf")
    keeper.task(env={"FROM_TASK": "a b", "1BAD": "x"})
    kernel = keeper.ask(verb="start", task="demo")
    files = keeper.files()
    wait_for((files / "ready").exists, "the kernel's readiness")
    environment = dict(line.split("=", 1) for line in (files / "environment").read_text().splitlines())
    environment.pop("PWD"), environment.pop("_", None), environment.pop("OLDPWD", None)
    private = kernel["directory"]
    threads = str(min(os.cpu_count(), 4))
    assert environment == {
        "PATH": "/opt/x:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(files),
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "IPYTHONDIR": f"{private}/ipython",
        "MPLCONFIGDIR": f"{private}/matplotlib",
        "JUPYTER_RUNTIME_DIR": f"{private}/jupyter",
        "XDG_CACHE_HOME": f"{private}/cache",
        "XDG_CONFIG_HOME": f"{private}/config",
        "TMPDIR": private,
        "FROM_SPEC": "1",
        "UNKNOWN": "${nothing}",
        "BOTH": "conf",
        "FROM_CONF": "2",
        "FROM_TASK": "a b",
    }
    assert (files / "input").read_text() == ""
    assert (files / "mask").read_text() == "0077\n"
    assert (files / "uid").read_text() == f"{user.pw_uid}\n"
    assert (files / "directory").read_text() == f"{files}\n"
    assert (files / "modes").read_text() == f"700 {user.pw_name}\n600 {user.pw_name}\n"
    if os.geteuid() == 0:
        assert (files / "groups").read_text() == f"{user.pw_gid}\n"
    # 0, 1, 2 and the directory that ls reads; 1 is the file it writes here
    names = [line.split()[8:] for line in (files / "descriptors").read_text().splitlines()[1:]]
    assert [name[0] for name in names] == ["0", "1", "2", "3"]
    assert names[0][2] == "/dev/null"


def test_the_kernel_cannot_reach_what_is_the_keepers(keeper):
    keeper.script("cat ../../../../run/shims/*/log.0; ls ../../../../run/shims; echo > done; exec sleep 600")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    wait_for((keeper.files() / "done").exists, "the script's end")
    if os.geteuid() != 0:
        pytest.skip("the kernel is the keeper's own user")

    def refused():
        tail = keeper.ask(verb="status", kernel=kernel["id"])["stderr_tail"]
        return tail.count("Permission denied") == 2

    wait_for(refused, "two refusals in the log")


# Ending


@pytest.mark.parametrize(
    ("script", "end", "exit_code", "number", "reason"),
    [
        ("exit 0", "exit", 0, None, "exit code 0"),
        ("exit 7", "exit", 7, None, "exit code 7"),
        ("kill -9 $$", "signal", None, 9, "SIGKILL"),
        ("kill -11 $$", "signal", None, 11, "It crashed: signal 11 (SIGSEGV, Segmentation fault)."),
    ],
)
def test_how_a_kernel_ended_is_known(keeper, script, end, exit_code, number, reason):
    keeper.script(f"echo last words >&2; {script}")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    row = keeper.ended(kernel["id"])
    assert (row["ending"], row["exit_code"], row["signal"]) == (end, exit_code, number)
    assert reason in row["reason"]
    told = keeper.ask(verb="status", kernel=kernel["id"])
    assert (told["alive"], told["end"], told["stderr_tail"]) == (False, end, "last words\n")
    assert (told["exit_code"], told["signal"]) == (-1 if exit_code is None else exit_code, number or 0)
    assert told["memory_peak_bytes"] > 100_000
    wait_for(lambda: keeper.leftovers() == [], "the end of its directories")


def test_a_dead_kernel_is_noticed_at_once_and_replaced(started):
    first = started.ask(verb="start", task="demo")
    kill(first)
    told = started.ask(verb="status", kernel=first["id"])
    assert not told["alive"] and told["signal"] == 9
    second = started.ask(verb="start", task="demo")
    assert second["fresh"] and second["generation"] == 2 and second["id"] != first["id"]


def test_a_start_right_after_a_death_never_gets_the_dead_one(started):
    for generation in range(1, 21):
        kernel = started.ask(verb="start", task="demo")
        assert kernel["fresh"] and kernel["alive"] and kernel["generation"] == generation
        kill(kernel)


def test_stop_ends_everything_that_the_kernel_started(keeper):
    keeper.script(
        "setsid sh -c 'echo $$ >> pids; sleep 600 & echo $! >> pids; trap : TERM HUP INT; wait; sleep 600' & "
        "(sh -c 'sleep 601 & echo $! >> pids' &) ; trap '' TERM; while :; do sleep 0.05; done"
    )
    keeper.start(terminate_grace=0.2)
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    pids = pids_in(keeper, "pids", 3)
    began = time.monotonic()
    keeper.stop("demo")
    assert time.monotonic() - began < 5
    assert gone(kernel["pid"], *pids)()
    row = keeper.row(kernel["id"])
    assert (row["ending"], row["signal"], row["reason"]) == ("stopped", 9, "Somebody asked for it to be stopped.")
    assert keeper.leftovers() == []


def test_orphans_of_a_kernel_that_ended_by_itself_are_ended(keeper):
    keeper.script("(setsid sleep 600 & echo $! > pids); exit 3")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    assert keeper.ended(kernel["id"])["exit_code"] == 3
    wait_for(gone(*pids_in(keeper, "pids", 1)), "the orphan's end")


def test_who_asks_first_decides_the_reason(started):
    kernel = started.ask(verb="start", task="demo")
    started.ask(verb="stop", task="demo", kernel=kernel["id"], end="killed", reason="It hung.")
    row = started.row(kernel["id"])
    assert (row["ending"], row["reason"]) == ("killed", "It hung.")
    started.stop("demo")
    started.stop("demo", kernel=kernel["id"])
    assert started.row(kernel["id"])["ending"] == "killed"


def test_stop_of_nothing_is_fine_and_of_another_kernel_harmless(started):
    started.stop("demo")
    started.stop("nobody")
    kernel = started.ask(verb="start", task="demo")
    started.stop("demo", kernel="0193791a-5f2b-7c3d-8e4f-a0b1c2d3e4f5")
    started.stop("other", kernel=kernel["id"])
    assert started.ask(verb="status", kernel=kernel["id"])["alive"]
    with pytest.raises(Refused, match="end"):
        started.ask(verb="stop", task="demo", end="vanished")


def test_restart_gives_a_new_kernel(started):
    first = started.ask(verb="restart", task="demo")
    second = started.ask(verb="restart", task="demo", reason="Fresh start.")
    assert (first["generation"], second["generation"]) == (1, 2)
    assert second["fresh"] and not is_alive(first["pid"])
    row = started.row(first["id"])
    assert (row["ending"], row["reason"]) == ("restarted", "Fresh start.")


def test_interrupt_reaches_the_kernel_and_its_children(keeper):
    keeper.script(
        "trap 'echo INT >> caught' INT; "
        "sh -c 'trap \"echo child >> caught; exit\" INT; echo > ready; while :; do sleep 0.05; done'; "
        "while :; do sleep 0.05; done"
    )
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    wait_for((keeper.files() / "ready").exists, "the child")
    keeper.ask(verb="interrupt", kernel=kernel["id"])
    caught = keeper.files() / "caught"
    wait_for(lambda: caught.exists() and sorted(caught.read_text().split()) == ["INT", "child"], "both signals")
    assert is_alive(kernel["pid"])


def test_interrupt_and_stack_of_nothing_are_not_found(started):
    kernel = started.ask(verb="start", task="demo")
    with pytest.raises(Refused, match="SIGUSR2") as refused:
        started.ask(verb="stack", kernel=kernel["id"])
    assert refused.value.kind == "unavailable" and is_alive(kernel["pid"])
    started.stop("demo")
    for verb in ("interrupt", "stack"):
        with pytest.raises(Refused) as refused:
            started.ask(verb=verb, kernel=kernel["id"])
        assert refused.value.kind == "not_found"
    with pytest.raises(Refused) as refused:
        started.ask(verb="status", kernel="0193791a-5f2b-7c3d-8e4f-a0b1c2d3e4f5")
    assert refused.value.kind == "not_found"


def test_stack_signals_a_kernel_that_catches_it(keeper):
    keeper.script("trap 'echo > caught' USR2; echo > ready; while :; do sleep 0.05; done")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    wait_for((keeper.files() / "ready").exists, "the handler")
    keeper.ask(verb="stack", kernel=kernel["id"])
    wait_for((keeper.files() / "caught").exists, "the signal")


def test_a_log_does_not_grow(keeper):
    keeper.script("yes 'a line of log'")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    directory = keeper.run / "shims" / kernel["id"]
    wait_for(lambda: (directory / "log.1").stat().st_size > 0, "the second file")
    assert sum(path.stat().st_size for path in directory.iterdir()) <= 2 * 65536
    assert "a line of log\n" * 100 in keeper.ask(verb="status", kernel=kernel["id"])["stderr_tail"]


def test_fifty_starts_and_stops_leave_nothing(started):
    directory = f"/proc/{started.process.pid}/fd"

    def descriptors():
        """What the keeper holds once the last client's connection is closed."""
        held = [os.readlink(f"{directory}/{name}") for name in os.listdir(directory)]
        return [link.startswith("socket:") for link in held].count(True) == 1 and len(held)

    def cycle(count):
        for _ in range(count):
            started.ask(verb="start", task="demo")
            started.stop("demo")
        return wait_for(descriptors, "the end of the connections")

    before = cycle(2)
    assert cycle(50) == before
    assert started.leftovers() == []
    assert children(started.process.pid) == []


# Survival


def test_kernels_outlive_a_keeper_that_is_killed(started):
    kernel = started.ask(verb="start", task="demo")
    started.end(signal.SIGKILL)
    assert is_alive(kernel["pid"])
    started.start()
    again = started.ask(verb="start", task="demo")
    assert not again["fresh"] and again["id"] == kernel["id"] and again["generation"] == 1
    kill(kernel)
    assert started.ended(kernel["id"])["signal"] == 9
    assert started.ask(verb="start", task="demo")["generation"] == 2
    started.stop("demo")
    assert started.leftovers() == []


def test_sigterm_leaves_the_kernels_alone(started):
    kernel = started.ask(verb="start", task="demo")
    assert started.end(signal.SIGTERM) == 0
    assert is_alive(kernel["pid"]) and not started.socket.exists()
    started.start()
    started.stop("demo")
    assert not is_alive(kernel["pid"])


@pytest.mark.parametrize(("how", "exit_code", "number"), [("kill -9 $$", None, 9), ("exit 7", 7, None)])
def test_a_death_without_a_keeper_is_known_afterwards(keeper, how, exit_code, number):
    keeper.script("while ! [ -e go ]; do sleep 0.01; done; " + how)
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    keeper.end(signal.SIGKILL)
    (keeper.files() / "go").touch()
    wait_for(gone(kernel["pid"]), "the kernel's death")
    wait_for(lambda: not running(f"cellpost-shim {kernel['id']}"), "the shim's end")
    assert keeper.row(kernel["id"])["ended_at"] is None
    keeper.start()
    row = keeper.ended(kernel["id"])
    assert (row["exit_code"], row["signal"]) == (exit_code, number)
    wait_for(lambda: keeper.leftovers() == [], "the end of its directories")


def test_a_kernel_without_a_record_has_vanished(started):
    kernel = started.ask(verb="start", task="demo")
    started.end(signal.SIGKILL)
    shim, = running(f"cellpost-shim {kernel['id']}")
    os.kill(shim, signal.SIGKILL)
    wait_for(gone(shim), "the shim's death")
    assert is_alive(kernel["pid"])
    started.start()
    assert started.ended(kernel["id"])["ending"] == "vanished"
    wait_for(gone(kernel["pid"]), "the kernel's end")
    assert started.ask(verb="start", task="demo")["generation"] == 2


def test_a_shim_that_is_killed_takes_its_kernel_along(keeper):
    keeper.script("(setsid sleep 600 & echo $! > pids); exec sleep 600")
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    orphans = pids_in(keeper, "pids", 1)
    shim, = running(f"cellpost-shim {kernel['id']}")
    os.kill(shim, signal.SIGKILL)
    assert keeper.ended(kernel["id"])["ending"] == "vanished"
    wait_for(gone(kernel["pid"], *orphans), "the end of what the shim guarded")
    wait_for(lambda: keeper.leftovers() == [], "the end of its directories")


def test_a_stopped_shim_still_obeys(started):
    kernel = started.ask(verb="start", task="demo")
    shim, = running(f"cellpost-shim {kernel['id']}")
    os.kill(shim, signal.SIGSTOP)
    started.stop("demo")
    assert gone(kernel["pid"], shim)()


def test_what_the_registry_does_not_know_is_swept(started):
    known = started.ask(verb="start", task="demo")
    started.task("other")
    stray = started.ask(verb="start", task="other")
    started.end(signal.SIGKILL)
    started.sql("UPDATE kernels SET ended_at = 2, ending = 'vanished' WHERE id = ?", stray["id"])
    forgotten = "0193791a-5f2b-7c3d-8e4f-a0b1c2d3e4f5"
    for parent in ("kernels", "shims"):
        (started.run / parent / forgotten).mkdir()
        (started.run / parent / forgotten / "file").touch()
    started.start()
    wait_for(gone(stray["pid"]), "the stray's end")
    wait_for(lambda: {path.name for path in started.leftovers()} == {known["id"]}, "the sweep")
    assert is_alive(known["pid"])


def test_another_instance_is_left_alone(started, tmp_path_factory):
    """Its kernels are in no table of ours, yet they are not strays."""
    from conftest import Keeper

    kernel = started.ask(verb="start", task="demo")
    directory = started.directory / "second"
    directory.mkdir()
    second = Keeper(directory)
    second.start()
    assert second.end() == 0
    assert is_alive(kernel["pid"])


def test_a_second_keeper_is_refused(started):
    done = subprocess.run(started.command(), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1
    assert "another keeper runs" in done.stderr
    assert started.ask(verb="status")["pid"] == started.process.pid


def test_its_own_starts_and_ends_are_recorded(started):
    def rows():
        return [tuple(row) for row in started.sql("SELECT program, pid, ended_at >= started_at FROM instances ORDER BY id")]

    pids = [started.process.pid]
    assert rows() == [("cellpost-keeper", pids[0], None)]
    started.end(signal.SIGKILL)
    started.start()
    started.end()
    pids.append(started.process.pid)
    assert rows() == [("cellpost-keeper", pids[0], None), ("cellpost-keeper", pids[1], 1)]


def test_a_stale_socket_is_replaced(started):
    started.end(signal.SIGKILL)
    assert started.socket.exists()
    started.start()
    mode = started.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660


def test_stop_kernels_ends_the_keeper_that_runs(started):
    kernel = started.ask(verb="start", task="demo")
    done = subprocess.run(started.command("--stop-kernels"), capture_output=True, timeout=LIMIT)
    assert done.returncode == 0
    assert started.process.wait(LIMIT) == 0
    assert not is_alive(kernel["pid"])
    assert started.row(kernel["id"])["ending"] == "stopped"
    assert started.leftovers() == []


def test_stop_kernels_works_without_a_keeper(started):
    kernel = started.ask(verb="start", task="demo")
    started.end(signal.SIGKILL)
    done = subprocess.run(started.command("--stop-kernels"), capture_output=True, timeout=LIMIT)
    assert done.returncode == 0
    assert not is_alive(kernel["pid"])
    assert started.row(kernel["id"])["ending"] == "stopped"
    assert started.leftovers() == []


def test_an_end_is_recorded_once_the_table_can_be_written(started):
    kernel = started.ask(verb="start", task="demo")
    started.sql("CREATE TRIGGER full BEFORE UPDATE ON kernels BEGIN SELECT RAISE(ABORT, 'no room'); END")
    kill(kernel)
    assert started.ask(verb="status", kernel=kernel["id"])["signal"] == 9
    assert started.row(kernel["id"])["ended_at"] is None
    started.sql("DROP TRIGGER full")
    assert started.ended(kernel["id"])["signal"] == 9


def test_a_kernel_that_cannot_be_recorded_does_not_run(started):
    started.sql("CREATE TRIGGER full BEFORE INSERT ON kernels BEGIN SELECT RAISE(ABORT, 'no room'); END")
    with pytest.raises(Refused, match="no room"):
        started.ask(verb="start", task="demo")
    wait_for(lambda: started.leftovers() == [], "the end of its directories")
    wait_for(lambda: children(started.process.pid) == [], "its end")
    started.sql("DROP TRIGGER full")
    assert started.ask(verb="start", task="demo")["generation"] == 1


@contextlib.contextmanager
def locked(keeper):
    """Another program keeps the database's write lock."""
    with contextlib.closing(sqlite3.connect(keeper.state / "cellpost.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


def soon():
    """A deadline, two seconds from now."""
    return time.monotonic_ns() + 2_000_000_000


def test_a_locked_database_delays_no_order(keeper):
    keeper.script("trap 'echo got >> ints' INT; while :; do sleep 0.05; done")
    keeper.start()
    for task in "abc":
        keeper.task(task)
    a, b, c = (keeper.ask(verb="start", task=task) for task in "abc")
    with locked(keeper):
        began = time.monotonic()
        keeper.ask(verb="interrupt", kernel=a["id"], deadline=soon())
        wait_for((keeper.files("a") / "ints").exists, "the interrupt")
        kill(b)
        assert keeper.ask(verb="status", kernel=b["id"], deadline=soon())["signal"] == 9
        keeper.stop("c", deadline=soon())
        assert not is_alive(c["pid"])
        assert time.monotonic() - began < 6
        died = time.time() * 1e6
        assert keeper.row(b["id"])["ended_at"] is None and keeper.row(c["id"])["ended_at"] is None
    for kernel, ending in ((b, "signal"), (c, "stopped")):
        row = keeper.ended(kernel["id"])
        assert row["ending"] == ending and row["ended_at"] < died


def test_a_start_waits_for_a_locked_database_and_its_kernel_is_found_again(started):
    with locked(started):
        with pytest.raises(Refused) as refused:
            started.ask(verb="start", task="demo", deadline=soon())
        assert refused.value.kind == "timeout"
        assert started.sql("SELECT * FROM kernels") == []
    wait_for(lambda: started.sql("SELECT * FROM kernels"), "the row")
    kernel = started.ask(verb="start", task="demo")
    assert kernel["generation"] == 1 and not kernel["fresh"] and is_alive(kernel["pid"])


def test_an_end_during_a_lock_is_known_to_the_next_keeper(started):
    kernel = started.ask(verb="start", task="demo")
    with locked(started):
        started.stop("demo")
        started.end(signal.SIGKILL)
    started.start()
    assert started.ended(kernel["id"])["ending"] == "stopped"
    wait_for(lambda: started.leftovers() == [], "nothing left")


def test_an_order_that_comes_too_late_is_refused(started):
    kernel = started.ask(verb="start", task="demo")
    for request in ({"verb": "stop", "task": "demo", "end": "killed"}, {"verb": "interrupt", "kernel": kernel["id"]}):
        with pytest.raises(Refused) as refused:
            started.ask(**request, deadline=time.monotonic_ns() - 1)
        assert refused.value.kind == "timeout"
    assert is_alive(kernel["pid"])


@pytest.mark.parametrize("alive", [True, False])
def test_a_corrupt_database_keeps_no_kernel_from_being_ended(started, alive):
    kernel = started.ask(verb="start", task="demo")
    if not alive:
        started.end(signal.SIGKILL)
    database = started.state / "cellpost.db"
    for companion in ("-wal", "-shm"):
        pathlib.Path(f"{database}{companion}").unlink(missing_ok=True)
    database.write_bytes(b"no database" * 1000)
    done = subprocess.run(started.command("--stop-kernels"), capture_output=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert not is_alive(kernel["pid"])
    assert running(str(started.directory)) == []
    for companion in ("", "-wal", "-shm"):
        pathlib.Path(f"{database}{companion}").unlink(missing_ok=True)
    started.start()
    wait_for(lambda: started.leftovers() == [], "nothing left")


# Culling


def test_an_idle_kernel_is_culled(keeper):
    keeper.script(SLEEPER)
    keeper.start(idle_timeout="400ms")
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    row = keeper.ended(kernel["id"])
    assert (row["ending"], row["reason"]) == ("culled", "It was unused for too long.")
    assert row["ended_at"] - row["started_at"] >= 400_000


def add_run(keeper, status, at, task="demo", number=1):
    keeper.sql(
        "INSERT OR IGNORE INTO instances (id, program, pid, pid_start, started_at) VALUES (?, 'test', 1, 1, 1)", "0" * 36
    )
    columns = {
        "id": f"{number:036}", "task": task, "number": 1, "code": "1", "code_sha256": "0" * 64, "silent": 0,
        "caller": "test", "instance": "0" * 36, "queued_at": at, "started_at": at, "status": "running",
    }  # fmt: skip
    marks = ", ".join("?" * len(columns))
    keeper.sql(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({marks})", *columns.values())
    if status != "running":
        keeper.sql("UPDATE runs SET status = ?, end_number = ?, ended_at = ? WHERE id = ?", status, number + 1, at, columns["id"])
        keeper.sql("INSERT OR IGNORE INTO chain (run, task, end_number, hash) VALUES (?, ?, ?, ?)", columns["id"], task, number + 1, "0" * 64)


def wait_for_looks(keeper, task, count):
    """Until the keeper, which culls, must have looked several times."""
    other = keeper.task(task)
    kernel = keeper.ask(verb="start", task=other)
    for _ in range(count):
        keeper.ended(kernel["id"])
        kernel = keeper.ask(verb="start", task=other)


def test_a_busy_kernel_is_not_culled(keeper):
    keeper.script(SLEEPER)
    keeper.start(idle_timeout="200ms")
    keeper.task()
    add_run(keeper, "running", int(time.time() * 1e6))
    kernel = keeper.ask(verb="start", task="demo")
    wait_for_looks(keeper, "other", 3)
    assert keeper.row(kernel["id"])["ended_at"] is None
    keeper.sql("UPDATE runs SET status = 'ok', end_number = 1, ended_at = ?", int(time.time() * 1e6))
    assert keeper.ended(kernel["id"])["ending"] == "culled"


def test_a_kernel_whose_turn_is_taken_is_not_culled(keeper):
    keeper.script(SLEEPER)
    keeper.start(idle_timeout="200ms")
    keeper.task()
    with take_turn(keeper, "demo"):
        kernel = keeper.ask(verb="start", task="demo")
        wait_for_looks(keeper, "other", 3)
        assert keeper.row(kernel["id"])["ended_at"] is None
    assert keeper.ended(kernel["id"])["ending"] == "culled"
    with take_turn(keeper, "demo"):
        pass


# The socket


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"nonsense", "invalid"),
        (b"{}", "invalid"),
        (b'{"verb":"dance"}', "invalid"),
        (b'{"verb":"start","task":"../x"}', "invalid"),
        (b'{"verb":"start","task":"demo","code":"1"}', "invalid"),
        (b'{"verb":"start","task":"' + b"a" * 70_000 + b'"}', "too_large"),
        (b"[" * 50_000, "invalid"),
        (b"\xff\x00", "invalid"),
    ],
)
def test_bad_requests_are_refused_and_harm_nobody(started, data, kind):
    answer = started.exchange(data)
    assert (answer["ok"], answer["kind"]) == (False, kind)
    assert started.ask(verb="status")["pid"] == started.process.pid


def test_one_connection_may_ask_often(started):
    with started.connect() as peer:
        for _ in range(3):
            peer.sendall(b'{"verb":"start","task":"demo"}')
            assert json.loads(peer.recv(1 << 16))["kernel"]["generation"] == 1


def test_a_client_that_leaves_or_babbles_does_no_harm(keeper):
    keeper.script("trap '' TERM; echo > ready; while :; do sleep 0.05; done")
    keeper.start(terminate_grace=0.3)
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    wait_for((keeper.files() / "ready").exists, "the kernel")
    request = json.dumps({"verb": "stop", "task": "demo", "end": "stopped"}).encode()
    leaver, babbler = keeper.connect(), keeper.connect()
    leaver.sendall(request)
    leaver.close()
    babbler.sendall(request)
    babbler.sendall(request)
    assert babbler.recv(1 << 16) == b""
    babbler.close()
    keeper.stop("demo")
    assert keeper.row(kernel["id"])["ending"] == "stopped"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be somebody else")
def test_strangers_are_refused(started, user):
    """One of the right group passes the socket's mode, but not the uid check."""
    script = (
        "import os, socket, sys\n"
        "os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[3]))\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "s.connect(sys.argv[1])\n"
        "s.send(sys.argv[4].encode())\n"
        "print(s.recv(65536).decode())\n"
    )

    def ask_as(gid, uid, request):
        arguments = [sys.executable, "-c", script, str(started.socket), str(gid), str(uid), json.dumps(request)]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT)

    nobody = 65534
    done = ask_as(user.pw_gid, nobody, {"verb": "status"})
    assert json.loads(done.stdout)["kind"] == "denied"
    assert "PermissionError" in ask_as(nobody, nobody, {"verb": "status"}).stderr
    app = ask_as(user.pw_gid, user.pw_uid, {"verb": "start", "task": "demo"})
    assert json.loads(app.stdout)["kernel"]["fresh"]
    shutdown = ask_as(user.pw_gid, user.pw_uid, {"verb": "shutdown"})
    assert json.loads(shutdown.stdout)["kind"] == "denied"


# The command line


def test_the_configuration_is_checked(keeper):
    keeper.configure()
    done = subprocess.run(keeper.command("-n"), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and not keeper.run.exists()
    keeper.conf.write_text("[kernels]\nmax_kernel = 3\n")
    done = subprocess.run(keeper.command("-n"), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "cellpost.conf:2" in done.stderr
    keeper.configure()


def test_help_and_wrong_options(keeper):
    done = subprocess.run(keeper.command("--help"), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0 and "--stop-kernels" in done.stdout
    for wrong in (["--dance"], ["extra"]):
        done = subprocess.run(keeper.command(*wrong), capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 1 and "usage" in done.stderr and done.stdout == ""


def test_a_required_jail_that_is_not_there_is_refused(keeper):
    keeper.jail = "required\ncgroup = /no/such/place"
    keeper.configure()
    done = subprocess.run(keeper.command(), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "jail = required" in done.stderr
    keeper.jail = "off"
    keeper.configure()


@pytest.mark.skipif(os.geteuid() != 0, reason="the key counts only for root")
def test_an_unknown_user_is_refused(keeper):
    keeper.configure()
    keeper.conf.write_text("[server]\nuser = nobody-by-that-name\n" + keeper.conf.read_text())
    done = subprocess.run(keeper.command(), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "nobody-by-that-name" in done.stderr
    keeper.configure()
