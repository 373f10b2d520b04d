"""One notebook, as it is read."""

import base64
import json
import os
import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.access import check_access
from tests.browser.notebooks import code, display, markdown, stream
from tests.browser.page import SCREENSHOTS

TEXT = """# Study

The density is $\\rho = \\frac{m}{V}$, the price $5 or $6.

$$\\int_0^1 x^2\\,dx$$

| a | b |
|---|---|
| 1 | 2 |

- [x] done

## Method
"""

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="teal"/></svg>'

FIGURES = """
import pandas, matplotlib.pyplot as plt
from IPython.display import display, Latex, JSON, SVG, HTML, Markdown
print("\\x1b[31mred\\x1b[0m plain \\x1b[38;5;28mgreen\\x1b[0m")
display(pandas.DataFrame({"length": [1.5, 2.5]}))
plt.plot([1, 3, 2]); plt.show()
display(Latex(r"$x^2$"), JSON({"key": [1, {"deep": "value"}]}), Markdown("*slanted*"), HTML("<b id=bold>bold</b>"))
"""


@pytest.fixture(scope="module")
def study(session_instance):
    """A task whose notebook real kernels and the API have made."""
    name = "browser-study"
    session_instance.post(name, "def half(x):\n    return 1 / x\nhalf(2)")
    session_instance.request("POST", f"/v1/tasks/{name}/cells", json={"markdown": TEXT})
    session_instance.post(name, FIGURES)
    session_instance.post(name, "import json\njson.loads('{')")
    session_instance.post(name, "for line in range(300): print('line', line)")
    yield name
    session_instance.delete(name)


def test_each_kind_of_output_is_shown(page, study):
    page.open(f"/notebook.html?task={study}")
    page.find(".prose h1", "Study")
    assert [formula.text != "" for formula in page.all(".prose .maths .katex")] == [True, True]
    page.find(".source .hljs-keyword", "def")
    page.find(".ansi-red", "red")
    green = page.find(".ansi-chosen", "green")
    assert green.value_of_css_property("color") != page.find("h1").value_of_css_property("color")
    page.find(".table-output tbody td", "2.5")
    assert page.wait("document.querySelector('.outputs img')?.naturalWidth > 100")
    page.find(".outputs .maths .katex")
    page.click(".tree details details summary", "key")
    page.click(".tree details details details summary", "1")
    page.find(".tree", "deep")
    page.find(".outputs em", "slanted")
    frame = page.find("iframe.sandbox")
    assert page.in_frame(frame, "document.getElementById('bold')?.textContent", "the HTML output") == "bold"


def test_an_error_shows_the_cells_own_frames_and_folds_the_others(page, study):
    page.open(f"/notebook.html?task={study}")
    page.press("e")
    page.find(".failure .what", "JSONDecodeError")
    page.find(".failure pre.frame", "json.loads('{')")
    folded = page.find(".failure details summary", "decoder.py")
    assert page.all(".failure details pre") == []
    folded.click()
    page.find(".failure details[open] pre", "raw_decode")


def test_long_text_is_cut_and_shown_whole_on_request(page, study):
    page.open(f"/notebook.html?task={study}")
    page.find("#cells article")
    for _ in range(8):
        page.press("j")
    page.find(".cell:focus .text", "line 59")
    assert "line 60" not in page.find(".cell:focus .text").text
    page.click(".cell .cut button", "Show all 301 lines")
    page.wait("document.activeElement.textContent.endsWith('line 299\\n')")


def test_the_contents_lead_to_the_headings(page, study):
    page.open(f"/notebook.html?task={study}")
    page.click(".contents a", "Method")
    page.wait("document.activeElement.matches('.cell.markdown')")
    assert [link.text for link in page.all(".contents a")] == ["Study", "Method"]


def test_it_is_downloaded_in_three_forms(page, study, tmp_path):
    page.open(f"/notebook.html?task={study}")
    page.find(".prose h1", "Study")
    for text, name in (("Notebook", "ipynb"), ("Script", "py"), ("One HTML", "html")):
        page.click("#download summary")
        page.click("#download button", text)
        content = page.downloaded(f"{study}.{name}").decode()
        (tmp_path / f"book.{name}").write_text(content)
    assert len(json.loads((tmp_path / "book.ipynb").read_text())["cells"]) == 5
    script = (tmp_path / "book.py").read_text()
    assert "# %%\ndef half(x):" in script and "# %% [markdown]\n# # Study" in script
    compile(script, "book.py", "exec")
    page.driver.get(f"file://{tmp_path}/book.html")
    page.find("math")
    page.find(".table-output td", "2.5")
    frame = page.find("iframe.sandbox")
    assert page.in_frame(frame, "document.getElementById('bold')?.textContent", "the HTML output") == "bold"


