"""The page of the interface, and what all pages weigh."""

import json

import pytest

from tests.browser.access import check_access
from tests.browser.notebooks import code, markdown, stream
from tests.instance import ROOT

MOST = 300_000  # bytes that a page may load, compressed, apart from the notebook


def test_a_request_is_found_with_its_example(page):
    page.open("/api.html")
    paths = json.loads((ROOT / "static" / "openapi.json").read_text())["paths"]
    page.find("#count", f"{sum(len(path) for path in paths.values())} requests")
    page.press("/")
    page.press("workspace")
    page.find(".operation", "/v1/tasks/{task}/files")
    page.gone(".operation", "/metrics")
    page.open("/api.html#execute")
    operation = page.find("#execute[open]")
    assert f"curl -sf {page.url}/v1/tasks/demo/execute" in operation.text
    assert "seconds until it is interrupted" in operation.text and "429" in operation.text


@pytest.mark.parametrize("scheme, width, height, phone", [("light", 1280, 900, False), ("dark", 390, 844, True)], ids=["desktop", "phone"])
def test_everybody_can_read_it(page, scheme, width, height, phone):
    page.resize(width, height, phone)
    page.prefer(scheme)
    page.open("/api.html#listRuns")
    page.find("#listRuns[open]")
    check_access(page)
    page.screenshot(f"api-{scheme}-{width}")


WEIGHT = """
return performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
  .filter((entry) => !entry.name.includes("/tasks/"))
  .reduce((sum, entry) => sum + entry.transferSize, 0);
"""


def test_pages_are_light(page, write_notebook):
    notebook = write_notebook(markdown("# Title\n\n$x^2 + \\sum_i \\mathbf{y}_i$"), code("1 + 1", stream("2")))
    page.driver.execute_cdp_cmd("Network.enable", {})
    weights = {}
    for path, ready in (("/", "tbody tr"), (notebook, ".katex"), ("/runs.html", ".chart"), ("/api.html", ".operation")):
        page.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        page.open(path)
        page.find(ready)
        page.wait("document.fonts.status === 'loaded'")
        weights[path.split("?")[0]] = page.script(WEIGHT)
    print(weights)
    assert 0 < min(weights.values()) and max(weights.values()) < MOST, weights
