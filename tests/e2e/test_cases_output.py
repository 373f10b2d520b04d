"""Whatever a cell writes: the answer, the notebook and the registry hold it."""

import base64
import json
import time

import pytest

from tests.e2e import notebooks
from tests.instance import wait_for


@pytest.fixture(scope="module")
def output_task(session_instance):
    """One kernel for all: no output may hurt it."""
    yield "output"
    answer = session_instance.post("output", "1")
    assert answer["kernel"]["generation"] == 1 and answer["kernel"]["state"] == "kept"
    session_instance.delete("output")


@pytest.fixture
def run(service, output_task):
    """Runs a cell and checks that notebook and registry say the same."""

    def run(code, **fields):
        answer = service.post(output_task, code, **fields)
        notebooks.same_as(service, output_task, answer)
        return answer

    return run


def test_the_first_words_of_a_fresh_kernel(service):
    assert service.post("first-words", 'print("hi")')["stdout"] == "hi\n"
    service.delete("first-words")


def test_ten_thousand_flushes(run):
    answer = run('import sys\nfor i in range(10000):\n print("0"*100); sys.stdout.flush()')
    assert answer["stdout"] == ("0" * 100 + "\n") * 10000
    assert answer["truncated"] is None


def test_a_long_line_is_whole(run):
    assert run('print("y"*300_000)')["stdout"] == "y" * 300_000 + "\n"


def test_fifty_megabytes_are_capped_and_marked(service, run):
    answer = run('print("x"*50_000_000)')
    assert answer["status"] == "ok"
    dropped = answer["truncated"]["stdout"]
    kept = answer["stdout"].count("x")
    assert kept + dropped in (50_000_000, 50_000_001)
    assert f"{dropped} bytes" in answer["stdout"]
    assert answer["usage"]["output_bytes"] == 50_000_001
    assert run("6*7")["result"]["text/plain"] == "42"


def test_an_endless_printer_is_ended_and_the_kernel_is_usable(run):
    answer = run("while 1: print(1)", timeout=2)
    assert answer["status"] == "timeout"
    assert answer["stdout"].startswith("1\n1\n")
    assert run("1+1")["result"]["text/plain"] == "2"


def test_the_hard_cap_ends_the_run_and_says_so(make_instance):
    service = make_instance({"limits.output_bytes_hard": "1M", "limits.output_bytes": "100K"})
    answer = service.post("t", 'while 1: print("z"*1000)', timeout=50)
    assert answer["status"] == "output_limit"
    assert answer["ended_by"] == "SIGINT"
    assert answer["kernel"]["state"] == "fresh"
    assert answer["truncated"]["stdout"] > 800_000
    assert len(answer["stdout"]) < 110_000
    assert service.post("t", "1")["kernel"]["state"] == "kept"


@pytest.mark.parametrize("name, limit", [("output_bytes", 1000), ("outputs", 3)])
def test_a_request_may_lower_the_caps(run, name, limit):
    code = 'for i in range(10):\n display(i); print("a"*500)'
    answer = run(code, **{name: limit})
    assert answer["status"] == "ok"
    assert answer["truncated"]
    if name == "outputs":
        kept = [output for output in answer["outputs"] if output.get("name") != "stderr"]
        assert len(kept) == 3 and answer["truncated"]["outputs"] == 17


TERMINAL = [
    ('for i in range(5): print("\\r%d%%"%i, end="", flush=True)', "4%"),
    ("!echo a", "a\n"),
    ('print("ab\\bc")', "ac\n"),
    ('print("abc\\rd")', "dbc\n"),
    ('import sys\nfor i in range(3): sys.stdout.write("x"); sys.stdout.flush()', "xxx"),
    ("print('\\x1b[31mred\\x1b[0m')", "\x1b[31mred\x1b[0m\n"),
    ('print("a\\0b")', "a\0b\n"),
    ('print("\\ud800")', "\ufffd\n"),
    ('print("\\udcff")', "\ufffd\n"),
    ("import os; os.write(1, b'\\xff\\xfe\\n'); None", None),
]


@pytest.mark.parametrize("code, stdout", TERMINAL)
def test_streams_are_what_a_terminal_shows(run, code, stdout):
    answer = run(code)
    assert answer["status"] == "ok"
    if stdout is not None:
        assert answer["stdout"] == stdout
        assert [output["output_type"] for output in answer["outputs"]] == ["stream"]


def test_bytes_of_a_child_that_are_no_text(run):
    answer = run("""import subprocess, sys
subprocess.run([sys.executable, "-c", "import os; os.write(1, b'\\\\xff\\\\xfe ok')"])
!/usr/bin/printf '\\xff\\xfe end'""")
    assert answer["status"] == "ok"
    assert "end" in answer["stdout"]
    assert run("1")["status"] == "ok"


