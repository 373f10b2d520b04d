"""The audit of all runs."""

import csv
import io

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.access import check_access


@pytest.fixture(scope="module")
def history(session_instance):
    """Two tasks with runs that went well and wrong."""
    names = ["browser-audit-a", "browser-audit-b"]
    for name in names:
        session_instance.post(name, "records = {}\nprint('<b>begin</b>')", section="Load", tags=["first"])
    session_instance.post(names[0], "records['<i>key</i>']")
    session_instance.post(names[1], "open('table.csv', 'w').write('a,b\\n1,2')\n1 / 0")
    session_instance.post(names[1], "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()")
    yield names
    for name in names:
        session_instance.delete(name)


def choose(page, name, value):
    field = page.find(f"#{name}")
    page.script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', { bubbles: true }))", field, value)


def rows(page, count):
    page.wait(f"document.querySelectorAll('#runs tr').length === {count}")
    return [row.text for row in page.all("#runs tr")]


def test_a_failing_run_is_found_and_looked_into(page, history):
    page.open(f"/runs.html?task={history[0]}")
    rows(page, 2)
    choose(page, "task", "")
    choose(page, "error", "ZeroDivisionError")
    choose(page, "text", "TABLE.CSV")
    found = rows(page, 1)
    assert "ZeroDivisionError: division by zero" in found[0] and history[1] in found[0]
    page.click("#runs th a")
    page.find("#run-title", f"Run 2 of {history[1]}")
    page.find("#run-body .source", "1 / 0")
    page.find("#run-body .failure .what", "ZeroDivisionError")
    facts = page.find("#run-body dl").text
    for fact in ("generation 1, variables kept", "anonymous", "127.0.0.1", "Processor time", "1 min 0 s"):
        assert fact in facts
    page.find("#run-body a", "table.csv")
    page.press(Keys.ESCAPE)
    page.gone("#run-dialog")
    page.wait("!location.search.includes('run=')")
    page.click("#runs th a")
    page.click("#run-body dd a", "in the notebook")
    page.find(".cell:focus .failure .what", "ZeroDivisionError")


def test_filters_stand_in_the_address_and_in_the_export(service, page, history):
    page.open(f"/runs.html?task={history[1]}&status=failed")
    assert len(rows(page, 1)) == 1
    choose(page, "status", "")
    rows(page, 3)
    choose(page, "since", "2099-01-01T00:00")
    page.find("#none", "No run fits")
    choose(page, "since", "")
    choose(page, "text", "+ no such text")
    page.wait("location.search.includes('no+such')")
    page.find("#none", "No run fits")
    choose(page, "text", "")
    rows(page, 3)
    page.click("#csv")
    exported = list(csv.DictReader(io.StringIO(page.downloaded("runs.csv").decode())))
    assert [row["number"] for row in exported] == ["3", "2", "1"] and exported[1]["status"] == "error"


def test_charts_tell_their_figures_in_words(page, history):
    page.open(f"/runs.html?task={history[1]}")
    page.find(".chart figcaption", "3 runs, 33.3 % failed")
    titles = page.script("return [...document.querySelectorAll('.chart title')].map((title) => title.textContent)")
    assert len([title for title in titles if "3 runs, 1 failed" in title or "2 runs" in title]) >= 1
    assert page.wait("Math.max(...[...document.querySelectorAll('.chart .runs')].map(bar => bar.getBoundingClientRect().height)) > 50")


def test_a_run_tells_its_artifacts_and_is_addressed(service, page, history):
    run = service.runs(history[1])[0]["run"]
    page.open(f"/runs.html?run={run}")
    page.find("#run-body h3", "Artifacts")
    link = page.find("#run-body ul a", "image/png")
    assert service.get(link.get_attribute("href").removeprefix(service.url)).content.startswith(b"\x89PNG")


@pytest.mark.parametrize("scheme, width, height, phone", [("light", 1280, 900, False), ("dark", 390, 844, True)], ids=["desktop", "phone"])
def test_everybody_can_use_it(page, history, scheme, width, height, phone):
    page.resize(width, height, phone)
    page.prefer(scheme)
    page.open(f"/runs.html?task={history[0]}")
    rows(page, 2)
    page.find(".chart figcaption", "2 runs")
    check_access(page)
    page.screenshot(f"runs-{scheme}-{width}")
    page.click("#runs th a")
    page.find("#run-body .failure")
    check_access(page)
    page.screenshot(f"run-{scheme}-{width}")
