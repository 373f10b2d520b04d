"""The notebook as people and agents shape it: sections, explanations, uploads;
and as a disk that fails leaves it."""

import json
import subprocess

import pytest

from tests.e2e import notebooks
from tests.instance import JSON, wait_for


def add_markdown(service, task, markdown):
    response = service.request(
        "POST", f"/v1/tasks/{task}/cells", data=json.dumps({"markdown": markdown}), headers=JSON
    )
    assert response.status_code == 201, response.text
    return response.json()


def cells(service, task):
    return [
        (cell["cell_type"], notebooks.joined(cell["source"]))
        for cell in notebooks.read(service, task)["cells"]
    ]


def events(service, task, kind):
    import sqlite3

    with sqlite3.connect(f"file:{service.database}?mode=ro", uri=True) as database:
        rows = database.execute(
            "SELECT content FROM events WHERE task = ? AND kind = ? ORDER BY id", (task, kind)
        ).fetchall()
    return [json.loads(content) for (content,) in rows]


# Explanations


def test_markdown_stands_between_the_cells(service, task):
    first = add_markdown(service, task, "# Plan\n\nFirst *this*, then $x^2$.")
    assert first["notes"] == [] and first["notebook"] == f"/tasks/{task}/notebook.ipynb"
    service.post(task, "1")
    second = add_markdown(service, task, "It worked.")
    service.post(task, "2")
    assert cells(service, task) == [
        ("markdown", "# Plan\n\nFirst *this*, then $x^2$."),
        ("code", "1"),
        ("markdown", "It worked."),
        ("code", "2"),
    ]
    identifiers = [cell["id"] for cell in notebooks.read(service, task)["cells"]]
    assert identifiers[0] == first["cell"] and identifiers[2] == second["cell"]
    recorded = events(service, task, "cell.added")
    assert [event["source"] for event in recorded] == ["# Plan\n\nFirst *this*, then $x^2$.", "It worked."]
    assert recorded[0]["cell"] == first["cell"] and recorded[0]["caller"] == "anonymous"


def test_markdown_waits_for_what_was_asked_for_before_it(service, task):
    run = service.send(task, "import time; time.sleep(0.5); print('done')", wait=False).json()["run"]
    add_markdown(service, task, "after")
    assert service.get(f"/v1/runs/{run}").json()["status"] == "ok"
    assert [kind for kind, _ in cells(service, task)] == ["code", "markdown"]


@pytest.mark.parametrize(
    "body, status, words",
    [
        ({}, 422, "missing"),
        ({"markdown": ""}, 422, "markdown"),
        ({"markdown": 1}, 422, "markdown"),
        ({"markdown": "x", "code": "1"}, 422, "unknown field"),
        ({"markdown": "x" * (5 << 20)}, 413, "at most"),
    ],
    ids=str,
)
def test_markdown_that_is_refused(service, task, body, status, words):
    response = service.request("POST", f"/v1/tasks/{task}/cells", data=json.dumps(body), headers=JSON)
    assert response.status_code == status and words in response.json()["detail"]
    assert not (service.task_directory(task) / "notebook.ipynb").exists()


# Sections


def test_a_section_begins_with_its_heading(service, task):
    service.post(task, "0")
    service.post(task, "1", section="Load")
    service.post(task, "2")
    service.post(task, "3", section="Load")
    service.post(task, "4", section="Plot")
    service.post(task, "5", section="Load")
    service.post(task, "6", section="Load")
    assert cells(service, task) == [
        ("code", "0"),
        ("markdown", "## Load"),
        ("code", "1"),
        ("code", "2"),
        ("code", "3"),
        ("markdown", "## Plot"),
        ("code", "4"),
        ("markdown", "## Load"),
        ("code", "5"),
        ("code", "6"),
    ]