def test_colours_stay_in_the_notebook_and_leave_the_text(run):
    answer = run("print('\\x1b[31mred\\x1b[0m')")
    assert answer["text"].strip() == "red"


def test_what_came_before_an_error_is_kept(run):
    answer = run('print("a"); display(1); 1/0')
    assert answer["status"] == "error"
    assert answer["stdout"] == "a\n"
    assert [output["output_type"] for output in answer["outputs"]] == ["stream", "display_data", "error"]
    assert answer["error"]["ename"] == "ZeroDivisionError"
    assert answer["error"]["line"] == 1


def test_a_surrogate_in_an_exception(run):
    answer = run("raise Exception(chr(0xd8ff))")
    assert answer["status"] == "error"
    assert answer["error"]["ename"] == "Exception"
    assert answer["error"]["evalue"] == "\ufffd"
    assert "tornado" not in json.dumps(answer)


def test_logging_is_no_failure(run):
    answer = run('import logging; logging.error("L")')
    assert answer["status"] == "ok"
    assert answer["stderr"] == "ERROR:root:L\n"


def test_the_pager_is_an_output(run):
    answer = run("len?")
    assert "Return the number of items in a container" in answer["outputs"][0]["data"]["text/plain"]
    assert "number of items" in answer["text"]


def test_a_display_is_updated_in_place(run):
    answer = run("h=display(1,display_id=True); h.update(2)")
    assert [output["data"] for output in answer["outputs"]] == [{"text/plain": "2"}]


def test_a_later_cell_updates_an_earlier_one(service, output_task):
    first = service.post(output_task, "h=display(1,display_id=True); print('x')")
    second = service.post(output_task, "h.update(2)")
    assert second["outputs"] == []
    notebook = notebooks.read(service, output_task)
    assert notebooks.cell_of(notebook, first)["outputs"][0]["data"] == {"text/plain": ["2"]}
    again = service.get(f"/v1/runs/{first['run']}").json()
    assert again["outputs"][0]["data"] == {"text/plain": "2"}


def test_an_update_finds_its_cell_after_a_restart_of_the_app(make_instance):
    service = make_instance()
    first = service.post("t", "h=display(1,display_id=True)")
    service.kill("app")
    service.start_app()
    service.post("t", "h.update(2)")
    notebook = notebooks.read(service, "t")
    assert notebooks.cell_of(notebook, first)["outputs"][0]["data"] == {"text/plain": ["2"]}


CLEARED = [
    ('print("a")\nfrom IPython.display import clear_output; clear_output(wait=True)', "a\n"),
    ('from IPython.display import clear_output\nprint(1); clear_output(); print(2)', "2\n"),
    ('from IPython.display import clear_output\nprint(1); clear_output(wait=True); print(2)', "2\n"),
    ('from IPython.display import clear_output\nprint(1); clear_output()', ""),
]


@pytest.mark.parametrize("code, stdout", CLEARED)
def test_clear_output(run, code, stdout):
    assert run(code)["stdout"] == stdout


def test_nan_is_never_written(run):
    answer = run('display({"application/json":{"a":float("nan"),"b":float("inf")}},raw=True)')
    assert answer["outputs"][0]["data"]["application/json"] == {"a": "nan", "b": "inf"}
    assert answer["stderr"] == ""


def test_large_integers_keep_their_digits(service, output_task):
    big = 2**80 + 1
    service.post(output_task, f'display({{"application/json":{{"n":{big}}}}},raw=True)')
    text = (service.task_directory(output_task) / "notebook.ipynb").read_text(encoding="utf-8")
    assert str(big) in text


def test_output_of_a_thread_comes_late_and_is_told(service, output_task):
    first = service.post(
        output_task,
        "import threading\ngo = threading.Event()\n"
        'threading.Thread(target=lambda: (go.wait(), print("late"))).start()',
    )
    assert first["stdout"] == ""
    told = service.post(output_task, "go.set()", silent=True)["late_outputs"]

    def late():
        return service.get(f"/v1/runs/{first['run']}").json()["stdout"] == "late\n"

    wait_for(late, "the late line")
    answer = service.post(output_task, "1")
    told += answer["late_outputs"]
    assert {entry["run"] for entry in told} == {first["run"]}
    assert "".join(entry["output"]["text"] for entry in told) == "late\n"
    assert answer["stdout"] == ""
    cell = notebooks.cell_of(notebooks.read(service, output_task), first)
    assert notebooks.outputs(cell)[0]["text"] == "late\n"
    assert cell["metadata"]["cellpost"]["late"] is True
    assert service.post(output_task, "1")["late_outputs"] == []


