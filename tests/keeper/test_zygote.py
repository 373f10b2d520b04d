"""Kernels that are forked: as good as those that are executed, and none the
same as another."""

import json
import os
import pathlib
import signal

import pytest
from conftest import LIMIT, keeper_of_ones_own, processes, wait_for
from facts import difference, facts, set_up
from warm import is_ready, spares, warm_keeper, was_forked, zygotes


@pytest.fixture(scope="module", params=["off", "auto"])
def warm(request):
    """Shared by the tests that leave it as it was: each uses tasks of its own."""
    with warm_keeper(request.param) as made:
        yield made


def test_a_cell_cannot_tell_how_its_kernel_was_made(warm, start):
    forked, executed = start(warm, "forked"), start(warm, "executed", strict=True)
    assert was_forked(forked) and not was_forked(executed)
    assert set_up(forked) == "True\n" and set_up(executed) == "None\n"
    one, other = facts(forked, warm, "forked"), facts(executed, warm, "executed")
    assert {name: difference(one[name], value) for name, value in other.items() if one[name] != value} == {}


RANDOM = """
import hashlib, json, multiprocessing, numpy, os, random, secrets, tempfile, uuid
print(json.dumps({
    "random": random.random(), "numpy": numpy.random.rand(), "numpy's generator": numpy.random.default_rng().random(),
    "numpy's integers": int(numpy.random.randint(1 << 30)), "uuid1": str(uuid.uuid1()), "uuid4": str(uuid.uuid4()),
    "secrets": secrets.token_hex(8), "system": random.SystemRandom().random(),
    "temporary": next(tempfile._get_candidate_names()), "multiprocessing": multiprocessing.current_process().authkey.hex(),
    "session": get_ipython().kernel.session.session, "identity": get_ipython().kernel.ident,
}))
"""


def test_nothing_random_is_the_same_in_two_kernels(warm, start):
    kernels = [start(warm, f"random-{number}") for number in range(3)]
    assert all(was_forked(kernel) for kernel in kernels)
    found = [json.loads(kernel.run(RANDOM)) for kernel in kernels]
    for name in found[0]:
        assert len({str(each[name]) for each in found}) == 3, name


def test_string_hashes_are_shared_unless_a_task_is_strict(warm, start):
    one, other, strict = start(warm, "one"), start(warm, "other"), start(warm, "strict", strict=True)
    code = "print(hash('cellpost'), id(None))"
    assert one.run(code) == other.run(code) != strict.run(code)


def test_libraries_are_there_already_and_work(warm, start):
    kernel = start(warm, "libraries")
    assert kernel.run("print('_multiarray_umath' in open('/proc/self/maps').read())") == "True\n"
    assert kernel.run("import sys; print([m in sys.modules for m in ('numpy', 'pandas', 'matplotlib')])") == (
        "[False, False, False]\n"  # each comes when it is imported
    )
    # BLAS starts its threads again where it needs them.
    code = "import numpy as n; a = n.random.rand(400, 400); print(n.allclose(a @ n.linalg.inv(a), n.eye(400)))"
    assert kernel.run(code) == "True\n"
    code = "import multiprocessing as m; print(sorted(m.get_context('fork').Pool(2).map(abs, [-2, 1])))"
    assert kernel.run(code) == "[1, 2]\n"
    code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], text=True, capture_output=True).stdout)"
    assert kernel.run(code) == "42\n\n"
    assert kernel.run("import pandas; pandas.DataFrame({'a': [1]}).to_csv('a.csv'); print(open('a.csv').read())") == (
        ",a\n0,1\n\n"
    )


def test_plots_are_shown(warm, start):
    kernel = start(warm, "plots")
    shown = []

    def hook(message):
        if message["msg_type"] == "display_data":
            shown.extend(message["content"]["data"])

    for code in ("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.title('é $x^2$')", "plt.hist([1, 2, 2]); plt.show()"):
        shown.clear()
        reply = kernel.client.execute_interactive(code, timeout=LIMIT, output_hook=hook)
        assert reply["content"]["status"] == "ok"
        assert "image/png" in shown
    assert kernel.run("import matplotlib; print(matplotlib.get_cachedir().startswith(matplotlib.get_configdir()[:20]))") == (
        "True\n"
    )