def test_code_is_copied(page, study):
    origin = {"origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.driver.execute_cdp_cmd("Browser.grantPermissions", origin)
    page.open(f"/notebook.html?task={study}")
    page.click(".cell-head button", "Copy")
    page.find(".cell-head button", "Copied")
    read = "navigator.clipboard.readText().then(arguments[0], () => arguments[0](''))"
    assert page.driver.execute_async_script(read).startswith("def half(x):")


def test_widgets_svg_and_pictures_of_the_task_are_shown(service, page, task, write_notebook):
    address = write_notebook(
        markdown("![a plot](plot.svg) ![elsewhere](https://example.org/x.png) ![in it](attachment:a.svg)",
                 attachments={"a.svg": {"image/svg+xml": base64.b64encode(SVG.encode()).decode()}}),
        code("slider", display(widget={"model_id": "x"}, text_plain="IntSlider(value=7)")),
        code("svg", display(image_svg=SVG)),
        code("unknown", display(**{"application/x.thing+json": {"a": 1}})),
        code("out", stream("warning\n", "stderr"), status="running", count=None),
    )  # fmt: skip
    (service.task_directory(task) / "files" / "plot.svg").write_text(SVG)
    page.open(address)
    page.find(".outputs", "IntSlider(value=7)")
    page.find(".prose a", "picture not loaded: elsewhere")
    page.wait("[...document.querySelectorAll('.prose img, .outputs img')].filter(image => image.naturalWidth === 40).length === 3")
    page.find(".label", "application/x.thing+json")
    page.find(".text.stderr", "warning")


def test_cells_are_reached_by_keyboard_alone(page, study):
    page.open(f"/notebook.html?task={study}")
    page.find("#cells article")
    page.press(Keys.TAB)
    assert page.script("return document.activeElement.textContent") == "Skip to the content"
    page.press("j")
    first = page.script("return document.activeElement.id")
    page.press("j")
    second = page.script("return document.activeElement.id")
    page.press("k")
    assert first.startswith("cell-") and second != first and page.script("return document.activeElement.id") == first
    page.press("?")
    page.find("dialog dt", "j")
    page.press(Keys.ESCAPE)
    page.gone("dialog")
    page.tab_to("#cells button")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height, phone", [(1280, 900, False), (390, 844, True)], ids=["desktop", "phone"])
def test_everybody_can_read_it(page, study, scheme, width, height, phone):
    page.resize(width, height, phone)
    page.prefer(scheme)
    page.open(f"/notebook.html?task={study}")
    page.find(".prose .katex")
    page.press("e")
    page.find(".failure .what")
    page.screenshot(f"notebook-{scheme}-{width}")
    check_access(page)


def test_the_theme_is_switched_and_kept(page, study):
    page.open(f"/notebook.html?task={study}")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.script(f"return {ground}")
    page.click("#theme")
    dark = page.wait(f"{ground} !== '{light}' && {ground}")
    page.open("/")
    assert page.script(f"return {ground}") == dark
    page.script("localStorage.clear()")


def big_cell(number):
    noise = base64.b64encode(os.urandom(3000)).decode()
    if number % 10 == 0:
        return markdown(f"## Part {number}\n\nwith $x_{{{number}}}$")
    lines = "".join(f"{noise[:60]} {number} {line}\n" for line in range(290))
    table = "".join(f"<tr><th>{line}</th><td>{noise[:8]}</td></tr>" for line in range(20))
    frame = f'<table border="1" class="dataframe"><tbody>{table}</tbody></table>'
    return code(f"cell({number})", stream(lines), display(text_html=frame, text_plain="frame"), count=number)


def test_a_thousand_cells_of_20_mb_open_quickly_and_only_those_in_view_are_drawn(page, write_notebook, record_property):
    address = write_notebook(*(big_cell(number) for number in range(1000)))
    started = time.monotonic()
    page.open(address)
    page.find(".table-output td")
    opened = time.monotonic() - started
    drawn = "document.querySelectorAll('.outputs > *, .prose').length"
    assert page.script("return document.querySelectorAll('.cell').length") == 1000
    assert page.script(f"return {drawn}") < 60
    started = time.monotonic()
    page.press(Keys.END)
    page.script("scrollTo(0, document.body.scrollHeight)")
    page.wait("document.querySelector('#cell-c999 .outputs').children.length === 2")
    scrolled = time.monotonic() - started
    page.wait("document.querySelector('#cell-c1 .outputs').children.length === 0")
    assert page.script(f"return {drawn}") < 60
    record_property("opened_s", round(opened, 2))
    print(f"opened in {opened:.2f} s, at its end after {scrolled:.2f} s")
    assert opened < 15 and scrolled < 15