def test_a_heading_is_known_after_a_new_start(make_instance):
    own = make_instance()
    own.post("t", "1", section="Load")
    own.kill("app")
    own.start_app()
    own.post("t", "2", section="Load")
    assert [kind for kind, _ in cells(own, "t")] == ["markdown", "code", "code"]


def sections(service, task, **parameters):
    response = service.get(f"/v1/tasks/{task}/sections", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def test_what_each_section_gave(service, task):
    service.post(task, "print('before')")
    service.post(task, "print('loaded'); 17", section="Load")
    plot = "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()"
    shown = service.post(task, plot, section="Plot")
    service.post(task, "1 / 0")
    service.post(task, "print('unseen')", silent=True)
    service.post(task, "print('again')", section="Load")
    answer = sections(service, task)
    assert answer["next"] is None
    none, load, plots = answer["sections"]
    assert [section["section"] for section in answer["sections"]] == [None, "Load", "Plot"]
    assert none["text"].strip() == "before" and none["images"] == []
    assert load["text"].split() == ["loaded", "17", "again"]
    assert [run["status"] for run in plots["runs"]] == ["ok", "error"]
    assert "ZeroDivisionError" in plots["text"]
    (image,) = plots["images"]
    assert image["run"] == shown["run"] and image["uri"] == shown["images"][0]["uri"]
    assert service.get(image["uri"]).headers["Content-Type"] == "image/png"
    assert all(run["cell"] for section in answer["sections"] for run in section["runs"])


def test_sections_are_bounded(service, task):
    for number in range(5):
        service.post(task, f"print('x' * 1000 + '{number}')", section="A" if number < 3 else "B")
    newest = sections(service, task, limit=2, text_limit=300)
    (only,) = newest["sections"]
    assert only["section"] == "B" and len(only["runs"]) == 2 and len(only["text"]) <= 300
    older = sections(service, task, limit=2, before=newest["next"])
    assert [len(section["runs"]) for section in older["sections"]] == [2]
    assert service.get(f"/v1/tasks/{task}/sections?before=x").status_code == 422
    assert service.get("/v1/tasks/no-such-task/sections").status_code == 404


def test_a_task_made_anew_does_not_go_on_in_an_old_section(service, task):
    service.post(task, "1", section="Old")
    assert service.delete(task).status_code == 200
    service.post(task, "2")
    assert sections(service, task)["sections"][-1]["section"] is None


# Uploads


def upload(service, task, content):
    service.put(task)
    (service.task_directory(task) / "notebook.ipynb").write_text(content, encoding="utf-8")


def test_an_older_notebook_is_adopted(service, task):
    old = {
        "metadata": {"kernelspec": {"name": "x", "display_name": "X"}, "mine": {"a": 1}},
        "nbformat": 4,
        "nbformat_minor": 2,
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Mine\n", "text"]},
            {"cell_type": "code", "metadata": {}, "source": "a = 1", "outputs": [], "execution_count": 7},
        ],
    }
    upload(service, task, json.dumps(old))
    answer = service.post(task, "2")
    assert answer["notes"] == []
    notebook = notebooks.read(service, task)
    assert notebook["nbformat_minor"] == 5 and notebook["metadata"]["mine"] == {"a": 1}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert cells(service, task) == [("markdown", "# Mine\ntext"), ("code", "a = 1"), ("code", "2")]
    served = service.get(f"/tasks/{task}/notebook.ipynb").json()
    assert served == notebook


@pytest.mark.parametrize("content", ["no notebook", '{"cells": 1}', "[]", "\x00\x01"], ids=repr)
def test_what_is_no_notebook_is_set_aside_and_told(service, task, content):
    upload(service, task, content)
    answer = service.post(task, "2")
    (note,) = answer["notes"]
    (aside,) = service.task_directory(task).glob("notebook.ipynb.*.aside")
    assert aside.name in note and aside.read_text(encoding="utf-8") == content
    assert cells(service, task) == [("code", "2")]
    assert events(service, task, "notebook.set_aside") == [{"name": aside.name}]
    assert service.get(f"/tasks/{task}/{aside.name}").status_code == 404
    assert service.post(task, "3")["notes"] == []


