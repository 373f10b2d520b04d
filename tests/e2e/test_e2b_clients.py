"""E2B's own SDK, unmodified. It comes from PyPI, pinned; where that is out of
reach this is skipped."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest
import requests

from tests.instance import ROOT

HERE = ROOT / "tests" / "e2e"


@pytest.fixture(scope="module")
def python():
    """Makes an environment with the given packages; its interpreter."""
    made = []

    def make(*packages):
        try:
            requests.get("https://pypi.org/simple/e2b/", timeout=10).raise_for_status()
        except requests.RequestException as problem:
            pytest.skip(f"PyPI is out of reach: {problem}")
        directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-e2b-", dir="/tmp"))
        made.append(directory)
        subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True)
        install = [directory / "bin" / "python", "-m", "pip", "install", "--quiet", *packages]
        done = subprocess.run(install, capture_output=True, text=True, timeout=500)
        if done.returncode != 0:
            pytest.skip(f"PyPI gave no {packages}: {done.stderr[-300:]}")
        return directory / "bin" / "python"

    yield make
    for directory in made:
        shutil.rmtree(directory)


# The first one that knows E2B_SANDBOX_URL, and the newest.
@pytest.mark.parametrize("versions", [("2.9.0", "2.26.0"), ("2.11.5", "2.63.0")])
def test_the_sdk(service, python, versions):
    program = python(f"e2b-code-interpreter=={versions[0]}", f"e2b=={versions[1]}")
    done = subprocess.run(
        [program, HERE / "e2b_client.py", service.url + "/e2b"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"no_proxy": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["cell"] == ["42", ["hi\n"], 1] and said["lines"] == ["hi\n"]
    assert said["error"] == "ZeroDivisionError" and "png" in said["formats"]
    assert said["bash"] == ["/work\n"] and said["env"] == "12"
    assert said["file"] == ["héllo", True, False] and said["list"] == ["/home/user/d"]
    assert said["made"] == [True, False]
    assert said["command"] == ["out\n", "err\n", 0]
    assert said["again"] == "41" and said["running"] == [True, False]
