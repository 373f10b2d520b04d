"""axe-core, the customary judge of accessibility, finds no serious fault. It
comes from npm, pinned by its digest; without npm this is skipped."""

import base64
import hashlib
import io
import tarfile

import pytest
import requests

ARCHIVE = "https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
# The frames of outputs are somebody else's pages, without this origin.
ASK = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ['violations'], iframes: false })
  .then((found) => done(found.violations), (fault) => done(String(fault)));
"""


@pytest.fixture(scope="module")
def axe():
    try:
        response = requests.get(ARCHIVE, timeout=20)
        response.raise_for_status()
    except requests.RequestException as problem:
        pytest.skip(f"npm is out of reach: {problem}")
    assert base64.b64encode(hashlib.sha512(response.content).digest()).decode() == SHA512
    with tarfile.open(fileobj=io.BytesIO(response.content)) as files:
        return files.extractfile("package/axe.min.js").read().decode()


@pytest.fixture(scope="module")
def worked_in(session_instance):
    """A task with a result, an error, a picture and a file."""
    name = "browser-axe"
    session_instance.post(name, "import pandas as pd\npd.DataFrame({'x': range(3)})", section="Look")
    session_instance.post(name, "open('a.csv', 'w').write('a,b\\n1,2')\n1 / 0")
    session_instance.post(name, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    yield name
    session_instance.delete(name)


def serious_faults(page, axe):
    page.script(axe)
    found = page.driver.execute_async_script(ASK)
    assert isinstance(found, list), found
    return [
        f"{fault['id']}: {fault['help']}: {node['target']} {node.get('failureSummary', '')}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path, ready",
    [
        ("/", "a[href*='browser-axe']"),
        ("/notebook.html?task=browser-axe", "main img"),
        ("/runs.html?task=browser-axe", "#runs tr"),
        ("/files.html?task=browser-axe", "a[href*='a.csv']"),
        ("/api.html", "main h2"),
    ],
)
def test_no_serious_fault_is_found(axe, page, worked_in, scheme, path, ready):
    page.prefer(scheme)
    page.open(path)
    page.find(ready)
    assert serious_faults(page, axe) == []


def test_a_planted_fault_is_found(axe, page, worked_in):
    page.open("/")
    page.find("a[href*='browser-axe']")
    page.script("document.querySelector('main').append(document.createElement('button'))")
    (fault,) = serious_faults(page, axe)
    assert fault.startswith("button-name")
