"""A keeper that is not root: its jails stand on user namespaces. Where the host
forbids those, it says so, and what is left of a jail holds all the same."""

import os
import pwd
import shutil
import subprocess

import pytest

from conftest import BUILD, LIMIT, wait_for
from kernel_client import Kernel

USER = pwd.getpwnam("nobody").pw_uid
PREFIX = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
# To a process whose root is not that of its mounts Linux gives no user namespace.
# Not in /tmp: kernels may write to all that is beneath it.
CHANGED_ROOT = ["unshare", "--mount", "sh", "-c", 'mount --rbind / "$0" && exec chroot "$0" "$@"', "/mnt"]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user"),
    pytest.mark.skipif(
        shutil.which("setpriv") is None or subprocess.run([*PREFIX, "test", "-x", str(BUILD / "cellpost-keeper")]).returncode != 0,
        reason="the programs cannot be reached by another user",
    ),
]

LOOK = """
id -u
touch here && echo wrote
touch /usr/x || echo refused
cat %(secret)s || echo hidden
ls -d /root; ls /home
grep -c : /proc/net/dev
echo done; exec sleep 600
"""


@pytest.fixture
def humble(keeper):
    keeper.prefix = PREFIX
    keeper.jail = "auto"
    os.chown(keeper.directory, USER, USER)
    return keeper


@pytest.fixture
def forbidden(humble):
    humble.prefix = [*CHANGED_ROOT, *PREFIX]
    return humble


def said(keeper, code):
    keeper.script(code)
    keeper.start()
    keeper.task()
    kernel = keeper.ask(verb="start", task="demo")
    text = wait_for(
        lambda: (tail := keeper.ask(verb="status", kernel=kernel["id"])["stderr_tail"]).endswith("done\n") and tail,
        "what the kernel says",
    )
    keeper.stop("demo")
    return text.splitlines()


def test_user_namespaces_confine_kernels(humble):
    if "jail: user is off" in humble.start().log.read_text():
        pytest.skip("this host forbids user namespaces")
    humble.end()
    lines = said(humble, LOOK % {"secret": humble.state / "cellpost.db"})
    assert lines[:2] == [str(USER), "wrote"]
    assert lines[3] == "refused" and lines[5] == "hidden"
    assert lines[6].endswith("No such file or directory") and lines[7] == "user"  # a link to its files
    assert lines[8:] == ["1", "done"]
    assert (humble.files() / "here").stat().st_uid == USER


def test_nothing_is_made_beside_the_sockets(humble):
    if "jail: user is off" in humble.start().log.read_text():
        pytest.skip("this host forbids user namespaces")
    humble.task(kernelspec="python3")
    kernel = Kernel(humble.ask(verb="start", task="demo"))
    try:
        home = kernel.told["directory"]
        # The fifth socket is its last step before it answers.
        wait_for(lambda: kernel.run(f"import os; os.mkdir({home!r} + '/d'); os.rmdir({home!r} + '/d')") == "OSError", "a shut directory")
        assert kernel.run(f"open({home!r} + '/stack.txt', 'a').close(); print(1)") == "1\n"
    finally:
        kernel.close()
    assert "read-only" not in humble.log.read_text()


def test_a_host_without_user_namespaces_is_told(forbidden):
    lines = said(forbidden, LOOK % {"secret": "/etc/hostname"})
    log = forbidden.log.read_text()
    assert "jail: user is off" in log and "run the keeper as root" in log
    assert "jail: mount is off: needs the keeper to be root, or user namespaces" in log
    # Landlock holds
    assert lines[:2] == [str(USER), "wrote"]
    assert lines[4:6] == ["cat: /etc/hostname: Permission denied", "hidden"]


def test_a_host_without_user_namespaces_is_refused_when_they_are_required(forbidden):
    forbidden.jail = "required"
    forbidden.configure()
    done = subprocess.run(forbidden.command(), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "jail = required, but the layer" in done.stderr
    forbidden.jail = "auto"
    forbidden.configure()