def test_late_output_never_mixes_into_a_running_cell(service, output_task):
    first = service.post(
        output_task,
        "import threading, asyncio\ngo = threading.Event()\ndef f():\n  go.wait(); print('A')\n"
        "threading.Thread(target=f).start()",
    )
    second = service.post(output_task, "go.set(); import time; time.sleep(.5); print('B')")
    assert second["stdout"] == "B\n"
    assert [entry["run"] for entry in second["late_outputs"]] == [first["run"]]


def test_a_display_of_a_thread_is_updated_by_it(service, output_task):
    first = service.post(
        output_task,
        """import threading
shown, changed = threading.Event(), threading.Event()
def f():
    shown.wait()
    print("late")
    h = display(1, display_id=True)
    changed.wait()
    h.update(2)
threading.Thread(target=f).start()
print("on time")""",
    )

    def late(value):
        def look():
            outputs = service.get(f"/v1/runs/{first['run']}").json()["outputs"]
            cell = notebooks.cell_of(notebooks.read(service, output_task), first)
            return len(outputs) == 2 and outputs[1]["data"] == {"text/plain": value} and (
                notebooks.outputs(cell) == outputs
            )

        return look

    service.post(output_task, "shown.set()", silent=True)
    wait_for(late("1"), "the display")
    service.post(output_task, "changed.set()", silent=True)
    wait_for(late("2"), "its update")


def test_a_thread_of_an_earlier_cell_updates_a_running_one(service, output_task):
    service.post(
        output_task,
        """import threading
begun, done = threading.Event(), threading.Event()
def f():
    begun.wait()
    h.update(2)
    done.set()
threading.Thread(target=f).start()""",
    )
    answer = service.post(output_task, "h = display(1, display_id=True)\nbegun.set(); done.wait(); None")
    assert [output["data"] for output in answer["outputs"]] == [{"text/plain": "2"}]
    assert answer["late_outputs"] == []
    notebooks.same_as(service, output_task, answer)


def test_answers_tell_a_bounded_part_of_late_output(service, output_task):
    """All of it stands with the run that it belongs to."""
    first = service.post(
        output_task,
        """import threading
go = threading.Event()
def f():
    go.wait()
    for i in range(1000): print(str(i).rjust(999, '.'), flush=i % 100 == 99)
thread = threading.Thread(target=f)
thread.start()""",
    )
    answer = service.post(output_task, "go.set(); thread.join()")
    whole = "".join(str(i).rjust(999, ".") + "\n" for i in range(1000))

    def is_bounded(told):
        *texts, rest = [entry["output"]["text"] for entry in told if entry["run"] == first["run"]]
        assert len(texts) + 1 == len(told) and len("".join(texts)) == 64 << 10 and whole.startswith("".join(texts))
        assert "left out" in rest and f"GET /v1/runs/{first['run']}" in rest

    is_bounded(answer["late_outputs"])
    assert service.get(f"/v1/runs/{answer['run']}").json()["late_outputs"] == answer["late_outputs"]
    own = service.get(f"/v1/runs/{first['run']}").json()
    assert own["stdout"] == whole and own["late_count"] >= 1
    is_bounded(own["late_outputs"])
    assert service.post(output_task, "1")["late_outputs"] == []


def test_a_thread_that_prints_for_ever_is_bounded(make_instance):
    service = make_instance({"limits.output_bytes": "100K"})
    first = service.post(
        "t",
        """import threading
go = True
def f():
    while go: print("z" * 1000, flush=True)
threading.Thread(target=f).start()""",
    )

    def bounded():
        return "is not kept" in service.get(f"/v1/runs/{first['run']}").json()["stderr"]

    wait_for(bounded, "the bound")
    assert service.post("t", "1 + 1")["result"]["text/plain"] == "2"
    service.post("t", "go = False")
    assert service.get(f"/v1/runs/{first['run']}").json()["stderr"].count("is not kept") == 1
    assert (service.task_directory("t") / "notebook.ipynb").stat().st_size < 400_000
    notebooks.read(service, "t")


RICH = {
    "image/svg+xml": ("SVG", '"<svg xmlns=\\"http://www.w3.org/2000/svg\\" width=\\"4\\" height=\\"3\\"/>"'),
    "text/html": ("HTML", '"<b>x</b>"'),
    "text/markdown": ("Markdown", '"# x"'),
    "text/latex": ("Latex", '"$x$"'),
    "application/json": ("JSON", '{"a": 1}'),
}


