"""The pages where tokens are needed."""

import pytest

from tests.access import Client, token
from tests.browser.access import check_access
from tests.browser.page import Page
from tests.instance import Instance

COLD = {"kernels.warm": "off", "kernels.spares": "0"}
REFUSED = [r" 401 ", r"/tasks/ .* 404"]  # who is not known, and the list of all tasks


@pytest.fixture(scope="module")
def guarded():
    with Instance(COLD) as instance:
        instance.secrets = {
            "anna": token(instance, "add", "anna"),
            "reader": token(instance, "add", "reader", "--scopes", "read", "--tasks", "anna-*"),
        }
        assert Client(instance, instance.secrets["anna"]).send("anna-1", "print('hello')").status_code == 200
        yield instance


@pytest.fixture
def guarded_page(driver, guarded):
    page = Page(driver, guarded.url)
    page.resize(1280, 900)
    page.prefer("light")
    page.expected = list(REFUSED)
    yield page
    page.check_quiet()
    page.driver.delete_all_cookies()
    page.leave()


def log_in(page, secret):
    page.find("h1", "Log in")
    page.find("#token").send_keys(secret)
    page.click("#login button")


def test_a_reader_logs_in_and_out(guarded, guarded_page):
    page = guarded_page
    page.open("/notebook.html?task=anna-1")
    page.find("h1", "Log in")
    check_access(page)
    log_in(page, "cp_wrong")
    page.find("#fault", "not a whole Cellpost token")
    page.find("#token").clear()
    log_in(page, guarded.secrets["reader"])
    page.find("h1", "anna-1")
    page.find(".cell", "hello")
    page.find("#caller", "reader")
    page.gone("#composer", "Run a cell")
    page.gone("#restart", "Restart")
    check_access(page)
    assert page.driver.execute_script("return document.cookie") == ""
    for path in ("/", "/runs.html?task=anna-1", "/files.html?task=anna-1"):
        page.open(path)
        page.find("#caller", "reader")
        page.gone("#start", "Start")
        page.gone("#drop", "Upload")
        page.gone("td.buttons button", "Stop")
    page.open("/")
    page.find('tr[data-task="anna-1"]', "kernel alive")
    page.click("#log-out")
    page.find("h1", "Log in")
    page.open("/runs.html")
    page.find("h1", "Log in")


def test_who_may_run_code_has_everything(guarded, guarded_page):
    page = guarded_page
    page.open("/login.html?next=https://evil.example/")
    log_in(page, guarded.secrets["anna"])
    page.find('tr[data-task="anna-1"] td.buttons button', "Stop")
    page.find("#start", "Start a task")
    page.open("/notebook.html?task=anna-1")
    page.find("#code").send_keys("6 * 7")
    page.click("#run")
    page.find(".cell", "42")


@pytest.mark.parametrize("next_", ["//evil.example/", "/\\evil.example", "javascript:alert(1)", "/login.html"])
def test_a_log_in_leads_to_pages_of_this_place_alone(guarded, guarded_page, next_):
    page = guarded_page
    page.open(f"/login.html?next={next_}")
    log_in(page, guarded.secrets["anna"])
    page.find("h1", "Tasks")
    assert page.driver.current_url == f"{guarded.url}/"