def test_an_interrupt_and_an_exit_are_as_ever(warm, start):
    kernel = start(warm, "ends")
    kernel.run("x = 1")
    sent = kernel.client.execute("open('ready', 'w').close(); import time; time.sleep(600)", stop_on_error=False)
    wait_for((warm.files("ends") / "ready").exists, "the cell")
    warm.ask(verb="interrupt", kernel=kernel.told["id"])
    replies = iter(lambda: kernel.client.get_shell_msg(timeout=LIMIT), None)
    reply = next(reply for reply in replies if reply["parent_header"]["msg_id"] == sent)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert kernel.run("print(x)") == "1\n"
    kernel.client.execute("exit()")
    row = warm.ended(kernel.told["id"])
    assert (row["ending"], row["exit_code"]) == ("exit", 0)
    again = start(warm, "ends")
    again.client.execute("import os; os._exit(7)")
    assert warm.ended(again.told["id"])["exit_code"] == 7
    third = start(warm, "ends")
    third.client.execute("import ctypes; ctypes.string_at(0)")
    assert warm.ended(third.told["id"])["signal"] == 11


def test_whose_child_it_is(warm, start):
    kernel = start(warm, "family")
    found = processes()
    shim = found[kernel.told["pid"]][0]
    assert found[shim][0] == warm.process.pid
    assert pathlib.Path(f"/proc/{shim}/comm").read_text() == "cellpost-shim\n"
    assert found[shim][2].startswith(f"cellpost-shim {kernel.told['id']} family")
    assert os.readlink(f"/proc/{shim}/cwd") == str(warm.run / "shims" / kernel.told["id"])
    assert len(os.listdir(f"/proc/{shim}/fd")) < 16
    kernel.run("import subprocess; child = subprocess.Popen(['sleep', '987'], start_new_session=True)")
    warm.stop("family")
    assert not any(line.startswith("sleep 987") for _, _, line in processes().values())


@pytest.mark.parametrize(
    ("settings", "forked"),
    [
        ({"env": {"TOKEN": "x", "HOME_PAGE": "y"}}, True),
        ({"limits": {"memory": 1 << 30}}, True),
        ({"env": {"PYTHONHASHSEED": "0"}}, False),
        ({"env": {"OMP_NUM_THREADS": "1"}}, False),
        ({"env": {"LC_ALL": "C"}}, False),
        ({"env": {"PANDAS_X": "1"}}, False),
        ({"strict": True}, False),
    ],
)
def test_what_is_read_when_a_program_starts_needs_a_start(warm, start, settings, forked):
    name = "-".join(["env", *map(str, settings), *settings.get("env", {})]).lower()
    kernel = start(warm, name, **settings)
    assert was_forked(kernel) == forked
    for variable, value in settings.get("env", {}).items():
        assert kernel.run(f"import os; print(os.environ[{variable!r}])") == f"{value}\n"
        code = f"import subprocess; print(subprocess.run('echo ${variable}', shell=True, text=True, capture_output=True).stdout)"
        assert kernel.run(code) == f"{value}\n\n"


def test_other_programs_start_as_ever(warm, start):
    for argv in (
        ["python3", "-X", "dev", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        ["python3", "-c", "from ipykernel import kernelapp as app; app.launch_new_instance()", "-f", "{connection_file}"],
    ):
        name = warm.spec(f"other{len(argv)}", argv)
        warm.task(name, kernelspec=name)
        assert not was_forked(start(warm, name))


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (".local/lib/python3.11/site-packages/mine.py", "import numpy; print(numpy.__name__)"),
        ("pandas/__init__.py", "import pandas; print(pandas.__file__[-18:])"),
        ("numpy.py", "import numpy; print(numpy.__file__[-8:])"),
    ],
)
def test_a_task_with_modules_of_its_own_gets_them(warm, start, path, code):
    name = path.strip(".").replace("/", "-")
    warm.task(name, kernelspec="python3")
    module = warm.files(name) / path
    module.parent.mkdir(parents=True)
    module.write_text("")
    kernel = start(warm, name)
    assert not was_forked(kernel)
    assert kernel.run(code) == ("numpy\n" if path.startswith(".local") else f"{path[-18:]}\n")


