"""`make install`: what it puts where works there."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest
import requests

from tests.instance import MODE, ROOT, free_port, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the installed service is started as root")


def install(directory, port):
    return subprocess.run(
        [ROOT / "tools" / "install"],
        env=os.environ
        | {
            "MODE": MODE,
            "PREFIX": str(directory),
            "SYSCONFDIR": str(directory / "etc"),
            "PORT": str(port),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def directory():
    made = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-install-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def started(directory):
    """Installed, set to directories of its own, installed once more, started."""
    port = free_port()
    conf = directory / "etc" / "cellpost" / "cellpost.conf"
    done = install(directory, port)
    assert done.returncode == 0, done.stderr
    text = conf.read_text()
    for key, value in (("state_directory", directory / "state"), ("run_directory", directory / "run")):
        text = text.replace(f"# {key} =", f"{key} = {value}\n# {key} =")
    text = text.replace("# listen = /run/cellpost/fcgi.sock", "# listen =")
    conf.write_text(text)
    done = install(directory, port)
    assert done.returncode == 0, done.stderr
    assert conf.read_text() == text, "an edited configuration stays"
    (directory / "nginx.conf").write_text(
        f"user www-data;\npid {directory}/nginx.pid;\nerror_log {directory}/nginx.log;\nevents {{}}\n"
        "http { include /etc/nginx/mime.types; access_log off; "
        f"include {directory}/etc/nginx/sites-available/cellpost; }}\n"
    )
    log = open(directory / "log", "ab")
    processes = []

    def start(*command):
        processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    site = f"http://127.0.0.1:{port}"
    try:
        start(directory / "sbin" / "cellpost-keeper", "-c", conf)
        wait_for((directory / "run" / "keeper.sock").exists, "the keeper")
        start(directory / "bin" / "cellpost", "-c", conf)
        start("nginx", "-c", directory / "nginx.conf", "-g", "daemon off;")
        wait_for(lambda: is_ready(site), "the service")
        yield directory, site
    finally:
        stop = [directory / "sbin" / "cellpost-keeper", "--stop-kernels", "-c", conf]
        subprocess.run(stop, stdout=log, stderr=log, timeout=60)
        for process in processes:
            process.terminate()
            process.wait(30)
        print((directory / "log").read_text())


def is_ready(site):
    try:
        return requests.get(f"{site}/readyz", timeout=5).status_code == 200
    except requests.RequestException:
        return False


def test_what_is_installed_serves(started):
    directory, site = started
    answer = requests.post(
        f"{site}/v1/tasks/t/execute", json={"code": "print('installed')"}, timeout=60
    ).json()
    assert answer["stdout"] == "installed\n", (directory / "log").read_text()
    notebook = requests.get(f"{site}/tasks/t/notebook.ipynb", timeout=10)
    assert notebook.headers["Content-Type"].startswith("application/x-ipynb+json")
    assert notebook.json()["cells"][0]["outputs"][0]["text"] == ["installed\n"]
    page = requests.get(f"{site}/", timeout=10)
    assert page.status_code == 200 and page.headers["Content-Type"].startswith("text/html")
    assert (directory / "state").stat().st_uid == pwd.getpwnam("www-data").pw_uid


def test_units_and_manual_are_well_formed(directory):
    assert install(directory, 8080).returncode == 0
    units = sorted((directory / "lib" / "systemd" / "system").glob("*.service"))
    assert [unit.name for unit in units] == ["cellpost-keeper.service", "cellpost.service"]
    if shutil.which("systemd-analyze"):
        told = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, timeout=60
        )
        assert "cellpost" not in told.stdout + told.stderr
    pages = {page.name: page.read_text() for page in (directory / "share" / "man").glob("man*/*")}
    assert set(pages) == {"cellpost.1", "cellpost-keeper.8", "cellpost.conf.5"}
    assert all("@" not in text for text in pages.values())
    config = subprocess.run(
        [directory / "bin" / "cellpost", "-c", "/dev/null", "config"], capture_output=True, text=True
    ).stdout
    keys = [line.split(" =")[0] for line in config.splitlines() if " =" in line and line[0] not in "#["]
    for key in keys:
        assert f".B {key}\n" in pages["cellpost.conf.5"]
    help_text = subprocess.run([directory / "bin" / "cellpost", "--help"], capture_output=True, text=True).stdout
    for verb in ("serve", "verify", "backup"):
        assert f"  {verb}" in help_text and f".B {verb}" in pages["cellpost.1"]


@pytest.mark.parametrize("name, value", [("PREFIX", "relative"), ("SYSCONFDIR", "/a b"), ("MODE", "none")])
def test_wrong_places_are_told(directory, name, value):
    done = subprocess.run(
        [ROOT / "tools" / "install"],
        env=os.environ | {"MODE": MODE, "DESTDIR": str(directory), name: value},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and value in done.stderr
    assert list(directory.iterdir()) == []
