"""Cells that run while they are looked at."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.access import check_access
from tests.browser.page import Page

# Goes on at each file that is put into the workspace.
STEPS = """
import os, time
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.01)
print("begin")
print("step 1 ####", end="", flush=True)
wait("a")
print("\\rstep 2 ########", end="", flush=True)
wait("b")
print("\\n\\x1b[32mdone\\x1b[0m")
"""


def put(service, task, name):
    assert service.request("PUT", f"/v1/tasks/{task}/files/{name}", data="").status_code == 201


def watch_it_grow(service, page, task):
    service.post(task, "'ready'")
    page.open(f"/notebook.html?task={task}")
    page.find(".outputs", "ready")
    page.find("#kernel.alive")
    run = service.send(task, STEPS, wait=False).json()["run"]
    page.find(".cell.busy .outputs", "step 1 ####")
    page.find("#kernel.busy", "running")
    put(service, task, "a")
    page.find(".cell.busy .outputs", "step 2 ########")
    assert "step 1" not in page.find(".cell.busy .outputs").text
    put(service, task, "b")
    page.find(f"#cell-{run}.ok .ansi-green", "done")
    page.find("#kernel.alive", "idle")
    assert page.find(f"#cell-{run} .outputs").text == "begin\nstep 2 ########\ndone"
    assert len(page.all(".cell")) == 2


def test_a_cell_grows_in_place(service, page, task):
    watch_it_grow(service, page, task)


def test_without_the_feed_it_grows_too(service, page, task):
    page.expected = [r"/events.*ERR_BLOCKED"]
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/events*"]})
    try:
        watch_it_grow(service, page, task)
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})


def shift_enter(page):
    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()


def test_a_cell_is_run_and_stopped_by_keyboard_alone(service, page, task):
    service.put(task)
    page.expected = [r"notebook\.ipynb .* 404"]
    page.open(f"/notebook.html?task={task}")
    page.find("#message", "no cells yet")
    page.press("r")
    page.press("print('typed here')\n6 * 7")
    shift_enter(page)
    page.find(".cell.ok .outputs", "typed here\n42")
    page.gone("#message")
    assert page.script("return document.activeElement.id") == "code" and page.find("#code").get_attribute("value") == ""
    page.press("while True: pass")
    shift_enter(page)
    page.find(".cell.busy", "while True")
    page.tab_to("#stop")
    page.press(Keys.ENTER)
    page.find(".cell.bad .failure .what", "KeyboardInterrupt")
    page.gone("#stop")
    assert [run["status"] for run in service.runs(task)] == ["interrupted", "ok"]


def test_queued_cells_are_shown_in_their_order_and_run(service, page, task):
    page.expected = [r"notebook\.ipynb .* 404"]
    service.put(task)
    first = service.send(task, "import os, time\nwhile not os.path.exists('a'): time.sleep(0.01)", wait=False).json()["run"]
    second = service.send(task, "print('second')", wait=False).json()["run"]
    page.open(f"/notebook.html?task={task}")
    page.find("#kernel", "1 queued")
    page.find(f"#cell-{second}.busy .state", "queued")
    put(service, task, "a")
    page.find(f"#cell-{second}.ok .outputs", "second")
    assert [cell.get_attribute("id") for cell in page.all(".cell")] == [f"cell-{first}", f"cell-{second}"]


def test_displays_are_updated_and_late_lines_come(service, page, task):
    service.post(task, "import threading, time, os\nfrom IPython.display import display, clear_output\n'ready'")
    page.open(f"/notebook.html?task={task}")
    page.find("#kernel.alive")
    code = """
shown = display("one", display_id=True)
while not os.path.exists("a"): time.sleep(0.01)
shown.update("two"); print("gone"); clear_output(wait=True); print("kept", flush=True)
def late():
    while not os.path.exists("b"): time.sleep(0.01)
    print("late line", flush=True)
threading.Thread(target=late).start()
"""
    run = service.send(task, code, wait=False).json()["run"]
    page.find(f"#cell-{run} .outputs", "one")
    put(service, task, "a")
    page.find(f"#cell-{run}.ok .outputs", "kept")
    put(service, task, "b")
    page.find(f"#cell-{run} .outputs", "late line")
    assert "gone" not in page.find(f"#cell-{run} .outputs").text


def test_a_restart_of_the_application_is_outlived(make_instance, driver, task):
    instance = make_instance()
    instance.post(task, "value = 1")
    page = Page(driver, instance.url)
    page.open(f"/notebook.html?task={task}")
    page.find("#kernel.alive")
    instance.kill("app")
    page.find("#kernel.bad", "application stopped")
    assert page.find("#run").get_attribute("disabled")
    instance.start_app()
    page.find("#kernel.alive")
    run = instance.send(task, "print(value + 1)", wait=False).json()["run"]
    page.find(f"#cell-{run}.ok .outputs", "2")
    page.expected = [r"/v1/.* 503", r"ERR_INCOMPLETE_CHUNKED", r"ERR_"]
    page.check_quiet()
    page.leave()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_watch(service, page, task, scheme):
    page.expected = [r"notebook\.ipynb .* 404"]
    service.put(task)
    service.send(task, "print('going on', flush=True)\nwhile True: pass", wait=False)
    page.resize(390, 844, True)
    page.prefer(scheme)
    page.open(f"/notebook.html?task={task}")
    page.find(".cell.busy .outputs", "going on")
    check_access(page)
    page.screenshot(f"live-{scheme}")
    page.click("#stop")
    page.find(".cell.bad .failure")