def test_a_slow_reader_loses_nothing(warm, start):
    """Whoever connects, and whenever: the limit is lifted before anybody can."""
    import zmq

    count = 5000  # more than libzmq's own limit, and more than fits into a socket
    kernel = start(warm, "slow")
    connection = json.loads(pathlib.Path(kernel.told["directory"], "connection.json").read_text())
    with zmq.Context() as context, context.socket(zmq.SUB) as reader:
        reader.linger, reader.rcvhwm, reader.rcvtimeo = 0, 1, LIMIT * 1000
        reader.subscribe(b"")
        separator = ":" if connection["transport"] == "tcp" else "-"
        reader.connect(f"{connection['transport']}://{connection['ip']}{separator}{connection['iopub_port']}")
        # What is published before the subscription has arrived is not for this reader.
        wait_for(lambda: (kernel.run("pass"), reader.poll(100))[1], "the subscription")
        code = f"for number in range({count}): display({{'text/plain': str(number) + ' ' + 'x' * 1000}}, raw=True)"
        kernel.run(code)
        found = []
        while len(found) < count:
            message = reader.recv_multipart()
            content = json.loads(message[-1])
            if "data" in content:
                found.append(int(content["data"]["text/plain"].split()[0]))
    assert found == list(range(count))


# Zygotes that end, that are replaced, that cannot be had


def test_kernels_outlive_their_zygote_and_it_is_replaced(start):
    with warm_keeper() as keeper:
        first = start(keeper, "first")
        first.run("x = 41")
        assert was_forked(first)
        os.kill(zygotes(keeper)[0], signal.SIGKILL)
        wait_for(lambda: "was ended by signal 9" in keeper.log.read_text(), "its end")
        meanwhile = start(keeper, "meanwhile")
        assert not was_forked(meanwhile)
        wait_for(lambda: is_ready(keeper, 2), "another zygote")
        assert was_forked(start(keeper, "after"))
        assert first.run("print(x + 1)") == "42\n"


def test_a_stopped_zygote_is_given_up(start):
    with warm_keeper() as keeper:
        os.kill(zygotes(keeper)[0], signal.SIGSTOP)
        kernel = start(keeper, "demo")
        assert not was_forked(kernel)
        assert "it does not answer" in keeper.log.read_text()
        wait_for(lambda: is_ready(keeper, 2), "another zygote")
        assert len(zygotes(keeper)) == 1


def test_a_killed_keeper_takes_its_zygote_along_and_no_kernel(start):
    with warm_keeper(spares=1) as keeper:
        wait_for(lambda: spares(keeper), "a spare")
        kernel = start(keeper, "demo")
        kernel.run("x = 41")
        old = zygotes(keeper)
        wait_for(lambda: spares(keeper), "another spare")
        keeper.end(signal.SIGKILL)
        wait_for(lambda: not any(pid in processes() and processes()[pid][1] != "Z" for pid in old), "the zygote's end")
        assert kernel.run("print(x + 1)") == "42\n"
        keeper.start(spares=0)
        again = keeper.ask(verb="start", task="demo")
        assert again["id"] == kernel.told["id"] and not again["fresh"]
        wait_for(lambda: len(keeper.leftovers()) == 2, "the end of spares without a keeper")
        assert list((keeper.state / "spares").iterdir()) == []
        assert kernel.run("print(x + 2)") == "43\n"


