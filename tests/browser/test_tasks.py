"""The list of tasks."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.access import check_access
from tests.browser.page import Page
from tests.instance import wait_for


def row(task):
    return f'tr[data-task="{task}"]'


def test_a_task_is_started_watched_and_stopped(service, page, task):
    page.open("/")
    page.click("#start")
    page.find("#start-dialog h2", "Start a task")
    page.find("#new-name").send_keys(task)
    page.click("#start-form button.primary")
    page.find("h1", task)
    page.find("#message", "no cells yet")
    page.expected = [r"notebook\.ipynb .* 404", r"/v1/tasks/t.* 404"]  # before the first cell, after the stop
    service.post(task, "1 / 0")
    page.open("/")
    page.find(row(task), "kernel alive")
    page.find(f"{row(task)} .state.bad", "error")
    page.find(f"{row(task)} [data-label=Failures]", "1")
    page.find(f"{row(task)} [data-label=Memory]", "MB")
    page.click(f"{row(task)} button", "Stop")
    page.click("dialog button", "Stop")
    page.gone(f"{row(task)} .state", "kernel alive")
    assert task not in [other["task"] for other in service.get("/v1/tasks").json()["tasks"]]
    page.click(f"{row(task)} a", task)
    page.find(".failure .what", "ZeroDivisionError")


def test_a_running_cell_is_seen_and_interrupted(service, page, task):
    run = service.send(task, "while True: pass", wait=False).json()["run"]
    page.open("/")
    page.find(f"{row(task)} .state.busy", "running")
    page.click(f"{row(task)} button", "Interrupt")
    assert service.wait_run(run)["status"] == "interrupted"
    page.find(f"{row(task)} .state.bad", "interrupted")
    page.click(f"{row(task)} button", "Restart")
    page.click("dialog button", "Restart")
    wait_for(lambda: service.get(f"/v1/tasks/{task}").json()["kernel"]["generation"] == 2, "the second kernel")


def names(page):
    return [element.text for element in page.all("#tasks th")]


def test_the_list_is_filtered_and_sorted_by_keyboard(service, page, task):
    for letter in "bca":
        assert service.put(f"{task}-{letter}").status_code == 201
    page.open("/")
    page.find(row(f"{task}-a"))
    page.press("/")
    page.press(f"{task}-")
    wait_for(lambda: len(names(page)) == 3, "the filtered list")
    page.find("#count", "3")
    page.tab_to("th button[value=task]")
    page.press(Keys.ENTER)
    assert names(page) == [f"{task}-{letter}" for letter in "abc"]
    page.press(Keys.ENTER)
    assert names(page) == [f"{task}-{letter}" for letter in "cba"]
    assert page.find("th[aria-sort=descending]").text.startswith("Task")
    for letter in "abc":
        service.delete(f"{task}-{letter}")


def test_without_the_application_lists_and_notebooks_are_still_read(make_instance, driver, task):
    instance = make_instance()
    instance.post(task, "print('kept on disk')")
    instance.kill("app")
    page = Page(driver, instance.url)
    page.open("/")
    page.find("#message", "Notebooks and files can still be read")
    page.click(f"{row(task)} a", task)
    page.find(".outputs", "kept on disk")
    page.expected = [r"/v1/.* 503"]
    page.check_quiet()
    page.leave()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height, phone", [(1280, 900, False), (390, 844, True)], ids=["desktop", "phone"])
def test_everybody_can_use_it(service, page, task, scheme, width, height, phone):
    service.put(task)
    page.resize(width, height, phone)
    page.prefer(scheme)
    page.open("/")
    page.find(row(task))
    check_access(page)
    page.screenshot(f"tasks-{scheme}-{width}")