@pytest.mark.parametrize("mime", RICH)
def test_every_kind_of_display(run, mime):
    kind, source = RICH[mime]
    answer = run(f"from IPython.display import {kind}\ndisplay({kind}({source}))")
    assert mime in answer["outputs"][0]["data"]
    if mime == "image/svg+xml":
        (image,) = answer["images"]
        assert (image["width"], image["height"]) == (4, 3)


PLOT = "import matplotlib.pyplot as plt\nplt.plot([1,2]); plt.show()"


def test_a_plot(service, output_task, run):
    answer = run(PLOT)
    (image,) = answer["images"]
    data = base64.b64decode(image["base64"], validate=True)
    assert data.startswith(b"\x89PNG") and len(data) == image["bytes"]
    assert image["width"] > 100 and image["height"] > 100
    response = service.get(image["uri"])
    assert response.status_code == 200 and response.content == data
    assert response.headers["Content-Type"] == "image/png"
    assert base64.b64decode(answer["outputs"][0]["data"]["image/png"]) == data
    assert image["uri"] in answer["text"]


def test_linked_images_carry_no_base64(service, output_task):
    answer = service.post(output_task, PLOT, images="link")
    assert answer["images"][0]["base64"] is None
    assert "image/png" not in answer["outputs"][0]["data"]
    notebook = notebooks.read(service, output_task)
    assert "image/png" in notebooks.cell_of(notebook, answer)["outputs"][0]["data"]


@pytest.mark.parametrize("kind", ["jpeg", "pdf"])
def test_other_pictures(service, output_task, kind):
    answer = service.post(
        output_task, f"%config InlineBackend.figure_formats = ['{kind}']\n" + PLOT
    )
    mime = "image/jpeg" if kind == "jpeg" else "application/pdf"
    assert mime in answer["outputs"][0]["data"]
    assert len(answer["images"]) == (1 if kind == "jpeg" else 0)


BYTES = "import os, base64\nfrom IPython.display import display\n"
PNG = "base64.b64encode(b'\\x89PNG\\r\\n\\x1a\\n' + os.urandom({})).decode()"


def fetch(service, image):
    response = service.get(image["uri"])
    assert response.status_code == 200 and len(response.content) == image["bytes"]


def test_a_picture_is_not_cut_by_the_cap_of_the_text(service, run):
    answer = run(BYTES + 'display({"image/png": ' + PNG.format(4_300_000) + "}, raw=True)")
    assert answer["truncated"] is None
    (image,) = answer["images"]
    assert image["bytes"] == 4_300_008 and len(base64.b64decode(image["base64"])) == 4_300_008
    fetch(service, image)


def test_what_is_too_large_for_the_notebook_is_given_by_its_uri(service, run):
    answer = run(
        BYTES
        + 'display({"image/png": ' + PNG.format(12_000_000) + ', "text/plain": "a figure"}, raw=True)\n'
        + 'display({"application/json": ["x" * 11_000_000]}, raw=True)\n'
        + 'display({"text/html": "<p>" + "y" * 11_000_000}, raw=True)'
    )
    assert answer["truncated"] is None
    (image,) = answer["images"]
    assert image["base64"] is None and image["output"] == 0 and image["bytes"] == 12_000_008
    fetch(service, image)
    for output in answer["outputs"]:
        address = output["data"]["text/plain"].rsplit("]", 1)[0].split(": ")[-1]
        assert service.get(address).status_code == 200
        assert set(output["data"]) == {"text/plain"}
    assert image["uri"] in answer["text"]


def test_many_pictures_are_all_kept(service, run):
    answer = run(BYTES + "for i in range(30):\n display({'image/png': " + PNG.format(1_000_000) + "}, raw=True)")
    assert answer["truncated"] is None and len(answer["images"]) == 30
    assert [image["output"] for image in answer["images"]] == list(range(30))
    assert 0 < sum(image["base64"] is None for image in answer["images"]) < 30
    for image in answer["images"]:
        fetch(service, image)


def test_pictures_beyond_the_number_of_outputs_are_kept(service, run):
    answer = run(
        BYTES + "for i in range(10):\n display({'image/png': " + PNG.format(1000) + "}, raw=True)", outputs=4
    )
    assert len(answer["outputs"]) == 5 and len(answer["images"]) == 10
    for image in answer["images"]:
        fetch(service, image)


