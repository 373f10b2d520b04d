"""A notebook that wants more than to be read."""

import json

import pytest

from tests.browser.notebooks import code, display, markdown, stream

# Each attempt, and what it must not reach. Run inside the sandbox.
ATTEMPTS = """
<p id="ran">no</p>
<script>
  const told = {};
  const attempt = async (name, act) => {
    try { told[name] = String(await act()); } catch (error) { told[name] = "refused"; }
  };
  (async () => {
    await attempt("parent", () => parent.document.title);
    await attempt("top", () => { top.pwned = 1; return "set"; });
    await attempt("storage", () => localStorage.length);
    await attempt("cookie", () => document.cookie);
    await attempt("api", () => fetch("/v1/tasks").then((answer) => answer.status));
    await attempt("elsewhere", () => fetch("http://127.0.0.1:9/").then((answer) => answer.status));
    await attempt("navigate", () => { top.location = "/runs.html"; return "set"; });
    await attempt("popup", () => window.open("/") === null ? Promise.reject() : "opened");
    await attempt("frame", () => new Promise((resolve, reject) => {
      const frame = document.createElement("iframe");
      frame.src = "/";
      frame.onload = () => frame.contentDocument ? resolve("read") : reject();
      document.body.append(frame);
      setTimeout(reject, 300);
    }));
    parent.postMessage({ height: 1, pwned: true }, "*");
    document.getElementById("ran").textContent = self.origin + " " + JSON.stringify(told);
  })();
</script>
"""

SET = "top.pwned=1;parent.pwned=1;window.pwned=1"
MARKDOWN = f"""
<script>{SET}</script>
<img src=x onerror="{SET}"> <img/src="x"/onerror={SET}>
<svg onload="{SET}"><script>{SET}</script><a xlink:href="javascript:{SET}"><text>t</text></a></svg>
<a href="javascript:{SET}" id="lure">click</a> [link](javascript:{SET}) [data](data:text/html,<script>{SET}</script>)
<iframe src="javascript:{SET}" srcdoc="<script>{SET}</script>"></iframe>
<form action="/v1/tasks/x/execute" method="post"><input name="code"><button formaction="javascript:{SET}">go</button></form>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={SET}&gt;">
<style>body {{ display: none }} @import url(https://example.org/x.css);</style>
<div style="position:fixed;inset:0;z-index:99" onclick="{SET}">cover</div>
<base href="https://example.org/"><meta http-equiv="refresh" content="0;url=https://example.org/">
<link rel="stylesheet" href="https://example.org/x.css"><object data="https://example.org/x"></object>
<img src="https://example.org/track.png"> <img srcset="https://example.org/track.png 1x">
<video src="https://example.org/v" poster="https://example.org/p.png" autoplay></video>
<h1 id="cells" name="views" class="bar">named like ours</h1>
$\\href{{javascript:{SET}}}{{x}} \\url{{javascript:{SET}}} \\includegraphics{{https://example.org/x.png}}$
"""
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30" onload="{SET}"><script>{SET}</script><image href="https://example.org/x.png"/></svg>'
TERMINAL = f"\x1b]8;;javascript:{SET}\x07click me\x1b]8;;\x07 \x1b[31m<img src=x onerror={SET}>\x1b[0m \x1b]0;title\x07"
TABLE = f'<table class="dataframe"><tr><td onmouseover="{SET}"><img src=x onerror="{SET}"></td></tr></table>'


# What the browser says of what was refused: to frames, and for the picture "x".
REFUSALS = [r"frame\.html", r"about:srcdoc", r"Blocked", r"Unsafe attempt", r"violates the following", r"origin 'null'", r"files/x .* 404"]


