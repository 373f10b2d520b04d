"""The workspace, with previews, upload and download."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.access import check_access

HOSTILE = "<img src=x onerror=top.pwned=1>.txt"

MAKE = f"""
import os, json, matplotlib.pyplot as plt
os.makedirs("data/deep")
open("data/table.csv", "w").write('name,value\\n"a, b",1\\n"said ""x"" .",2\\n')
open("notes.md", "w").write("# Notes\\n\\nwith $x^2$ <script>top.pwned=1</script>")
open("page.html", "w").write("<h1 id=h>Page</h1><script>document.write(self.origin); top.pwned=1</script>")
open("program.py", "w").write("def half(x):\\n    return x / 2\\n")
open("value.json", "w").write(json.dumps({{"key": [1, 2]}}))
open("blob.bin", "wb").write(bytes(range(256)))
open({HOSTILE!r}, "w").write("plain text here")
plt.plot([1]); plt.savefig("plot.png")
"""


@pytest.fixture(scope="module")
def workspace(session_instance):
    name = "browser-files"
    assert session_instance.post(name, MAKE)["status"] == "ok"
    yield name
    session_instance.delete(name)


def open_file(page, name):
    page.click("#files th a", name)
    page.find("#preview-name", name)


def close(page):
    page.press(Keys.ESCAPE)
    page.gone("#preview")


def test_files_are_previewed_by_their_type(page, workspace):
    page.expected = [r"frame\.html", r"about:srcdoc", r"Unsafe attempt", r"origin 'null'", r"Blocked a frame"]
    page.open(f"/files.html?task={workspace}")
    page.find("tr[data-name='plot.png']", "image/png")
    open_file(page, "plot.png")
    page.wait("document.querySelector('#preview-body img')?.naturalWidth > 100")
    close(page)
    open_file(page, "notes.md")
    page.find("#preview-body .katex")
    close(page)
    open_file(page, "program.py")
    page.find("#preview-body .hljs-keyword", "def")
    close(page)
    open_file(page, "value.json")
    page.find("#preview-body .tree .key", "key")
    close(page)
    open_file(page, "page.html")
    assert page.in_frame(page.find("#preview-body iframe"), "document.body.innerText", "the page").startswith("Page\nnull")
    close(page)
    open_file(page, HOSTILE)
    page.find("#preview-body", "plain text here")
    close(page)
    open_file(page, "blob.bin")
    page.find("#preview-body", "no view")
    close(page)
    page.click("#files th a", "data/")
    open_file(page, "table.csv")
    page.find("#preview-body td", 'said "x" .')
    assert page.script("return window.pwned") is None


def test_files_go_up_come_down_and_go(service, page, task, tmp_path):
    service.put(task)
    page.open(f"/files.html?task={task}")
    page.find("#none", "empty")
    names = ["two words.txt", "ä & <b>.csv"]
    for name in names:
        (tmp_path / name).write_text(f"of {name}")
    upload = page.script("return document.getElementById('upload')")
    upload.send_keys("\n".join(str(tmp_path / name) for name in names))
    for name in names:
        page.find("#files th", name)
    assert service.post(task, "import os; print(sorted(os.listdir()))")["stdout"] == f"{sorted(names)}\n"
    page.click("tr[data-name='two words.txt'] a", "Download")
    assert page.downloaded("two words.txt") == b"of two words.txt"
    page.click("tr[data-name='two words.txt'] button", "Delete")
    page.click("dialog button", "Delete")
    page.gone("#files th", "two words")
    assert [entry["name"] for entry in service.get(f"/v1/tasks/{task}/files").json()["entries"]] == names[1:]


def test_folders_are_walked_by_keyboard(page, workspace):
    page.open(f"/files.html?task={workspace}")
    page.find("#files th a", "data/")
    page.tab_to("#files th a")
    page.press(Keys.ENTER)
    page.find("#path", "files / data")
    page.find("#files th", "deep/")
    page.tab_to("#path a")
    page.press(Keys.ENTER)
    page.find("#files th", "plot.png")


@pytest.mark.parametrize("scheme, width, height, phone", [("dark", 1280, 900, False), ("light", 390, 844, True)], ids=["desktop", "phone"])
def test_everybody_can_use_it(page, workspace, scheme, width, height, phone):
    page.resize(width, height, phone)
    page.prefer(scheme)
    page.open(f"/files.html?task={workspace}")
    page.find("#files th", "plot.png")
    check_access(page)
    page.screenshot(f"files-{scheme}-{width}")