def test_packages_that_change_make_a_new_zygote(start):
    with keeper_of_ones_own() as keeper:
        packages = keeper.directory / "packages"
        packages.mkdir()
        (packages / "loaded.py").write_text("version = 1\n")
        keeper.start(warm="on", spares=0, preload="loaded", environment=f"PYTHONPATH={packages}")
        wait_for(lambda: is_ready(keeper), "a zygote")
        code = "import loaded; print(loaded.version)"
        old = start(keeper, "old")
        assert was_forked(old) and old.run(code) == "1\n"
        (packages / "loaded.py").unlink()
        (packages / "loaded.py").write_text("version = 'two'\n")
        between = start(keeper, "between")
        assert not was_forked(between) and between.run(code) == "two\n"
        wait_for(lambda: is_ready(keeper, 2), "another zygote")
        new = start(keeper, "new")
        assert was_forked(new) and new.run(code) == "two\n"
        assert old.run(code) == "1\n"
        wait_for(lambda: len(zygotes(keeper)) == 1, "the end of the first zygote")


BAD_MODULES = {
    "raising": "1 / 0",
    "leaving": "import sys; sys.exit(3)",
    "threading": "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "opening": "file = open(__file__)",
    "connecting": "import socket; peers = socket.socketpair()",
}


def test_what_cannot_be_preloaded_is_left_out_and_told(start):
    with keeper_of_ones_own() as keeper:
        packages = keeper.directory / "packages"
        packages.mkdir()
        for name, text in {"good": "x = 1", **{f"bad_{name}": text for name, text in BAD_MODULES.items()}}.items():
            (packages / f"{name}.py").write_text(text)
        names = ["bad_missing", *(f"bad_{name}" for name in BAD_MODULES), "good"]
        keeper.start(warm="on", spares=0, preload=" ".join(names), environment=f"PYTHONPATH={packages}")
        wait_for(lambda: is_ready(keeper), "a zygote")
        log = keeper.log.read_text()
        for name in names[:-1]:
            assert f"{name} is not preloaded: " in log
        assert "ModuleNotFoundError" in log and "ZeroDivisionError" in log and "it starts threads" in log
        kernel = start(keeper, "demo")
        assert was_forked(kernel)
        put_away = "(m for f in sys.meta_path for m in getattr(f, 'modules', ()))"
        said = kernel.run(f"import sys; print(sorted(m for m in {put_away} if m.startswith(('bad_', 'good'))))")
        assert said == "['good']\n"
        assert zygotes(keeper) and len(os.listdir(f"/proc/{zygotes(keeper)[0]}/task")) == 1
        targets = [os.readlink(f"/proc/{zygotes(keeper)[0]}/fd/{fd}") for fd in os.listdir(f"/proc/{zygotes(keeper)[0]}/fd")]
        assert sorted(target.split(":")[0] for target in targets) == ["/dev/null", "pipe", "pipe", "socket"]


def test_a_preload_that_kills_leaves_kernels_as_they_were(start):
    with keeper_of_ones_own() as keeper:
        packages = keeper.directory / "packages"
        packages.mkdir()
        (packages / "deadly.py").write_text("import os; os.kill(os.getpid(), 9)")
        keeper.start(warm="on", spares=1, preload="deadly", environment=f"PYTHONPATH={packages}")
        wait_for(lambda: "was ended by signal 9" in keeper.log.read_text(), "its end")
        kernel = start(keeper, "demo")
        assert not was_forked(kernel)
        assert kernel.run("print(1 + 1)") == "2\n"
        assert keeper.log.read_text().count("was ended by signal 9") < 5  # it is not tried again and again


@pytest.mark.skipif(os.geteuid() != 0, reason="whoever is not root has no more rights than others give")
def test_root_does_not_run_what_others_can_change():
    with keeper_of_ones_own() as keeper:
        python = keeper.directory / "python3"
        python.symlink_to("/usr/bin/python3")
        os.chown(keeper.directory, 65534, 65534)
        name = keeper.spec("python3", [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"])
        keeper.start(warm="on", kernelspec=name)
        wait_for(lambda: "start without a zygote" in keeper.log.read_text(), "the reason")
        assert "others than root can change" in keeper.log.read_text()
        assert zygotes(keeper) == []
        os.chown(keeper.directory, 0, 0)