def test_an_upload_between_two_runs_is_taken_over(service, task):
    service.post(task, "1")
    notebook = notebooks.read(service, task)
    notebook["cells"].insert(0, {"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "By hand"})
    (service.task_directory(task) / "notebook.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    service.post(task, "2")
    assert cells(service, task) == [("markdown", "By hand"), ("code", "1"), ("code", "2")]
    add_markdown(service, task, "more")
    assert cells(service, task)[-1] == ("markdown", "more")


# What is not there


def test_a_task_has_a_notebook_before_its_first_cell(service, task):
    service.put(task)
    response = service.get(service.get(f"/v1/tasks/{task}").json().get("notebook", f"/tasks/{task}/notebook.ipynb"))
    assert response.status_code == 200
    notebook = notebooks.read(service, task)
    assert notebook["cells"] == [] and notebook["metadata"]["kernelspec"]["name"] == "python3"
    service.post(task, "1")
    assert service.put(task).status_code == 200
    assert cells(service, task) == [("code", "1")]


@pytest.mark.parametrize("how", ["removed", "emptied", "replaced"])
def test_a_notebook_that_goes_away_during_a_run_has_its_cell_in_the_end(service, task, how):
    service.post(task, "first = 1")
    run = service.send(
        task, "import time\nprint('begun', flush=True)\ninput_ = time.sleep(2)\nprint('done')", wait=False
    ).json()["run"]
    service.wait_run(run, "running")
    path = service.task_directory(task) / "notebook.ipynb"
    wait_for(lambda: "begun" in path.read_text(encoding="utf-8"), "the cell's first words")
    if how == "removed":
        path.unlink()
    elif how == "emptied":
        path.write_text("")
    else:
        path.write_text(json.dumps({"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": []}))
    answer = service.wait_run(run)
    notebook = notebooks.same_as(service, task, answer)
    assert [cell["id"] for cell in notebook["cells"]] == [run]
    assert notebook["cells"][0]["metadata"]["cellpost"]["status"] == "ok"
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


def test_rebuild_writes_what_the_registry_knows(service, task):
    service.post(task, "print('one'); 2", section="A", tags=["x"])
    add_markdown(service, task, "*between*")
    service.post(task, "unseen = 1", silent=True)
    service.post(task, "from IPython.display import HTML; HTML('<b>3</b>')", section="B")
    service.post(task, "1/0")
    before = notebooks.read(service, task)
    path = service.task_directory(task) / "notebook.ipynb"
    path.write_text("{}")
    done = subprocess.run(
        [service.program("cellpost"), "-c", service.conf, "rebuild", task], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    (aside,) = service.task_directory(task).glob("notebook.ipynb.*.aside")
    assert aside.name in done.stdout and aside.read_text() == "{}"
    after = notebooks.read(service, task)
    for notebook in (before, after):
        for cell in notebook["cells"]:
            cell["metadata"].pop("execution", None)
    assert after["cells"] == before["cells"]
    service.post(task, "4")
    assert len(notebooks.read(service, task)["cells"]) == len(before["cells"]) + 1
    done = subprocess.run(
        [service.program("cellpost"), "-c", service.conf, "rebuild", "no-such-task"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "no such task" in done.stderr


def test_a_cell_that_kills_its_kernel_says_so(service, task):
    answer = service.post(task, "print('last words', flush=True)\nimport os; os._exit(7)")
    notebook = notebooks.same_as(service, task, answer)
    (words, death) = notebook["cells"][-1]["outputs"]
    assert death["ename"] == "KernelDied" and "exit code 7" in death["evalue"]
    assert death["evalue"] == answer["kernel"]["reason"] and death == answer["outputs"][-1]
    assert answer["error"]["ename"] == "KernelDied" and "exit code 7" in answer["text"]
