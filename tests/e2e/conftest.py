"""Kernelspecs of the tests' own, in a directory that every kernel's user reads."""

import pathlib
import shutil
import subprocess
import tempfile

import pytest

from tests.instance import ROOT, Instance

KERNELS = ROOT / "tests" / "kernels"


@pytest.fixture(scope="session")
def kernelspecs():
    """A directory of kernelspecs, with those of the scripted kernel in it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-specs-", dir="/tmp"))
    directory.chmod(0o755)
    subprocess.run(["/usr/bin/python3", KERNELS / "scripted_kernel.py", "--install", directory], check=True)
    yield directory
    shutil.rmtree(directory)


def scripted_settings(kernelspecs, **more):
    return {
        "kernels.kernelspec": "scripted",
        "kernels.kernelspec_path": str(kernelspecs),
        "jail.read_only_paths": f"{kernelspecs}:{KERNELS}",
    } | more


@pytest.fixture(scope="session")
def scripted(kernelspecs):
    """An instance whose tasks have the scripted kernel."""
    settings = {"kernels.interrupt_grace": "1", "kernels.terminate_grace": "1", "kernels.max_kernels": "200"}
    with Instance(scripted_settings(kernelspecs, **settings)) as instance:
        yield instance
