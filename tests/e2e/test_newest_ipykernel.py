"""The cases once more against the newest ipykernel that PyPI has, in a virtual
environment of its own."""

import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest
import requests

from tests.e2e.test_cases_output import *  # noqa: F403  (the cases, and their fixtures)
from tests.e2e.test_cases_streams import *  # noqa: F403
from tests.e2e.test_cases_time import *  # noqa: F403
from tests.instance import Instance

# What hangs on Cellpost alone, and was tried with Debian's ipykernel.
del test_twenty_tasks_at_once  # noqa: F821
del test_nothing_of_a_deleted_task_is_left  # noqa: F821
del test_an_update_finds_its_cell_after_a_restart_of_the_app  # noqa: F821
# pandas is large.
del test_a_large_table  # noqa: F821


def pip(directory, *arguments):
    return subprocess.run(
        [directory / "bin" / "python", "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True,
        text=True,
        timeout=400,
    )


@pytest.fixture(scope="session")
def newest(kernelspecs):
    """The settings of an instance whose kernels are the newest ones."""
    try:
        requests.get("https://pypi.org/simple/ipykernel/", timeout=5).raise_for_status()
    except requests.RequestException as problem:
        pytest.skip(f"PyPI is out of reach: {problem}")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-newest-", dir="/tmp"))
    directory.chmod(0o755)
    subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True)
    done = pip(directory, "install", "--quiet", "--no-compile", "ipykernel", "matplotlib", "ipywidgets")
    if done.returncode != 0:
        shutil.rmtree(directory)
        pytest.skip(f"PyPI gave no ipykernel: {done.stderr.strip()[-300:]}")
    spec = kernelspecs / "newest"
    spec.mkdir()
    argv = [str(directory / "bin" / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "The newest ipykernel", "language": "python"})
    )
    yield {"kernels.kernelspec": "newest", "kernels.kernelspec_path": str(kernelspecs)}
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def session_instance(newest):
    with Instance(newest) as instance:
        yield instance


@pytest.fixture
def make_instance(make_instance, newest):
    return lambda settings=None, **more: make_instance(newest | (settings or {}), **more)


@pytest.fixture
def own(service):
    """Of test_cases_streams: kernels of a virtual environment are never copies."""
    return lambda code, **fields: service.post("streams-newest", code, **fields)


def test_it_is_a_newer_one(service):
    """Else the cases were run twice with the same."""
    code = "import ipykernel, IPython, sys; print(sys.executable, ipykernel.__version__, IPython.__version__)"
    executable, version, ipython = service.post("version", code)["stdout"].split()
    assert executable.startswith("/tmp/cellpost-newest-")
    assert int(version.split(".")[0]) >= 7 and int(ipython.split(".")[0]) >= 9
