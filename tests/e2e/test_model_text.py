"""What a model reads of a run, from real libraries in real kernels: results, places, hints."""

import pytest

from tests.instance import wait_for

TASK = "model-text"


@pytest.fixture(scope="module")
def text_task(session_instance):
    session_instance.post(TASK, "import asyncio, pandas as pd\nfrom IPython.display import *")
    yield TASK
    session_instance.delete(TASK)


@pytest.fixture
def run(service, text_task):
    return lambda code, **fields: service.post(text_task, code, images="link", **fields)


GALLERY = [
    ("sympy", "import sympy; sympy.init_printing(); 3", "3\n[image 1: image/png"),
    ("sympy", "[1, sympy.Symbol('y') ** 2]", "⎡    2⎤\n⎣1, y ⎦\n[image 1: image/png"),
    ("sympy", "sympy.Matrix([[1, 2], [3, 4]])", "⎡1  2⎤\n⎢    ⎥\n⎣3  4⎦"),
    ("jinja2", "pd.DataFrame({'a': [1, 22]}).style", "   a\n0  1\n1  22"),
    ("jinja2", "pd.DataFrame({'a': [.5]}).style.format('{:.0%}').set_caption('Share')", "Share\n   a\n0  50%"),
    ("statsmodels", "import statsmodels.api as sm; sm.OLS([1, 2, 3.1], [[1], [2], [3]]).fit().summary()", "R-squared"),
    ("pandas", "pd.DataFrame({'a': [1], 'b': ['x']})", "   a  b\n0  1  x"),
    ("pandas", "display(HTML(pd.DataFrame({'a': [1], 'b': ['x']}).to_html()))", "   a  b\n0  1  x"),
    ("IPython", "Markdown('**b**')", "**b**"),
    ("IPython", "Latex('$x$')", "$x$"),
    ("IPython", "HTML('<ul><li>a &lt; b</li></ul><script>x</script>')", "- a < b"),
    ("IPython", "IFrame('https://a.example/', 3, 3)", "[frame: https://a.example/]"),
]


@pytest.mark.parametrize("library, code, text", GALLERY, ids=[f"{row[0]}-{n}" for n, row in enumerate(GALLERY)])
def test_a_result_reads_as_it_looks(run, library, code, text):
    if run(f"import {library}")["status"] != "ok":
        pytest.skip(f"{library} is not installed")
    answer = run(code)
    assert answer["status"] == "ok", answer["text"]
    shown = "\n".join(line.rstrip() for line in answer["text"].splitlines())
    assert text in shown
    assert "\\begin" not in shown and " at 0x" not in shown


@pytest.mark.parametrize("code, line", [
    ("%%time\n\n1/0", 3),
    ("%%capture\n\n\n1/0", 4),
    ("%%prun\nx = 1\n1/0", 3),
    ("\n\n%%timeit -n1 -r1\n\nx = 1\n1/0", 6),
    ("x = 1\n%prun 1/0", 2),
    ("x = 1\n\n%timeit 1/0", 3),
    ("\n" * 200000 + "1/0", 200001),
    ("\n" * 20000 + "%time 1/0", 20001),
])
def test_the_line_is_the_user_s(run, code, line):
    assert run(code)["error"]["line"] == line


def test_the_calls_within_a_cell_are_told(run):
    answer = run("def f(x):\n    return 1 / x\n\ndef g(x):\n    return f(x)\n\ng(0)")
    error = answer["error"]
    assert (error["line"], error["function"]) == (2, "f")
    assert error["calls"] == [{"line": 5, "function": "g"}, {"line": 7}]
    words = "Error in line 2 of the cell, in f (called from line 5, in g; line 7):"
    assert words in answer["text"] and words in error["prompt"]