@pytest.fixture
def hostile(page, write_notebook):
    page.open(
        write_notebook(
            markdown(MARKDOWN),
            markdown(f"# <img src=x onerror={SET}> heading"),
            code(f"<script>{SET}</script>", stream(TERMINAL), display(image_svg=SVG), display(text_html=TABLE)),
            code("json", display(json={f"<img src=x onerror={SET}>": f"<script>{SET}</script>", "__proto__": {"a": 1}})),
            code("error", {"output_type": "error", "ename": f"<img src=x onerror={SET}>", "evalue": "<b>", "traceback": [TERMINAL]}),
            code("latex", display(text_latex=f"$\\href{{javascript:{SET}}}{{x}}$")),
            code("attempts", display(text_html=ATTEMPTS)),
            code("script", display(javascript="element.textContent = 'script ran in ' + self.origin; top.pwned = 1")),
        )
    )
    page.expected = REFUSALS
    page.find("#cells .cell")
    for _ in range(8):
        page.press("j")
    page.find("#cell-c7 iframe")
    return page


def test_nothing_acts_in_the_page(hostile):
    page = hostile
    assert page.script("return window.pwned") is None
    assert page.script("return document.title").endswith(": notebook")
    assert page.script("return getComputedStyle(document.body).display") == "block"
    for selector in ("script:not([src])", "[onerror]", "[onload]", "[onclick]", "#cells svg", "#cells form", "#cells video", "object",
                     "#cells base", "#cells meta", "#cells link", "iframe:not(.sandbox)", "#cells [style*=fixed]"):  # fmt: skip
        assert page.script("return document.querySelectorAll(arguments[0]).length", selector) == 0, selector
    links = page.script("return [...document.links].map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:"} and "javascript:" not in json.dumps(page.script("return [...document.links].map(link => link.href)"))
    images = page.script("return [...document.images].map((image) => new URL(image.src).protocol)")
    assert set(images) <= {"data:", "http:"}
    page.find("#cell-c2 .outputs", "click me")
    page.find("#cell-c4 .failure .what", "<img src=x")


def test_scripts_run_in_the_sandbox_and_reach_nothing(hostile):
    page = hostile
    ran = "document.getElementById('ran')?.textContent.includes('{') && document.getElementById('ran').textContent"
    origin, told = page.in_frame(page.find("#cell-c6 iframe"), ran, "the attempts").split(" ", 1)
    assert origin == "null"
    assert set(json.loads(told).values()) == {"refused"}, told
    shown = page.in_frame(page.find("#cell-c7 iframe"), "document.body.innerText", "the script")
    assert "script ran in null" in shown
    assert page.script("return window.pwned") is None
    assert page.script("return location.pathname") == "/notebook.html"


def test_a_library_of_one_output_serves_another_and_draws(page, write_notebook):
    filler = "/*" + "x" * 60000 + "*/"
    library = (
        "<script>define('drawing', () => ({ plot(id) { const c = document.createElement('canvas'); c.width = 300;"
        "c.height = 200; c.getContext('2d').fillRect(0, 0, 50, 50); document.getElementById(id).append(c); } }))"
        f"{filler}</script>"
    )
    place = display(text_html="<div id='figure'></div>", text_plain="Figure()")
    draw = display(javascript="require(['drawing'], (drawing) => drawing.plot('figure'))")
    page.open(write_notebook(code("load()", display(text_html=library + "<p id='shown'>loaded</p>")), code("plot()", place, draw)))
    frame = page.find("#cell-c1 iframe")
    assert page.in_frame(frame, "getComputedStyle(document.getElementById('shown').parentElement).display", "the library") == "none"
    assert page.in_frame(frame, "document.querySelector('canvas')?.height", "the drawing") == 200
    page.wait("document.querySelector('#cell-c1 iframe').offsetHeight >= 200")


def test_frames_and_pages_say_what_they_may(service):
    page = service.get("/notebook.html").headers["Content-Security-Policy"]
    assert "unsafe" not in page and "require-trusted-types-for 'script'" in page and "frame-ancestors 'none'" in page
    frame = service.get("/frame.html").headers["Content-Security-Policy"]
    assert frame.startswith("sandbox allow-scripts;") and "allow-same-origin" not in frame
    assert "default-src 'none'" in frame and "frame-ancestors 'self'" in frame and "'self'" not in frame.replace("frame-ancestors 'self'", "")
