"""A browser for the tests of the pages. After each test: nothing in the console,
and no request to anywhere but the instance."""

import json

import pytest

pytest.register_assert_rewrite("tests.browser.access")

from tests.browser.page import Page, start_driver  # noqa: E402


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    driver = start_driver(tmp_path_factory.mktemp("downloads"))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver, service):
    """The browser at the session's instance, on a desktop, light."""
    page = Page(driver, service.url)
    page.resize(1280, 900)
    page.prefer("light")
    yield page
    page.check_quiet()
    page.leave()


@pytest.fixture
def write_notebook(service, task):
    """Lays a notebook where the task's stands; no kernel is needed to read it."""

    def write(*cells):
        assert service.put(task).status_code == 201
        book = {
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
            "cells": [cell | {"id": f"c{number}"} for number, cell in enumerate(cells)],
        }
        (service.task_directory(task) / "notebook.ipynb").write_text(json.dumps(book))
        return f"/notebook.html?task={task}"

    return write
