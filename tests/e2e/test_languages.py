"""The same basic suite with kernels other than Debian's ipykernel: R's, and the
newest ipykernel where the package index can be reached."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from tests.e2e import notebooks
from tests.e2e.test_cases_output import CLEARED, TERMINAL
from tests.instance import Instance, wait_for


def install_newest(directory):
    """The newest ipykernel for Debian's Python, by whichever pip there is."""
    for python in ("python3", "/usr/bin/python3", sys.executable):
        command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", directory]
        command += ["--only-binary=:all:", "--python-version", "3.11", "ipykernel"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return
    pytest.skip("no pip that reaches the package index")


@pytest.fixture(scope="module")
def newest():
    """An instance whose Python kernel is the newest ipykernel."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-newest-", dir="/var/tmp"))
    try:
        directory.chmod(0o755)
        site = directory / "site"
        install_newest(str(site))
        subprocess.run(["chmod", "-R", "a+rX", site], check=True)
        spec = directory / "specs" / "newest"
        spec.mkdir(parents=True)
        (spec / "kernel.json").write_text(
            json.dumps(
                {
                    "argv": ["/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                    "display_name": "Newest",
                    "language": "python",
                    "env": {"PYTHONPATH": str(site)},
                }
            )
        )
        settings = {
            "kernels.kernelspec": "newest",
            "kernels.kernelspec_path": str(directory / "specs"),
            "jail.read_only_paths": str(directory),
        }
        with Instance(settings) as instance:
            yield instance
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_it_is_the_newest(newest):
    answer = newest.post("t", "import ipykernel; ipykernel.version_info[0] >= 7")
    assert answer["result"]["text/plain"] == "True"


@pytest.mark.parametrize("code, stdout", [case for case in TERMINAL + CLEARED if case[1] is not None])
def test_streams(newest, code, stdout):
    answer = newest.post("t", code)
    assert (answer["status"], answer["stdout"]) == ("ok", stdout)
    notebooks.same_as(newest, "t", answer)


def test_errors_and_hints(newest):
    newest.post("t", "def broken():\n    return 1/0")
    answer = newest.post("t", "print('a')\nbroken()")
    assert answer["stdout"] == "a\n"
    assert (answer["error"]["ename"], answer["error"]["line"]) == ("ZeroDivisionError", 2)
    assert newest.post("t", "valeu = 1\nvalue")["error"]["hint"].find("valeu") >= 0
    assert newest.post("t", "raise Exception(chr(0xd8ff))")["error"]["evalue"] == "\ufffd"


def test_timeouts_keep_the_state(newest):
    newest.post("t", "kept = 6")
    for code in ("import time\n\ntime.sleep(60)", "import asyncio\nawait asyncio.sleep(60)"):
        answer = newest.post("t", code, timeout=1)
        assert (answer["status"], answer["ended_by"]) == ("timeout", "SIGINT")
    assert newest.post("t", "kept")["result"]["text/plain"] == "6"


def test_late_output_and_updates(newest):
    first = newest.post(
        "t",
        "import threading\nh = display(1, display_id=True)\n"
        "threading.Timer(.5, lambda: print('late')).start()",
    )

    def arrived():
        return newest.get(f"/v1/runs/{first['run']}").json()["stdout"] == "late\n"

    wait_for(arrived, "the late line")
    newest.post("t", "h.update(2)")
    cell = notebooks.cell_of(notebooks.read(newest, "t"), first)
    assert notebooks.outputs(cell)[0]["data"]["text/plain"] == "2"


def test_stdin_and_death(newest):
    assert newest.post("t", "input()", stdin=["x"])["result"]["text/plain"] == "'x'"
    assert newest.post("t", "input()")["error"]["ename"] == "StdinNotImplementedError"
    answer = newest.post("t", "import os; os._exit(7)")
    assert answer["status"] == "kernel_died" and "exit code 7" in answer["kernel"]["reason"]
    assert newest.post("t", "1")["kernel"]["state"] == "lost"


# R


@pytest.fixture(scope="module")
def r(session_instance):
    names = [spec["name"] for spec in session_instance.get("/v1/kernelspecs").json()["kernelspecs"]]
    if "ir" not in names:
        pytest.skip("IRkernel is not installed")
    assert session_instance.put("r", kernelspec="ir").status_code == 201
    yield session_instance
    session_instance.delete("r")


def test_r_prints_and_keeps(r):
    answer = r.post("r", 'x <- 41\ncat("hello\\n")\nx + 1', timeout=90)
    assert answer["status"] == "ok" and answer["stdout"] == "hello\n"
    assert "42" in answer["text"]
    answer = r.post("r", "x")
    assert answer["kernel"]["state"] == "kept" and "41" in answer["text"]
    notebook = notebooks.read(r, "r")
    assert notebook["metadata"]["language_info"]["name"] == "R"


def test_r_errors(r):
    answer = r.post("r", 'cat("before\\n")\nstop("no such luck")')
    assert answer["status"] == "error" and answer["stdout"] == "before\n"
    assert "no such luck" in answer["error"]["evalue"] and "no such luck" in answer["error"]["prompt"]
    assert r.post("r", "1+1")["status"] == "ok"


def test_r_draws(r):
    answer = r.post("r", "plot(1:3)", timeout=90)
    assert answer["status"] == "ok"
    assert any(image["mime"] in ("image/png", "image/svg+xml") for image in answer["images"])


def test_r_is_interrupted(r):
    r.post("r", "kept <- 7")
    answer = r.post("r", "Sys.sleep(60)", timeout=1)
    assert answer["status"] == "timeout"
    assert "7" in r.post("r", "kept")["text"]


def test_r_dies(r):
    answer = r.post("r", 'tools::pskill(Sys.getpid(), 9)')
    assert answer["status"] == "kernel_died" and "signal 9" in answer["kernel"]["reason"]
    assert r.post("r", "exists('kept')", timeout=90)["kernel"]["state"] == "lost"