@pytest.mark.parametrize("code, hint", [
    ("import urllib.request\nurllib.request.urlopen('http://a.example/x')", "no network"),
    ("import requests\nrequests.get('http://a.example/x')", "no network"),
    ("pd.read_csv('https://a.example/x.csv')", "no network"),
    ("import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=9)", "no network"),
    ("asyncio.run(asyncio.sleep(0))", "await main()"),
    ("asyncio.get_event_loop().run_until_complete(asyncio.sleep(0))", "await main()"),
    ("raise ImportError(\"Missing optional dependency 'Jinja2'. Use pip or conda to install Jinja2.\")",
     "Jinja2 is not installed. Nothing can be installed here"),
    ("import subprocess\nsubprocess.run(['pip', 'install', 'nosuch'], check=True)", "Nothing can be installed here"),
    ("import nosuch", "The module nosuch is not installed. Nothing can be installed here"),
    ("In1", "No name like In1"),
])
def test_a_hint_names_what_is_in_the_way(run, service, code, hint):
    has_jail = any(layer["name"] == "network" and layer["state"] == "on"
                   for layer in service.get("/v1/capabilities").json().get("jail", {}).get("layers", []))
    if hint == "no network" and not has_jail:
        pytest.skip("kernels of this host have a network")
    error = run(code)["error"]
    assert hint in (error["hint"] or ""), error
    assert hint in error["prompt"]


def test_a_file_of_a_near_name_is_found(run, service):
    run("import os; os.makedirs('in', exist_ok=True); open('in/rows.csv', 'w').close(); open('sales.csv', 'w').close()")
    assert "Close: sales.csv." in run("open('sale.csv')")["error"]["hint"]
    assert "Close: in/rows.csv." in run("open('rows.csv')")["error"]["hint"]
    hint = run("pd.read_csv('/data/sales.csv')")["error"]["hint"]
    assert hint.startswith("There is no /data/sales.csv") and "Close: sales.csv." in hint


@pytest.mark.parametrize("code", ["!pip install nosuch", "%pip install nosuch"])
def test_pip_s_failure_is_told_though_the_run_is_ok(run, code):
    answer = run(code)
    if answer["status"] == "ok":
        assert "[note: the shell line `pip install nosuch` failed: exit status 1]" in answer["text"] or code[0] == "%"
        assert answer["text"].rstrip().endswith("[hint: Nothing can be installed here; use what is there.]")
    else:
        assert "Nothing can be installed here" in answer["error"]["hint"]


def test_text_tells_late_output(run, service):
    first = run("import threading\nthreading.Timer(0.2, lambda: print('late one')).start()")
    wait_for(lambda: service.get(f"/v1/runs/{first['run']}").json()["late_count"], "its late output")
    assert run("print(1)")["text"] == "1\n[late output of earlier runs]\nlate one\n[end of late output]\n"
    assert run("print(2)")["text"] == "2\n"


def test_both_halves_after_a_death(service, task):
    service.post(task, "old = 1")
    service.post(task, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    answer = service.post(task, "new = 1\nimport time; time.sleep(60)", timeout=1)
    assert answer["status"] == "timeout" and answer["ended_by"] == "SIGINT"
    for text in answer["text"], answer["error"]["prompt"]:
        assert "the variables of earlier cells are lost, those of this cell are kept" in text
    assert service.post(task, "new")["text"] == "1"


def test_r_tells_the_line_in_whatever_quotes(service, task):
    names = [spec["name"] for spec in service.get("/v1/kernelspecs").json()["kernelspecs"]]
    if "ir" not in names:
        pytest.skip("there is no kernelspec ir")
    service.put(task, kernelspec="ir")
    assert service.post(task, "f <- function() {\n\n stop('boom')\n}\n\nf( )")["error"]["line"] == 3
    assert service.post(task, "x <- 1\nlog( 'a' )")["error"]["line"] == 2
    assert service.post(task, "c(a=1, b=2)")["text"].split() == ["a", "b", "1", "2"]
    assert "\n [19]" in service.post(task, "1:100")["text"]
    assert "[1] NA" in service.post(task, "as.numeric('a')")["text"]
    help_text = service.post(task, "?mean")["text"]
    assert "Arithmetic Mean" in help_text and "\\begin" not in help_text