def test_a_widget_clears_only_its_own_output(run):
    answer = run(
        "import ipywidgets\n"
        'print("kept")\n'
        'w = ipywidgets.interactive(lambda x: print("f", x), x=3)\n'
        "w.update(); w.children[0].value = 5; w.update()\n"
        'print("after")'
    )
    assert answer["stdout"] == "kept\nf 5\nafter\n"
    answer = run('ipywidgets.interact(lambda x: print("f", x), x=3)\nprint("after")')
    assert answer["stdout"] == "f 3\nafter\n"
    answer = run('out = ipywidgets.Output()\nwith out: print("one")\nprint("two")\nout.clear_output()\nprint("three")')
    assert answer["stdout"] == "two\nthree\n"


def test_a_warning_that_comes_again_and_again_is_folded(run):
    answer = run(
        "import sys\nfor i in range(200):\n"
        ' print("findfont: Font family \'Nope\' not found.", file=sys.stderr)\n'
        " if i % 50 == 0: print(i, flush=True); sys.stderr.flush()"
    )
    assert answer["stderr"].count("Nope") == 3
    assert "[… the line above comes 197 more times …]" in answer["stderr"]
    assert answer["truncated"] is None and answer["stdout"] == "0\n50\n100\n150\n"


def test_one_update_of_many_outputs_is_quick(service, output_task):
    service.post(output_task, 'for i in range(700): display("x", display_id="many")')
    before = time.monotonic()
    answer = service.post(output_task, 'h = display("y" * 3000, display_id="many", update=True)', timeout=3)
    assert answer["status"] == "ok" and time.monotonic() - before < 3
    cells = notebooks.read(service, output_task)["cells"]
    changed = [cell for cell in cells if len(cell.get("outputs", ())) == 700]
    assert len(changed) == 1
    assert all("yyyy" in notebooks.joined(o["data"]["text/plain"]) for o in changed[0]["outputs"])


def test_a_large_table(run):
    answer = run("import pandas as pd\npd.DataFrame({'x': range(100_000)})")
    assert "100000 rows" in answer["result"]["text/plain"]
    assert "<table" in answer["result"]["text/html"]
    assert "<table" not in answer["text"] and "100000 rows" in answer["text"]


def test_the_text_is_bounded_and_the_whole_is_kept(service, output_task):
    answer = service.post(output_task, "for i in range(5000): print('line', i)", text_limit=2000)
    assert len(answer["text"]) <= 2000
    assert answer["text"].startswith("line 0\n") and "line 4999" in answer["text"]
    uri = [word for word in answer["text"].replace("]", " ").split() if "/artifacts/" in word][0].rstrip(".,;")
    whole = service.get(uri).text
    assert "line 2500\n" in whole


def test_files_are_told(run, service):
    created = run('open("a b.txt","w").write("hi")')["files"]
    assert [(f["path"], f["change"], f["mime"], f["bytes"]) for f in created] == [
        ("a b.txt", "created", "text/plain", 2)
    ]
    response = service.get(created[0]["uri"])
    assert response.text == "hi"
    assert [f["change"] for f in run('open("a b.txt","a").write("!")')["files"]] == ["changed"]
    assert [f["change"] for f in run('import os; os.remove("a b.txt")')["files"]] == ["deleted"]


def test_eighty_megabytes_in_one_message(run):
    answer = run('from IPython.display import display\ndisplay({"text/plain": "q"*80_000_000}, raw=True)')
    assert answer["status"] == "ok"
    assert answer["truncated"]["values"] == 1
    assert run("1")["kernel"]["state"] == "kept"


def test_stdin(run):
    assert run("input('n? ')", stdin=["bob"])["result"]["text/plain"] == "'bob'"
    answer = run("import getpass\n[getpass.getpass(), input()]", stdin=["x", "y"])
    assert answer["result"]["text/plain"] == "['x', 'y']"
    answer = run("input(); input()", stdin=["x"])
    assert answer["error"]["ename"] == "EOFError"


@pytest.mark.parametrize("code", ["input('n? ')", "breakpoint()\n1", "import getpass; getpass.getpass()"])
def test_no_stdin_is_an_immediate_error(run, code):
    start = time.monotonic()
    answer = run(code)
    assert answer["error"]["ename"] == "StdinNotImplementedError"
    assert time.monotonic() - start < 20


def test_a_message_beyond_the_cap_costs_no_other_output(service, output_task):
    answer = service.post(output_task, 'display({"text/html": "q" * 140_000_000}, raw=True)')
    assert answer["status"] == "ok" and any("128 MiB" in note for note in answer["notes"])
    answer = service.post(output_task, 'print("there"); 6*7')
    assert answer["stdout"] == "there\n" and answer["result"]["text/plain"] == "42"
